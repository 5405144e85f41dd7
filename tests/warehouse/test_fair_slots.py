"""Fair slots: the order in which tenants and their users get a scarce resource. No clock: work ends when the test says so."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warehouse.errors import Throttled
from warehouse.runtime.fair_slots import MIN_CROWD, STRANGERS, FairSlots, RecentTenants


class Work:
    """Tasks that hold slots until they are ended, in the order in which they began."""

    def __init__(self, slots: FairSlots) -> None:
        self.slots = slots
        self.begun: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, *names: str) -> None:
        """Starts tasks: `A1` is one of user `A1` of tenant `A`, `A1b` another one of the same user."""
        for name in names:
            self.ends[name] = asyncio.Event()
            self.tasks[name] = asyncio.ensure_future(self._run(name))
        await settle()

    async def end(self, *names: str) -> None:
        for name in names:
            self.ends[name].set()
            await settle()

    async def end_in_turn(self) -> None:
        """Ends what has begun, one after the other, until nothing is left."""
        for name in self.begun:  # grows meanwhile
            await self.end(name)
        assert self.slots.in_use == 0

    async def _run(self, name: str) -> None:
        async with self.slots.hold(name[0], name[:2]):
            self.begun.append(name)
            await self.ends[name].wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def order(slots: FairSlots, *names: str) -> list[str]:
    """The order in which tasks begin that come in this order, if each ends before the next one begins."""

    async def run() -> list[str]:
        work = Work(slots)
        await work.start(*names)
        await work.end_in_turn()
        return work.begun

    return asyncio.run(run())


def test_tenants_take_turns_however_many_of_one_wait() -> None:
    assert order(FairSlots(1), "A1", "A2", "A3", "A4", "B1", "B2", "C1") == ["A1", "A2", "B1", "C1", "A3", "B2", "A4"]


def test_users_of_a_tenant_take_turns() -> None:
    assert order(FairSlots(1), "A1a", "A1b", "A1c", "A2a", "A2b", "A3a") == ["A1a", "A1b", "A2a", "A3a", "A1c", "A2b"]


def test_a_free_slot_goes_to_the_tenant_with_the_fewest() -> None:
    async def run() -> None:
        work = Work(FairSlots(4))
        await work.start("A1", "A2", "A3", "B1", "A4", "B2")
        await work.end("A1")
        assert work.begun[4:] == ["B2"]
        await work.end("A2")
        assert work.begun[4:] == ["B2", "A4"]
        await work.end_in_turn()

    asyncio.run(run())


def test_a_lone_tenant_has_all_slots_and_a_second_one_begins_at_once() -> None:
    async def run() -> None:
        work = Work(FairSlots(2, spare=1))
        await work.start("A1", "A2", "A3")
        assert work.begun == ["A1", "A2"]
        await work.start("B1", "B2")
        assert work.begun == ["A1", "A2", "B1"]
        await work.end("A1")
        assert work.begun == ["A1", "A2", "B1"], "the two tenants have a slot each"
        await work.end("A2")
        assert work.begun == ["A1", "A2", "B1", "A3"]
        await work.end_in_turn()

    asyncio.run(run())


def test_a_tenant_has_no_more_than_its_limit() -> None:
    async def run() -> None:
        work = Work(FairSlots(4, per_tenant=2))
        await work.start("A1", "A2", "A3", "B1")
        assert work.begun == ["A1", "A2", "B1"]
        assert not work.slots.take("A", "A4")
        assert work.slots.take("B", "B2")
        work.slots.give_back("B", "B2")
        await work.end_in_turn()

    asyncio.run(run())


def test_only_so_many_of_a_tenant_wait_and_another_one_still_may() -> None:
    async def run() -> None:
        work = Work(FairSlots(1, max_waiting=1))
        await work.start("A1", "A2", "A3", "B1")
        assert work.begun == ["A1"]
        with pytest.raises(Throttled):
            await work.tasks.pop("A3")
        await work.end_in_turn()
        assert work.begun == ["A1", "A2", "B1"]

    asyncio.run(run())


async def cancelled_while_waiting(work: Work) -> None:
    work.tasks["A2"].cancel()
    await settle()
    await work.end("A1")


async def cancelled_before_the_slot_is_free(work: Work) -> None:
    work.tasks["A2"].cancel()
    work.ends["A1"].set()
    await settle()


async def cancelled_after_it_got_the_slot(work: Work) -> None:
    work.slots.give_back("A", "A1")  # the slot is passed on, and who gets it has not run yet
    work.tasks["A2"].cancel()
    await settle()
    assert work.slots.take("A", "A9") is False, "the next one has it"


@pytest.mark.parametrize("cancel", [cancelled_while_waiting, cancelled_before_the_slot_is_free, cancelled_after_it_got_the_slot])
def test_who_is_cancelled_passes_the_slot_on(cancel: Callable[[Work], Awaitable[None]]) -> None:
    async def run() -> None:
        work = Work(FairSlots(1))
        await work.start("A1", "A2", "A3")
        await cancel(work)
        assert work.begun == ["A1", "A3"]

    asyncio.run(run())


def test_a_failure_gives_the_slot_back() -> None:
    async def run() -> int:
        slots = FairSlots(1)
        with pytest.raises(RuntimeError):
            async with slots.hold("A", "A1"):
                raise RuntimeError
        return slots.in_use

    assert asyncio.run(run()) == 0


MOVES = st.lists(
    st.tuples(st.sampled_from(("start", "start", "end", "cancel")), st.sampled_from("ABC"), st.integers(1, 3)), max_size=60
)


@given(moves=MOVES, slots=st.integers(1, 3), spare=st.integers(0, 2))
def test_no_slot_is_lost_or_used_twice_whatever_happens(moves: list[tuple[str, str, int]], slots: int, spare: int) -> None:
    async def run() -> None:
        work = Work(FairSlots(slots, spare=spare))
        for number, (move, tenant, user) in enumerate(moves):
            if move == "start":
                await work.start(f"{tenant}{user}.{number}")
            elif work.tasks:
                name = list(work.tasks)[number % len(work.tasks)]
                if move == "end":
                    await work.end(name)
                else:
                    work.tasks[name].cancel()
            assert work.slots.in_use <= slots + spare
            assert all(work.slots.in_use_of(tenant) <= slots for tenant in "ABC")
        for name in work.ends:
            await work.end(name)
        await asyncio.gather(*work.tasks.values(), return_exceptions=True)
        assert work.slots.in_use == 0
        assert work.slots.take("D", "D1")

    finish(run())


def finish(run: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(run, 30))


LONG_SECONDS = 3600
CROWD = [f"A{number}" for number in range(MIN_CROWD)]


def recent_tenants(*tenants: str) -> RecentTenants:
    recent = RecentTenants(LONG_SECONDS)
    for tenant in tenants:
        recent.note(tenant)
    return recent


def begun_after(used_seconds: float, waiting: int, recent: RecentTenants, **options: Any) -> list[str]:
    """Which of a tenant begin after one that has used the only slot for this time, while so many of the tenant wait."""

    async def run() -> list[str]:
        slots = FairSlots(1, spare=1, recent=recent, **options)
        assert slots.take("A", "A")
        work = Work(slots)
        await work.start(*CROWD[:waiting])
        slots.give_back("A", "A", used_seconds)
        await settle()
        begun = list(work.begun)
        await work.start("B1")
        assert work.begun[-1] == "B1", "another tenant begins at once"
        for task in work.tasks.values():
            task.cancel()
        return begun

    return asyncio.run(run())


def test_a_tenant_with_a_crowd_rests_while_another_is_active() -> None:
    assert begun_after(LONG_SECONDS, MIN_CROWD, recent_tenants("B", "A")) == []


@pytest.mark.parametrize(
    ("used_seconds", "waiting", "tenants", "rests"),
    [
        (LONG_SECONDS, MIN_CROWD, ["A"], True),
        (LONG_SECONDS, MIN_CROWD - 1, ["B", "A"], True),
        (0, MIN_CROWD, ["B", "A"], True),
        (LONG_SECONDS, MIN_CROWD, ["B", "A"], False),
    ],
    ids=["it is alone", "few wait", "the use cost nothing", "the user of the slot sees to rests"],
)
def test_a_tenant_does_not_rest_when(used_seconds: float, waiting: int, tenants: list[str], rests: bool) -> None:
    assert begun_after(used_seconds, waiting, recent_tenants(*tenants), rests=rests) == ["A0"]


def test_a_rest_takes_twice_as_long_as_the_use(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    monkeypatch.setattr(FairSlots, "_rest", lambda _slots, _rester, seconds: rests.append(seconds))
    begun_after(7, MIN_CROWD, recent_tenants("B", "A"))
    assert rests == [14]


def test_after_its_rest_a_crowd_goes_on() -> None:
    async def run() -> None:
        slots = FairSlots(1, recent=recent_tenants("B", "A"))
        assert slots.take("A", "A")
        work = Work(slots)
        await work.start(*CROWD)
        slots.give_back("A", "A", 0.001)
        async with asyncio.timeout(30):
            while not work.begun:
                await asyncio.sleep(0.001)
        await work.end_in_turn()
        assert work.begun == CROWD

    asyncio.run(run())


def test_a_stranger_with_a_crowd_rests_alone() -> None:
    async def run() -> None:
        slots, begun = FairSlots(1, recent=recent_tenants("B")), []

        async def ask(path: str) -> None:
            async with slots.hold(STRANGERS, path):
                begun.append(path)

        assert slots.take(STRANGERS, "/crowded")
        tasks = [asyncio.ensure_future(ask("/crowded")) for _ in range(MIN_CROWD)]
        await settle()
        slots.give_back(STRANGERS, "/crowded", LONG_SECONDS)
        await ask("/quiet")
        assert begun == ["/quiet"]
        for task in tasks:
            task.cancel()

    asyncio.run(run())


@pytest.mark.parametrize(("tenants", "begun"), [(["A"], ["A0"]), (["B", "A"], [])], ids=["it is alone", "another is active"])
def test_a_crowd_gets_fewer_slots_while_another_is_active(tenants: list[str], begun: list[str]) -> None:
    async def run() -> None:
        work = Work(FairSlots(2, beside_others=1, recent=recent_tenants(*tenants)))
        assert work.slots.take("A", "A")
        assert work.slots.take("A", "A")
        await work.start(*CROWD)
        work.slots.give_back("A", "A")
        await settle()
        assert work.begun == begun
        for task in work.tasks.values():
            task.cancel()

    asyncio.run(run())


def test_who_asked_long_ago_is_no_longer_active() -> None:
    recent = RecentTenants(0)
    recent.note("B")
    recent.note("A")
    assert not recent.has_others("A")


@pytest.mark.parametrize(
    ("tenants", "others"), [([], ""), (["A"], "BC"), (["A", "A"], "BC"), (["A", "B"], "ABC"), (["B", "A", "A"], "ABC")]
)
def test_others_are_all_but_oneself(tenants: list[str], others: str) -> None:
    recent = recent_tenants(*tenants)
    assert "".join(tenant for tenant in "ABC" if recent.has_others(tenant)) == others
