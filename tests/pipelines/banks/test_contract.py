"""What every connector promises (`pipelines/banks/base.py`), as tests that run over all of them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from uuid import uuid4

import polars as pl
import pytest

from analytics.frames import BOOKINGS
from analytics.products import WITH_POSITIONS
from pipelines.banks import formats
from pipelines.banks.base import (
    MAX_MEMORY_BYTES,
    MAX_STATE_BYTES,
    BankFault,
    CatalogueBank,
    Code,
    ConfirmPayee,
    Consent,
    Done,
    Failed,
    FetchedBookings,
    FetchRequest,
    Header,
    Holdings,
    Part,
    PayeeMatch,
    Payment,
    ProductFailure,
    Reply,
    ScaNeeded,
    Turn,
    Wait,
)
from tests.pipelines.banks.cases import CASES, DEMO, Case, header_of, transfer

KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
FETCH_CODES = {
    Code.WRONG_CREDENTIALS,
    Code.LOCKED,
    Code.FIELDS_MISSING,
    Code.UNREACHABLE,
    Code.INCOMPLETE,
    Code.METHOD_NEEDED,
    Code.PRODUCT_FAILED,
    Code.BOOKINGS_FAILED,
    Code.POSITIONS_FAILED,
}
FAULTS = [pytest.param(case, code, id=f"{case.name}-{code}") for case in CASES for code in case.faults]
CONFIRMING = [case for case in CASES if case.dialogues]
LOGINS = [pytest.param(case, login, id=f"{case.name}-{n}") for case in CASES for n, login in enumerate(case.logins, 1)]
NEVER_EMPTY = ("booked_on", "amount_cents", "currency", "purpose", "pending")
SINCE = date(2026, 9, 1)
CONSENT = Consent()


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    assert isinstance(request.param, Case)
    return request.param


@pytest.fixture(params=CONFIRMING, ids=lambda case: case.name)
def confirming(request: pytest.FixtureRequest) -> Case:
    """A bank at which customers confirm and pay."""
    assert isinstance(request.param, Case)
    return request.param


def parts_of(case: Case, request: FetchRequest, folder: Path) -> list[Part]:
    return list(case.build(folder).fetch(request))


def codes_of(case: Case, request: FetchRequest, folder: Path) -> set[Code]:
    """The code that a session ends with, or those of the products that failed in it."""
    try:
        return {part.code for part in parts_of(case, request, folder) if isinstance(part, ProductFailure)}
    except BankFault as fault:
        return {fault.code}


def refuses_login(call: Callable[[], object]) -> bool:
    """Whether a call of a connector ends with a fault of the login."""
    try:
        call()
    except BankFault as fault:
        return fault.refuses_login
    return False


def test_the_offer_names_its_fields_once_and_with_a_format(case: Case, tmp_path: Path) -> None:
    offer = case.build(tmp_path).offer(case.provider)
    assert offer is not None
    keys = [field.key for field in offer.fields]
    assert keys
    assert len(set(keys)) == len(keys)
    assert all(field.label and formats.pattern(field.format) for field in offer.fields)
    assert offer.capabilities
    assert all(offer.channels)


def test_logins_fit_the_formats_of_the_offer(case: Case, tmp_path: Path) -> None:
    offer = case.build(tmp_path).offer(case.provider)
    assert offer is not None
    for login in (*case.logins, *case.faults.values()):
        assert set(login) == {field.key for field in offer.fields}
        assert all(formats.matches(field.format, login[field.key]) for field in offer.fields)


def test_a_provider_of_another_connector_is_not_served(case: Case, tmp_path: Path) -> None:
    stranger = CatalogueBank(case.provider.id, "Fremdbank", "another connector")
    assert case.build(tmp_path).offer(stranger) is None


@pytest.mark.parametrize(("case", "login"), LOGINS)
def test_the_header_comes_first_and_once(case: Case, login: Mapping[str, str], tmp_path: Path) -> None:
    parts = parts_of(case, case.request(login), tmp_path)
    assert [isinstance(part, Header) for part in parts] == [True] + [False] * (len(parts) - 1)


@pytest.mark.parametrize(("case", "login"), LOGINS)
def test_product_keys_are_unique_and_fit_for_addresses(case: Case, login: Mapping[str, str], tmp_path: Path) -> None:
    products = header_of(case.build(tmp_path).fetch(case.request(login))).products
    keys = [product.key for product in products]
    assert len(set(keys)) == len(keys)
    assert all(KEY.fullmatch(key) for key in keys)
    assert all(product.name and product.owner_name for product in products)


@pytest.mark.parametrize(("case", "login"), LOGINS)
def test_every_product_gets_exactly_one_answer_of_its_kind(case: Case, login: Mapping[str, str], tmp_path: Path) -> None:
    header, *details = parts_of(case, case.request(login), tmp_path)
    assert isinstance(header, Header)
    kinds = {product.key: Holdings if product.category in WITH_POSITIONS else FetchedBookings for product in header.products}
    told = [part for part in details if not isinstance(part, Header)]
    assert sorted(part.product for part in told) == sorted(kinds)
    assert all(isinstance(part, (kinds[part.product], ProductFailure)) for part in told)


@pytest.mark.parametrize(("case", "login"), LOGINS)
def test_bookings_have_the_schema_and_come_oldest_first_from_the_promised_day(
    case: Case, login: Mapping[str, str], tmp_path: Path
) -> None:
    today = case.request(login).now.date()
    for part in parts_of(case, case.request(login), tmp_path):
        if isinstance(part, FetchedBookings):
            assert part.frame.schema == BOOKINGS
            assert part.frame["booked_on"].is_sorted()
            assert part.frame["booked_on"].is_between(part.complete_from, today).all()
            assert part.frame.select(NEVER_EMPTY).null_count().sum_horizontal().item() == 0


@pytest.mark.parametrize(("case", "login"), LOGINS)
def test_positions_have_a_name_and_money_as_decimals(case: Case, login: Mapping[str, str], tmp_path: Path) -> None:
    for part in parts_of(case, case.request(login), tmp_path):
        if isinstance(part, Holdings):
            assert all(position.name and position.total_cents is not None for position in part.positions)


@pytest.mark.parametrize(("case", "login"), LOGINS)
def test_the_same_request_gets_the_same_answer(case: Case, login: Mapping[str, str], tmp_path: Path) -> None:
    first, second = (parts_of(case, case.request(login), tmp_path) for _ in range(2))
    assert [content(part) for part in first] == [content(part) for part in second]


@pytest.mark.parametrize(("case", "login"), LOGINS)
def test_since_limits_bookings_to_a_day_and_later(case: Case, login: Mapping[str, str], tmp_path: Path) -> None:
    request = case.request(login)
    everything = {part.product: part.frame for part in parts_of(case, request, tmp_path) if isinstance(part, FetchedBookings)}
    limited = replace(request, since=dict.fromkeys(everything, SINCE))
    for part in parts_of(case, limited, tmp_path):
        if isinstance(part, FetchedBookings):
            assert part.complete_from == SINCE
            assert part.frame.equals(everything[part.product].filter(pl.col("booked_on") >= SINCE))


@pytest.mark.parametrize(("case", "login"), LOGINS)
def test_old_bookings_come_only_of_the_categories_that_are_wanted_whole(
    case: Case, login: Mapping[str, str], tmp_path: Path
) -> None:
    request = case.request(login)
    header, *details = parts_of(case, request, tmp_path)
    assert isinstance(header, Header)
    kinds = {product.key: product.category for product in header.products}
    whole = {part.product: part for part in details if isinstance(part, FetchedBookings)}
    first = next(iter(whole))
    limited = replace(
        request, whole_history_of=frozenset({kinds[first]}), since={list(whole)[-1]: SINCE} if len(whole) > 1 else {}
    )
    for part in parts_of(case, limited, tmp_path):
        if isinstance(part, FetchedBookings):
            days_ago = request.now.date() - timedelta(days=90)
            oldest = whole[part.product].complete_from if kinds[part.product] == kinds[first] else days_ago
            assert part.complete_from == limited.since.get(part.product, oldest)
            assert part.frame.equals(whole[part.product].frame.filter(pl.col("booked_on") >= part.complete_from))


@pytest.mark.parametrize(("case", "login"), LOGINS)
def test_wanted_limits_products_but_not_the_header(case: Case, login: Mapping[str, str], tmp_path: Path) -> None:
    header, *_ = parts_of(case, case.request(login), tmp_path)
    assert isinstance(header, Header)
    wanted = header.products[-1].key
    only, *details = parts_of(case, replace(case.request(login), wanted=frozenset({wanted})), tmp_path)
    assert content(only) == content(header)
    assert [part.product for part in details if not isinstance(part, Header)] == [wanted]
    (alone,) = parts_of(case, replace(case.request(login), wanted=frozenset()), tmp_path)
    assert content(alone) == content(header)


@pytest.mark.parametrize(("case", "code"), FAULTS)
def test_every_fault_of_a_fetch_can_be_seen(case: Case, code: Code, tmp_path: Path) -> None:
    assert code in codes_of(case, case.request(case.faults[code]), tmp_path)


@pytest.mark.parametrize(("case", "code"), FAULTS)
def test_a_fault_says_whether_the_login_may_be_used_again(case: Case, code: Code, tmp_path: Path) -> None:
    request = case.request(case.faults[code])
    refuses = code in (Code.WRONG_CREDENTIALS, Code.LOCKED)
    calls: list[Callable[[], object]] = [lambda: parts_of(case, request, tmp_path)]
    if case.dialogues:
        calls.append(lambda: case.build(tmp_path).start(Consent(), request))
        calls.append(lambda: case.build(tmp_path).outcome(request, uuid4()))
    assert [refuses_login(call) for call in calls] == [refuses] * len(calls)


def test_faults_are_those_of_a_fetch_and_the_demo_bank_has_them_all() -> None:
    assert all(set(case.faults) <= FETCH_CODES for case in CASES)
    assert set(DEMO.faults) == FETCH_CODES


@pytest.mark.parametrize("spoilt", ["", " ", "\x00", "\ud800", "../../etc/passwd", "ä" * 70, "a\n", "x" * 100_000])
def test_nothing_but_a_bank_fault_is_raised_whatever_is_typed(case: Case, spoilt: str, tmp_path: Path) -> None:
    login = case.logins[0]
    for key in login:
        request = case.request({**login, key: spoilt})
        assert codes_of(case, request, tmp_path) <= {Code.WRONG_CREDENTIALS, Code.FIELDS_MISSING}
        bank = case.build(tmp_path)
        calls: list[Callable[[], object]] = [
            partial(bank.start, Consent(), request),
            partial(bank.resume, request, b"", Reply()),
            partial(bank.verify_payee, request, "Max Mustermann", transfer().iban),
        ]
        if case.payer:
            calls.append(partial(bank.start, Payment(uuid4(), "none", (transfer(),)), request))
            calls.append(partial(bank.outcome, request, uuid4()))
        for call in calls:
            with pytest.raises(BankFault):
                call()


def test_a_login_without_fields_is_told_which_ones(case: Case, tmp_path: Path) -> None:
    with pytest.raises(BankFault) as caught:
        list(case.build(tmp_path).fetch(case.request({})))
    assert caught.value.code == Code.FIELDS_MISSING
    assert all(key in (caught.value.details or "") for key in case.logins[0])


def test_requests_replies_and_turns_show_no_secrets(case: Case) -> None:
    secret = "geheim-4711"
    assert secret not in repr(case.request({"userid": secret, "pin": secret}))
    assert secret not in repr(Reply(tan=secret))
    assert secret not in repr(Turn(Done(), state=secret.encode(), memory=secret.encode()))
    assert secret not in repr(replace(case.request({}), memory=secret.encode()))
    assert secret not in repr(Header((), memory=secret.encode()))


@pytest.mark.parametrize("name", ["right", "wrong", "unknown method", "unknown medium"])
def test_a_dialogue_ends_and_can_go_on_in_another_process(confirming: Case, name: str, tmp_path: Path) -> None:
    step = played(
        confirming, confirming.request(confirming.faults[Code.METHOD_NEEDED]), confirming.dialogues[name], tmp_path
    ).step
    assert isinstance(step, Done if name == "right" else Failed)


def test_a_dialogue_repeats_its_step_when_asked_how_things_stand(confirming: Case, tmp_path: Path) -> None:
    bank, request = confirming.build(tmp_path), confirming.request(confirming.faults[Code.METHOD_NEEDED])
    turn = bank.start(Consent(), request)
    again = bank.resume(request, turn.state, Reply())
    assert (again.step, again.state) == (turn.step, turn.state)


def test_the_state_of_another_dialogue_is_refused(confirming: Case, tmp_path: Path) -> None:
    bank = confirming.build(tmp_path)
    turn = bank.start(Consent(), confirming.request(confirming.logins[0]))
    for state in (turn.state, b"", b"\xff", b"[]", b"{}"):
        with pytest.raises(BankFault):
            bank.resume(confirming.request(confirming.logins[1]), state, Reply(method="1"))


def test_after_a_consent_the_data_comes(confirming: Case, tmp_path: Path) -> None:
    request = confirming.request(confirming.faults[Code.METHOD_NEEDED])
    done = played(confirming, request, confirming.dialogues["right"], tmp_path).step
    assert isinstance(done, Done)
    assert header_of(confirming.build(tmp_path).fetch(request)).consent_ends_at == done.consent_ends_at


APPROVING = [case for case in CASES if case.approver]


@pytest.mark.parametrize("case", APPROVING, ids=lambda case: case.name)
def test_polls_go_on_in_the_same_dialogue_and_a_lost_answer_is_given_again(case: Case, tmp_path: Path) -> None:
    request = case.request(case.approver)
    turn = case.build(tmp_path).start(Consent(), request)
    assert isinstance(turn.step, Wait)
    assert turn.step.seconds > 0
    early = case.build(tmp_path).resume(request, turn.state, Reply())
    assert early.step == turn.step
    later = replace(request, now=request.now + timedelta(minutes=1))
    first, second = (case.build(tmp_path).resume(later, early.state, Reply()) for _ in range(2))
    assert isinstance(first.step, Done)
    assert second.step == first.step


@pytest.mark.parametrize("case", APPROVING, ids=lambda case: case.name)
def test_a_payment_whose_last_poll_was_lost_is_done_once(case: Case, tmp_path: Path) -> None:
    request = case.request(case.approver)
    later = replace(request, now=request.now + timedelta(minutes=1))
    consent = case.build(tmp_path).start(Consent(), request)
    assert isinstance(case.build(tmp_path).resume(later, consent.state, Reply()).step, Done)
    payment = Payment(uuid4(), header_of(case.build(tmp_path).fetch(later)).products[0].key, (transfer(),))
    turn = case.build(tmp_path).start(payment, request)
    assert isinstance(turn.step, Wait)
    assert turn.step.approves
    assert [case.build(tmp_path).resume(later, turn.state, Reply()).step for _ in range(3)] == [Done()] * 3
    assert case.build(tmp_path).outcome(request, payment.reference) == Done()


def test_the_state_of_a_dialogue_is_bounded_and_holds_nothing_that_was_typed(confirming: Case, tmp_path: Path) -> None:
    request, payment = confirming.request(confirming.payer), order(confirming, tmp_path)
    offer = confirming.build(tmp_path).offer(confirming.provider)
    assert offer is not None
    turn = confirming.build(tmp_path).start(payment, request)
    for move in confirming.dialogues["wrong"][:-1]:
        turn = confirming.build(tmp_path).resume(request, turn.state, move)
        assert len(turn.state) <= MAX_STATE_BYTES
        state = turn.state.replace(request.credentials["userid"].encode(), b"") if "userid" in request.credentials else turn.state
        assert not any(request.credentials[field.key].encode() in state for field in offer.fields if field.secret)


@pytest.mark.parametrize("case", [case for case in CASES if case.long], ids=lambda case: case.name)
def test_old_bookings_that_come_with_a_consent_are_those_of_a_fetch(case: Case, tmp_path: Path) -> None:
    request = case.request(case.long)
    turn = played(case, request, case.dialogues["right"], tmp_path)
    header, *details = turn.parts
    fetched_header, *fetched = parts_of(case, request, tmp_path)
    assert isinstance(header, Header)
    assert isinstance(fetched_header, Header)
    assert header.products == fetched_header.products
    recent = {part.product: part for part in fetched if isinstance(part, FetchedBookings)}
    for part in details:
        assert isinstance(part, FetchedBookings)
        assert part.complete_from < recent[part.product].complete_from
        assert part.frame.filter(pl.col("booked_on") >= recent[part.product].complete_from).equals(recent[part.product].frame)
    assert sorted(recent) == sorted(part.product for part in details if isinstance(part, FetchedBookings))


def test_only_a_consent_that_is_given_brings_data(confirming: Case, tmp_path: Path) -> None:
    login = confirming.long or confirming.payer
    request = confirming.request(login)
    assert played(confirming, request, confirming.dialogues["wrong"], tmp_path).parts == ()
    product = header_of(confirming.build(tmp_path).fetch(confirming.request(confirming.logins[0]))).products[0]
    payment = Payment(uuid4(), product.key, (transfer(),))
    turn = confirming.build(tmp_path).start(payment, confirming.request(confirming.logins[0]))
    assert turn.parts == ()


# Memory.


@pytest.mark.parametrize("case", [case for case in CASES if case.remembered], ids=lambda case: case.name)
def test_what_is_remembered_of_a_consent_brings_the_data_of_this_access_alone(case: Case, tmp_path: Path) -> None:
    request = case.request(case.remembered)
    memory = remembered_of(case, request, tmp_path)[-1]
    with pytest.raises(ScaNeeded):
        header_of(case.build(tmp_path).fetch(request))
    header = header_of(case.build(tmp_path).fetch(replace(request, memory=memory)))
    assert header.products
    later = replace(request, memory=header.memory or memory)
    assert header_of(case.build(tmp_path).fetch(later)).products == header.products


def test_a_memory_is_bounded_and_holds_nothing_that_was_typed(confirming: Case, tmp_path: Path) -> None:
    for login in (confirming.payer, confirming.remembered):
        offer = confirming.build(tmp_path).offer(confirming.provider)
        assert offer is not None
        typed = [login[field.key] for field in offer.fields if field.secret] + ["geheim-4711"]
        for memory in remembered_of(confirming, confirming.request(login), tmp_path):
            assert len(memory) <= MAX_MEMORY_BYTES
            assert not any(value.encode() in memory for value in typed)


@pytest.mark.parametrize("memory", [b"\x00", b"\xff\xfe", b"[]", b"{}", b'{"device": 1}', b"x" * MAX_MEMORY_BYTES])
def test_a_memory_of_another_is_no_memory(case: Case, memory: bytes, tmp_path: Path) -> None:
    """After an upgrade, or with the memory of another connector."""
    request = case.request(case.logins[0])
    assert header_of(case.build(tmp_path).fetch(replace(request, memory=memory))).products
    if case.remembered:
        with pytest.raises(ScaNeeded):
            header_of(case.build(tmp_path).fetch(replace(case.request(case.remembered), memory=memory)))


def remembered_of(case: Case, request: FetchRequest, folder: Path) -> list[bytes]:
    """What a connector remembers after each step of a consent, given back to it with the next one."""
    turn = case.build(folder).start(Consent(), request)
    memories = [turn.memory or request.memory]
    for move in case.dialogues["right"]:
        turn = case.build(folder).resume(replace(request, memory=memories[-1]), turn.state, move)
        memories.append(turn.memory if turn.memory is not None else memories[-1])
    assert isinstance(turn.step, Done)
    return memories


# Payments.


def order(case: Case, folder: Path) -> Payment:
    """An order from the first account of the payer that can pay."""
    login = case.request(case.payer)
    played(case, login, case.dialogues["right"], folder)
    products = header_of(case.build(folder).fetch(login)).products
    return Payment(uuid4(), next(product.key for product in products if product.transfer_support), (transfer(),))


def test_a_confirmed_payment_is_done_and_the_bank_knows(confirming: Case, tmp_path: Path) -> None:
    request, payment = confirming.request(confirming.payer), order(confirming, tmp_path)
    *moves, last = confirming.dialogues["right"]
    turn = played(confirming, request, tuple(moves), tmp_path, payment)
    assert confirming.build(tmp_path).outcome(request, payment.reference) is None
    assert confirming.build(tmp_path).resume(request, turn.state, last).step == Done()
    assert confirming.build(tmp_path).outcome(request, payment.reference) == Done()


@pytest.mark.parametrize("name", ["wrong", "unknown method", "unknown medium"])
def test_a_payment_that_was_not_confirmed_is_refused_for_ever(confirming: Case, name: str, tmp_path: Path) -> None:
    request, payment = confirming.request(confirming.payer), order(confirming, tmp_path)
    assert isinstance(played(confirming, request, confirming.dialogues[name], tmp_path, payment).step, Failed)
    told = confirming.build(tmp_path).outcome(request, payment.reference)
    assert isinstance(told, Failed)
    assert told.code == Code.TRANSFER_REFUSED
    assert isinstance(confirming.build(tmp_path).start(payment, request).step, Failed)


def test_a_reference_is_taken_once(confirming: Case, tmp_path: Path) -> None:
    request, payment = confirming.request(confirming.payer), order(confirming, tmp_path)
    played(confirming, request, confirming.dialogues["right"], tmp_path, payment)
    for second in (payment, replace(payment, transfers=(transfer(99),))):
        step = confirming.build(tmp_path).start(second, request).step
        assert isinstance(step, Failed)
        assert step.code == Code.TRANSFER_REFUSED
        assert step.details
    assert confirming.build(tmp_path).outcome(request, payment.reference) == Done()


def test_nobody_pays_from_an_unknown_product(confirming: Case, tmp_path: Path) -> None:
    step = confirming.build(tmp_path).start(Payment(uuid4(), "none", (transfer(),)), confirming.request(confirming.payer)).step
    assert isinstance(step, Failed)
    assert step.code == Code.TRANSFER_REFUSED


def test_a_payment_repeats_its_step_when_asked_how_things_stand(confirming: Case, tmp_path: Path) -> None:
    bank, request = confirming.build(tmp_path), confirming.request(confirming.payer)
    turn = bank.start(order(confirming, tmp_path), request)
    again = bank.resume(request, turn.state, Reply())
    assert (again.step, again.state) == (turn.step, turn.state)


CHECKING = [case for case in CASES if case.checked]


def to_stranger(case: Case, folder: Path) -> tuple[FetchRequest, Payment]:
    """A payment to somebody whose name and IBAN do not match."""
    request = case.request(case.checked)
    product = header_of(case.build(folder).fetch(request)).products[0]
    return request, Payment(uuid4(), product.key, (transfer(iban=case.stranger), transfer()), bulk=True)


@pytest.mark.parametrize("case", CHECKING, ids=lambda case: case.name)
def test_a_payee_is_confirmed_before_anything_else(case: Case, tmp_path: Path) -> None:
    request, payment = to_stranger(case, tmp_path)
    turn = case.build(tmp_path).start(payment, request)
    assert isinstance(turn.step, ConfirmPayee)
    assert len(turn.step.payees) == len(payment.transfers)
    assert all((payee.name is not None) == (payee.match is PayeeMatch.CLOSE_MATCH) for payee in turn.step.payees)
    for other in (Reply(), Reply(tan="42"), Reply(method="1")):
        again = case.build(tmp_path).resume(request, turn.state, other)
        assert (again.step, again.state) == (turn.step, turn.state)
    turn = case.build(tmp_path).resume(request, turn.state, Reply(payee_confirmed=True))
    for move in case.dialogues["right"]:
        assert case.build(tmp_path).outcome(request, payment.reference) is None
        turn = case.build(tmp_path).resume(request, turn.state, move)
    assert turn.step == Done()
    assert case.build(tmp_path).outcome(request, payment.reference) == Done()


@pytest.mark.parametrize("case", CHECKING, ids=lambda case: case.name)
def test_a_payee_that_is_refused_ends_the_payment(case: Case, tmp_path: Path) -> None:
    request, payment = to_stranger(case, tmp_path)
    turn = case.build(tmp_path).start(payment, request)
    assert isinstance(case.build(tmp_path).resume(request, turn.state, Reply(payee_confirmed=False)).step, Failed)
    assert not isinstance(case.build(tmp_path).outcome(request, payment.reference), Done)


@pytest.mark.parametrize("iban", ["DE89370400440532013000", "TR330006100519786457841326", "DE00", "", "\ud800", "x" * 10_000])
@pytest.mark.parametrize("name", ["Max Mustermann", "", " ", "\x00", "\ud800", "x" * 10_000])
def test_every_payee_gets_an_answer(confirming: Case, name: str, iban: str, tmp_path: Path) -> None:
    payee = confirming.build(tmp_path).verify_payee(confirming.request(confirming.payer), name, iban)
    assert (payee.name is not None) == (payee.match is PayeeMatch.CLOSE_MATCH)
    assert payee == confirming.build(tmp_path).verify_payee(confirming.request(confirming.payer), name, iban)


def played(case: Case, request: FetchRequest, moves: tuple[Reply, ...], folder: Path, order: Consent | Payment = CONSENT) -> Turn:
    """The last turn of a dialogue, with a new connector for every move, as if each came to another process."""
    turn = case.build(folder).start(order, request)
    for move in moves:
        turn = case.build(folder).resume(request, turn.state, move)
    return turn


def content(part: Part) -> object:
    """A part without what a bank numbers anew each time: what the connector remembers of a first session."""
    if isinstance(part, Header):
        return replace(part, memory=None)
    return (part.product, part.complete_from, part.frame.rows()) if isinstance(part, FetchedBookings) else part
