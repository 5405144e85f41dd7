"""Fair slots: the order in which tenants and their users get a scarce resource. No clock: work ends when the test says so."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warehouse.errors import Throttled
from warehouse.fair_slots import FairSlots


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
