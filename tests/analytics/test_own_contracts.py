"""Loans and home savings whose account is connected, and standing orders to own savings."""

from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest

from analytics.analyses.suite import Frames, analyse
from analytics.frames import AS_OF, PRODUCTS
from tests.analytics.households import AS_OF_DAY, TAGGED_BOOKINGS, book, monthly, rent, salary

LOAN_IBAN, GIRO_IBAN = "DE89370400440532013000", "DE02120300000000202051"
RATE, DEBT = 124_500, 21_000_000
MONTHLY_RATE = 0.0028


def products(*kinds: str, balance: int | None = None) -> pl.DataFrame:
    """A current account, and one product of each kind with this balance."""
    rows = [{"user": "anna", "product": "giro", "category": "CHECKING", "iban": GIRO_IBAN, "owner_name": "Anna Muster"}]
    rows += [
        {"user": "anna", "product": kind.lower(), "category": kind, "iban": LOAN_IBAN, "owner_name": "Anna Muster"}
        for kind in kinds
    ]
    return pl.DataFrame(
        [{"balance_cents": balance if row["product"] != "giro" else None, **row} for row in rows], schema=PRODUCTS
    )


def mortgage(months: int = 18, **columns: Any) -> tuple[pl.DataFrame, int]:
    """A loan of which each instalment is paid to its connected account, which books interest, and what is owed in the end."""
    owed, interests = DEBT, []
    for _ in range(months):
        interests.append(round(owed * MONTHLY_RATE))
        owed -= RATE - interests[-1]
    days = monthly(months, 1)
    own = {"category": "TRANSFER_LOAN", "counterparty_key": LOAN_IBAN, "counterparty_iban": LOAN_IBAN, **columns}
    paid = book(days, -RATE, user="anna", channel="STANDINGORDER", purpose="Darlehen 4711", **own)
    got = book(days, RATE, user="anna", product="loan", purpose="Rate", **{**own, "counterparty_key": GIRO_IBAN})
    charged = book(
        days, [-cents for cents in interests], "BANKFINANCE_OTHER", product="loan", purpose="Sollzinsen", counterparty_key="bank"
    )
    return pl.concat([paid, got.with_columns(id=pl.format("{}-in", "id")), charged]), owed


def answers(bookings: pl.DataFrame, own_products: pl.DataFrame) -> Frames:
    days = pl.DataFrame({"user": ["anna"], "as_of": [AS_OF_DAY]}, schema=AS_OF)
    return analyse(bookings.select(TAGGED_BOOKINGS.names()), own_products, days)


def household_with(bookings: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([salary(cents=400_000), bookings])


@pytest.fixture(scope="module")
def borrower() -> Frames:
    bookings, owed = mortgage()
    return answers(household_with(bookings), products("LOAN", balance=-owed))


def test_the_whole_instalment_of_a_connected_loan_is_a_contract(borrower: Frames) -> None:
    contract = borrower["contracts"].filter(pl.col("amount_latest") < 0).row(0, named=True)
    assert (contract["amount_latest"], contract["amount_next"], contract["category"]) == (-RATE, -RATE, "HOUSING_FINANCING")
    assert borrower["contracts"].filter(pl.col("amount_latest") < 0).height == 1


def test_the_account_of_a_loan_tells_all_about_it(borrower: Frames) -> None:
    loan = borrower["loans"].row(0, named=True)
    _, owed = mortgage()
    assert (loan["installment"], loan["remaining_amount"], loan["confidence"]) == (RATE, owed, 0.95)
    assert loan["interest_rate"] == pytest.approx(12 * MONTHLY_RATE, rel=0.001)
    assert loan["date_end"] > date(2040, 1, 1)
    assert loan["reason"] == "Stand und Zinsen des verbundenen Kreditkontos"


def test_a_loan_without_a_balance_is_known_by_the_fall_of_its_interest() -> None:
    bookings, owed = mortgage()
    loan = answers(household_with(bookings), products("LOAN"))["loans"].row(0, named=True)
    assert loan["interest_rate"] == pytest.approx(12 * MONTHLY_RATE, rel=0.02)
    assert loan["remaining_amount"] == pytest.approx(owed, rel=0.02)


def test_the_principal_is_gone_for_affordability_and_interest_counts_once(borrower: Frames) -> None:
    result = borrower["affordability"].row(0, named=True)
    assert (result["income"], result["necessities"], result["discretionary"]) == (400_000, RATE, 400_000 - RATE)
    assert (result["mortgage_payments"], result["existing_loans"]) == (True, False)
    assert borrower["credit_risk"]["debt_service_cents"].to_list() == [RATE]


def test_the_principal_is_gone_for_the_savings_potential(borrower: Frames) -> None:
    potential = borrower["sales_triggers"].filter(item="FINANCIAL_SAVINGSPOTENTIAL")
    assert potential["amount"].to_list() == [400_000 - RATE]


def test_the_principal_is_gone_for_disposable_money(borrower: Frames) -> None:
    money = borrower["disposable_money"].row(0, named=True)
    assert (money["cashflow"], money["currently_left"]) == (-RATE, 400_000 - RATE)


def test_all_bookings_of_a_connected_loan_still_add_up(borrower: Frames) -> None:
    bookings, _ = mortgage()
    months = borrower["cashflow"].filter(kind="M", tree="CATEGORIES")
    assert months["cents"].sum() == household_with(bookings)["amount_cents"].sum()
    transfers = months.filter(tag="TRANSFER_LOAN")["cents"].sum()
    assert transfers == bookings.filter(product="loan")["amount_cents"].sum()


def test_a_loan_account_that_is_paid_from_elsewhere_keeps_its_interest() -> None:
    bookings, owed = mortgage()
    interest = bookings.filter(purpose="Sollzinsen")
    result = answers(household_with(interest), products("LOAN", balance=-owed))
    assert result["affordability"].row(0, named=True)["necessities"] > 0


def savings_order(months: int = 14, cents: int = -20_000, day: int = 20) -> pl.DataFrame:
    columns = {"channel": "STANDINGORDER", "counterparty_key": LOAN_IBAN, "counterparty_iban": LOAN_IBAN}
    return book(monthly(months, day, (2026, 5)), cents, "TRANSFER_SAVINGS", "anna", **columns)


def test_a_standing_order_to_own_savings_is_committed_and_shown_as_such() -> None:
    result = answers(pl.concat([salary(), rent(), savings_order()]), products("CALL_MONEY"))
    money = result["disposable_money"].row(0, named=True)
    assert (money["expected_savings"], money["savings"]) == (-20_000, 0)
    assert money["expected_fixed"] == -20_000
    assert money["disposable_money"] == 250_000 - 80_000 - 20_000
    assert "200,00 Euro gehen per Dauerauftrag auf eigene Sparkonten" in money["reason"]
    assert result["contracts"].filter(pl.col("category").str.starts_with("TRANSFER_")).is_empty()


def test_what_a_standing_order_has_saved_since_the_salary_is_gone_as_well() -> None:
    early = savings_order(day=2).with_columns(pl.col("booked_on").dt.offset_by("1mo"))
    money = answers(pl.concat([salary(), rent(), early]), products("CALL_MONEY"))["disposable_money"].row(0, named=True)
    assert (money["savings"], money["expected_savings"]) == (-20_000, 0)
    assert money["currently_left"] == 250_000 - 80_000 - 20_000


def test_a_single_transfer_to_own_savings_is_still_there() -> None:
    once = book([AS_OF_DAY - timedelta(days=3)], -30_000, "TRANSFER_SAVINGS", counterparty_key=LOAN_IBAN)
    money = answers(pl.concat([salary(), rent(), once]), products("CALL_MONEY"))["disposable_money"].row(0, named=True)
    assert (money["savings"], money["currently_left"]) == (0, 250_000 - 80_000)


def test_a_standing_order_to_own_savings_is_regular_saving() -> None:
    result = answers(pl.concat([salary(months=40), savings_order(36)]), products("CALL_MONEY"))
    stages = result["life_stages"].filter(dimension="SAVINGS")
    assert stages["item"].to_list() == ["SAVINGS_REGULAR"]
    assert "spart regelmäßig" in result["affordability"]["financial_literacy_reason"].item()


def home_savings() -> pl.DataFrame:
    columns = {"channel": "STANDINGORDER", "counterparty_key": LOAN_IBAN, "counterparty_iban": LOAN_IBAN}
    return book(monthly(14, 5), -5_000, "TRANSFER_SAVINGS", "anna", **columns)


def test_home_savings_with_their_account_connected_are_a_contract() -> None:
    contracts = answers(pl.concat([salary(), home_savings()]), products("HOME_SAVINGS"))["contracts"]
    assert contracts.filter(pl.col("amount_latest") < 0)["category"].to_list() == ["SAVINGS_LIFEBUILDING"]
