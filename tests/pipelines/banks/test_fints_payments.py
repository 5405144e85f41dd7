"""Payments of the FinTS connector at the simulated FinTS bank, with a new connector for every move."""

from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from pipelines.banks.base import (
    BankFault,
    ChooseMedium,
    ChooseMethod,
    Code,
    ConfirmPayee,
    Consent,
    Done,
    EnterTan,
    Failed,
    FetchedProduct,
    FetchRequest,
    Header,
    NoAnswer,
    PayeeMatch,
    Payment,
    Reply,
    Step,
    Transfer,
    Turn,
    Wait,
)
from pipelines.banks.fints_bank.bank import FintsBank, read_journal
from pipelines.banks.fints_bank.paying import executed_orders
from tests.pipelines.banks.cases import NOW
from tests.pipelines.banks.test_fints_both_sides import PIN, TAN, request
from tests.support.fints_line import connector_of

MATCH, CLOSE = "DE89370400440532013000", "DE63370400440532013080"
NO_MATCH, NOT_POSSIBLE = "DE84370400440532013090", "DE46370400440532013095"
ORDERS = {"HKCCS", "HKCSE", "HKIPZ", "HKCCM"}
MAX_STEPS = 30


def transfer(iban: str = MATCH, cents: int = 1250, **changes: Any) -> Transfer:
    return replace(Transfer("Anna Muster", iban, cents, "Rechnung 4711"), **changes)


@dataclass
class Payer:
    """A customer who has given a consent, and then pays."""

    folder: Path
    user_id: str
    tan: str = TAN
    confirms: bool = True
    method: str | None = None
    steps: list[Step] = field(default_factory=list)
    memory: bytes = b""
    products: tuple[FetchedProduct, ...] = ()

    def __post_init__(self) -> None:
        self.bank = FintsBank(self.folder)
        turn = self.play(self.connector.start(Consent(), self.request(wanted=frozenset())), TAN)
        assert turn.step == Done()
        header = turn.parts[0]
        assert isinstance(header, Header)
        self.memory, self.products = header.memory or b"", header.products
        self.steps.clear()
        self.first_message = len(self.journal)

    @property
    def connector(self) -> Any:
        return connector_of(self.bank, NOW)

    def request(self, **changes: Any) -> FetchRequest:
        return request(self.user_id, self.memory, **changes)

    @property
    def journal(self) -> list[dict[str, Any]]:
        return read_journal(self.folder)

    @property
    def account(self) -> str:
        return next(product.key for product in self.products if product.bulk_transfer_support)

    def payment(self, *transfers: Transfer, **changes: Any) -> Payment:
        return Payment(uuid4(), self.account, transfers or (transfer(),), **changes)

    def start(self, payment: Payment) -> Turn:
        turn: Turn = self.connector.start(payment, self.request())
        return turn

    def resume(self, turn: Turn, reply: Reply) -> Turn:
        following: Turn = self.connector.resume(request(self.user_id, turn.memory or self.memory), turn.state, reply)
        return following

    def pay(self, payment: Payment) -> Turn:
        return self.play(self.start(payment), self.tan)

    def play(self, turn: Turn, tan: str) -> Turn:
        while not isinstance(turn.step, Done | Failed):
            self.steps.append(turn.step)
            assert len(self.steps) < MAX_STEPS
            turn = self.resume(turn, self.reply(turn.step, tan))
        return turn

    def reply(self, step: Step, tan: str) -> Reply:
        match step:
            case ChooseMethod(methods):
                return Reply(method=self.method or methods[0].code)
            case ChooseMedium(media):
                return Reply(medium=media[0].name)
            case EnterTan():
                return Reply(tan=tan)
            case ConfirmPayee():
                return Reply(payee_confirmed=self.confirms)
        return Reply()

    @property
    def kinds(self) -> list[type]:
        return [type(step) for step in self.steps]

    def executed(self) -> list[dict[str, Any]]:
        return executed_orders(self.folder, self.user_id)

    def order_messages(self) -> list[dict[str, Any]]:
        """The messages with an order, without those that the bank has held until the payees are confirmed."""
        sent = [entry for entry in self.journal if ORDERS & set(entry["orders"])]
        return [entry for entry in sent if "3945" not in entry["codes"]]


# Single transfers.


@pytest.mark.parametrize(
    ("user_id", "method", "kinds"),
    [
        ("demo1", None, [Wait] * 3),
        ("demo2", "911", [ChooseMethod, ChooseMedium, EnterTan]),
        ("demo4", None, [EnterTan]),
        ("demo5", "972", [ChooseMethod, EnterTan]),
        ("demo8", None, [Wait] * 3),
        ("test_mt940", None, [EnterTan]),
        ("test_old", "920", [ChooseMethod, EnterTan]),
        ("test_transfer_app", None, [Wait] * 3),
        ("test_tan", None, [EnterTan, EnterTan]),
        ("test_app", None, [Wait] * 3 + [Wait] * 4),
        ("test_photo_tan", None, [EnterTan, EnterTan]),
        ("test_several_media", "910", [ChooseMethod, ChooseMedium, EnterTan, EnterTan]),
        ("test_signed", None, [EnterTan]),
        ("test_byte_counts", None, [EnterTan]),
    ],
)
def test_a_transfer_is_confirmed_by_every_method(tmp_path: Path, user_id: str, method: str | None, kinds: list[type]) -> None:
    payer = Payer(tmp_path, user_id, method=method)
    payment = payer.payment(transfer(end_to_end_id="E2E-1"))
    assert payer.pay(payment).step == Done()
    assert payer.kinds == kinds
    (order,) = payer.executed()
    assert (order["kind"], order["message_id"], order["execute_on"]) == ("HKCCS", payment.reference.hex, None)
    assert order["transfers"] == [
        {
            "recipient": "Anna Muster",
            "iban": MATCH,
            "amount_cents": 1250,
            "purpose": "Rechnung 4711",
            "end_to_end_id": "E2E-1",
        }
    ]
    assert len(payer.order_messages()) == 1
    assert "HKEND" in payer.journal[-1]["orders"]


def test_a_login_in_the_app_and_an_order_in_the_app_are_two_confirmations(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_app")
    assert payer.pay(payer.payment()).step == Done()
    approves = [step.approves for step in payer.steps if isinstance(step, Wait)]
    assert approves == [True] * 3 + [False] + [True] * 3, "the order is sent in a move of its own, which is made once"
    assert [step.max_polls for step in payer.steps if isinstance(step, Wait) and not step.approves] == [1]


def test_the_state_holds_no_secret_and_what_is_remembered_no_order(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_mt940")
    turn = payer.start(payer.payment())
    assert PIN.encode() not in turn.state + (turn.memory or b"")
    turn = payer.resume(turn, Reply(tan=TAN))
    assert b"reference" not in (turn.memory or b"")


def test_only_accounts_that_can_pay_say_so(tmp_path: Path) -> None:
    products = Payer(tmp_path, "demo1").products
    assert {product.category for product in products if product.transfer_support} < {product.category for product in products}
    assert any(product.transfer_support and not product.bulk_transfer_support for product in products)
    (header, *_) = connector_of(FintsBank(tmp_path), NOW).fetch(request("test_one_step"))
    assert isinstance(header, Header)
    assert not any(product.transfer_support for product in header.products)


# Other kinds.


def test_a_transfer_of_a_later_day(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_mt940")
    day = NOW.date() + timedelta(days=30)
    assert payer.pay(payer.payment(execute_on=day)).step == Done()
    assert [(order["kind"], order["execute_on"]) for order in payer.executed()] == [("HKCSE", day.isoformat())]
    assert payer.pay(payer.payment(execute_on=NOW.date())).step == Done()
    assert [order["kind"] for order in payer.executed()] == ["HKCSE", "HKCCS"]


def test_an_instant_transfer(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_mt940")
    assert payer.pay(payer.payment(instant=True)).step == Done()
    assert [order["kind"] for order in payer.executed()] == ["HKIPZ"]


def test_a_bulk_transfer(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_mt940")
    payment = payer.payment(transfer(cents=100), transfer(cents=250), bulk=True)
    assert payer.pay(payment).step == Done()
    (order,) = payer.executed()
    assert order["kind"] == "HKCCM"
    assert [each["amount_cents"] for each in order["transfers"]] == [100, 250]
    assert len({each["end_to_end_id"] for each in order["transfers"]}) == 2
    assert all(each["end_to_end_id"].startswith(payment.reference.hex[:28]) for each in order["transfers"])


def test_a_bulk_transfer_of_a_thousand_fits_into_the_state(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_mt940")
    transfers = [transfer(cents=100 + number, purpose=f"Gehalt {number} {uuid4().hex[:8]}") for number in range(1000)]
    assert payer.pay(payer.payment(*transfers, bulk=True)).step == Done()
    assert len(payer.executed()[0]["transfers"]) == 1000


@pytest.mark.parametrize(
    ("user_id", "changes"),
    [
        ("test_old", {"instant": True}),
        ("test_mt940", {"bulk": True, "instant": True}),
        ("test_mt940", {"bulk": True, "execute_on": NOW.date() + timedelta(days=3)}),
        ("test_mt940", {"execute_on": NOW.date() + timedelta(days=300)}),
    ],
)
def test_what_the_bank_does_not_offer_is_refused_before_it_is_asked(
    tmp_path: Path, user_id: str, changes: dict[str, Any]
) -> None:
    payer = Payer(tmp_path, user_id)
    turn = payer.start(payer.payment(**changes))
    assert isinstance(turn.step, Failed)
    assert turn.step.code in (Code.TRANSFER_REFUSED, Code.TRANSFER_INVALID)
    assert turn.step.details
    assert len(payer.journal) == payer.first_message


def test_an_order_that_is_too_large_is_refused_before_the_bank_is_asked(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_mt940")
    transfers = [transfer(purpose="".join(uuid4().hex for _ in range(4))) for _ in range(1000)]
    turn = payer.start(payer.payment(*transfers, bulk=True))
    assert isinstance(turn.step, Failed)
    assert turn.step.code is Code.TRANSFER_INVALID
    assert len(payer.journal) == payer.first_message


def test_nobody_pays_from_an_unknown_product_or_without_a_method(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_mt940")
    saving = next(product.key for product in payer.products if product.transfer_support and not product.bulk_transfer_support)
    for payment in (replace(payer.payment(), product="none"), replace(payer.payment(instant=True), product=saving)):
        turn = payer.start(payment)
        assert isinstance(turn.step, Failed)
        assert turn.step.code is Code.TRANSFER_REFUSED
    one_step = connector_of(FintsBank(tmp_path), NOW).start(payer.payment(), request("test_one_step"))
    assert isinstance(one_step.step, Failed)
    assert payer.order_messages() == []


# Payees.


@pytest.mark.parametrize("user_id", ["test_mt940", "test_payee_polling", "test_payee_report", "test_transfer_app"])
@pytest.mark.parametrize(
    ("iban", "match"),
    [(CLOSE, PayeeMatch.CLOSE_MATCH), (NO_MATCH, PayeeMatch.NO_MATCH), (NOT_POSSIBLE, PayeeMatch.NOT_POSSIBLE)],
)
def test_a_payee_that_differs_is_confirmed_before_the_order(tmp_path: Path, user_id: str, iban: str, match: PayeeMatch) -> None:
    payer = Payer(tmp_path, user_id)
    assert payer.pay(payer.payment(transfer(iban))).step == Done()
    (question,) = [step for step in payer.steps if isinstance(step, ConfirmPayee)]
    (payee,) = question.payees
    assert payee.match is match
    assert payee.name == ("Anna M. Muster" if match is PayeeMatch.CLOSE_MATCH else None)
    assert question.notice
    assert payer.kinds.index(ConfirmPayee) < max(place for place, kind in enumerate(payer.kinds) if kind in (EnterTan, Wait))
    assert len(payer.executed()) == 1
    assert len(payer.order_messages()) == 1


@pytest.mark.parametrize("user_id", ["test_mt940", "test_payee_polling", "test_payee_report"])
def test_a_payee_that_is_refused_ends_the_payment(tmp_path: Path, user_id: str) -> None:
    payer = Payer(tmp_path, user_id, confirms=False)
    turn = payer.pay(payer.payment(transfer(NO_MATCH)))
    assert isinstance(turn.step, Failed)
    assert turn.step.code is Code.TRANSFER_REFUSED
    assert payer.executed() == []
    assert payer.order_messages() == []
    assert payer.journal[-1]["orders"] == ["HKEND"]


def test_a_payee_that_matches_after_a_while_needs_no_word(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_payee_polling")
    assert payer.pay(payer.payment()).step == Done()
    assert payer.kinds == [Wait, Wait, EnterTan]
    waits = [step for step in payer.steps if isinstance(step, Wait)]
    assert [(step.seconds, step.max_polls, step.approves) for step in waits] == [(1, 1, False), (1, 2, False)]


def test_nothing_but_a_word_about_the_payee_goes_on(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_mt940")
    turn = payer.start(payer.payment(transfer(CLOSE)))
    messages = len(payer.journal)
    for reply in (Reply(), Reply(tan=TAN), Reply(method="922")):
        again = payer.resume(turn, reply)
        assert (again.step, again.state) == (turn.step, turn.state)
    assert len(payer.journal) == messages


def test_each_transfer_of_many_has_its_payee(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_mt940")
    transfers = [transfer(iban) for iban in (MATCH, NO_MATCH, CLOSE, MATCH)]
    same_id = [replace(each, end_to_end_id="E") for each in transfers]
    for each in (transfers, same_id):
        payer.steps.clear()
        assert payer.pay(payer.payment(*each, bulk=True)).step == Done()
        (question,) = [step for step in payer.steps if isinstance(step, ConfirmPayee)]
        matches = [payee.match for payee in question.payees]
        assert matches == [PayeeMatch.MATCH, PayeeMatch.NO_MATCH, PayeeMatch.CLOSE_MATCH, PayeeMatch.MATCH]
        assert question.payees[2].name == "Anna M. Muster"


# Ends.


def test_a_wrong_tan_ends_the_payment(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_mt940", tan="000000")
    assert payer.pay(payer.payment()).step == Failed(Code.TAN_INVALID)
    assert payer.executed() == []


def test_a_refused_order_says_why(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_transfer_refused")
    assert payer.pay(payer.payment()).step == Failed(Code.TRANSFER_REFUSED, "Der Auftrag wurde abgelehnt.")
    turn = payer.pay(payer.payment(transfer("DE00370400440532013000")))
    assert turn.step == Failed(Code.TRANSFER_REFUSED, "Die IBAN des Empfängers ist falsch.")
    assert payer.executed() == []


@pytest.mark.parametrize(("user_id", "end"), [("test_transfer_unknown", Done()), ("test_transfer_lost", None)])
def test_an_answer_that_is_lost_is_looked_up_in_the_protocol(tmp_path: Path, user_id: str, end: Done | None) -> None:
    payer = Payer(tmp_path, user_id)
    payment = payer.payment()
    turn = payer.start(payment)
    with pytest.raises(NoAnswer):
        payer.resume(turn, Reply(tan=TAN))
    before = len(payer.executed())
    for memory in (turn.memory, payer.memory):  # with the message in which it was sent, and by its reference alone
        assert payer.connector.outcome(request(user_id, memory or b""), payment.reference) == end
    assert payer.connector.outcome(payer.request(), uuid4()) is None
    assert payer.connector.outcome(request(user_id), payment.reference) is None
    assert len(payer.executed()) == before
    assert len(payer.order_messages()) == 1


def test_a_poll_whose_answer_was_lost_is_no_refusal(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_transfer_app")
    payment = payer.payment()
    turn = payer.start(payment)
    for _ in range(2):
        turn = payer.resume(turn, Reply())
    assert payer.resume(turn, Reply()).step == Done()  # this answer is lost, and the poll is sent again
    with pytest.raises(NoAnswer):
        payer.resume(turn, Reply())
    assert payer.connector.outcome(request("test_transfer_app", turn.memory or b""), payment.reference) == Done()
    assert len(payer.executed()) == 1


def test_a_fault_before_the_order_means_that_nothing_was_done(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_several_media", method="910")
    turn = payer.start(payer.payment())
    dead = connector_of(payer.bank, NOW, fail=NoAnswer)
    end = dead.resume(request(payer.user_id, payer.memory), turn.state, Reply(method="910"))
    assert end.step == Failed(Code.UNREACHABLE)
    assert payer.order_messages() == []


@pytest.mark.parametrize("user_id", ["test_wrong_pin", "test_locked"])
def test_a_refused_login_is_raised(tmp_path: Path, user_id: str) -> None:
    payer = Payer(tmp_path, "test_mt940")
    with pytest.raises(BankFault) as caught:
        payer.connector.start(payer.payment(), request(user_id, payer.memory))
    assert caught.value.refuses_login


def test_the_day_of_the_order_decides_even_after_midnight(tmp_path: Path) -> None:
    payer = Payer(tmp_path, "test_mt940")
    tomorrow: date = NOW.date() + timedelta(days=1)
    turn = payer.start(payer.payment(transfer(CLOSE), execute_on=tomorrow))
    assert isinstance(turn.step, ConfirmPayee)
    later = replace(request(payer.user_id, turn.memory or b""), now=NOW + timedelta(minutes=5))
    assert isinstance(connector_of(payer.bank, NOW).resume(later, turn.state, Reply(payee_confirmed=True)).step, EnterTan)
