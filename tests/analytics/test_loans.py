"""Loans of made-up users: what can be estimated from what the bookings say, and what cannot."""

from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analytics.analyses.loans import loans, principal, rates
from analytics.analyses.snapshot import Snapshot, snapshot
from analytics.frames import AS_OF, LOANS, PRODUCTS, TAGGED, TRANSACTIONS

AS_OF_DAY = date(2026, 6, 30)
BOOKED = pl.Schema({**TRANSACTIONS, **TAGGED})
USUAL: dict[str, Any] = {
    "user": "anna",
    "product": "giro",
    "currency": "EUR",
    "pending": False,
    "channel": "DIRECTDEBIT",
    "insurance": "UNRELATED_OTHER",
    "partner": "TARGOBANK",
    "counterparty_key": "targobank",
    "category": "BANKFINANCE_CREDITPAYMENT",
}


def months(count: int, last: int = 6) -> list[date]:
    numbers = [2026 * 12 + last - 1 - back for back in reversed(range(count))]
    return [date(number // 12, number % 12 + 1, 15) for number in numbers]


def instalments(texts: list[str], cents: int = -20_000, last: int = 6, **columns: Any) -> pl.DataFrame:
    """Monthly bookings that say this, one after the other."""
    about = {**USUAL, **columns}
    rows = [
        {**about, "id": f"{about['user']}-{about['partner']}-{day}", "booked_on": day, "amount_cents": cents, "purpose": says}
        for day, says in zip(months(len(texts), last), texts, strict=True)
    ]
    return pl.DataFrame([{"effective_category": row["category"], **row} for row in rows], schema=BOOKED)


def book(day: date, cents: int, category: str, **columns: Any) -> pl.DataFrame:
    row = {**USUAL, "id": f"single-{day}-{cents}", "booked_on": day, "amount_cents": cents, "category": category, **columns}
    return pl.DataFrame([{**row, "effective_category": category}], schema=BOOKED)


def snapshot_with(payments: pl.DataFrame, *beside: pl.DataFrame) -> Snapshot:
    """The contracts of what is paid, and bookings beside them."""
    users = payments["user"].unique().sort()
    days = pl.DataFrame({"user": users, "as_of": [AS_OF_DAY] * users.len()}, schema=AS_OF)
    whole = snapshot(payments, PRODUCTS.to_frame(), days)
    more = [part.with_columns(as_of=pl.lit(AS_OF_DAY)).select(whole.bookings.columns) for part in beside]
    return replace(whole, bookings=pl.concat([whole.bookings, *more]))


def only(payments: pl.DataFrame, *beside: pl.DataFrame) -> dict[str, Any]:
    return loans(snapshot_with(payments, *beside)).row(0, named=True)


def test_a_numbered_instalment_tells_the_term_and_the_end() -> None:
    loan = only(instalments([f"Rate {place}/60 Kreditvertrag 123456789" for place in range(7, 19)]))
    assert (loan["installment"], loan["installments_paid"], loan["term_months"]) == (20_000, 18, 60)
    assert (loan["date_end"], loan["confidence"], loan["interest_rate"]) == (date(2029, 12, 15), 0.6, None)
    assert 0 < loan["remaining_amount"] < 42 * 20_000
    assert loan["remaining_amount"] < loan["amount_total"] < 60 * 20_000


@pytest.mark.parametrize("says", ["Rate {} von 48", "Teilzahlung {}/48 Einkauf 991", "Kreditrate Firma 123456789 {} von 48"])
def test_instalments_are_numbered_in_several_ways(says: str) -> None:
    assert only(instalments([says.format(place) for place in range(3, 15)]))["term_months"] == 48


def test_capitals_change_nothing() -> None:
    for says in ("Ratenkauf 4711 Rate {}/24", "Darlehen 4711 Rate Nr. {}", "Darlehen {} von 24 Zins 40,00 Tilgung 160,00"):
        texts = [says.format(place) for place in range(7, 19)]
        assert only(instalments([text.upper() for text in texts])) == only(instalments(texts)), says


def test_a_month_of_a_year_is_no_number_of_an_instalment() -> None:
    loan = only(instalments([f"Darlehen 4711 Rate {month:02}/26" for month in range(1, 7)]))
    assert (loan["term_months"], loan["installments_paid"], loan["confidence"]) == (None, 6, 0.2)
    assert only(instalments([f"Darlehen 4711 Rate {month:02}/2026" for month in range(1, 7)]))["term_months"] is None


def test_the_last_instalment_leaves_nothing() -> None:
    loan = only(instalments([f"Ratenkauf 4711 Rate {place}/6" for place in range(1, 7)], partner="KLARNA"))
    assert (loan["kind"], loan["remaining_amount"], loan["date_end"]) == ("purchase", 0, date(2026, 6, 15))
    assert loan["amount_total"] == 6 * 20_000


def schedule(lent: int, yearly: float, payment: int, count: int) -> list[tuple[int, int]]:
    """Interest and principal of each payment, in cents, as a bank works them out."""
    shares, owed = [], lent
    for _ in range(count):
        interest = round(owed * yearly / 12)
        shares.append((interest, payment - interest))
        owed -= payment - interest
    return shares


def euros(cents: int) -> str:
    return f"{cents // 100:,}".replace(",", ".") + f",{cents % 100:02}"


def test_interest_and_principal_tell_the_rate_and_what_is_left() -> None:
    shares = schedule(25_000_000, 0.0385, 120_000, 18)
    texts = [f"Darlehenskonto 8274592325 Zins {euros(interest)} Tilgung {euros(repaid)}" for interest, repaid in shares]
    loan = only(instalments(texts, -120_000, category="HOUSING_FINANCING", channel="LOAN"))
    left = 25_000_000 - sum(repaid for _, repaid in shares)
    assert (loan["kind"], loan["confidence"]) == ("mortgage", 0.9)
    assert loan["interest_rate"] == pytest.approx(0.0385, rel=0.002)
    assert loan["remaining_amount"] == pytest.approx(left, rel=0.003)
    assert loan["amount_total"] is None
    assert loan["date_end"].year == pytest.approx(2026 + 28, abs=2)


def test_an_extra_repayment_does_not_spoil_the_rate() -> None:
    before = schedule(25_000_000, 0.0385, 120_000, 9)
    left = 25_000_000 - sum(repaid for _, repaid in before)
    after = schedule(left - 1_000_000, 0.0385, 120_000, 9)
    texts = [f"Zinsen {euros(interest)} Tilgung {euros(repaid)}" for interest, repaid in before + after]
    loan = only(instalments(texts, -120_000, category="HOUSING_FINANCING", channel="LOAN"))
    assert loan["interest_rate"] == pytest.approx(0.0385, rel=0.003)
    assert loan["remaining_amount"] == pytest.approx(left - 1_000_000 - sum(repaid for _, repaid in after), rel=0.004)


def test_a_loan_seen_from_its_beginning_tells_what_was_lent() -> None:
    shares = schedule(2_000_000, 0.06, 60_000, 12)
    texts = [f"Zins {euros(interest)} Tilgung {euros(repaid)}" for interest, repaid in shares]
    early = book(date(2025, 1, 2), -500, "LIVING_GROCERIES")
    loan = only(instalments(texts, -60_000), early)
    assert loan["amount_total"] == pytest.approx(2_000_000, rel=0.005)
    assert loan["term_months"] == pytest.approx(37, abs=1)


PAYOUT = {"category": "BANKFINANCE_CREDITINCOME", "channel": "TRANSFER"}


def payment(lent: int, yearly: float, number: int) -> int:
    rate = yearly / 12
    return round(lent * rate / (1 - (1 + rate) ** -number))


def test_a_pay_out_by_the_same_lender_is_what_was_lent() -> None:
    cents = payment(1_000_000, 0.069, 48)
    payments = instalments(["Ratenkredit 4711"] * 10, -cents)
    loan = only(payments, book(date(2025, 9, 1), 1_000_000, **PAYOUT))
    assert (loan["amount_total"], loan["term_months"], loan["confidence"]) == (1_000_000, 48, 0.5)
    assert loan["interest_rate"] == pytest.approx(0.069, abs=0.0005)
    assert loan["payout"] == "single-2025-09-01-1000000"
    assert loan["date_end"] == date(2029, 8, 15)


def test_pay_out_and_numbers_together_tell_the_rate() -> None:
    cents = payment(900_000, 0.045, 50)
    payments = instalments([f"Rate {place} von 50" for place in range(1, 11)], -cents)
    loan = only(payments, book(date(2025, 9, 1), 900_000, **PAYOUT))
    assert (loan["amount_total"], loan["term_months"], loan["confidence"]) == (900_000, 50, 0.9)
    assert loan["interest_rate"] == pytest.approx(0.045, abs=0.0005)


@pytest.mark.parametrize(
    "columns",
    [{"partner": "SANTANDER"}, {"day": date(2025, 6, 1)}, {"cents": 90_000_000}],
    ids=["other lender", "long ago", "too much"],
)
def test_a_pay_out_that_does_not_fit_tells_nothing(columns: dict[str, Any]) -> None:
    about: dict[str, Any] = {"day": date(2025, 9, 1), "cents": 1_000_000, **PAYOUT, **columns}
    loan = only(instalments(["Ratenkredit 4711"] * 10, -25_000), book(**about))
    assert (loan["amount_total"], loan["interest_rate"], loan["payout"], loan["confidence"]) == (None, None, None, 0.2)


def test_a_lender_that_no_catalogue_knows_is_known_by_name() -> None:
    lender: dict[str, Any] = {"partner": "UNKNOWN", "counterparty_name": "Volksbank Musterstadt eG"}
    cents = payment(1_000_000, 0.07, 36)
    payments = instalments(["Ratenkredit"] * 10, -cents, **lender)
    assert only(payments, book(date(2025, 9, 1), 1_000_000, **PAYOUT, **lender))["term_months"] == 36


def test_a_loan_that_was_given_back_at_once_is_over() -> None:
    rest = book(date(2026, 6, 25), -650_000, "BANKFINANCE_CREDITPAYMENT", purpose="Ablösung Kredit 4711")
    loan = only(instalments(["Ratenkredit 4711"] * 12), rest)
    assert (loan["remaining_amount"], loan["date_end"]) == (0, date(2026, 6, 25))


def test_without_any_hint_only_what_is_paid_is_told() -> None:
    loan = only(instalments(["Ratenkredit 4711"] * 12))
    assert (loan["installment"], loan["installments_paid"], loan["confidence"]) == (20_000, 12, 0.2)
    unknown = ("amount_total", "interest_rate", "term_months", "remaining_amount", "date_end")
    assert [loan[name] for name in unknown] == [None] * 5


def test_rates_are_found_by_halving_and_only_where_there_is_one() -> None:
    yearly = np.array([0.0, 0.01, 0.069, 0.179])
    number = np.full(4, 60.0)
    lent = principal(np.full(4, 100.0), yearly / 12, number)
    result = rates(np.full(4, 100.0), lent, number, np.full(4, 0.18 / 12))
    assert result * 12 == pytest.approx(yearly, abs=1e-7)
    none = rates(np.full(2, 100.0), np.array([6_001.0, 3_000.0]), np.full(2, 60.0), np.full(2, 0.18 / 12))
    assert np.isnan(none).all()


def test_nobody_without_loans_has_one() -> None:
    nothing = loans(snapshot_with(instalments(["Miete"] * 12, category="HOUSING_RENT")))
    assert nothing.schema == LOANS
    assert nothing.is_empty()
    assert loans(snapshot_with(BOOKED.to_frame())).is_empty()


def test_order_and_other_users_change_nothing() -> None:
    anna = instalments([f"Rate {place}/60" for place in range(7, 19)])
    bert = instalments([f"Rate {place}/24" for place in range(1, 13)], -9_900, user="bert")
    both = loans(snapshot_with(pl.concat([anna, bert])))
    mixed = loans(snapshot_with(pl.concat([bert, anna]).sample(fraction=1.0, shuffle=True, seed=1)))
    assert_frame_equal(mixed, both)
    assert_frame_equal(loans(snapshot_with(anna)), both.filter(pl.col("user") == "anna"))
