"""Dialogues in any order of events: customers who repeat themselves, workers that die, answers that come late, time that is over.

Hypothesis plays customer, worker, clock and bank at once, on a real database. Whatever it does: a confirmation reaches the bank
once at most, what is told to be done is done, and what is told to have failed never happens.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test
from sqlalchemy import text

from pipelines import deactivation
from pipelines.banks.base import (
    MAX_STATE_BYTES,
    CatalogueBank,
    ChooseMedium,
    ChooseMethod,
    ConfirmPayee,
    EnterTan,
    Failed,
    FetchRequest,
    Payment,
    Reply,
    Transfer,
    Wait,
)
from pipelines.banks.demo import DemoBank, executed_orders, payments
from pipelines.banks.demo.histories import Customer
from pipelines.banks.demo.memory import read_memory
from pipelines.context import Context
from pipelines.dialogues import requests, steps, worker
from pipelines.dialogues.requests import BankLogin, DialogueOptions
from pipelines.dialogues.steps import Standing
from pipelines.dialogues.worker import MoveJob
from tests.support.databases import migrated_database
from warehouse.errors import Busy, NotFound, NotOffered, OutOfTurn, PaymentDiffers, PaymentRepeated
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Dialogue
from warehouse.secrets.vault import Vault, create_ring
from warehouse.settings import Settings
from warehouse.stores import accesses, users
from warehouse.stores import dialogues as store
from warehouse.stores.dialogues import ASKED, CALLING, CONSENT, DONE, FAILED, OPEN, PAYMENT, UNKNOWN
from warehouse.stores.provisioning import create_tenant

DEMO = UUID(int=0)
BACK = "https://tenant.example/back"
CHOSEN = ("1", "Sparkassen-Card 1234")
FACTS = (OutOfTurn, NotOffered, PaymentDiffers, PaymentRepeated, NotFound, Busy)
PARTS = [f"test_transfer_{part}" for part in ("slow_0", "late_0", "unknown", "lost", "refused", "exempt")]
PARTS += ["test_consent_app", "test_consent_redirect", "test_sca_method_media"] * 2 + ["test_app_silent", "test_device"]
PARTS += ["test_payee", "test_payee_slow"]
MATCHING, STRANGE = "DE02120300000000202051", "DE84370400440532013090"
"""The IBAN of a payee that banks confirm, and of one that they do not."""
AFTER = {  # which phases may follow; what is asked may be answered at once
    OPEN: {OPEN, ASKED, CALLING, DONE, FAILED, UNKNOWN},
    ASKED: {ASKED, CALLING, OPEN, DONE, FAILED, UNKNOWN},
    CALLING: {CALLING, OPEN, DONE, FAILED, UNKNOWN},
    UNKNOWN: {UNKNOWN, ASKED, CALLING, DONE, FAILED},
    DONE: {DONE},
    FAILED: {FAILED},
}
AT_ONCE = 4
WHICH = st.integers(0, 2 * AT_ONCE - 1)
CENTS = st.sampled_from((100, 101))
MOVES = (Reply(method="1"), Reply(medium="iPhone"), Reply(tan="42"), Reply(payee_confirmed=True), Reply(payee_confirmed=False))
WRONG_PIN = "wrong"
OFTEN = st.sampled_from((True, True, True, False))


class Watched(DemoBank):
    """The demo bank, which counts how often a payment was confirmed to it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, pause=lambda _: None)
        self.confirmed: Counter[UUID] = Counter()
        self.asked: Counter[tuple[str, str]] = Counter()
        """How often the bank was asked with a user id and a PIN."""

    def _customer(self, request: FetchRequest) -> Customer:
        self.asked[request.credentials["userid"], request.credentials["pin"]] += 1
        return super()._customer(request)

    def _execute(self, customer: Customer, payment: Payment, request: FetchRequest) -> Any:
        self.confirmed[payment.reference] += 1
        return super()._execute(customer, payment, request)

    def product(self, user_id: str) -> str:
        """The key of the account of a user id."""
        found = self._find(user_id)
        assert found is not None
        return found.accounts[0].product.key

    def confirm_elsewhere(self, user_id: str, payment: Payment, request: FetchRequest) -> None:
        """The customer confirms in the app, and the bank executes without us."""
        customer = self._customer(request)
        payments.execute(self.folder, user_id, payment, self._products(customer, request), request.now)


@dataclass(frozen=True)
class Place:
    """A house, its bank and a tenant, which all runs share."""

    house: Context
    bank: Watched
    tenant: UUID
    reached: set[tuple[str, str, str]] = field(default_factory=set)
    """What dialogues of all runs were told, by kind and phase."""


@dataclass(frozen=True)
class Late:
    """An answer of the bank that nobody has stored yet."""

    job: MoveJob
    standing: Standing
    state: bytes
    plan: Any


@pytest.fixture(scope="module")
def place(homes: Path) -> Iterator[Place]:
    given = Settings(_env_file=None, home=homes / "machine")
    with migrated_database(given) as where:
        create_ring(given.keys_path)
        bank = Watched(given.home / "demo-bank")
        house = replace(
            Context.of(Settings(_env_file=None, home=given.home, database_url=where.service)), connectors={"demo": bank}
        )
        with house.database.operating() as operator:
            tenant = create_tenant(operator, Vault(given), "machine", datetime.now(UTC), regulated=True).tenant.id
        yield Place(house, bank, tenant)
        house.database.close()


class Machine(RuleBasedStateMachine):
    """One customer with one access, and everything that can happen to its dialogues."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place, self.house, self.bank = place, place.house, place.bank
        self.now = datetime.now(UTC)
        self.known: list[UUID] = []
        self.orders: dict[UUID, tuple[Payment, bool]] = {}
        """By dialogue, its payment and whether it has the login of the access."""
        self.seen: dict[UUID, Dialogue] = {}
        self.ever_unknown: set[UUID] = set()
        self.shown: set[UUID] = set()
        """Dialogues of which the customer has got to see the bank's page or app."""
        self.refused_asks: int | None = None
        """How often the bank had been asked with the wrong PIN when its refusal was stored."""
        self.jobs: list[MoveJob] = []
        self.waiting: list[tuple[int, MoveJob]] = []
        self.late: list[Late] = []

    @initialize(part=st.sampled_from(PARTS))
    def begin_life(self, part: str) -> None:
        self.userid = f"{part}_{uuid4().hex[:10]}"
        self.product = self.bank.product(self.userid)
        self.login_hash = uuid4().bytes * 2
        self.credentials = {"userid": self.userid, "pin": self.userid}
        with self.house.database.acting_for(self.place.tenant) as owner:
            self.user = users.create(owner, self.userid, "-").id
        with self.acting() as owner:
            access = accesses.add(owner, "a", DEMO, self.login_hash, sync=True)
            accesses.seal_credentials(owner, self.house.vault, access, self.credentials)

    # The customer.

    @precondition(lambda self: len(self.known) < AT_ONCE)
    @rule(worked=OFTEN, named=st.booleans(), cents=CENTS, once=st.booleans(), fixed=st.booleans(), method=st.booleans())
    def begin_payment(self, worked: bool, named: bool, cents: int, once: bool, fixed: bool, method: bool) -> None:
        iban = STRANGE if "payee" in self.userid else MATCHING
        order = Payment(uuid4(), self.product, (Transfer("Anna", iban, cents, "Miete"),))
        code, medium = CHOSEN if method else (None, None)
        wanted = DialogueOptions("84.112.10.7", BACK, code, medium, fixed=fixed)
        self.attempt(lambda owner: self.begun(owner, order, wanted, named=named, of_access=not once))
        if worked:
            self.work()

    @precondition(lambda self: self.orders)
    @rule(which=WHICH, other=st.booleans())
    def repeat_payment(self, which: int, other: bool) -> None:
        dialogue, (order, of_access) = list(self.orders.items())[which % len(self.orders)]
        again = replace(order, instant=True) if other else order
        found = self.attempt(lambda owner: self.begun(owner, again, DialogueOptions(None, BACK), named=True, of_access=of_access))
        gone = of_access and self.seen[dialogue].access_id is None
        assert found in ((PaymentDiffers, NotFound) if other or gone else (dialogue,))

    def begun(self, owner: Owner, order: Payment, wanted: DialogueOptions, *, named: bool, of_access: bool) -> UUID:
        who = BankLogin(DEMO, self.login_hash, None, self.credentials)
        if of_access:
            who = BankLogin(DEMO, self.login_hash, accesses.find(owner, "a"))
        house = self.house
        begun = requests.begin_payment_once(owner, house.vault, house.settings, who, order, wanted, has_payment_id=named)
        if begun.id not in self.known:
            self.known.append(begun.id)
            self.orders[begun.id] = (order, of_access)
        return begun.id

    @precondition(lambda self: len(self.known) < AT_ONCE)
    @rule(worked=OFTEN, method=st.booleans())
    def begin_consent(self, worked: bool, method: bool) -> None:
        def begin(owner: Owner) -> None:
            access = accesses.find(owner, "a", lock=True)
            wanted = DialogueOptions("84.112.10.7", BACK, *(CHOSEN if method else (access.sca_method, access.sca_medium)))
            self.known.append(requests.begin_consent(owner, self.house.vault, self.house.settings, access, wanted).id)

        self.attempt(begin)
        if worked:
            self.work()

    @precondition(lambda self: self.known)
    @rule(which=WHICH, right=OFTEN, number=WHICH)
    def move(self, which: int, right: bool, number: int) -> None:
        """What the step asks for, right or wrong."""
        self.moved(*self.asked(self.seen[self.known[which % len(self.known)]], right, number))

    @precondition(lambda self: self.answerable())
    @rule(which=WHICH, right=OFTEN, number=WHICH, lives=OFTEN)
    def converse(self, which: int, right: bool, number: int, lives: bool) -> None:
        """What an open step asks for, with a worker that lives, or dies when the bank has answered."""
        found = self.answerable()
        self.moved(*self.asked(found[which % len(found)], right, number))
        if lives:
            self.work()
            return
        self.waiting = self.pending()
        if self.waiting:
            self.crash(len(self.waiting) - 1, asks=True, keeps_job=True)

    def answerable(self) -> list[Dialogue]:
        """Dialogues that wait for the customer."""
        asking = {"ChooseMethod", "ChooseMedium", "EnterTan", "ConfirmPayee"}
        return [found for found in self.seen.values() if found.phase == OPEN and found.step["kind"] in asking]

    def asked(self, dialogue: Dialogue, right: bool, number: int) -> tuple[Dialogue, Reply]:
        match steps.load_step(dialogue.step) if dialogue.step else None:
            case ChooseMethod(methods):
                reply = Reply(method=methods[number % len(methods)].code if right else "4711")
            case ConfirmPayee():
                reply = Reply(payee_confirmed=right)
            case ChooseMedium(media):
                reply = Reply(medium=media[number % len(media)].name if right else "Fax")
            case _:
                reply = Reply(tan="42" if right else "41")
        return dialogue, reply

    @precondition(lambda self: self.known)
    @rule(which=WHICH, reply=st.sampled_from(MOVES))
    def move_anyhow(self, which: int, reply: Reply) -> None:
        self.moved(self.seen[self.known[which % len(self.known)]], reply)

    def moved(self, dialogue: Dialogue, reply: Reply) -> None:
        """Puts a move down, which must be refused if the dialogue does not wait for it."""

        def put_down(owner: Owner) -> int:
            found = store.find(owner, dialogue.id, dialogue.kind, lock=True)
            return requests.reply(owner, self.house.vault, found, reply)

        expected: Any = dialogue.move + 1
        if dialogue.phase != OPEN or dialogue.ends_at <= datetime.now(UTC):
            expected = OutOfTurn
        else:
            try:
                steps.check_reply(steps.load_step(dialogue.step), reply)
            except (OutOfTurn, NotOffered) as refused:
                expected = type(refused)
        assert self.attempt(put_down) == expected

    @precondition(lambda self: self.shown)
    @rule(which=WHICH)
    def confirm_elsewhere(self, which: int) -> None:
        dialogue = sorted(self.shown, key=self.known.index)[which % len(self.shown)]
        order = self.orders[dialogue][0]
        if self.fate(order.reference, None) is None and str(order.reference) in self.fates():
            return  # the bank has refused it for ever
        provider = CatalogueBank(DEMO, "Demo", "demo")
        self.bank.confirm_elsewhere(self.userid, order, FetchRequest(provider, self.credentials, self.now))

    @rule(kept=OFTEN)
    def delete_access(self, kept: bool) -> None:
        if kept:
            return
        self.attempt(lambda owner: accesses.remove(owner, [accesses.find(owner, "a", lock=True)]))

    @rule(right=OFTEN)
    def change_pin(self, right: bool) -> None:
        given = self.credentials if right else {**self.credentials, "pin": WRONG_PIN}
        self.attempt(lambda owner: accesses.seal_credentials(owner, self.house.vault, accesses.find(owner, "a"), given))

    # Workers.

    @precondition(lambda self: self.waiting)
    @rule()
    def work(self) -> None:
        """A worker does all that there is to do."""
        for number, job in self.pending():
            self.jobs.append(job)
            worker.advance(self.house, job, self.now)
            self.finish(number)

    @precondition(lambda self: self.waiting)
    @rule(which=WHICH)
    def work_twice(self, which: int) -> None:
        number, job = self.pick(which)
        for _ in range(2):
            worker.advance(self.house, job, self.now)
        self.finish(number)

    @precondition(lambda self: self.waiting)
    @rule(which=WHICH, asks=st.booleans(), keeps_job=st.booleans())
    def crash(self, which: int, asks: bool, keeps_job: bool) -> None:
        """A worker dies before or after the bank has answered, or loses the database: then its job is over."""
        number, job = self.pick(which)
        plan = worker._plan(self.house, job, self.now)
        if plan is not None and asks:
            standing, state = worker._ask_bank(self.house, plan)
            self.late.append(Late(job, standing, state, plan))
            if steps.is_confirmed_elsewhere(standing.step):
                self.show(job.dialogue)
        if not keeps_job:
            self.finish(number)

    @precondition(lambda self: self.late)
    @rule(which=WHICH)
    def answer_late(self, which: int) -> None:
        found = self.late[which % len(self.late)]
        worker._settle(self.house, found.job, found.standing, found.state, found.plan)

    @precondition(lambda self: self.jobs)
    @rule(which=WHICH)
    def run_an_old_job(self, which: int) -> None:
        worker.advance(self.house, self.jobs[which % len(self.jobs)], self.now)

    @precondition(lambda self: self.waiting)
    @rule(which=WHICH)
    def give_up(self, which: int) -> None:
        number, job = self.pick(which)
        worker.give_up(self.house, job)
        self.finish(number)

    @rule(last=st.booleans())
    def look_after(self, last: bool) -> None:
        """The time until the next look at the bank is over, and perhaps no other follows."""
        self.now += timedelta(seconds=5)
        self.sql("UPDATE dialogues SET look_at = clock_timestamp() WHERE user_id = :user AND look_at IS NOT NULL")
        if last:
            self.sql("UPDATE dialogues SET looks = 12 WHERE user_id = :user AND phase = 'UNKNOWN'")
        worker.advance_overdue(self.house)

    @precondition(lambda self: self.known)
    @rule(which=WHICH)
    def run_out_of_time(self, which: int) -> None:
        self.sql(
            "UPDATE dialogues SET ends_at = clock_timestamp() - interval '1 s' WHERE id = :id",
            id=self.known[which % len(self.known)],
        )
        self.seen = self.rows()

    # What always holds.

    @invariant()
    def what_is_told_is_true(self) -> None:
        if not self.known:
            return
        sealed = {subject for (subject,) in self.sql("SELECT subject FROM sealed_values WHERE user_id = :user")}
        before, self.seen, self.waiting = self.seen, self.rows(), self.pending()
        done = {UUID(order["reference"]) for order in executed_orders(self.bank.folder, self.userid)}
        for id_, dialogue in self.seen.items():
            self.runs_forwards(before.get(id_), dialogue)
            codes = [message["code"] for message in dialogue.messages]
            self.place.reached.update((dialogue.kind, dialogue.phase, code) for code in codes)
            if dialogue.phase in (DONE, FAILED) or (dialogue.phase == UNKNOWN and dialogue.look_at is None):
                assert store.subject(id_) not in sealed
                assert len(codes) == 1
            if dialogue.kind == PAYMENT:
                assert (dialogue.phase == DONE) == (codes == ["BA1111"])
                assert (dialogue.payment_id in done) or dialogue.phase != DONE, "told done, and is not"
                assert (dialogue.payment_id not in done) or dialogue.phase != FAILED, f"told failed ({codes}), and is done"
            elif dialogue.phase == DONE:
                assert codes == ["BA3090"]
                assert "consent_ends_at" in read_memory(self.bank.folder, self.userid)
        assert all(self.bank.confirmed[order.reference] <= 1 for order, _ in self.orders.values()), "confirmed twice"
        asks = self.bank.asked[self.userid, WRONG_PIN]
        if self.refused_asks is None and any((kind, FAILED, "BA1011") in self.told() for kind in (CONSENT, PAYMENT)):
            self.refused_asks = asks
        assert self.refused_asks in (None, asks), "a refused PIN is sent again"

    def told(self) -> set[tuple[str, str, str]]:
        return {(row.kind, row.phase, item["code"]) for row in self.seen.values() for item in row.messages}

    def runs_forwards(self, before: Dialogue | None, now: Dialogue) -> None:
        if before is not None:
            assert now.phase in AFTER[before.phase], f"{before.phase} became {now.phase}"
            assert now.move >= before.move
        step = steps.load_step(now.step) if now.step else None
        if now.phase == UNKNOWN:
            assert now.kind == PAYMENT
            assert [message["code"] for message in now.messages] == ["BA1119"]
            self.ever_unknown.add(now.id)
        if now.phase == OPEN:
            assert now.id not in self.ever_unknown, "what is unknown can only become known"
            asks = isinstance(step, ChooseMethod | ChooseMedium | EnterTan | ConfirmPayee)
            assert asks or now.look_at is not None, "nobody's turn"
            assert not now.cancelled, "a cancelled payment goes on"
            assert not isinstance(step, Wait) or step.max_polls is None or now.polls <= step.max_polls, "polled too often"
        if now.phase == FAILED:
            assert isinstance(step, Failed)
        if step is not None and now.kind == PAYMENT and steps.is_confirmed_elsewhere(step):
            self.show(now.id)

    def teardown(self) -> None:
        """Workers that live bring everything to an end, and find out what the bank has executed."""
        if not self.known:
            return
        try:
            self.come_to_an_end()
        finally:
            self.sql("DELETE FROM procrastinate_jobs WHERE args ->> 'user' = CAST(:user AS text)")
            self.sql("DELETE FROM dialogues WHERE user_id = :user")

    def come_to_an_end(self) -> None:
        self.sql("UPDATE dialogues SET ends_at = clock_timestamp() - interval '1 s' WHERE user_id = :user")
        self.what_is_told_is_true()
        for _ in range(4):
            self.work()
            self.what_is_told_is_true()
            self.look_after(last=False)
            self.what_is_told_is_true()
        assert {dialogue.phase for dialogue in self.seen.values()} <= {DONE, FAILED, UNKNOWN, ASKED}
        assert all(dialogue.id in self.ever_unknown for dialogue in self.seen.values() if dialogue.phase == ASKED)

    # Ways to look and to act.

    def acting(self) -> Any:
        return self.house.database.changing_for(self.place.tenant, self.user)

    def attempt(self, action: Callable[[Owner], Any]) -> Any:
        """What an action answers, or the kind of fact that stood in its way; anything else is a mistake."""
        known = (list(self.known), dict(self.orders))
        try:
            with self.acting() as owner:
                return action(owner)
        except FACTS as fact:
            self.known, self.orders = known
            return type(fact)

    def sql(self, statement: str, **values: Any) -> list[Any]:
        with self.house.database.operating() as owner:
            result = owner.session.connection().execute(text(statement), {"user": self.user, **values})
            return list(result) if result.returns_rows else []

    def rows(self) -> dict[UUID, Dialogue]:
        with self.house.database.reading_for(self.place.tenant, self.user) as owner:
            return {row.id: row for row in owner.session.scalars(owner.rows(Dialogue).order_by(Dialogue.created_at))}

    def pending(self) -> list[tuple[int, MoveJob]]:
        """The jobs that wait for a worker, or have lost theirs."""
        mine = "task_name = :task AND args ->> 'user' = CAST(:user AS text)"
        find = f"SELECT id, args FROM procrastinate_jobs WHERE {mine} ORDER BY id"
        return [(number, _job(args)) for number, args in self.sql(find, task=store.MOVE)]

    def pick(self, which: int) -> tuple[int, MoveJob]:
        number, job = self.waiting[which % len(self.waiting)]
        self.jobs.append(job)
        return number, job

    def finish(self, number: int) -> None:
        self.sql("DELETE FROM procrastinate_jobs WHERE id = :id", id=number)

    def show(self, dialogue: UUID) -> None:
        if dialogue in self.orders:
            self.shown.add(dialogue)

    def fates(self) -> dict[str, Any]:
        return read_memory(payments._memory(self.bank.folder), self.userid)

    def fate(self, reference: UUID, otherwise: Any) -> Any:
        return self.fates().get(str(reference), otherwise)


class StoppingMachine(Machine):
    """The same, and now and then the user is deactivated and active again."""

    @rule()
    def deactivate_and_return(self) -> None:
        """What was begun before is over, or ends with the bank's next answer."""
        with self.house.database.acting_for(self.place.tenant) as owner:
            deactivation.deactivate_user(owner, self.user)
            users.lock(owner, self.user).active = True
        assert not {dialogue.phase for dialogue in self.rows().values()} & {OPEN, ASKED}
        assert all(dialogue.look_at is None for dialogue in self.rows().values())


def _job(args: Any) -> MoveJob:
    found = json.loads(args) if isinstance(args, str) else args
    return MoveJob(UUID(found["tenant"]), UUID(found["user"]), UUID(found["dialogue"]), found["move"])


def test_dialogues_tell_the_truth_whatever_happens(place: Place) -> None:
    class Here(Machine):
        def __init__(self) -> None:
            super().__init__(place)

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=25,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    ends = {(PAYMENT, DONE, "BA1111"), (PAYMENT, UNKNOWN, "BA1119"), (CONSENT, DONE, "BA3090")}
    others = {(PAYMENT, FAILED, "BA1103"), (PAYMENT, OPEN, "BA1110"), (CONSENT, OPEN, "BA1110")}
    assert ends | others | {(PAYMENT, OPEN, "BA3030")} <= place.reached, "the runs have not come everywhere"


def test_dialogues_tell_the_truth_when_users_come_and_go(place: Place) -> None:
    class Here(StoppingMachine):
        def __init__(self) -> None:
            super().__init__(place)

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=8,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert (PAYMENT, FAILED, "BA1109") in place.reached


def told_after(machine: Machine, part: str, *actions: Callable[[], object], method: bool) -> list[str]:
    """What a payment of this part is told after a worker has begun it and these things have happened."""
    machine.begin_life(part)
    machine.begin_payment(worked=False, named=True, cents=100, once=False, fixed=False, method=method)
    machine.what_is_told_is_true()
    for action in (machine.work, *actions):
        action()
        machine.what_is_told_is_true()
    (dialogue,) = machine.seen.values()
    machine.teardown()
    return [message["code"] for message in dialogue.messages]


@pytest.mark.parametrize("part", ["test_consent_app", "test_consent_redirect"])
@pytest.mark.parametrize("breaks", ["pin", "access", "time"])
def test_who_can_confirm_elsewhere_is_never_told_that_it_failed(place: Place, part: str, breaks: str) -> None:
    machine = Machine(place)
    breaking: dict[str, Callable[[], None]] = {
        "pin": lambda: machine.change_pin(right=False),
        "access": lambda: machine.delete_access(kept=False),
        "time": lambda: machine.run_out_of_time(0),
    }
    looking = (lambda: machine.look_after(last=False), machine.work)
    confirming = (breaking[breaks], *looking, lambda: machine.confirm_elsewhere(0))
    assert told_after(machine, part, *confirming, method=False) == ["BA1119"]


def test_a_confirmation_whose_worker_died_is_not_sent_again(place: Place) -> None:
    machine = Machine(place)
    dying = (lambda: machine.converse(0, right=True, number=0, lives=False), machine.work, machine.work)
    looking = (lambda: machine.look_after(last=False), machine.work)
    assert told_after(machine, "test_transfer_late_0", *dying, *looking, method=True) == ["BA1111"]
    assert [machine.bank.confirmed[order.reference] for order, _ in machine.orders.values()] == [1]


def test_after_the_last_look_nothing_is_kept(place: Place) -> None:
    machine = Machine(place)
    looking = (lambda: machine.look_after(last=True), machine.work)
    told = told_after(
        machine, "test_transfer_lost", lambda: machine.converse(0, right=True, number=0, lives=True), *looking, method=True
    )
    assert told == ["BA1119"]
    assert machine.bank.confirmed[next(order.reference for order, _ in machine.orders.values())] == 1


def test_a_bank_that_cannot_say_what_became_of_a_payment_is_no_fault(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    machine = Machine(place)
    looking = (capsys.readouterr, lambda: machine.look_after(last=False), machine.work)
    confirming = (lambda: machine.converse(0, right=True, number=0, lives=True), *looking)
    assert told_after(machine, "test_transfer_lost", *confirming, method=True) == ["BA1119"]
    assert "bank_failed" not in capsys.readouterr().out


def polled_by_workers_that_die(machine: Machine, *, asks: bool, keeps_job: bool) -> tuple[Callable[[], object], ...]:
    """A poll whose worker dies before or after the bank has answered, and what the next worker does about it."""
    return (
        lambda: machine.look_after(last=False),
        lambda: machine.crash(0, asks=asks, keeps_job=keeps_job),
        machine.work if keeps_job else lambda: worker.advance_overdue(machine.house),
    )


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize("keeps_job", [True, False])
def test_a_poll_whose_worker_died_goes_on_in_the_same_dialogue(place: Place, asks: bool, keeps_job: bool) -> None:
    machine = Machine(place)
    dying = polled_by_workers_that_die(machine, asks=asks, keeps_job=keeps_job)
    late = (lambda: machine.answer_late(0),) if asks else ()
    looking = (lambda: machine.look_after(last=False), machine.work)
    assert told_after(machine, "test_consent_app", *dying, *late, *looking, method=False) == ["BA1111"]
    assert machine.ever_unknown == set()
    assert [machine.bank.confirmed[order.reference] for order, _ in machine.orders.values()] == [1]


def test_a_bank_is_polled_as_often_as_it_allows(place: Place) -> None:
    machine = Machine(place)
    looking = (lambda: machine.look_after(last=False), machine.work)
    assert told_after(machine, "test_app_silent", *looking, *looking, method=False) == ["BA2002"]
    machine = Machine(place)
    assert told_after(machine, "test_app_silent", *looking_at(machine, 3), method=False) == ["BA1119"]


def looking_at(machine: Machine, times: int) -> tuple[Callable[[], object], ...]:
    return (lambda: machine.look_after(last=False), machine.work) * times


def test_polls_of_dying_workers_are_counted(place: Place) -> None:
    machine = Machine(place)
    dying = polled_by_workers_that_die(machine, asks=False, keeps_job=True)
    assert told_after(machine, "test_app_silent", *dying, *dying, *dying, method=False) == ["BA1119"]


def test_nothing_of_the_bank_is_kept_while_only_the_outcome_is_asked_for(place: Place) -> None:
    machine = Machine(place)
    fields: list[str] = []

    def look_at_seals() -> None:
        fields.extend(field for (field,) in machine.sql("SELECT field FROM sealed_values WHERE user_id = :user"))

    confirming = (lambda: machine.converse(0, right=True, number=0, lives=True), look_at_seals)
    assert told_after(machine, "test_transfer_lost", *confirming, method=True) == ["BA1119"]
    assert "order" in fields
    assert not {"state", "reply", "memory"} & set(fields)


@pytest.mark.parametrize(("kind", "told"), [(PAYMENT, ["BA1119"]), (CONSENT, ["BA999"])])
def test_a_state_that_is_too_large_ends_the_dialogue(place: Place, monkeypatch: Any, kind: str, told: list[str]) -> None:
    """Nobody knows what the bank does with a payment that cannot be continued."""
    resume = place.bank.resume
    large = b"x" * (MAX_STATE_BYTES + 1)
    monkeypatch.setattr(place.bank, "resume", lambda *given: replace(resume(*given), state=large))
    machine = Machine(place)
    machine.begin_life("test_sca_method_media")
    if kind == PAYMENT:
        machine.begin_payment(worked=True, named=True, cents=100, once=False, fixed=False, method=True)
    else:
        machine.begin_consent(worked=True, method=True)
    machine.what_is_told_is_true()
    (dialogue,) = machine.seen.values()
    machine.teardown()
    assert [message["code"] for message in dialogue.messages] == told


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize("keeps_job", [True, False])
def test_a_cancelled_payment_has_failed_whatever_happens_to_its_worker(place: Place, asks: bool, keeps_job: bool) -> None:
    """Nothing was confirmed: there is nothing that nobody knows."""
    machine = Machine(place)
    dying = (
        lambda: machine.moved(*machine.asked(machine.answerable()[0], False, 0)),
        lambda: machine.crash(0, asks=asks, keeps_job=keeps_job),
        machine.work if keeps_job else lambda: worker.advance_overdue(machine.house),
    )
    assert told_after(machine, "test_payee", *dying, method=True) == ["BA1104"]
    assert machine.ever_unknown == set()
    assert executed_orders(machine.bank.folder, machine.userid) == []


def test_a_confirmed_payee_whose_worker_died_is_not_confirmed_again(place: Place) -> None:
    machine = Machine(place)
    dying = (
        lambda: machine.moved(*machine.asked(machine.answerable()[0], True, 0)),
        lambda: machine.crash(0, asks=True, keeps_job=True),
        machine.work,
    )
    assert told_after(machine, "test_payee", *dying, method=True) == ["BA1119"]
    assert executed_orders(machine.bank.folder, machine.userid) == []


def test_a_consent_whose_worker_died_with_a_tan_has_failed(place: Place) -> None:
    machine = Machine(place)
    machine.begin_life("test_sca_method_media")
    machine.begin_consent(worked=True, method=True)
    machine.what_is_told_is_true()
    machine.converse(0, right=True, number=0, lives=False)
    machine.work()
    machine.what_is_told_is_true()
    (dialogue,) = machine.seen.values()
    machine.teardown()
    assert [message["code"] for message in dialogue.messages] == ["BA999"]


def test_a_pin_that_was_refused_is_not_sent_with_the_next_dialogue(place: Place) -> None:
    machine = Machine(place)
    machine.begin_life("test_sca_method_media")
    machine.change_pin(right=False)
    for begin in (machine.begin_consent, machine.begin_consent, machine.begin_consent):
        begin(worked=True, method=True)
        machine.what_is_told_is_true()
    assert machine.told() == {(CONSENT, FAILED, "BA1011")}
    assert machine.bank.asked[machine.userid, WRONG_PIN] == 1
    machine.change_pin(right=True)
    machine.begin_consent(worked=True, method=True)
    machine.what_is_told_is_true()
    assert (CONSENT, OPEN, "BA1110") in machine.told()
    machine.teardown()
