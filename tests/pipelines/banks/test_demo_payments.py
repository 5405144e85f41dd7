"""Payments at the demo bank: what it takes, how it is confirmed, that it is executed once, and what the special user ids do."""

from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from ada_url import URL, URLSearchParams

from analytics.products import ProductCategory
from pipelines.banks.base import (
    BankFault,
    ChooseMedium,
    ChooseMethod,
    Code,
    Consent,
    Done,
    EnterTan,
    Failed,
    FetchedProduct,
    FetchRequest,
    Order,
    Payment,
    Redirect,
    Reply,
    ScaNeeded,
    Step,
    Turn,
    Unreachable,
    Unusable,
    Wait,
)
from pipelines.banks.demo import DemoBank, calls, executed_orders
from pipelines.banks.demo.households import Households, demo_members
from tests.pipelines.banks.cases import DEMO, NOW, demo, header_of, transfer

BACK = "https://kontor.example/back?session=7#top"
GERMAN, SWISS, TURKISH = "DE89370400440532013000", "CH9300762011623852957", "TR330006100519786457841326"


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def bank(tmp_path: Path, pauses: list[float]) -> DemoBank:
    return DemoBank(tmp_path, pause=pauses.append)


def asked(user_id: str, seconds: float = 0, return_to: str | None = BACK) -> FetchRequest:
    pin = "demo" if user_id.startswith("household") else None
    return FetchRequest(DEMO.provider, demo(user_id, pin), NOW + timedelta(seconds=seconds), return_to=return_to)


def product(bank: DemoBank, user_id: str, category: ProductCategory = ProductCategory.CHECKING) -> FetchedProduct:
    products = header_of(bank.fetch(asked(user_id))).products
    return next(entry for entry in products if entry.category is category)


def order(bank: DemoBank, user_id: str, amount_cents: int = 1_250, iban: str = GERMAN) -> Payment:
    return Payment(uuid4(), product(bank, user_id).key, (transfer(amount_cents, iban),))


def confirming(bank: DemoBank, user_id: str, wanted: Order, method: str = "1") -> Turn:
    """The step in which a customer confirms, after the choice of a method and a medium."""
    turn = bank.start(wanted, asked(user_id))
    if isinstance(turn.step, ChooseMethod):
        turn = bank.resume(asked(user_id), turn.state, Reply(method=method))
    if isinstance(turn.step, ChooseMedium):
        turn = bank.resume(asked(user_id), turn.state, Reply(medium=turn.step.media[0].name))
    return turn


def paid(bank: DemoBank, user_id: str, payment: Payment) -> Step:
    """What the right TAN leads to."""
    return bank.resume(asked(user_id), confirming(bank, user_id, payment).state, Reply(tan="42")).step


def refused(step: Step) -> tuple[Code, str]:
    assert isinstance(step, Failed)
    return step.code, step.details or ""


# Execution.


def test_an_order_is_executed_as_it_came_in(bank: DemoBank) -> None:
    payment = replace(order(bank, "demo1"), instant=True, execute_on=date(2026, 11, 20))
    assert paid(bank, "demo1", payment) == Done()
    (entry,) = executed_orders(bank.folder, "demo1")
    assert UUID(entry["reference"]) == payment.reference
    assert entry["transfers"] == [asdict(transfer())]
    told = {key: entry[key] for key in ("product", "instant", "execute_on", "at", "waiting")}
    at = NOW.isoformat()
    assert told == {"product": payment.product, "instant": True, "execute_on": "2026-11-20", "at": at, "waiting": False}


def test_a_bulk_order_is_executed_whole(bank: DemoBank) -> None:
    transfers = (transfer(100), transfer(200), transfer(100))
    assert paid(bank, "demo1", replace(order(bank, "demo1"), transfers=transfers, bulk=True)) == Done()
    (entry,) = executed_orders(bank.folder, "demo1")
    assert entry["transfers"] == [asdict(entry) for entry in transfers]


def test_executions_are_known_to_their_user_id_only(bank: DemoBank) -> None:
    payment = order(bank, "demo1")
    paid(bank, "demo1", payment)
    assert executed_orders(bank.folder, "demo2") == []
    assert bank.outcome(asked("demo2"), payment.reference) is None
    assert bank.outcome(asked("demo1"), uuid4()) is None


@pytest.mark.parametrize(
    ("user_id", "method", "kind", "seconds"),
    [
        ("demo1", "1", EnterTan, None),
        ("demo1", "942", EnterTan, None),
        ("demo4", "900", EnterTan, None),
        ("demo7", "972", EnterTan, None),
        ("demo3", "944", Wait, 3),
        ("demo2", "946", Redirect, 1),
        ("demo6", "946", Redirect, 1),
        ("household1", "944", Wait, 3),
    ],
)
def test_only_a_confirmation_executes(bank: DemoBank, user_id: str, method: str, kind: type[Step], seconds: float | None) -> None:
    payment = order(bank, user_id)
    turn = confirming(bank, user_id, payment, method)
    assert isinstance(turn.step, kind)
    assert bank.resume(asked(user_id), turn.state, Reply()).step == turn.step
    assert executed_orders(bank.folder, user_id) == []
    assert bank.outcome(asked(user_id), payment.reference) is None
    reply = Reply(tan="42") if seconds is None else Reply()
    assert bank.resume(asked(user_id, seconds or 0), turn.state, reply).step == Done()
    assert [entry["reference"] for entry in executed_orders(bank.folder, user_id)] == [str(payment.reference)]
    assert bank.outcome(asked(user_id), payment.reference) == Done()


def test_three_wrong_tans_execute_nothing_and_a_right_one_comes_too_late(bank: DemoBank) -> None:
    payment = order(bank, "demo1")
    first = turn = confirming(bank, "demo1", payment)
    for _ in range(2):
        turn = bank.resume(asked("demo1"), turn.state, Reply(tan="41"))
        assert isinstance(turn.step, EnterTan)
    assert bank.resume(asked("demo1"), turn.state, Reply(tan="41")).step == Failed(Code.TAN_INVALID)
    assert bank.outcome(asked("demo1"), payment.reference) == Failed(Code.TRANSFER_REFUSED)
    assert isinstance(bank.resume(asked("demo1"), first.state, Reply(tan="42")).step, Failed)
    assert executed_orders(bank.folder, "demo1") == []


def test_a_confirmation_that_is_repeated_is_told_the_same_and_executes_nothing(bank: DemoBank) -> None:
    turn = confirming(bank, "demo1", order(bank, "demo1"))
    assert [bank.resume(asked("demo1"), turn.state, Reply(tan="42")).step for _ in range(3)] == [Done()] * 3
    assert len(executed_orders(bank.folder, "demo1")) == 1


def test_another_order_with_the_same_reference_is_never_executed(bank: DemoBank) -> None:
    payment = order(bank, "demo1")
    other = confirming(bank, "demo1", replace(payment, transfers=(transfer(999),)))
    assert paid(bank, "demo1", payment) == Done()
    code, details = refused(bank.resume(asked("demo1"), other.state, Reply(tan="42")).step)
    assert code == Code.TRANSFER_REFUSED
    assert "Duplikat" in details
    assert [entry["transfers"][0]["amount_cents"] for entry in executed_orders(bank.folder, "demo1")] == [1_250]
    assert bank.outcome(asked("demo1"), payment.reference) == Done()


def confirmed_with(folder: Path, state: bytes) -> Step:
    return DemoBank(folder).resume(asked("demo1"), state, Reply(tan="42")).step


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, partial(ProcessPoolExecutor, mp_context=get_context("spawn"))])
def test_an_order_is_executed_once_by_however_many_hands(bank: DemoBank, pool: Callable[[int], Executor]) -> None:
    state = confirming(bank, "demo1", order(bank, "demo1")).state
    with pool(20 if pool is ThreadPoolExecutor else 3) as hands:
        steps = list(hands.map(partial(confirmed_with, bank.folder), [state] * 20))
    assert steps == [Done()] * 20
    assert len(executed_orders(bank.folder, "demo1")) == 1


def test_many_orders_at_once_are_all_remembered(bank: DemoBank) -> None:
    states = [confirming(bank, "demo1", order(bank, "demo1", cents)).state for cents in range(1, 21)]
    with ThreadPoolExecutor(20) as hands:
        list(hands.map(partial(confirmed_with, bank.folder), states))
    assert sorted(entry["transfers"][0]["amount_cents"] for entry in executed_orders(bank.folder, "demo1")) == list(range(1, 21))


# Refusals before the first step.


@pytest.mark.parametrize(
    ("changes", "code", "word"),
    [
        ({"product": "none"}, Code.TRANSFER_REFUSED, "keine Überweisungen"),
        ({"transfers": ()}, Code.TRANSFER_INVALID, "Zahl"),
        ({"transfers": (transfer(), transfer())}, Code.TRANSFER_INVALID, "Zahl"),
        ({"transfers": (transfer(0),)}, Code.TRANSFER_INVALID, "Betrag"),
        ({"transfers": (transfer(-5),)}, Code.TRANSFER_INVALID, "Betrag"),
        ({"transfers": (transfer(iban="DE00"),)}, Code.TRANSFER_INVALID, "IBAN"),
        ({"transfers": (transfer(iban=TURKISH),)}, Code.TRANSFER_INVALID, "SEPA"),
        ({"transfers": (transfer(iban=SWISS),), "instant": True}, Code.TRANSFER_INVALID, "Echtzeit"),
        ({"execute_on": NOW.date() - timedelta(days=1)}, Code.TRANSFER_INVALID, "Vergangenheit"),
        ({"transfers": (transfer(10**9),), "refuse_without_funds": True}, Code.TRANSFER_REFUSED, "Keine Deckung"),
    ],
)
def test_an_order_that_breaks_a_rule_is_refused(bank: DemoBank, changes: dict[str, object], code: Code, word: str) -> None:
    payment = replace(order(bank, "demo1"), **changes)  # type: ignore[arg-type]
    refusal, details = refused(bank.start(payment, asked("demo1")).step)
    assert refusal == code
    assert word in details
    assert bank.outcome(asked("demo1"), payment.reference) == Failed(Code.TRANSFER_REFUSED)


@pytest.mark.parametrize(
    ("user_id", "category"),
    [("demo1", ProductCategory.CREDIT_CARD), ("demo1", ProductCategory.DEPOT), ("demo4", ProductCategory.SAVINGS)],
)
def test_products_without_transfers_pay_nothing(bank: DemoBank, user_id: str, category: ProductCategory) -> None:
    payment = Payment(uuid4(), product(bank, user_id, category).key, (transfer(),))
    assert refused(bank.start(payment, asked(user_id)).step)[0] == Code.TRANSFER_REFUSED


@pytest.mark.parametrize("user_id", ["demo1", "demo5", "demo6"])
def test_call_money_goes_to_the_own_checking_account_only(bank: DemoBank, user_id: str) -> None:
    call, own = product(bank, user_id, ProductCategory.CALL_MONEY), product(bank, user_id)
    assert call.transfer_support
    home = Payment(uuid4(), call.key, (transfer(iban=own.iban or ""),))
    turn = bank.start(home, asked(user_id))
    assert isinstance(turn.step, ChooseMethod)
    refusals = {
        "Referenzkonto": replace(home, transfers=(transfer(),)),
        "Echtzeit": replace(home, instant=True),
        "Sammel": replace(home, bulk=True),
    }
    codes = []
    for word, payment in refusals.items():
        code, details = refused(bank.start(replace(payment, reference=uuid4()), asked(user_id)).step)
        assert word in details
        codes.append(code)
    assert codes == [Code.TRANSFER_INVALID, Code.TRANSFER_INVALID, Code.TRANSFER_REFUSED]


def test_a_swiss_recipient_is_paid_if_it_need_not_be_at_once(bank: DemoBank) -> None:
    assert paid(bank, "demo1", order(bank, "demo1", iban=SWISS)) == Done()


@pytest.mark.parametrize(("more_cents", "waiting"), [(0, False), (1, True)])
def test_an_order_without_funds_waits_unless_a_refusal_is_preferred(bank: DemoBank, more_cents: int, waiting: bool) -> None:
    payer = product(bank, "demo1")
    available = (payer.balance_cents or 0) + (payer.overdraft_limit_cents or 0)
    payment = order(bank, "demo1", available + more_cents)
    picky = bank.start(replace(payment, reference=uuid4(), refuse_without_funds=True), asked("demo1")).step
    assert isinstance(picky, Failed if waiting else ChooseMethod)
    assert paid(bank, "demo1", payment) == Done()
    assert [entry["waiting"] for entry in executed_orders(bank.folder, "demo1")] == [waiting]
    assert bank.outcome(asked("demo1"), payment.reference) == Done()


def test_the_transfers_of_a_bulk_order_need_funds_together(bank: DemoBank) -> None:
    payer = product(bank, "demo8")
    half = (payer.balance_cents or 0) // 2 + 1
    bulk = Payment(uuid4(), payer.key, (transfer(half), transfer(half)), bulk=True, refuse_without_funds=True)
    assert refused(bank.start(bulk, asked("demo8")).step)[0] == Code.TRANSFER_REFUSED


def test_funds_that_are_gone_when_the_order_is_confirmed_are_missed(bank: DemoBank) -> None:
    early = replace(asked("test_transfer_slow_0"), now=datetime(2026, 10, 31, 12, tzinfo=UTC))
    late = replace(early, now=datetime(2026, 11, 2, 12, tzinfo=UTC))
    payer, poorer = (header_of(bank.fetch(request)).products[0] for request in (early, late))
    assert (payer.balance_cents or 0) > (poorer.balance_cents or 0)
    sum_cents = (payer.balance_cents or 0) + (payer.overdraft_limit_cents or 0)
    payment = Payment(uuid4(), payer.key, (transfer(sum_cents),), refuse_without_funds=True)
    turn = bank.resume(early, bank.start(payment, early).state, Reply(method="944"))
    assert isinstance(turn.step, ChooseMedium)
    turn = bank.resume(early, turn.state, Reply(medium=turn.step.media[0].name))
    assert "Keine Deckung" in refused(bank.resume(late, turn.state, Reply()).step)[1]
    assert bank.outcome(late, payment.reference) == Failed(Code.TRANSFER_REFUSED)
    assert executed_orders(bank.folder, "test_transfer_slow_0") == []


# The bank's own page, and the app.


def test_the_page_of_the_bank_leads_back_with_a_token(bank: DemoBank) -> None:
    turn = confirming(bank, "demo2", order(bank, "demo2"), "946")
    assert isinstance(turn.step, Redirect)
    url = URL(turn.step.url)
    query = URLSearchParams(url.search)
    assert (url.origin, url.pathname, url.hash, query.get("session")) == ("https://kontor.example", "/back", "#top", "7")
    assert len(query.get("demo-bank")) > 16
    assert bank.resume(asked("demo2", 0.9), turn.state, Reply()) == turn
    assert bank.resume(asked("demo2", 1), turn.state, Reply()).step == Done()


def test_without_a_way_back_the_page_is_not_offered(bank: DemoBank) -> None:
    nowhere = asked("demo2", return_to=None)
    turn = bank.start(Consent(), nowhere)
    assert isinstance(turn.step, ChooseMethod)
    assert "946" not in {method.code for method in turn.step.methods}
    assert bank.resume(nowhere, turn.state, Reply(method="946")).step == Failed(Code.METHOD_INVALID)
    only = bank.start(Consent(), asked("test_consent_redirect", return_to=None)).step
    assert refused(only)[0] == Code.METHOD_INVALID


@pytest.mark.parametrize(
    ("user_id", "kind", "seconds"),
    [("test_consent_redirect", Redirect, 1), ("test_consent_redirect_a", Redirect, 1), ("test_consent_app", Wait, 3)],
)
def test_a_login_with_one_way_to_confirm_is_led_there_at_once(
    bank: DemoBank, user_id: str, kind: type[Step], seconds: float
) -> None:
    with pytest.raises(ScaNeeded):
        header_of(bank.fetch(asked(user_id)))
    turn = bank.start(Consent(), asked(user_id))
    assert isinstance(turn.step, kind)
    assert bank.resume(asked(user_id, seconds - 0.1), turn.state, Reply()).step == turn.step
    later = asked(user_id, seconds)
    assert bank.resume(later, turn.state, Reply()).step == Done(later.now + timedelta(days=180))
    assert header_of(bank.fetch(later)).products[0].bulk_transfer_support


# The special user ids.


@pytest.mark.parametrize("user_id", ["test_transfer_unknown", "test_transfer_unknown_a"])
def test_the_answer_to_an_executed_payment_is_lost(bank: DemoBank, user_id: str) -> None:
    payment = order(bank, user_id)
    with pytest.raises(Unreachable):
        paid(bank, user_id, payment)
    assert len(executed_orders(bank.folder, user_id)) == 1
    assert bank.outcome(asked(user_id), payment.reference) == Done()


def test_a_confirmation_that_is_lost_executes_nothing(bank: DemoBank) -> None:
    payment = order(bank, "test_transfer_lost")
    with pytest.raises(Unreachable):
        paid(bank, "test_transfer_lost", payment)
    assert executed_orders(bank.folder, "test_transfer_lost") == []
    assert bank.outcome(asked("test_transfer_lost"), payment.reference) is None


@pytest.mark.parametrize(("suffix", "seconds"), [("7", 7), ("2.5_a", 2.5), ("99999", 3600)])
def test_a_slow_bank_waits_before_it_executes(bank: DemoBank, pauses: list[float], suffix: str, seconds: float) -> None:
    user_id = f"test_transfer_slow_{suffix}"
    state = confirming(bank, user_id, order(bank, user_id)).state
    assert pauses == []

    def waiting(length: float) -> None:
        pauses.append(length)
        assert executed_orders(bank.folder, user_id) == []

    assert DemoBank(bank.folder, pause=waiting).resume(asked(user_id), state, Reply(tan="42")).step == Done()
    assert pauses == [seconds]
    assert len(executed_orders(bank.folder, user_id)) == 1


def test_a_payment_can_be_refused_after_the_right_tan(bank: DemoBank) -> None:
    payment = order(bank, "test_transfer_refused")
    assert refused(paid(bank, "test_transfer_refused", payment))[0] == Code.TRANSFER_REFUSED
    assert executed_orders(bank.folder, "test_transfer_refused") == []
    assert bank.outcome(asked("test_transfer_refused"), payment.reference) == Failed(Code.TRANSFER_REFUSED)


def test_an_exempt_payment_is_executed_at_once_but_a_consent_is_not(bank: DemoBank) -> None:
    payment = order(bank, "test_transfer_exempt")
    assert bank.start(payment, asked("test_transfer_exempt")) == Turn(Done())
    assert refused(bank.start(payment, asked("test_transfer_exempt")).step)[0] == Code.TRANSFER_REFUSED
    assert len(executed_orders(bank.folder, "test_transfer_exempt")) == 1
    assert isinstance(bank.start(Consent(), asked("test_transfer_exempt")).step, ChooseMethod)


# States, secrets and the ledger.


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"user_id": "demo1", "at": "tan"}',
        b'{"user_id": "demo1", "at": "tan", "asked_at": "2026-11-16T11:30:00Z"}',
        b'{"user_id": "demo1", "at": "nowhere", "asked_at": "2026-11-16T11:30:00Z", "method": "1"}',
        b'{"user_id": "demo1", "at": "tan", "asked_at": "2026-11-16T11:30:00", "method": "1"}',
        b'{"user_id": "demo1", "at": "tan", "asked_at": "2026-11-16T11:30:00Z", "method": "1", "payment": {}}',
    ],
)
def test_a_state_that_makes_no_sense_is_refused(bank: DemoBank, state: bytes) -> None:
    with pytest.raises(Unusable):
        bank.resume(asked("demo1"), state, Reply(tan="42"))


def test_the_state_of_another_customer_executes_nothing(bank: DemoBank) -> None:
    turn = confirming(bank, "demo1", order(bank, "demo1"))
    with pytest.raises(Unusable):
        bank.resume(asked("demo8"), turn.state, Reply(tan="42"))
    assert executed_orders(bank.folder, "demo1") == executed_orders(bank.folder, "demo8") == []


def test_no_file_of_the_bank_has_a_pin_or_a_tan(tmp_path: Path) -> None:
    bank = DemoBank(tmp_path, Households((replace(demo_members()[0], pin="geheim-0815"),)))
    request = FetchRequest(DEMO.provider, {"userid": "demo1", "pin": "geheim-0815"}, NOW)
    payer = header_of(bank.fetch(request)).products[0].key
    for wanted in (Payment(uuid4(), payer, (transfer(),)), Consent()):
        turn = bank.resume(request, bank.start(wanted, request).state, Reply(method="1"))
        turn = bank.resume(request, turn.state, Reply(tan="98765432"))
        assert bank.resume(request, turn.state, Reply(tan="42")).step in (Done(), Done(NOW + timedelta(days=180)))
    texts = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(executed_orders(tmp_path, "demo1")) == 1
    assert [word for word in ("geheim", "98765432", '"42"') if any(word in text for text in texts)] == []


def test_the_ledger_has_the_calls_of_a_payment(bank: DemoBank) -> None:
    payment = order(bank, "test_transfer_lost")
    with pytest.raises(BankFault):
        paid(bank, "test_transfer_lost", payment)
    bank.outcome(asked("test_transfer_lost"), payment.reference)
    bank.verify_payee(asked("test_transfer_lost"), "Max Mustermann", GERMAN)
    ended = [(line["operation"], line["outcome"]) for line in calls(bank.folder) if line["event"] == "end"]
    assert [operation for operation, _ in ended] == ["fetch", "start", "resume", "resume", "resume", "outcome", "verify_payee"]
    assert [outcome for _, outcome in ended[1:]] == ["done"] * 3 + ["BA1051", "done", "done"]
    text = (bank.folder / "calls.jsonl").read_text()
    assert not [word for word in ("Mustermann", GERMAN, str(payment.reference)) if word in text]
