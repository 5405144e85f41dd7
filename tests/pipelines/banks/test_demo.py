"""The demo bank's own promises: eight lives that grow with the calendar, and a user id for every fault."""

import subprocess
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import polars as pl
import pytest
from schwifty import IBAN

from analytics.frames import BOOKINGS
from analytics.products import CARDS, ProductCategory
from models.simulator.scripted.chance import mix
from models.simulator.scripted.movements import movements
from models.simulator.scripted.personas import Style, load, partners
from pipelines.banks.base import (
    AccessLocked,
    BankFault,
    ChooseMedium,
    ChooseMethod,
    Code,
    Consent,
    Done,
    EnterTan,
    Failed,
    FetchedBookings,
    FetchedProduct,
    FetchRequest,
    FieldsMissing,
    Header,
    Holdings,
    MediumClass,
    Part,
    ProductFailure,
    Reply,
    ScaNeeded,
    Turn,
    Unreachable,
    Wait,
    WrongCredentials,
)
from pipelines.banks.demo import DemoBank, calls
from pipelines.banks.demo.histories import START, Customer, DemoAccount
from pipelines.banks.demo.households import Households
from pipelines.banks.demo.memory import count
from pipelines.banks.demo.special import SPECIAL
from tests.pipelines.banks.cases import DEMO, NOW, demo, header_of

ROOT = Path(__file__).parents[3]
CUSTOMERS = [f"demo{number}" for number in range(1, 9)]


def asked(user_id: str, pin: str | None = None, now: datetime = NOW) -> FetchRequest:
    return FetchRequest(DEMO.provider, demo(user_id, pin), now)


def fetched(bank: DemoBank, user_id: str, now: datetime = NOW) -> tuple[Header, list[Part]]:
    header, *details = bank.fetch(asked(user_id, now=now))
    assert isinstance(header, Header)
    return header, details


def frame_of(bank: DemoBank, user_id: str, now: datetime = NOW) -> pl.DataFrame:
    """All bookings of a user id, with the key of their product."""
    frames = [
        part.frame.with_columns(product=pl.lit(part.product))
        for part in fetched(bank, user_id, now)[1]
        if isinstance(part, FetchedBookings)
    ]
    return pl.concat(frames)


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def bank(tmp_path: Path, pauses: list[float]) -> DemoBank:
    return DemoBank(tmp_path, pause=pauses.append)


# The customers.


def test_the_customers_have_all_eleven_categories(bank: DemoBank) -> None:
    categories = {product.category for user_id in CUSTOMERS for product in fetched(bank, user_id)[0].products}
    assert categories == set(ProductCategory)


@pytest.mark.parametrize("user_id", CUSTOMERS)
def test_the_balance_is_the_opening_one_and_all_booked_bookings(bank: DemoBank, user_id: str) -> None:
    customer = Households().find(user_id)
    assert customer is not None
    header, details = fetched(bank, user_id)
    sums = {part.product: booked_cents(part.frame) for part in details if isinstance(part, FetchedBookings)}
    totals = {part.product: sum(p.total_cents or 0 for p in part.positions) for part in details if isinstance(part, Holdings)}
    for account, product in zip(customer.accounts, header.products, strict=True):
        if product.category is ProductCategory.DEPOT:
            assert product.balance_cents == totals[product.key]
            continue
        openings = {product.currency: account.opening_cents} | {entry.currency: entry.balance_cents for entry in account.further}
        booked = {currency: cents + sums[product.key][currency] for currency, cents in openings.items()}
        assert product.balance_cents == booked[product.currency]
        assert {entry.currency: entry.balance_cents for entry in product.balances} == (booked if account.further else {})
        assert set(sums[product.key]) <= set(openings)


def booked_cents(frame: pl.DataFrame) -> Counter[str]:
    booked = frame.filter(~pl.col("pending"))
    return Counter(dict(booked.group_by("currency").agg(pl.col("amount_cents").sum()).iter_rows()))


@pytest.mark.parametrize("user_id", CUSTOMERS)
def test_histories_grow_with_the_calendar_and_never_change(bank: DemoBank, user_id: str) -> None:
    booked = ~pl.col("pending")
    today = NOW.date()
    early, late = frame_of(bank, user_id), frame_of(bank, user_id, NOW + timedelta(days=30))
    assert early.filter(booked).equals(late.filter(booked & (pl.col("booked_on") <= today)))
    assert late.height > early.height
    assert early["booked_on"].min() == START or early["booked_on"].min() == date(2023, 11, 2)


@pytest.mark.parametrize("user_id", CUSTOMERS)
def test_card_purchases_are_pending_before_they_are_booked_with_more_words(bank: DemoBank, user_id: str) -> None:
    pending = frame_of(bank, user_id).filter("pending")
    later = frame_of(bank, user_id, NOW + timedelta(days=7)).filter(~pl.col("pending"))
    assert pending["primanota"].null_count() == pending.height
    for row in pending.iter_rows(named=True):
        same = later.filter((pl.col("amount_cents") == row["amount_cents"]) & (pl.col("product") == row["product"]))
        same = same.filter(pl.col("counterparty_name") == row["counterparty_name"], pl.col("booked_on") > row["booked_on"])
        assert same.height >= 1
        assert same["purpose"].str.len_chars().max() != len(row["purpose"])


def test_purchases_of_today_are_pending(bank: DemoBank) -> None:
    days = [frame_of(bank, user_id).filter("pending")["booked_on"].to_list() for user_id in CUSTOMERS]
    assert NOW.date() in [day for found in days for day in found]


def test_nothing_is_booked_at_weekends_or_on_holidays(bank: DemoBank) -> None:
    for user_id in CUSTOMERS:
        booked = frame_of(bank, user_id).filter(~pl.col("pending"))["booked_on"]
        assert booked.dt.weekday().max() in (None, 5)
        assert not set(booked) & {date(2024, 3, 29), date(2025, 4, 21), date(2026, 5, 1), date(2025, 12, 26)}


def test_genuine_twins_occur(bank: DemoBank) -> None:
    frames = [frame_of(bank, user_id).filter(~pl.col("pending")) for user_id in CUSTOMERS]
    assert sum(frame.height - frame.unique().height for frame in frames) > 20


def test_what_leaves_one_own_account_arrives_on_the_other(bank: DemoBank) -> None:
    header, _ = fetched(bank, "demo1")
    bookings = frame_of(bank, "demo1")
    ibans = {product.iban for product in header.products if product.iban}
    own = bookings.filter(pl.col("counterparty_iban").is_in(list(ibans)))
    assert own.height > 60
    assert own["amount_cents"].sum() == 0


def test_bookings_are_written_in_four_ways(bank: DemoBank) -> None:
    words = {
        Style.SAVINGS_BANK: ("demo1", r"^EREF\+R\d{12}MREF\+M-\d{8}CRED\+DE\d{2}ZZZ\d{11}SVWZ\+"),
        Style.COOPERATIVE: ("demo2", r" EREF: R\d{12} MREF: M-\d{8} CRED: DE\d{2}ZZZ\d{11} IBAN: DE\d{20} BIC: [A-Z0-9]{11}$"),
        Style.DIRECT: ("demo6", r"^NETFLIX\.COMMonatsbeitrag\d\d/\d{4}Mandat:M-\d{8}Referenz:R\d{12}$"),
        Style.VISA: ("demo1", r"VISA \d+,\d\d USD Kurs 1,\d\d$"),
    }
    assert set(words) == set(Style)
    for user_id, pattern in words.values():
        assert frame_of(bank, user_id)["purpose"].str.contains(pattern).any(), pattern
    card = r"^REWE SAGT DANKE\. \d+//KOELN/DE \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d Debitk\.0 2028-12$"
    assert frame_of(bank, "demo1")["purpose"].str.contains(card).any()


def test_ibans_and_creditor_ids_are_valid(bank: DemoBank) -> None:
    for user_id in CUSTOMERS:
        own_ibans = {product.iban for product in fetched(bank, user_id)[0].products if product.iban}
        counterparty_ibans = set(frame_of(bank, user_id)["counterparty_iban"].drop_nulls())
        assert all(IBAN(iban).is_valid for iban in own_ibans | counterparty_ibans)
    creditor_ids = [partner.creditor_id for partner in partners().values() if partner.creditor_id]
    assert len(creditor_ids) > 50
    assert all(int(f"{creditor_id[7:]}1314{creditor_id[2:4]}") % 97 == 1 for creditor_id in creditor_ids)


def test_accounts_are_keyed_by_iban_and_cards_by_nothing_that_tells_their_number(bank: DemoBank) -> None:
    for user_id in CUSTOMERS:
        for product in fetched(bank, user_id)[0].products:
            if product.category in CARDS:
                number = product.account_number or ""
                assert "****" in number
                assert number[:4] not in product.key
                assert number[-4:] not in product.key
            elif product.category is not ProductCategory.DEPOT:
                assert product.key == product.iban


def test_depots_have_foreign_and_nominal_positions(bank: DemoBank) -> None:
    depots = [part.positions for user_id in CUSTOMERS for part in fetched(bank, user_id)[1] if isinstance(part, Holdings)]
    assert all(3 <= len(positions) <= 8 for positions in depots)
    positions = [position for depot in depots for position in depot]
    assert all(isinstance(position.price, Decimal) for position in positions)
    assert any(position.currency == "USD" and position.exchange_rate for position in positions)
    assert any(position.by_piece is False for position in positions)


def test_home_savings_and_several_currencies_are_complete(bank: DemoBank) -> None:
    products = [product for user_id in CUSTOMERS for product in fetched(bank, user_id)[0].products]
    contracts = [product.home_savings for product in products if product.home_savings]
    assert contracts
    assert all(value is not None for contract in contracts for value in vars(contract).values())
    assert {"EUR", "USD", "CHF"} in [{entry.currency for entry in product.balances} for product in products]


def test_media_of_all_classes_occur_and_some_have_a_validity(bank: DemoBank) -> None:
    headers = [fetched(bank, user_id)[0] for user_id in CUSTOMERS]
    media = [medium for header in headers for medium in header.media]
    assert {medium.kind for medium in media} == set(MediumClass)
    assert any(medium.valid_from and medium.valid_to for medium in media)
    assert all(header.active_method in {method.code for method in header.methods} for header in headers)
    assert headers[0].active_method == "1"


def test_a_fetch_before_the_first_day_of_the_histories_is_answered(bank: DemoBank) -> None:
    assert fetched(bank, "demo1", datetime(2020, 1, 1, tzinfo=NOW.tzinfo))[0].products


def test_other_histories_can_be_supplied(tmp_path: Path) -> None:
    class Simulated:
        def find(self, user_id: str) -> Customer | None:
            product = FetchedProduct("K-1", ProductCategory.CHECKING, "Konto", "Kim Neu")
            return Customer(user_id, (DemoAccount(product, 500),), pin="sim") if user_id == "sim1" else None

        def bookings(self, customer: Customer, as_of: date) -> dict[str, pl.DataFrame]:
            return {"K-1": BOOKINGS.to_frame()}

        def positions(self, customer: Customer, as_of: date) -> dict[str, tuple[()]]:
            return {}

    header, _ = list(DemoBank(tmp_path, Simulated()).fetch(asked("sim1", "sim")))
    assert isinstance(header, Header)
    assert header.products[0].balance_cents == 500


def test_chance_is_the_same_on_every_machine_and_in_every_version() -> None:
    state = (7 * 0x9E3779B97F4A7C15 + 20_000 * 0xD1B54A32D192ED03 + 1 * 0x8CB92BA72F3D8DD7) % 2**64
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ state >> 27) * 0x94D049BB133111EB % 2**64
    assert pl.select(mix(pl.lit(7), 20_000, 1)).item() == state ^ state >> 31


# The special user ids.


@pytest.mark.parametrize(
    ("user_id", "pin", "fault"),
    [
        ("test_wrong_pin", "anything", WrongCredentials),
        ("test_locked", "anything", AccessLocked),
        ("test_unreachable", "anything", Unreachable),
        ("test_incomplete", None, FieldsMissing),
        ("demo1", "wrong", WrongCredentials),
        ("nobody", "demo", WrongCredentials),
        ("test_no_such_id", None, WrongCredentials),
        ("test_slow", "wrong", WrongCredentials),
    ],
)
def test_refused_at_the_door(bank: DemoBank, user_id: str, pin: str | None, fault: type[BankFault]) -> None:
    for operation in (lambda: list(bank.fetch(asked(user_id, pin))), lambda: bank.start(Consent(), asked(user_id, pin))):
        with pytest.raises(fault):
            operation()


def test_three_wrong_pins_lock_for_ten_minutes(bank: DemoBank) -> None:
    def outcome(pin: str | None, minutes: int = 0) -> Code | None:
        try:
            list(bank.fetch(asked("test_lock_a", pin, NOW + timedelta(minutes=minutes))))
        except BankFault as fault:
            return fault.code
        return None

    assert [outcome("x"), outcome("x"), outcome(None)] == [Code.WRONG_CREDENTIALS, Code.WRONG_CREDENTIALS, None]
    assert [outcome("x") for _ in range(3)] == [Code.WRONG_CREDENTIALS, Code.WRONG_CREDENTIALS, Code.LOCKED]
    assert [outcome(None), outcome(None, minutes=9), outcome(None, minutes=10)] == [Code.LOCKED, Code.LOCKED, None]
    assert list(bank.fetch(asked("test_lock_b")))


def test_customers_are_never_locked(bank: DemoBank) -> None:
    for _ in range(5):
        with pytest.raises(WrongCredentials):
            list(bank.fetch(asked("demo1", "x")))
    assert list(bank.fetch(asked("demo1")))


@pytest.mark.parametrize(
    ("user_id", "seconds"), [("test_slow", 10), ("test_slow_2.5", 2.5), ("test_slow_99999", 3600), ("test_hang", 3600)]
)
def test_slow_ids_wait_before_the_header(bank: DemoBank, pauses: list[float], user_id: str, seconds: float) -> None:
    session = bank.fetch(asked(user_id))
    if user_id == "test_hang":
        with pytest.raises(Unreachable):
            next(session)
    else:
        header_of(session)
    assert pauses == [seconds]


def test_slow_bookings_wait_after_the_header(bank: DemoBank, pauses: list[float]) -> None:
    session = bank.fetch(asked("test_slow_bookings_4"))
    header_of(session)
    assert pauses == []
    assert isinstance(next(session), FetchedBookings)
    assert pauses == [4]


def test_partial_gives_one_product_and_three_failures(bank: DemoBank) -> None:
    header, details = fetched(bank, "test_partial")
    assert [part.product for part in details if not isinstance(part, Header)] == [product.key for product in header.products]
    codes = [part.code if isinstance(part, ProductFailure) else None for part in details]
    assert codes == [None, Code.BOOKINGS_FAILED, Code.PRODUCT_FAILED, Code.POSITIONS_FAILED]


def test_empty_has_no_products_and_empty_later_loses_them(bank: DemoBank) -> None:
    assert fetched(bank, "test_empty") == (replace(header_of(bank.fetch(asked("test_empty"))), products=()), [])
    sizes = [(len(header.products), len(details)) for header, details in (fetched(bank, "test_empty_later") for _ in range(3))]
    assert sizes == [(1, 1), (0, 0), (0, 0)]


def test_consent_ends_in_a_week_until_it_is_renewed(bank: DemoBank) -> None:
    header, _ = fetched(bank, "test_consent_ends")
    assert header.consent_ends_at == NOW + timedelta(days=7)
    assert header.notices
    renewed(bank, "test_consent_ends")
    header, _ = fetched(bank, "test_consent_ends")
    assert header.consent_ends_at == NOW + timedelta(days=180)
    assert not header.notices


def test_new_transactions_come_one_with_every_fetch(bank: DemoBank) -> None:
    first, second, third = (frame_of(bank, "test_new_transactions") for _ in range(3))
    assert [second.height - first.height, third.height - second.height] == [1, 1]
    assert second.join(third, on=second.columns, how="anti", nulls_equal=True).is_empty()
    assert frame_of(bank, "test_new_transactions_other")["purpose"].str.contains("Neue Buchung").sum() == 1


def test_changing_texts_change_words_and_order_but_nothing_else(bank: DemoBank) -> None:
    content = [name for name in BOOKINGS if name != "purpose"]
    fetches = [frame_of(bank, "test_changing_texts") for _ in range(5)]
    for before, after in pairwise(fetches):
        assert before.select(content).sort(content).equals(after.select(content).sort(content))
        assert set(before["purpose"]) != set(after["purpose"])
        assert not before.select(content).equals(after.select(content))


def test_pending_is_booked_at_the_second_fetch(bank: DemoBank) -> None:
    seen = []
    for _ in range(3):
        header, (part,) = fetched(bank, "test_pending")
        assert isinstance(part, FetchedBookings)
        (row,) = part.frame.filter(pl.col("counterparty_name") == "MEDIAMARKT").iter_rows(named=True)
        seen.append((row["pending"], row["booked_on"], header.products[0].balance_cents or 0))
    assert [pending for pending, *_ in seen] == [True, False, False]
    assert {day for _, day, _ in seen} == {NOW.date()}
    assert [balance - seen[0][2] for *_, balance in seen] == [0, -24_900, -24_900]


def test_many_gives_that_number_of_bookings(bank: DemoBank) -> None:
    assert frame_of(bank, "test_many_50000").height == 50_000
    assert frame_of(bank, "test_many_0").height == 0


@pytest.mark.parametrize("kind", ["year", "rows", "html", "currency", "twice", "huge", "schema"])
def test_garbage_makes_no_sense(bank: DemoBank, kind: str) -> None:
    header, details = fetched(bank, f"test_garbage_{kind}")
    frame = next(part.frame for part in details if isinstance(part, FetchedBookings))
    years = frame["booked_on"].dt.year()
    signs = {
        "year": (years.min(), years.max()) == (1, 9999),
        "rows": frame.height == 1_000_000,
        "html": frame["purpose"].str.contains("<script>", literal=True).all(),
        "currency": header.products[0].currency == "XQZ",
        "twice": [product.key for product in header.products] == [header.products[0].key] * 2,
        "huge": "amount_cents" in frame and frame["amount_cents"].max() == 10**14,
        "schema": "amount_cents" not in frame,
    }
    assert [name for name, shown in signs.items() if shown] == [kind]


# Dialogues.


def renewed(bank: DemoBank, user_id: str, now: datetime = NOW) -> Turn:
    """The end of a dialogue with a TAN generator, with a medium if one is asked for."""
    request = asked(user_id, now=now)
    turn = bank.resume(request, bank.start(Consent(), request).state, Reply(method="1"))
    if isinstance(turn.step, ChooseMedium):
        turn = bank.resume(request, turn.state, Reply(medium=turn.step.media[0].name))
    return bank.resume(request, turn.state, Reply(tan="42"))


def test_a_consent_holds_for_180_days(bank: DemoBank) -> None:
    with pytest.raises(ScaNeeded):
        fetched(bank, "test_sca_method_media")
    assert renewed(bank, "test_sca_method_media").step == Done(NOW + timedelta(days=180))
    assert fetched(bank, "test_sca_method_media", NOW + timedelta(days=179))[0].products
    with pytest.raises(ScaNeeded):
        fetched(bank, "test_sca_method_media", NOW + timedelta(days=180))
    with pytest.raises(ScaNeeded):
        fetched(bank, "test_sca_method_media_other")


def test_the_dialogue_asks_for_method_medium_and_tan(bank: DemoBank) -> None:
    request = asked("test_sca_method_media")
    turn = bank.start(Consent(), request)
    assert isinstance(turn.step, ChooseMethod)
    assert {"1", "942", "972"} <= {method.code for method in turn.step.methods}
    for method in turn.step.methods:
        assert isinstance(bank.resume(request, turn.state, Reply(method=method.code)).step, ChooseMedium)
    turn = bank.resume(request, turn.state, Reply(method="942"))
    assert isinstance(turn.step, ChooseMedium)
    turn = bank.resume(request, turn.state, Reply(medium=turn.step.media[0].name))
    assert isinstance(turn.step, EnterTan)
    for wrong in (1, 2):
        turn = bank.resume(request, turn.state, Reply(tan="0815"))
        assert isinstance(turn.step, EnterTan)
        assert turn.step.wrong_before == wrong
    assert bank.resume(request, turn.state, Reply(tan="0815")).step == Failed(Code.TAN_INVALID)


def test_an_optical_method_brings_a_flicker_code_and_a_photo_method_a_picture(bank: DemoBank) -> None:
    request, steps = asked("test_sca_method_media"), {}
    for method in ("1", "2", "972"):
        turn = bank.resume(request, bank.start(Consent(), request).state, Reply(method=method))
        assert isinstance(turn.step, ChooseMedium)
        steps[method] = bank.resume(request, turn.state, Reply(medium=turn.step.media[0].name)).step
    tans = [step for step in steps.values() if isinstance(step, EnterTan)]
    assert [(bool(step.hhd and step.hhduc), bool(step.photo)) for step in tans] == [(False, False), (True, False), (False, True)]
    assert (tans[2].photo or b"").startswith(b"\x89PNG")


def test_a_medium_is_asked_for_only_where_there_is_a_choice(bank: DemoBank) -> None:
    request = asked("demo1")
    turn = bank.start(Consent(), request)
    assert isinstance(bank.resume(request, turn.state, Reply(method="1")).step, EnterTan)
    renewed(bank, "demo1")
    assert fetched(bank, "demo1")[0].consent_ends_at == NOW + timedelta(days=180)


def test_an_app_confirms_by_itself_after_a_few_seconds(bank: DemoBank) -> None:
    request = asked("demo3")
    turn = bank.resume(request, bank.start(Consent(), request).state, Reply(method="944"))
    assert isinstance(turn.step, Wait)
    assert isinstance(bank.resume(request, turn.state, Reply()).step, Wait)
    later = replace(request, now=NOW + timedelta(seconds=turn.step.seconds))
    assert isinstance(bank.resume(later, turn.state, Reply()).step, Done)


# The ledger and the memory.


def test_the_ledger_has_every_call_and_no_secret(bank: DemoBank) -> None:
    fetched(bank, "demo1")
    with pytest.raises(WrongCredentials):
        list(bank.fetch(asked("somebody", "geheim-0815")))
    renewed(bank, "demo2")
    lines = calls(bank.folder)
    ended = [(line["operation"], line["user_id"], line["outcome"]) for line in lines if line["event"] == "end"]
    assert ended[:3] == [("fetch", "demo1", "done"), ("fetch", "unknown", "BA1011"), ("start", "demo2", "done")]
    assert {operation for operation, *_ in ended[3:]} == {"resume"}
    text = (bank.folder / "calls.jsonl").read_text()
    assert not [word for word in ("geheim", "somebody", '"42"', '"demo"') if word in text]


def test_the_ledger_shows_sessions_that_run_at_the_same_time(bank: DemoBank) -> None:
    first, second = bank.fetch(asked("demo1")), bank.fetch(asked("test_slow"))
    next(first), next(second)
    list(first)
    del second
    lines = calls(bank.folder)
    assert [line["event"] for line in lines] == ["begin", "begin", "end", "end"]
    assert [line["outcome"] for line in lines[2:]] == ["done", "abandoned"]
    assert len({line["session"] for line in lines}) == 2


def test_counters_are_right_when_several_processes_count(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        seen = list(pool.map(partial(count, tmp_path, "test_many_hands"), ["fetches"] * 30))
    assert sorted(seen) == list(range(30))


def test_login_fields_are_known_without_polars() -> None:
    code = "import sys, pipelines.banks.demo; sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_every_special_user_id_is_documented() -> None:
    text = (ROOT / "docs" / "demo-bank.md").read_text()
    names = {
        alternative.split("(")[0].split("\\")[0].rstrip("_.+") for pattern, _ in SPECIAL for alternative in pattern.split("|")
    }
    assert [name for name in names if name.startswith("test_") and f"`{name}" not in text] == []
    assert [user_id for user_id in CUSTOMERS if f"`{user_id}`" not in text] == []


def test_prices_of_the_people_are_those_of_their_time() -> None:
    """The Deutschlandticket and child benefit are what they were, pensions rise in July, and machines pay out notes."""
    start, today = date(2023, 11, 1), date(2026, 11, 18)
    accounts = {name: movements(load(name), start, today) for name in ("employee", "pensioner", "family", "apprentice")}
    for name, children in (("family", 2), ("apprentice", 1)):
        benefit = accounts[name].filter(pl.col("purpose").str.starts_with("Kindergeld")).sort("booked_on")
        assert benefit["amount_cents"].unique(maintain_order=True).to_list() == [
            euros * children for euros in (25_000, 25_500, 25_900)
        ]
    tickets = accounts["employee"].filter(pl.col("purpose").str.starts_with("Deutschlandticket"))
    by_year = tickets.group_by(pl.col("booked_on").dt.year()).agg(pl.col("amount_cents").unique()).sort("booked_on")
    assert by_year["amount_cents"].to_list() == [[-4_900], [-4_900], [-5_800], [-6_300]]
    pensions = accounts["pensioner"].filter(pl.col("purpose").str.starts_with("Rente ")).sort("booked_on")
    risen = pensions.filter(pl.col("amount_cents") > pl.col("amount_cents").shift(1))
    assert risen["booked_on"].dt.month().to_list() == [7, 7, 7]
    cash = pl.concat(frame.filter(pl.col("kind") == "CASH")["amount_cents"] for frame in accounts.values())
    assert cash.len() > 50
    assert (cash % 1_000 == 0).all()


def test_taxes_are_paid_to_offices_of_the_town() -> None:
    offices = {
        "family": "Finanzamt Nuertingen",
        "freelancer": "Finanzamt Berlin Mitte/Tiergarten",
        "investor": "Finanzamt Muenchen",
    }
    for name, office in offices.items():
        names = movements(load(name), date(2023, 11, 1), date(2026, 11, 18))["name"].drop_nulls().unique()
        assert names.filter(names.str.starts_with("Finanzamt")).to_list() == [office]
