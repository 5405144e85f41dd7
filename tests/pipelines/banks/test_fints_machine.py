"""The FinTS connector and the simulated FinTS bank in any order of events, in one process.

Hypothesis plays the customer, the worker, the clock and the line: wrong PINs and TANs, waits, pages of bookings, a worker that
dies between any two messages, connections that are cut before or after the bank has heard, and answers that come twice or late.
The machine does with an answer what the worker does, by the same functions (`pipelines/dialogues/steps.py`). Whatever happens: no
order is given twice, what is told to be done is done, what is told to have failed never happens, a PIN whose refusal was heard
is not sent again, and bookings are all there or are said to be missing.
"""

import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

import polars as pl
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from pipelines.banks.base import (
    BankFault,
    ChooseMedium,
    ChooseMethod,
    Code,
    ConfirmPayee,
    Consent,
    Done,
    EnterTan,
    FetchedBookings,
    FetchRequest,
    Header,
    NoAnswer,
    Order,
    Part,
    Payee,
    Payment,
    Reply,
    Step,
    Transfer,
    Turn,
    Unreachable,
    WrongCredentials,
)
from pipelines.banks.fints.bank import FintsConnector
from pipelines.banks.fints.syntax import parse
from pipelines.banks.fints_bank.bank import FintsBank, read_journal
from pipelines.banks.fints_bank.paying import executed_orders
from pipelines.dialogues import steps
from pipelines.dialogues.steps import Phase
from tests.pipelines.banks.cases import NOW
from tests.pipelines.banks.fints_answers import codes_in
from tests.pipelines.banks.test_fints_both_sides import PIN, TAN, daily_sums, request
from tests.support.fints_line import ADDRESS, Line, connector_of

USERS = (
    *("test_mt940", "test_transfer_app", "test_tan", "test_app", "test_several_media", "test_pages", "test_long_history"),
    *("test_payee_polling", "test_payee_report", "test_transfer_unknown", "test_transfer_lost", "test_transfer_refused"),
    *("test_renumbered", "test_old", "test_9391", "test_lock"),
)
IBANS = ("DE89370400440532013000", "DE63370400440532013080", "DE84370400440532013090")
ORDERS = frozenset(("HKCCS", "HKCSE", "HKIPZ", "HKCCM"))
WRONG_PIN = "99999"
PIN_CODES = frozenset(("9910", "9942", "9340", "9930", "9931"))
MAX_DIALOGUES = 3
MAX_LOOKS = 3
OFTEN = st.sampled_from((True, True, True, False))
WHICH = st.integers(0, MAX_DIALOGUES - 1)
MISHAPS = ("none", "none", "none", "cut before", "cut after", "unreachable", "twice", "late", "killed before", "killed after")
AFTER = {
    Phase.OPEN: set(Phase),
    Phase.UNKNOWN: {Phase.UNKNOWN, Phase.DONE, Phase.FAILED},
    Phase.DONE: {Phase.DONE},
    Phase.FAILED: {Phase.FAILED},
}
"""Which phases may follow."""


@cache
def truth() -> dict[str, pl.DataFrame]:
    """The bookings of the customer, over a line without mishaps and as MT940 without a TAN."""
    with tempfile.TemporaryDirectory() as folder:
        parts = connector_of(FintsBank(Path(folder)), NOW).fetch(request("test_one_step"))
        return {part.product: part.frame for part in parts if isinstance(part, FetchedBookings)}


class Killed(BaseException):
    """The worker is gone, in the middle of a call."""


class BadLine(Line):
    """A line on which one message of a call, counted from 0, meets with a mishap."""

    def __init__(self, bank: FintsBank, now: datetime, machine: "Machine") -> None:
        super().__init__(bank, now)
        self._machine = machine

    def __enter__(self) -> "BadLine":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def post(self, message: bytes) -> bytes:
        machine = self._machine
        mishap = machine.mishap if machine.place == 0 else "none"
        machine.place -= 1
        if mishap == "cut before":
            raise NoAnswer
        if mishap == "unreachable":
            raise Unreachable
        if mishap == "killed before":
            raise Killed
        pin = machine.note(message)
        answer = super().post(message)
        if mishap == "twice" and machine.answers:
            return machine.answers[-1]
        if mishap == "late" and machine.answers:
            return machine.answers[len(machine.answers) // 2]
        machine.answers.append(answer)
        if mishap == "cut after":
            raise NoAnswer
        if mishap == "killed after":
            raise Killed
        if pin != PIN and PIN_CODES & set(codes_in(answer)):  # a bank that no longer knows the dialogue does not look at the PIN
            machine.refused_pins.add((machine.entry, pin))
        return answer


@dataclass
class Dialogue:
    """A dialogue as the house stores it."""

    order: Order
    phase: Phase = Phase.OPEN
    step: Step | Payee | None = None
    state: bytes | None = None
    memory: bytes | None = None
    polls: int = 0
    looks: int = 0
    is_cancelled: bool = False
    history: list[Phase] = field(default_factory=list)

    @property
    def pays(self) -> bool:
        return isinstance(self.order, Payment)


class Machine(RuleBasedStateMachine):
    """One customer of one bank, and everything that can happen between them."""

    def __init__(self, reached: set[str]) -> None:
        super().__init__()
        self.reached = reached
        self.place, self.mishap = -1, "none"
        self.now = NOW
        self.memory = b""
        self.answers: list[bytes] = []
        self.dialogues: list[Dialogue] = []
        self.entry = 0
        """How often the customer has entered the login anew."""
        self.refused_pins: set[tuple[int, str]] = set()
        """Wrong PINs, by entry, of which the bank's word has reached us."""
        self.orders_sent: list[tuple[str, int, str]] = []
        """Dialogue, number and reference of each message with an order that has reached the bank."""
        self.refused_entries: set[int] = set()
        self.folder: Any = None

    @initialize(user_id=st.sampled_from(USERS))
    def begin_life(self, user_id: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.bank = FintsBank(Path(self.folder.name))
        self.user_id, self.pin, self.product = f"{user_id}_{uuid4().hex[:8]}", PIN, ""
        self.product = self.consented()
        self.reached.add("begun")

    def consented(self) -> str:
        """The key of an account that can pay, after a consent without mishaps."""
        dialogue = Dialogue(Consent())
        turn = self.connector.start(Consent(), self.request(dialogue))
        for _ in range(30):
            if isinstance(turn.step, Done):
                break
            dialogue.memory = turn.memory
            turn = self.connector.resume(self.request(dialogue), turn.state, self.right_reply(turn.step, 0))
        assert turn.step == Done()
        header = turn.parts[0]
        assert isinstance(header, Header)
        self.memory = header.memory or b""
        return next(product.key for product in header.products if product.bulk_transfer_support)

    # The customer.

    @precondition(lambda self: self.pays_at_most(MAX_DIALOGUES))
    @rule(iban=st.sampled_from(IBANS), kind=st.sampled_from(("single", "single", "later", "instant", "bulk")))
    def begin_payment(self, iban: str, kind: str) -> None:
        transfers = tuple(
            Transfer("Anna Muster", each, 100, "Miete") for each in ((iban, IBANS[0]) if kind == "bulk" else (iban,))
        )
        day = NOW.date() + timedelta(days=20) if kind == "later" else None
        payment = Payment(uuid4(), self.product, transfers, kind == "bulk", kind == "instant", day)
        self.begin(payment)

    @rule()
    def begin_consent(self) -> None:
        if sum(not dialogue.pays for dialogue in self.dialogues) < MAX_DIALOGUES:
            self.begin(Consent())

    def begin(self, order: Order) -> None:
        if self.entry in self.refused_entries:
            return  # the house asks nobody with a login that the bank has refused
        dialogue = Dialogue(order)
        self.dialogues.append(dialogue)
        self.move(dialogue, None)

    @precondition(lambda self: self.open())
    @rule(which=WHICH, right=OFTEN, choice=st.integers(0, 3))
    def reply(self, which: int, right: bool, choice: int) -> None:
        """What a step asks for, right or wrong; or a poll, if the bank is polled."""
        dialogue = self.open()[which % len(self.open())]
        if steps.poll_seconds(dialogue.step) is not None:
            dialogue.polls += 1
            self.move(dialogue, Reply())
            return
        assert dialogue.step is not None
        assert not isinstance(dialogue.step, Payee)
        move = self.right_reply(dialogue.step, choice) if right else self.wrong_reply(dialogue.step)
        dialogue.is_cancelled = move.payee_confirmed is False
        self.move(dialogue, move)

    @precondition(lambda self: self.open())
    @rule(which=WHICH)
    def converse(self, which: int) -> None:
        """Everything up to the end, as the customers of most days."""
        dialogue = self.open()[which % len(self.open())]
        for _ in range(12):
            if dialogue.phase is not Phase.OPEN:
                return
            self.reply(self.open().index(dialogue), right=True, choice=0)

    @rule(right=OFTEN)
    def enter_pin(self, right: bool) -> None:
        """The customer enters the login anew."""
        self.pin = PIN if right else WRONG_PIN
        self.entry += 1

    # The line and the worker.

    @rule(mishap=st.sampled_from(MISHAPS), place=st.integers(0, 6))
    def prepare_mishap(self, mishap: str, place: int) -> None:
        self.mishap, self.place = mishap, place

    @rule(minutes=st.sampled_from((1, 2, 16)))
    def wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @precondition(lambda self: self.unknown())
    @rule(which=WHICH)
    def look(self, which: int) -> None:
        """The worker asks the bank what became of a payment."""
        dialogue = self.unknown()[which % len(self.unknown())]
        dialogue.looks += 1
        assert isinstance(dialogue.order, Payment)
        if self.entry in self.refused_entries:
            return
        try:
            end = self.connector.outcome(self.request(dialogue), dialogue.order.reference)
        except (BankFault, Killed) as fault:
            self.note_login(fault)
            return
        if end is not None:
            self.reached.add(f"looked up {type(end).__name__}")
            self.settle(dialogue, steps.after_step(end, Code.TRANSFER_DONE))

    @rule()
    def fetch(self) -> None:
        """A refresh without the customer: bookings are all there, or said to be missing."""
        if self.entry in self.refused_entries:
            return
        parts: list[Part] = []
        try:
            for part in self.connector.fetch(self.request(Dialogue(Consent()))):
                parts.append(part)  # noqa: PERF402  what has come before a fault counts
        except (BankFault, Killed) as fault:
            self.note_login(fault)
        self.check_bookings(parts)
        if parts and isinstance(parts[0], Header) and parts[0].memory:
            self.memory = parts[0].memory

    def move(self, dialogue: Dialogue, reply: Reply | None) -> None:
        """One call of the connector and what the house makes of its answer, or of its death."""
        first, elsewhere = dialogue.state is None, steps.is_confirmed_elsewhere(dialogue.step)
        if self.entry in self.refused_entries:  # a login that the bank has refused is not used before it is entered anew
            self.settle(dialogue, steps.after_fault(WrongCredentials(), pays=dialogue.pays, first=first, elsewhere=elsewhere))
            return
        try:
            turn = self.called(dialogue, reply)
        except Killed:
            self.reached.add("killed")
            self.recover(dialogue)
            return
        except BankFault as fault:
            self.note_login(fault)
            standing = steps.after_fault(fault, pays=dialogue.pays, first=first, elsewhere=elsewhere)
            self.settle(dialogue, steps.after_cancellation(None) if dialogue.is_cancelled else standing)
            return
        self.check_bookings(turn.parts)
        standing = steps.after_step(turn.step, Code.TRANSFER_DONE)
        if dialogue.is_cancelled:
            standing = steps.after_cancellation(standing)
        before, is_open = dialogue.step, standing.phase is Phase.OPEN
        dialogue.memory = turn.memory or dialogue.memory
        if is_open:
            dialogue.polls = dialogue.polls if steps.goes_on_waiting(before, standing.step) else 0
            if steps.poll_seconds(standing.step) is not None and not steps.may_poll(standing.step, dialogue.polls):
                standing = steps.after_expiry(standing.step, pays=dialogue.pays)
            dialogue.state = turn.state
        elif standing.phase is Phase.DONE and dialogue.memory:
            self.memory = dialogue.memory
        self.settle(dialogue, standing)

    def called(self, dialogue: Dialogue, reply: Reply | None) -> Turn:
        if reply is None or dialogue.state is None:
            return self.connector.start(dialogue.order, self.request(dialogue))
        return self.connector.resume(self.request(dialogue), dialogue.state, reply)

    def recover(self, dialogue: Dialogue) -> None:
        """What another worker does about a dialogue whose worker died while it called the bank."""
        if steps.poll_seconds(dialogue.step) is not None and steps.may_poll(dialogue.step, dialogue.polls):
            return  # it is polled again, with the state before
        standing = steps.after_fault(RuntimeError(), pays=dialogue.pays, first=False)
        self.settle(dialogue, steps.after_cancellation(None) if dialogue.is_cancelled else standing)

    def settle(self, dialogue: Dialogue, standing: steps.Standing) -> None:
        dialogue.phase, dialogue.step = standing.phase, standing.step
        dialogue.history.append(standing.phase)
        kind = "payment" if dialogue.pays else "consent"
        self.reached.add(f"{kind} {standing.phase} {type(standing.step).__name__}")

    def note_login(self, fault: BaseException) -> None:
        if isinstance(fault, BankFault) and fault.refuses_login:
            self.refused_entries.add(self.entry)
            self.reached.add("login refused")

    # What always holds.

    @invariant()
    def what_is_told_is_true(self) -> None:
        if self.folder is None:
            return
        executed = Counter(order["message_id"] for order in executed_orders(self.bank.folder, self.user_id))
        assert all(count == 1 for count in executed.values()), "an order was executed twice"
        for dialogue in self.dialogues:
            pairs = zip(dialogue.history, dialogue.history[1:], strict=False)
            assert all(after in AFTER[before] for before, after in pairs), f"ran backwards: {dialogue.history}"
            if isinstance(dialogue.order, Payment):
                is_executed = dialogue.order.reference.hex in executed
                assert is_executed or dialogue.phase is not Phase.DONE, "told done, and is not"
                assert not is_executed or dialogue.phase is not Phase.FAILED, f"told {dialogue.step}, and is done"
            else:
                assert dialogue.phase is not Phase.UNKNOWN

    @invariant()
    def no_order_is_given_twice(self) -> None:
        if self.folder is None:
            return
        for reference, messages in self.orders_at_bank().items():
            assert messages <= 1, f"the order {reference} came {messages} times"

    def orders_at_bank(self) -> Counter[str]:
        """How many messages gave each order to the bank, without those that it held because of their payees."""
        entries = [entry for entry in read_journal(self.bank.folder) if ORDERS & set(entry["orders"])]
        held = {(entry["dialogue"], entry["number"]) for entry in entries if "3945" in entry["codes"]}
        return Counter(reference for dialogue, number, reference in self.orders_sent if (dialogue, number) not in held)

    def teardown(self) -> None:
        """Time passes without mishaps: every dialogue comes to its end, and what is unknown is looked up."""
        if self.folder is None:
            return
        self.mishap, self.place = "none", -1
        if self.pin != PIN or self.entry in self.refused_entries:
            self.enter_pin(right=True)
        for dialogue in self.open():
            for _ in range(30):
                if dialogue.phase is Phase.OPEN:
                    self.reply(self.open().index(dialogue), right=True, choice=0)
        for dialogue in self.unknown():
            self.look(self.unknown().index(dialogue))
            self.what_is_told_is_true()
        assert not self.open()
        self.what_is_told_is_true()
        self.no_order_is_given_twice()
        self.folder.cleanup()

    # Ways to look and to act.

    @property
    def connector(self) -> FintsConnector:
        def connect(_address: str) -> Any:
            return BadLine(self.bank, self.now, self)

        return FintsConnector(None, ADDRESS, connect)

    def note(self, message: bytes) -> str:
        """The PIN of a message that reaches the bank; notes the reference of an order."""
        outer = parse(message)
        inner = [part for each in outer if each.name == "HNVSD" for part in parse(each.binary(1))]
        pin = next((each.text(3) for each in inner if each.name == "HNSHA"), PIN)
        assert (self.entry, pin) not in self.refused_pins, "a PIN that the bank has refused is sent again"
        for each in inner:
            if each.name in ORDERS:
                document = each.binary(5 if each.name == "HKCCM" else 3)
                reference = document.partition(b"<MsgId>")[2].partition(b"</MsgId>")[0].decode()
                self.orders_sent.append((outer[0].text(3), int(outer[0].text(4)), reference))
        return pin

    def request(self, dialogue: Dialogue) -> FetchRequest:
        """Only the account that pays is wanted, and only of the last 90 days."""
        wanted = request(self.user_id, dialogue.memory or self.memory, self.pin, whole_history_of=frozenset())
        return replace(wanted, now=self.now, wanted=frozenset((self.product,) if self.product else ()))

    def check_bookings(self, parts: Any) -> None:
        """Bookings that came are those of the bank, from the day on that they promise."""
        for part in parts:
            if isinstance(part, FetchedBookings):
                self.reached.add("bookings")
                is_recent = pl.col("booked_on") >= part.complete_from
                assert daily_sums(part.frame).equals(daily_sums(truth()[part.product].filter(is_recent))), "lost or doubled"

    def right_reply(self, step: Step, choice: int) -> Reply:
        match step:
            case ChooseMethod(methods):
                return Reply(method=methods[choice % len(methods)].code)
            case ChooseMedium(media):
                return Reply(medium=media[choice % len(media)].name)
            case EnterTan():
                return Reply(tan=TAN)
            case ConfirmPayee():
                return Reply(payee_confirmed=True)
        return Reply()

    def wrong_reply(self, step: Step) -> Reply:
        match step:
            case ChooseMethod():
                return Reply(method="4711")
            case ChooseMedium():
                return Reply(medium="Fax")
            case ConfirmPayee():
                return Reply(payee_confirmed=False)
        return Reply(tan="000000")

    def pays_at_most(self, count: int) -> bool:
        return self.folder is not None and sum(dialogue.pays for dialogue in self.dialogues) < count

    def open(self) -> list[Dialogue]:
        return [dialogue for dialogue in self.dialogues if dialogue.phase is Phase.OPEN]

    def unknown(self) -> list[Dialogue]:
        return [dialogue for dialogue in self.dialogues if dialogue.phase is Phase.UNKNOWN and dialogue.looks < MAX_LOOKS]


def run(examples: int, steps_of_each: int) -> set[str]:
    """Runs the machine; returns what was reached."""
    reached: set[str] = set()

    class Here(Machine):
        def __init__(self) -> None:
            super().__init__(reached)

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps_of_each,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return reached


ENDS = {
    *("payment DONE Done", "payment FAILED Failed", "payment UNKNOWN Failed", "consent DONE Done", "consent FAILED Failed"),
    *("payment OPEN EnterTan", "payment OPEN Wait", "payment OPEN ConfirmPayee", "bookings", "killed", "login refused"),
}


def test_payments_and_bookings_tell_the_truth_whatever_happens() -> None:
    assert run(20, 25) >= ENDS, "the runs have not come everywhere"


@pytest.mark.thorough
def test_payments_and_bookings_tell_the_truth_in_many_runs() -> None:
    assert run(300, 40) >= ENDS | {"looked up Done", "payment OPEN ChooseMethod", "payment OPEN ChooseMedium"}
