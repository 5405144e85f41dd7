"""Affordability of made-up and simulated users: sums to the cent, and flags that name their bookings."""

from datetime import date
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analytics.analyses.affordability import Affordability, affordability
from analytics.analyses.affordability.flags import FLAGS
from analytics.analyses.snapshot import snapshot
from analytics.frames import AFFORDABILITY, AFFORDABILITY_AMOUNTS, AS_OF, PRODUCTS, TAGGED, TRANSACTIONS
from models.simulator import Corpus, simulate
from models.simulator.truth.affordability import affordability_truth

AS_OF_DAY = date(2026, 6, 29)
BOOKED = pl.Schema({**TRANSACTIONS, **TAGGED})
USUAL: dict[str, Any] = {
    "user": "anna",
    "product": "giro",
    "currency": "EUR",
    "pending": False,
    "channel": "TRANSFER",
    "insurance": "UNRELATED_OTHER",
    "partner": "UNKNOWN",
}
GIRO = ("anna", "giro", "CHECKING", None, "Anna Beispiel")
SALARY = {"category": "INCOME_SALARY", "counterparty_key": "employer", "channel": "SALARY"}
RENT = {"category": "HOUSING_RENT", "counterparty_key": "landlord", "channel": "STANDINGORDER"}


def months(count: int, day: int = 3, last: int = 6) -> list[date]:
    """The same day of so many months, the last one in this month of 2026."""
    numbers = [2026 * 12 + last - 1 - back for back in reversed(range(count))]
    return [date(number // 12, number % 12 + 1, day) for number in numbers]


def books(days: date | list[date], cents: int, category: str, **columns: Any) -> pl.DataFrame:
    """Bookings on these days, alike but for what is said."""
    each = days if isinstance(days, list) else [days]
    about = {**USUAL, "category": category, "effective_category": category, "counterparty_key": category, **columns}
    name = f"{about['user']}-{about['counterparty_key']}-{about['category']}-{cents}"
    rows = [{"id": f"{name}-{day}", **about, "booked_on": day, "amount_cents": cents} for day in each]
    return pl.DataFrame(rows, schema=BOOKED)


def found(*parts: pl.DataFrame, products: tuple[tuple[Any, ...], ...] = (GIRO,), as_of: date = AS_OF_DAY) -> Affordability:
    bookings = pl.concat([BOOKED.to_frame(), *parts])
    users = bookings["user"].unique().sort()
    days = pl.DataFrame({"user": users, "as_of": [as_of] * users.len()}, schema=AS_OF)
    return affordability(
        snapshot(bookings, pl.DataFrame([(*product, None) for product in products], PRODUCTS, orient="row"), days)
    )


def only(*parts: pl.DataFrame, **columns: Any) -> dict[str, Any]:
    return found(*parts, **columns).affordability.row(0, named=True)


def salary(count: int = 13, cents: int = 300_000) -> pl.DataFrame:
    return books(months(count, 1), cents, **SALARY)


def test_means_are_those_of_the_full_months_before_the_month_of_the_day() -> None:
    result = only(salary(), books(months(13), -90_000, **RENT), books(date(2026, 6, 4), -500_000, "TRAVEL_OTHER"))
    assert (result["window_first"], result["window_last"], result["months"]) == (date(2025, 6, 1), date(2026, 5, 31), 12)
    assert (result["income"], result["income_regular"], result["necessities_regular"]) == (300_000, 300_000, 90_000)
    assert (result["expenses"], result["discretionary"], result["luxuries"]) == (90_000, 210_000, 0)


def test_a_month_that_ends_with_the_day_is_full() -> None:
    result = only(salary(), as_of=date(2026, 6, 30))
    assert (result["window_first"], result["window_last"], result["months"]) == (date(2025, 7, 1), date(2026, 6, 30), 12)


@pytest.mark.parametrize(("count", "seen_months"), [(2, None), (3, 3), (12, 12), (13, 12)])
def test_at_least_three_and_at_most_twelve_full_months_count(count: int, seen_months: int | None) -> None:
    result = found(salary(count + 1)).affordability
    assert result["months"].to_list() == ([] if seen_months is None else [seen_months])


def test_a_history_that_begins_within_a_month_begins_with_the_next() -> None:
    assert only(books(months(5, 20), 300_000, **SALARY))["months"] == 3


def test_an_old_savings_account_does_not_stretch_the_history() -> None:
    old = books(months(24, 28, last=1), 100, "INCOME_INVESTMENT", product="geld")
    result = only(salary(5), old, products=(GIRO, ("anna", "geld", "CALL_MONEY", None, "Anna Beispiel")))
    assert (result["months"], result["income"]) == (4, 300_000)


def test_without_income_what_is_spent_is_ten_times_as_much() -> None:
    result = only(books(months(13), -90_000, **RENT))
    assert (result["income"], result["discretionary"]) == (0, -90_000)
    assert (result["ratio_expenses_to_income"], result["ratio_necessities_to_income"]) == (10.0, 10.0)
    assert result["ratio_luxuries_to_income"] == 0.0


def test_ratios_to_income_end_at_ten() -> None:
    assert only(salary(13, 100), books(months(13), -90_000, **RENT))["ratio_expenses_to_income"] == 10.0


def test_without_expenses_all_ratios_are_zero() -> None:
    result = only(salary())
    assert [result[name] for name in result if name.startswith("ratio_")] == [0.0] * 6


def test_stakes_are_all_that_is_left_where_nothing_is_left() -> None:
    stakes = books(months(13, 7), -5_000, "RECREATION_OTHER", partner="TIPICO", channel="CARD")
    result = only(books(months(13), -90_000, **RENT), stakes)
    assert (result["gambling"], result["ratio_gambling_to_discretionary_for_irregular_luxuries"]) == (5_000, 1.0)
    assert len(result["gambling_ids"]) == 13


def test_what_is_won_does_not_lessen_the_stakes() -> None:
    game = {"category": "RECREATION_OTHER", "partner": "TIPICO"}
    result = only(salary(), books(months(13, 7), -6_000, **game), books(months(13, 8), 4_000, **game))
    assert result["gambling"] == 6_000
    assert result["ratio_gambling_to_discretionary_for_irregular_luxuries"] == pytest.approx(
        6_000 / result["discretionary_for_irregular_luxuries"]
    )


def test_a_place_to_gamble_needs_no_catalogue() -> None:
    halls = books(months(13, 7), -2_000, "RECREATION_OTHER", counterparty_name="Spielhalle am Bahnhof")
    fairs = books(months(13, 8), -2_000, "RECREATION_OTHER", counterparty_name="Kirmes Freundeskreis")
    assert only(salary(), halls, fairs)["gambling"] == 2_000


def test_refunds_count_in_their_category_but_never_below_zero() -> None:
    bought = books(date(2026, 3, 4), -12_000, "SHOPPING_ELECTRONICS")
    returned = books(date(2026, 3, 9), 24_000, "TRANSFER_REFUND", effective_category="SHOPPING_ELECTRONICS")
    partly = books(date(2026, 4, 9), 6_000, "TRANSFER_REFUND", effective_category="TRAVEL_OTHER")
    journey = books(date(2026, 4, 1), -18_000, "TRAVEL_OTHER")
    result = found(salary(), bought, returned, partly, journey)
    assert result.affordability["luxuries"].item() == 1_000
    assert result.amounts.filter(pl.col("part") == "luxuries")["category"].to_list() == ["TRAVEL_OTHER"]


def test_a_refund_of_a_contract_is_netted_with_it() -> None:
    power = {"category": "BILLS_ELECTRICITY", "counterparty_key": "stadtwerke", "channel": "DIRECTDEBIT"}
    payments = books(months(13), -8_000, **power)
    back = books(
        date(2026, 2, 20),
        12_000,
        "TRANSFER_REFUND",
        effective_category="BILLS_ELECTRICITY",
        refund_of=payments["id"][7],
        counterparty_key="other",
    )
    result = only(salary(), payments, back)
    assert (result["necessities_regular"], result["necessities_irregular"]) == (7_000, 0)


def test_halves_of_cents_are_rounded_up() -> None:
    result = only(salary(), books(date(2026, 3, 3), -18, "TRAVEL_OTHER"), books(date(2026, 3, 3), -17, "SHOPPING_OTHER"))
    assert result["luxuries"] == 2 + 1


def test_an_amount_in_another_currency_is_not_counted() -> None:
    dollars = books(date(2026, 3, 3), -120_000, "TRAVEL_OTHER", currency="USD")
    assert only(salary(), dollars)["expenses"] == 0


def test_own_transfers_loans_and_deposits_are_neither_income_nor_expense() -> None:
    outside = [
        books(date(2026, 3, day), cents, category)
        for day, (cents, category) in enumerate(
            [(500_000, "BANKFINANCE_CREDITINCOME"), (9_000, "BANKFINANCE_CASHDEPOSIT"), (-7_000, "TRANSFER_INTERNAL")], 3
        )
    ]
    result = only(salary(), *outside)
    assert (result["income"], result["expenses"]) == (300_000, 0)


def test_money_is_saved_once_when_it_leaves_the_current_account() -> None:
    saving = {"category": "TRANSFER_SAVINGS"}
    out = books(months(13), -20_000, **saving)
    into = books(months(13), 20_000, **saving, product="geld")
    back = books(date(2026, 3, 8), 60_000, **saving)
    result = only(salary(), out, into, back, products=(GIRO, ("anna", "geld", "CALL_MONEY", None, "Anna Beispiel")))
    assert (result["savings"], result["expenses"]) == (15_000, 0)


def test_premiums_that_build_capital_are_savings_and_others_are_necessities() -> None:
    insurance = {"category": "INSURANCE_PROVISIONARY", "channel": "DIRECTDEBIT"}
    pension = books(months(13), -10_000, **insurance, insurance="PROVISIONARY_RIESTER", counterparty_key="riester")
    term = books(months(13), -1_200, **insurance, insurance="LIFE_TERM", counterparty_key="risiko")
    result = only(salary(), pension, term)
    assert (result["savings"], result["necessities"]) == (10_000, 1_200)


MOST_CELLS = 50
"""Each of so many cells may be rounded by half a cent; and what is netted with which cell depends on the contracts found."""
RETURNED = {"category": "TRANSFER_REVERSAL", "counterparty_key": "mobilfunk", "counterparty_name": "Mobilfunk AG"}


@pytest.mark.parametrize(
    ("back_on", "says", "returned"),
    [
        (date(2026, 4, 2), "Rückgabe mangels Deckung", True),
        (date(2026, 4, 8), "Rücklastschrift Rückgabegrund MS03", True),
        (date(2026, 4, 2), "Rückgabegrund MD06", False),
        (date(2026, 4, 2), "Widerspruch des Zahlers", False),
        (date(2026, 4, 24), "Lastschriftrückgabe", False),
    ],
)
def test_a_debit_without_cover_is_a_return_and_an_objection_is_none(back_on: date, says: str, *, returned: bool) -> None:
    payments = books(date(2026, 3, 30), -3_000, **RETURNED, channel="DIRECTDEBIT")
    back = books(back_on, 3_000, **RETURNED, channel="DD_RETURN", purpose=says, pair_of=payments["id"][0])
    result = only(salary(), payments, back)
    assert result["return_debits"] is returned
    assert result["return_debits_ids"] == (back["id"].to_list() if returned else [])
    assert result["return_debits_reason"].startswith("1 Rücklastschrift" if returned else "keine Rücklastschriften")


def test_a_returned_transfer_is_no_return_debit() -> None:
    back = books(date(2026, 4, 2), 3_000, "TRANSFER_REVERSAL", channel="TRANSFER_RETURN", purpose="Retoure IBAN ungültig")
    assert only(salary(), back)["return_debits"] is False


@pytest.mark.parametrize(
    ("says", "flag"),
    [
        ("Entgelt Rücklastschrift", "return_debits"),
        ("R?cklastschriftgeb?hr 03.03.2026", "return_debits"),
        ("Gebuehr fuer Nichteinloesung Lastsch rift", "return_debits"),
        ("Mahngebühr 1. Mahnung Kd 123", "reminder_charges"),
        ("Rechnung 77 inkl. Mahnkosten", "reminder_charges"),
        ("Pfändungs- und Überweisungsbeschluss 81", "seizure_payments"),
        ("Auskehrung Pf?ndung 12", "seizure_payments"),
        ("Gerichtsvollzieher DR II 12/26", "seizure_payments"),
        ("Az 123 Inkasso Teilzahlung", "debt_collection_payments"),
    ],
)
def test_words_tell_of_difficulties(says: str, flag: str) -> None:
    fee = books(date(2026, 6, 12), -500, "BANKFINANCE_OTHER", purpose=says)
    result = only(salary(), fee)
    assert [name for name in FLAGS if result.get(name)] == [flag]
    assert result[f"{flag}_ids"] == fee["id"].to_list()


@pytest.mark.parametrize(
    "says",
    ["Verpfändung Kautionskonto", "Vergütung Testamentsvollstreckung", "Beitragsinkasso Verein", "Rechnung und Lastschrift"],
)
def test_words_that_only_sound_alike_tell_nothing(says: str) -> None:
    result = only(salary(), books(date(2026, 4, 2), -500, "SERVICES_OTHER", purpose=says))
    assert not any(result[flag] for flag in FLAGS if flag in result)


def test_the_code_of_the_bank_tells_of_a_reminder_fee() -> None:
    assert only(salary(), books(date(2026, 4, 2), -500, "BANKFINANCE_OTHER", gv_code="810"))["reminder_charges"] is True


def test_a_collector_is_known_by_name() -> None:
    assert only(salary(), books(date(2026, 4, 2), -5_000, "OTHER_SPENDING", partner="EOS"))["debt_collection_payments"] is True


def test_what_concerns_health_or_faith_is_never_evidence() -> None:
    doctor = books(date(2026, 4, 2), -5_000, "HEALTH_SERVICES", purpose="Arztrechnung Mahngebühr Inkasso", partner="EOS")
    gift = books(date(2026, 4, 2), -5_000, "OTHER_DONATION", purpose="Inkasso Kirchgeld Mahngebühr")
    result = only(salary(), doctor, gift)
    assert not any(result[flag] for flag in FLAGS if flag in result)


@pytest.mark.parametrize(("count", "loan"), [(2, False), (3, True)])
def test_instalments_of_a_purchase_are_a_loan_from_three_on(count: int, *, loan: bool) -> None:
    bought = {"category": "BANKFINANCE_CREDITPAYMENT", "partner": "KLARNA", "channel": "DIRECTDEBIT", "purpose": "Ratenkauf"}
    result = only(salary(), books(months(count), -4_000, **bought))
    assert result["existing_loans"] is loan
    assert len(result["existing_loans_ids"]) == (count if loan else 0)


def test_a_home_loan_is_a_mortgage_and_no_other_loan() -> None:
    result = only(salary(), books(months(13), -90_000, "HOUSING_FINANCING", channel="LOAN"))
    assert (result["mortgage_payments"], result["existing_loans"]) == (True, False)


def test_an_own_loan_account_that_is_paid_for_is_a_loan() -> None:
    payments = books(months(13), -24_000, "TRANSFER_LOAN")
    assert only(salary(), payments, products=(GIRO, ("anna", "kredit", "LOAN", None, "Anna")))["existing_loans"] is True


def test_a_loan_that_is_over_is_none() -> None:
    last = months(12, last=2)
    assert only(salary(), books(last, -24_000, "BANKFINANCE_CREDITPAYMENT", channel="DIRECTDEBIT"))["existing_loans"] is False


def test_the_latest_rent_is_told_while_rent_is_paid() -> None:
    result = only(salary(), books(months(13), -90_000, **RENT))
    assert (result["rental_payments"], result["most_recent_rental_payment"]) == (True, date(2026, 6, 3))
    over = only(salary(), books(months(8, last=2), -90_000, **RENT))
    assert (over["rental_payments"], over["most_recent_rental_payment"]) == (False, None)


def test_cards_are_those_connected_and_those_settled() -> None:
    card = {"category": "BANKFINANCE_TRANSFER", "channel": "DIRECTDEBIT"}
    amex = books(months(13), -31_000, **card, partner="AMERICAN_EXPRESS", purpose="Kreditkartenabrechnung XXXX1234")
    other = books(months(13, 9), -21_000, **card, counterparty_key="bank", purpose="Kartenabrechnung Kartennr. XXXX9876")
    own = books(months(13, 4), -11_000, "TRANSFER_CREDITCARD", channel="CARDSETTLE", purpose="Kreditkartenabrechnung")
    result = only(salary(), amex, other, own, products=(GIRO, ("anna", "visa", "CREDIT_CARD", None, "Anna")))
    assert result["credit_cards"] == 3
    assert len(result["credit_cards_ids"]) == 26


def test_cards_of_one_issuer_are_told_apart_by_their_digits_only() -> None:
    card = {"category": "BANKFINANCE_TRANSFER", "channel": "DIRECTDEBIT", "partner": "AMERICAN_EXPRESS"}
    says = ["Kreditkartenabrechnung XXXX1234", "Kreditkartenabrechnung 06/2026", "Kreditkartenabrechnung XXXX5678"]
    settled = [books(months(13, day), -31_000, **card, purpose=purpose) for day, purpose in enumerate(says, 3)]
    assert [only(salary(), *settled[:count])["credit_cards"] for count in (1, 2, 3)] == [1, 1, 2]


def test_literacy_weighs_provision_against_difficulties() -> None:
    liability = {"insurance": "LIABILITY_PRIVATE", "channel": "DIRECTDEBIT", "category": "INSURANCE_LIABILITY"}
    good = [
        salary(),
        books(months(13), -20_000, "SAVINGS_SECURITIES", channel="STANDINGORDER"),
        books(date(2026, 1, 2), -6_000, **liability),
    ]
    assert only(*good)["financial_literacy"] == "high"
    fee = books(date(2026, 4, 2), -500, "BANKFINANCE_OTHER", purpose="Entgelt Rücklastschrift")
    result = only(*good, fee)
    assert (result["financial_literacy"], result["financial_literacy_score"]) == ("neutral", 2)
    assert "-2 Rücklastschriften" in result["financial_literacy_reason"]
    assert only(books(months(13), -90_000, **RENT), fee)["financial_literacy"] == "low"


def test_nobody_has_nothing() -> None:
    nothing = found()
    assert nothing.affordability.schema == AFFORDABILITY
    assert nothing.amounts.schema == AFFORDABILITY_AMOUNTS
    assert nothing.affordability.is_empty()
    assert nothing.amounts.is_empty()


@pytest.fixture(scope="module")
def world() -> Corpus:
    return simulate(10, 5, months=17)


def tagged(world: Corpus) -> pl.DataFrame:
    """The bookings of a world as they would be with perfect tags."""
    rows = world.transactions.with_columns(
        world.truth.select("category", "effective_category", "insurance"),
        partner=pl.lit("UNKNOWN"),
        channel=pl.lit("TRANSFER"),
        counterparty_key=pl.coalesce("counterparty_iban", "counterparty_name", pl.lit("")),
    )
    missing = [pl.lit(None, kind).alias(name) for name, kind in BOOKED.items() if name not in rows.columns]
    return rows.with_columns(missing).select(BOOKED.names())


def of_world(world: Corpus, bookings: pl.DataFrame) -> Affordability:
    days = bookings.select("user").unique().sort("user").with_columns(as_of=pl.lit(world.as_of))
    return affordability(snapshot(bookings, world.products, days))


def test_identities_hold_to_the_cent(world: Corpus) -> None:
    frame, parts = of_world(world, tagged(world))
    assert frame.height == 10
    left = pl.col("income") - pl.col("expenses")
    luxuries, regular, irregular = pl.col("luxuries"), pl.col("luxuries_regular"), pl.col("luxuries_irregular")
    identities = [
        left == pl.col("discretionary") - luxuries,
        left == pl.col("discretionary_for_irregular_luxuries") - irregular,
        luxuries == regular + irregular,
        pl.col("income") == pl.col("income_regular") + pl.col("income_irregular"),
        pl.col("necessities") == pl.col("necessities_regular") + pl.col("necessities_irregular"),
        pl.col("expenses") == pl.col("necessities") + luxuries,
        pl.col("ratio_luxuries_to_expenses") + pl.col("ratio_necessities_to_expenses") == 1.0,
    ]
    assert frame.select(pl.all_horizontal(identities).all()).item()
    sums = parts.group_by("user", "part", "regular").agg(pl.sum("cents"))
    for part in ("income", "necessities", "luxuries"):
        for regular_part, name in ((True, "regular"), (False, "irregular")):
            own = sums.filter(pl.col("part") == part, pl.col("regular") == regular_part)
            joined_sums = (
                frame.select("user", f"{part}_{name}").join(own, on="user", how="left").with_columns(pl.col("cents").fill_null(0))
            )
            assert (joined_sums[f"{part}_{name}"] == joined_sums["cents"]).all()


def test_with_perfect_tags_amounts_are_the_true_ones(world: Corpus) -> None:
    truth = affordability_truth(world).with_columns(user="u" + pl.col("user").cast(pl.String).str.zfill(7))
    both = of_world(world, tagged(world)).affordability.join(truth, on="user", suffix="_true")
    assert both.height == 10
    for name, part in (("income", 0.0001), ("expenses", 0.01), ("savings", 0.0001)):
        away = (both[name] - both[f"{name}_true"]).abs() - part * both[f"{name}_true"]
        assert away.filter(away > MOST_CELLS).to_list() == []
    assert (both["return_debits"] == both["return_debits_true"]).all()
    assert (both["rental_payments"] == both["rental_payments_true"]).all()


def test_order_and_other_users_change_nothing(world: Corpus) -> None:
    bookings = tagged(world)
    result = of_world(world, bookings)
    mixed = of_world(world, bookings.sample(fraction=1.0, shuffle=True, seed=3))
    assert_frame_equal(mixed.affordability, result.affordability)
    assert_frame_equal(mixed.amounts, result.amounts)
    few = bookings.filter(pl.col("user").is_in(["u0000002", "u0000005"]))
    alone = of_world(world, few)
    selection = pl.col("user").is_in(["u0000002", "u0000005"])
    assert_frame_equal(alone.affordability, result.affordability.filter(selection))
    assert_frame_equal(alone.amounts, result.amounts.filter(selection))
