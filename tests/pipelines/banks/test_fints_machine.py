"""The FinTS connector and the simulated FinTS bank in any order of events, in one process.

Hypothesis plays the customer, the worker, the clock and the line: wrong PINs and TANs, PINs that are changed at the bank, waits,
pages of bookings, a worker that dies between any two messages, connections that are cut before or after the bank has heard, and
answers that come twice, late, or without the code that says that they are meant.
The machine does with an answer what the worker does, by the same functions (`pipelines/dialogues/steps.py` and
`pipelines/banks/login_attempts.py`). Whatever happens: no order is given twice, what is told to be done is done, what is told to
have failed never happens, the bank sees a wrong PIN once for each entry of the customer, or twice if it has accepted it before,
and bookings are all there or are said to be missing.

It is cheap: each run begins with the files of a bank at which the customer has given a consent, and asks for the bookings of some
weeks. A failure is shown as it was met, since looking for a shorter one takes minutes.
"""

import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from uuid import uuid4

import polars as pl
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import Phase as RunPhase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from pipelines.banks import login_attempts
from pipelines.banks.base import (
    BankFault,
    ChooseMedium,
    ChooseMethod,
    Code,
    ConfirmPayee,
    Consent,
    EnterTan,
    FetchedBookings,
    FetchRequest,
    Header,
    LoginFate,
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
from pipelines.banks.fints.messages import FIRST_ORDER, NO_DIALOGUE
from pipelines.banks.fints.syntax import Segment, parse, serialise
from pipelines.banks.fints_bank.bank import FintsBank
from pipelines.banks.fints_bank.paying import executed_orders
from pipelines.banks.login_attempts import LoginUnclear
from pipelines.dialogues import steps
from pipelines.dialogues.steps import Phase
from tests.pipelines.banks.cases import NOW
from tests.pipelines.banks.fints_answers import codes_in
from tests.pipelines.banks.test_fints_both_sides import PIN, TAN, Customer, daily_sums, request
from tests.support.fints_line import ADDRESS, Line, connector_of
from warehouse.stores.bank_logins import LoginAttempts

USERS = (
    *("test_mt940", "test_transfer_app", "test_tan", "test_app", "test_several_media", "test_pages", "test_long_history"),
    *("test_payee_polling", "test_payee_report", "test_transfer_unknown", "test_transfer_lost", "test_transfer_refused"),
    *("test_renumbered", "test_numberless", "test_old", "test_9391", "test_lock"),
)
PAGED = ("test_pages", "test_split_day", "test_split_day_mt940")
"""Customers whose bookings come in many pages, which may end within a day."""
POLLED = ("test_app", "test_renumbered", "test_numberless")
"""Customers whose orders follow in moves that the worker makes alone: the login waits for an app, or payees are verified."""
IBANS = ("DE89370400440532013000", "DE63370400440532013080", "DE84370400440532013090")
ORDERS = frozenset(("HKCCS", "HKCSE", "HKIPZ", "HKCCM"))
WRONG_PIN, OTHER_PIN = "99999", "54321"
BOOKING_ORDERS = frozenset(("HKKAZ", "HKCAZ"))
PIN_CODES = frozenset(("9910", "9942", "9340", "9930", "9931"))
MIN_BOOKINGS = 10
MAX_PAYMENT_MESSAGES = 12
"""The messages of a payment with a polled login, verified payees and a confirmation, and of the question for its outcome."""
RECENT_DURATION = timedelta(days=25)
"""How far back customers without pages of bookings are asked for."""
MAX_DIALOGUES = 3
MAX_LOOKS = 3
OFTEN = st.sampled_from((True, True, True, False))
WHICH = st.integers(0, MAX_DIALOGUES - 1)
MISHAPS = (
    *("none", "none", "none", "cut before", "cut after", "unreachable", "twice", "late", "killed before", "killed after"),
    *("uncoded", "order killed before", "order killed after", "order cut after", "confirmation killed after"),
)
"""What can happen to a message, counted from now on: to any, or to one that carries an order or confirms something."""
LOST_ORDERS = (
    "order killed before",
    "order killed after",
    "order cut after",
    "confirmation killed after",
    "confirmation cut after",
)
CONFIRMING = frozenset(("2", "S"))
"""The processes of HKTAN by which a TAN is sent, and an app is asked."""
T = TypeVar("T")
AFTER = {
    Phase.OPEN: set(Phase),
    Phase.UNKNOWN: {Phase.UNKNOWN, Phase.DONE, Phase.FAILED},
    Phase.DONE: {Phase.DONE},
    Phase.FAILED: {Phase.FAILED},
}
"""Which phases may follow."""


@dataclass(frozen=True)
class BankBeginning:
    """A bank whose customer has just given a consent: its files, and what we know then."""

    files: dict[str, bytes]
    memory: bytes
    product: str
    """The key of an account that can pay."""

    def open_bank(self, folder: Path) -> FintsBank:
        for name, content in self.files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        return FintsBank(folder)


@cache
def beginning_of(user_id: str) -> BankBeginning:
    """The bank after the consent of a customer, over a line without mishaps."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turn = Customer(folder, user_id).consent(whole_history_of=frozenset())
        (header,) = (part for part in turn.parts if isinstance(part, Header))
        product = next(product.key for product in header.products if product.bulk_transfer_support)
        files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        return BankBeginning(files, header.memory or b"", product)


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
        self._answers: list[bytes] = []
        """Those on this connection. The first message of a dialogue cannot get an older one: nothing in it would tell."""

    def __enter__(self) -> "BadLine":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def post(self, message: bytes) -> bytes:
        machine, inner = self._machine, signed_segments(message)
        mishap = machine.mishap_of(inner)
        if mishap == "cut before":
            raise NoAnswer
        if mishap == "unreachable":
            raise Unreachable
        if mishap == "killed before":
            raise Killed
        pin = next((each.text(3) for each in inner if each.name == "HNSHA"), "")
        answer = super().post(with_pin_of_bank(message, pin, is_right=pin == machine.pin_at_bank))
        machine.judge(pin, answer)
        machine.note_orders(message, inner, answer)
        is_uncoded = machine.mishap == "uncoded" and machine.place < 0
        if is_uncoded and not BOOKING_ORDERS.isdisjoint(each.name for each in inner):
            machine.uncoded += 1
            return without_codes(answer)
        earlier = self._answers if parse(message)[0].text(3) == NO_DIALOGUE else machine.answers
        if mishap == "twice" and earlier:
            return earlier[-1]
        if mishap == "late" and earlier:
            return earlier[len(earlier) // 2]
        machine.answers.append(answer)
        self._answers.append(answer)
        if mishap == "cut after":
            raise NoAnswer
        if mishap == "killed after":
            raise Killed
        return answer


def signed_segments(message: bytes) -> list[Segment]:
    """The segments inside of a signed message; none of an anonymous one."""
    return [part for each in parse(message) if each.name == "HNVSD" for part in parse(each.binary(1))]


def with_pin_of_bank(message: bytes, pin: str, *, is_right: bool) -> bytes:
    """The message with the one PIN that the simulated bank takes instead of a right one, and else with a wrong one."""
    head, mark, tail = message.rpartition(b"HNSHA:")
    return head + mark + tail.replace(b"++" + pin.encode(), b"++" + (PIN if is_right else WRONG_PIN).encode(), 1)


def without_codes(answer: bytes) -> bytes:
    """The answer without the return codes for its first order; its lengths are not right any more, which nobody minds."""
    outer = [
        replace(each, elements=((serialise([part for part in parse(each.binary(1)) if not is_code(part)]),),))
        if each.name == "HNVSD"
        else each
        for each in parse(answer)
    ]
    return serialise([each for each in outer if not is_code(each)])


def is_code(each: Segment) -> bool:
    """Whether a segment is about the first order of a message."""
    return each.name == "HIRMS" and each.answers == FIRST_ORDER


@dataclass(frozen=True)
class SentOrder:
    """An order that has reached the bank, with the dialogue and the number of its message."""

    dialogue: str
    number: int
    reference: str
    is_held: bool
    """Whether the bank holds it because of its payees: it must come again when the customer has confirmed them."""


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

    line: type[BadLine] = BadLine

    def __init__(self, reached: set[str], users: Sequence[str]) -> None:
        super().__init__()
        self.reached, self.users = reached, users
        self.place, self.mishap = -1, "none"
        self.now = NOW
        self.memory = b""
        self.answers: list[bytes] = []
        self.dialogues: list[Dialogue] = []
        self.entry, self.entered_at = 0, NOW
        """How often the customer has entered the login anew, and when last."""
        self.pin_at_bank = PIN
        self.wrong_pins: Counter[int] = Counter()
        """How often the bank has seen a wrong PIN, by entry, whether we have heard its word or not."""
        self.accepted_entries: set[int] = set()
        self.attempts: dict[str, LoginAttempts] = {}
        """What the house has counted, by PIN."""
        self.uncoded = 0
        """How many answers of the current call lacked the code for their bookings."""
        self.orders_sent: list[SentOrder] = []
        self.refused_entries: set[int] = set()
        self.folder: Any = None

    @initialize(number=st.integers(0, len(USERS) - 1))
    def begin_life(self, number: int) -> None:
        user_id = self.users[number % len(self.users)]
        self.folder = tempfile.TemporaryDirectory()
        beginning = beginning_of(user_id)
        self.bank = beginning.open_bank(Path(self.folder.name))
        self.user_id, self.pin, self.product, self.memory = user_id, PIN, beginning.product, beginning.memory
        self.accepted_entries.add(self.entry)
        self.settle_login(LoginFate.ACCEPTED)
        self.is_paged = user_id in PAGED
        self.reached.add("begun")

    # The customer.

    @precondition(lambda self: self.pays_at_most(MAX_DIALOGUES))
    @rule(iban=st.sampled_from(IBANS), kind=st.sampled_from(("single", "single", "later", "instant", "bulk")))
    def begin_payment(self, iban: str, kind: str) -> None:
        self.begin(self.payment(iban, kind))

    @precondition(lambda self: self.pays_at_most(MAX_DIALOGUES))
    @rule(iban=st.sampled_from((IBANS[0], *IBANS)), mishap=st.sampled_from(LOST_ORDERS), passed=st.integers(0, 1))
    def pay_and_lose_the_order(self, iban: str, mishap: str, passed: int) -> None:
        """The customer does everything right, but the message with the order, or with what confirms it, is the last of its
        worker, or its answer is lost. Another worker goes on with what was stored before.
        """
        self.pay_with_mishap(iban, mishap, passed)

    def pay_with_mishap(self, iban: str, mishap: str, place: int) -> None:
        self.prepare_mishap(mishap, place)
        self.begin(self.payment(iban, "single"))
        self.converse_to_the_end(self.dialogues[-1])
        self.prepare_mishap("none", 0)

    def payment(self, iban: str, kind: str) -> Payment:
        transfers = tuple(
            Transfer("Anna Muster", each, 100, "Miete") for each in ((iban, IBANS[0]) if kind == "bulk" else (iban,))
        )
        day = NOW.date() + timedelta(days=20) if kind == "later" else None
        return Payment(uuid4(), self.product, transfers, kind == "bulk", kind == "instant", day)

    @rule()
    def begin_consent(self) -> None:
        if sum(not dialogue.pays for dialogue in self.dialogues) < MAX_DIALOGUES:
            self.begin(Consent())

    def begin(self, order: Order) -> None:
        if not self.may_ask():  # the house asks nobody with a login that the bank has refused, or may have
            self.enter_pin(right=True)
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
        self.converse_to_the_end(self.open()[which % len(self.open())])

    def converse_to_the_end(self, dialogue: Dialogue) -> None:
        for _ in range(12):
            if dialogue.phase is not Phase.OPEN:
                return
            self.reply(self.open().index(dialogue), right=True, choice=0)

    @precondition(lambda self: self.open())
    @rule(which=WHICH, lost_move=st.integers(0, 6), mishap=st.sampled_from(("killed after", "cut after")))
    def converse_with_a_loss(self, which: int, lost_move: int, mishap: str) -> None:
        """The same; the answer to one move is lost, and whatever can go on goes on."""
        dialogue = self.open()[which % len(self.open())]
        for move in range(12):
            if dialogue.phase is not Phase.OPEN:
                return
            if move == lost_move:
                self.prepare_mishap(mishap, 0)
            self.reply(self.open().index(dialogue), right=True, choice=0)

    @rule(right=OFTEN)
    def enter_pin(self, right: bool) -> None:
        """The customer enters the login anew."""
        self.now += timedelta(seconds=1)
        self.pin, self.entered_at = self.pin_at_bank if right else WRONG_PIN, self.now
        self.entry += 1

    @precondition(lambda self: self.entry in self.accepted_entries)
    @rule()
    def change_pin_at_bank(self) -> None:
        """The customer changes the PIN elsewhere: the one that we have stored is wrong from now on."""
        self.pin_at_bank = PIN if self.pin_at_bank == OTHER_PIN else OTHER_PIN

    # The line and the worker.

    @rule(mishap=st.sampled_from(MISHAPS), place=st.integers(0, 6))
    def prepare_mishap(self, mishap: str, place: int) -> None:
        self.mishap, self.place = mishap, place

    @rule(right=st.booleans(), mishap=st.sampled_from(("cut after", "killed after")))
    def lose_the_answer_to_a_login(self, right: bool, mishap: str) -> None:
        """The customer enters a login, its answer is lost, and the schedule comes round again."""
        self.enter_pin(right)
        self.prepare_mishap(mishap, 0)
        self.fetch()
        self.prepare_mishap("none", 0)
        self.fetch()

    @precondition(lambda self: self.pin == self.pin_at_bank and self.entry in self.accepted_entries)
    @rule(mishaps=st.lists(st.sampled_from(("cut after", "killed after")), min_size=3, max_size=3))
    def lose_answers_after_a_changed_pin(self, mishaps: list[str]) -> None:
        """A PIN that the bank has accepted is changed there, and the answers to the next logins are lost."""
        self.change_pin_at_bank()
        for mishap in mishaps:
            self.prepare_mishap(mishap, 0)
            self.fetch()
        self.prepare_mishap("none", 0)

    @rule()
    def fetch_without_codes(self) -> None:
        """A refresh in which the bank sends bookings and does not say that they are meant."""
        self.prepare_mishap("uncoded", 0)
        self.fetch()
        self.prepare_mishap("none", 0)

    @rule(minutes=st.sampled_from((1, 2, 16)))
    def wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @precondition(lambda self: self.unknown())
    @rule(which=WHICH)
    def look(self, which: int) -> None:
        """The worker asks the bank what became of a payment."""
        dialogue = self.unknown()[which % len(self.unknown())]
        dialogue.looks += 1
        payment = dialogue.order
        assert isinstance(payment, Payment)
        if not self.may_ask():
            return
        try:
            end = self.ask(
                lambda: self.connector.outcome(self.request(dialogue), payment.reference),
                lambda outcome: LoginFate.UNSENT if outcome is None else LoginFate.ACCEPTED,
            )
        except (BankFault, Killed):
            return
        if end is not None:
            self.reached.add(f"looked up {type(end).__name__}")
            self.settle(dialogue, steps.after_step(end, Code.TRANSFER_DONE))

    @rule()
    def fetch(self) -> None:
        """A refresh without the customer: bookings are all there, or said to be missing."""
        if not self.may_ask():
            return
        parts: list[Part] = []

        def receive() -> None:
            for part in self.connector.fetch(self.request(Dialogue(Consent()))):
                self.settle_login(LoginFate.ACCEPTED)
                parts.append(part)  # what has come before a fault counts

        try:
            self.ask(receive, lambda _: LoginFate.ACCEPTED)
        except (BankFault, Killed) as fault:
            self.reached.add(f"fetch {type(fault).__name__}")
        self.check_bookings(parts)
        if parts and isinstance(parts[0], Header) and parts[0].memory:
            self.memory = parts[0].memory

    def move(self, dialogue: Dialogue, reply: Reply | None) -> None:
        """One call of the connector and what the house makes of its answer, or of its death."""
        first, elsewhere = dialogue.state is None, steps.is_confirmed_elsewhere(dialogue.step)
        if not self.may_ask():  # the house ends it without asking the bank
            fault = WrongCredentials() if self.entry in self.refused_entries else LoginUnclear()
            self.settle(dialogue, steps.after_fault(fault, pays=dialogue.pays, first=first, elsewhere=elsewhere))
            return
        try:
            turn = self.ask(lambda: self.called(dialogue, reply), login_of)
        except Killed:
            self.reached.add("killed")
            self.recover(dialogue)
            return
        except BankFault as fault:
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
        standing = steps.after_loss(dialogue.step, dialogue.polls, pays=dialogue.pays, cancelled=dialogue.is_cancelled)
        if standing is not None:  # else it is polled again, with the state before
            self.settle(dialogue, standing)

    def ask(self, call: Callable[[], T], fate_of: Callable[[T], LoginFate]) -> T:
        """The result of a call with the login, as the house makes it: counted before, and settled with what became of it."""
        self.uncoded = 0
        self.attempts[self.pin] = login_attempts.after_sending(self.counted(), self.entered_at, self.now)
        try:
            result = call()
        except BankFault as fault:
            self.settle_login(fault.login_fate)
            if fault.refuses_login:
                self.refused_entries.add(self.entry)
                self.reached.add("login refused")
            raise
        self.settle_login(fate_of(result))
        return result

    def settle_login(self, fate: LoginFate) -> None:
        self.attempts[self.pin] = login_attempts.after_call(self.counted(), fate, self.entered_at, self.now)

    def counted(self) -> LoginAttempts:
        return self.attempts.get(self.pin, LoginAttempts())

    def may_ask(self) -> bool:
        """Whether the house asks the bank with the login as it was entered last."""
        if not login_attempts.may_send(self.counted(), self.entered_at):
            self.reached.add("login unclear")
            return False
        return self.entry not in self.refused_entries

    def settle(self, dialogue: Dialogue, standing: steps.Standing) -> None:
        if dialogue.phase is Phase.OPEN and not login_attempts.may_send(self.counted(), self.entered_at):
            standing = steps.asking_for_login(standing, "")
        dialogue.phase, dialogue.step = standing.phase, standing.step
        dialogue.history.append(standing.phase)
        kind = "payment" if dialogue.pays else "consent"
        self.reached.add(f"{kind} {standing.phase} {type(standing.step).__name__}")

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
    def a_wrong_pin_is_sent_once_for_each_entry(self) -> None:
        for entry, times in self.wrong_pins.items():
            limit = 2 if entry in self.accepted_entries else 1
            assert times <= limit, f"the bank has seen {times} wrong PINs of one entry"

    @invariant()
    def no_order_is_given_twice(self) -> None:
        if self.folder is None:
            return
        given_orders = Counter(order.reference for order in self.orders_sent if not order.is_held)
        for reference, messages in given_orders.items():
            assert messages <= 1, f"the order {reference} came {messages} times"
        places = Counter((order.dialogue, order.number) for order in self.orders_sent)
        assert all(count == 1 for count in places.values()), "the message with an order was sent twice"

    def teardown(self) -> None:
        """Time passes without mishaps: every dialogue comes to its end, and what is unknown is looked up."""
        if self.folder is None:
            return
        with self.folder:  # or Python removes it when it likes, and warns of that while it parses a source: it cannot do both
            self.come_to_an_end()

    def come_to_an_end(self) -> None:
        self.mishap, self.place = "none", -1
        if self.pin != self.pin_at_bank or not self.may_ask():
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
        self.a_wrong_pin_is_sent_once_for_each_entry()

    # Ways to look and to act.

    @property
    def connector(self) -> FintsConnector:
        def connect(_address: str) -> Any:
            return self.line(self.bank, self.now, self)

        return FintsConnector(None, ADDRESS, connect)

    def mishap_of(self, inner: Sequence[Segment]) -> str:
        """What happens to the next message, with these segments."""
        target, _, mishap = self.mishap.partition(" ")
        if target not in ("order", "confirmation"):
            self.place -= 1
            return self.mishap if self.place == -1 else "none"
        has_order = any(each.name in ORDERS for each in inner)
        confirms = any(each.name == "HKTAN" and each.text(1) in CONFIRMING for each in inner)
        if not (has_order if target == "order" else confirms):
            return "none"
        self.place -= 1
        if self.place >= 0:
            return "none"
        self.mishap = "none"
        self.reached.add(f"{target} lost")
        return mishap

    def note_orders(self, message: bytes, inner: Sequence[Segment], answer: bytes) -> None:
        """Notes the orders in a message that has reached the bank."""
        head, is_held = parse(message)[0], "3945" in codes_in(answer)
        for each in inner:
            if each.name in ORDERS:
                document = each.binary(5 if each.name == "HKCCM" else 3)
                reference = document.partition(b"<MsgId>")[2].partition(b"</MsgId>")[0].decode()
                self.orders_sent.append(SentOrder(head.text(3), int(head.text(4)), reference, is_held))

    def judge(self, pin: str, answer: bytes) -> None:
        """Notes what the bank thinks of a PIN. One that no longer knows the dialogue does not look at it."""
        is_blamed = bool(PIN_CODES & set(codes_in(answer)))
        if pin and pin != self.pin_at_bank:
            self.wrong_pins[self.entry] += is_blamed
        elif pin and not is_blamed:
            self.accepted_entries.add(self.entry)

    def request(self, dialogue: Dialogue) -> FetchRequest:
        """Only the account that pays is wanted, and only of the last 90 days, or of some weeks."""
        wanted = request(self.user_id, dialogue.memory or self.memory, self.pin, whole_history_of=frozenset())
        since = {} if self.is_paged else {self.product: (NOW - RECENT_DURATION).date()}
        return replace(wanted, now=self.now, wanted=frozenset((self.product,)), since=since)

    def check_bookings(self, parts: Any) -> None:
        """Bookings that came are those of the bank, from the day on that they promise."""
        for part in parts:
            if isinstance(part, FetchedBookings):
                self.reached.add("bookings")
                assert not self.uncoded, "bookings without a positive code were believed"
                is_recent = pl.col("booked_on") >= part.complete_from
                bookings = truth()[part.product].filter(is_recent)
                assert bookings.height > MIN_BOOKINGS
                assert daily_sums(part.frame).equals(daily_sums(bookings)), "lost or doubled"

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


def login_of(turn: Turn) -> LoginFate:
    return turn.login


class InsistentLine(BadLine):
    """A fault on purpose: an order whose answer is lost is sent again."""

    def post(self, message: bytes) -> bytes:
        try:
            return super().post(message)
        except NoAnswer:
            if ORDERS.isdisjoint(each.name for each in signed_segments(message)):
                raise
            return super().post(message)


class InsistentLines(Machine):
    line = InsistentLine


class InsistentWorkers(Machine):
    """A fault on purpose: whatever of a payment a dead worker was about is done again, with what was stored before."""

    def recover(self, dialogue: Dialogue) -> None:
        """Leaves a payment that has begun as it is."""
        if dialogue.state is None or not dialogue.pays:
            super().recover(dialogue)


def run(examples: int, steps_of_each: int, users: Sequence[str] = USERS, machine: type[Machine] = Machine) -> set[str]:
    """Runs the machine; returns what was reached."""
    reached: set[str] = set()
    lives = itertools.count()
    life = 0

    class Here(machine):  # type: ignore[misc,valid-type]  # mypy knows no bases that are arguments
        def __init__(self) -> None:
            nonlocal life
            life = next(lives)
            super().__init__(reached, users)

    try:
        run_state_machine_as_test(
            Here,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps_of_each,
                deadline=None,
                derandomize=True,
                database=None,
                phases=(RunPhase.generate,),
                suppress_health_check=list(HealthCheck),
            ),
        )
    except BaseException as error:
        error.add_note(f"in example {life} of {examples}")
        raise
    return reached


ENDS = {
    *("payment DONE Done", "payment FAILED Failed", "payment UNKNOWN Failed", "consent DONE Done", "consent FAILED Failed"),
    *("payment OPEN EnterTan", "payment OPEN Wait", "payment OPEN ConfirmPayee", "bookings", "killed", "login refused"),
    "login unclear",
}
USUAL_ENDS = {"payment DONE Done", "bookings", "killed", "login refused", "order lost", "confirmation lost"}
"""What few runs come to, whatever the order of their moves."""


def test_payments_and_bookings_tell_the_truth_whatever_happens() -> None:
    assert run(32, 25) >= USUAL_ENDS, "the runs have not come everywhere"


def test_pages_of_bookings_are_all_there_whatever_happens() -> None:
    assert run(6, 12, PAGED) >= {"bookings"}


def test_orders_behind_a_polled_login_are_given_once_whatever_happens() -> None:
    assert run(30, 15, POLLED) >= {"payment OPEN Wait", "order lost", "confirmation lost"}


@pytest.mark.parametrize("machine", [InsistentLines, InsistentWorkers])
def test_an_order_that_is_sent_again_is_seen(machine: type[Machine]) -> None:
    with pytest.raises(AssertionError, match=r"came 2 times|was sent twice|executed twice|and is done"):
        run(60, 25, POLLED, machine)


def lose_in_payment(user_id: str, mishap: str, place: int) -> None:
    """A payment and all that follows, with a mishap at one of its messages."""
    machine = Machine(set(), (user_id,))
    machine.begin_life(0)
    machine.pay_with_mishap(IBANS[0], mishap, place)
    machine.teardown()


@pytest.mark.parametrize("user_id", [*POLLED, "test_mt940", "test_transfer_app", "test_transfer_unknown"])
@pytest.mark.parametrize("mishap", LOST_ORDERS)
def test_an_order_is_given_once_wherever_its_worker_dies(user_id: str, mishap: str) -> None:
    for passed in range(2):
        lose_in_payment(user_id, mishap, passed)


@pytest.mark.thorough
@pytest.mark.parametrize("user_id", USERS)
def test_a_payment_survives_a_loss_at_any_of_its_messages(user_id: str) -> None:
    for mishap in ("killed before", "killed after", "cut after", "twice", "late"):
        for place in range(MAX_PAYMENT_MESSAGES):
            lose_in_payment(user_id, mishap, place)


@pytest.mark.thorough
def test_payments_and_bookings_tell_the_truth_in_many_runs() -> None:
    assert run(150, 40) >= ENDS | {"looked up Done", "payment OPEN ChooseMethod"}
