"""Disposable money of made-up households: what is left of the salary adds up, and follows from what is still to come."""

from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analytics.analyses.cashflow import cashflow
from analytics.analyses.disposable_money import disposable_money
from tests.analytics.households import (
    AS_OF_DAY,
    TAGGED_BOOKINGS,
    book,
    household,
    households,
    monthly,
    rent,
    salary,
    take_snapshot,
)


def found(bookings: pl.DataFrame, as_of: date = AS_OF_DAY) -> pl.DataFrame:
    whole = take_snapshot(bookings, as_of, "nobody")
    return disposable_money(whole, cashflow(whole))


def only(*bookings: pl.DataFrame, as_of: date = AS_OF_DAY) -> dict[str, Any]:
    return found(pl.concat(bookings), as_of).row(0, named=True)


@pytest.mark.parametrize("as_of", [AS_OF_DAY, date(2026, 5, 31), date(2026, 6, 1), date(2026, 6, 30)])
def test_all_amounts_add_up_to_the_cent(as_of: date) -> None:
    rows = found(households(), as_of)
    assert rows.height == 10
    assert (rows["currently_left"] == rows["salary_latest"] + rows["cashflow"]).all()
    assert (rows["disposable_money"] == rows["currently_left"] + rows["expected_fixed"]).all()
    assert (
        rows["expected_left"] == rows["salary_latest"] + rows["cashflow"] + rows["expected_fixed"] + rows["expected_flex"]
    ).all()
    assert rows.null_count().sum_horizontal()[0] == 0


def test_without_an_active_salary_there_is_nothing_to_say() -> None:
    assert found(rent()).is_empty()
    assert found(salary(last=(2025, 12))).is_empty()
    assert found(TAGGED_BOOKINGS.to_frame()).is_empty()
    pension = book(monthly(18, 1), 120_000, "INCOME_PENSION", channel="TRANSFER")
    assert found(pension).is_empty()


def test_dates_and_amounts_are_those_of_the_salary() -> None:
    result = only(salary())
    assert (result["date_salary_latest"], result["date_salary_next"], result["days_until_salary"]) == (
        date(2026, 6, 1),
        date(2026, 7, 1),
        15,
    )
    assert (result["salary_latest"], result["salary_next"], result["expected_left"]) == (250_000, 250_000, 250_000)
    assert result["expected_left_daily"] == round(250_000 / 15)
    assert "Muster GmbH am 01.06.2026" in result["reason"]


def test_what_was_booked_since_the_salary_counts_and_own_transfers_do_not() -> None:
    before, after = date(2026, 5, 30), date(2026, 6, 2)
    spending = book([before, after], [-1_000, -3_000], "LIVING_GROCERIES")
    earned = book([after], 500, "OTHER_INCOME")
    saved, moved = book([after], -7_000, "SAVINGS_ACCOUNT"), book([after], -90_000, "TRANSFER_SAVINGS")
    result = only(salary(), spending, earned, saved, moved)
    assert result["cashflow"] == -3_000 + 500 - 7_000
    assert len(result["transactions"]) == 4
    assert result["transactions"][0] == salary()["id"][-1]


def test_a_rent_before_the_next_salary_is_expected_and_one_after_it_is_not() -> None:
    assert only(salary(), rent(day=25, last=(2026, 5)))["expected_fixed"] == -80_000
    assert only(salary(), rent(day=3))["expected_fixed"] == 0


def test_the_salary_is_the_larger_one_and_the_other_is_expected() -> None:
    side = book(monthly(18, 20, (2026, 5)), 52_000, "INCOME_SALARY", channel="TRANSFER", counterparty_key="nebenjob")
    result = only(salary(), side)
    assert (result["salary_latest"], result["expected_fixed"]) == (250_000, 52_000)


def test_a_bonus_is_not_the_salary_but_left_all_the_same() -> None:
    extra = book([date(2026, 6, 8)], 90_000, "INCOME_SALARY", purpose="Bonus", counterparty_key="einmal")
    result = only(salary(), extra)
    assert (result["salary_latest"], result["cashflow"], result["currently_left"]) == (250_000, 90_000, 340_000)


def test_a_late_salary_is_expected_on_the_next_business_day() -> None:
    result = only(salary(day=10, last=(2026, 5)), as_of=date(2026, 6, 12))
    assert (result["date_salary_next"], result["days_until_salary"]) == (date(2026, 6, 15), 3)


def test_a_thirteenth_salary_every_year_is_not_the_salary() -> None:
    years = [date(year, 11, 20) for year in (2023, 2024, 2025)]
    yearly = book(years, 400_000, "INCOME_SALARY", channel="SALARY", counterparty_key="jahr")
    whole = take_snapshot(pl.concat([salary(months=36), yearly]), AS_OF_DAY, "nobody")
    assert whole.contracts.filter(pl.col("status") == "ACTIVE")["amount_median"].max() == 400_000
    assert disposable_money(whole, cashflow(whole)).row(0, named=True)["salary_latest"] == 250_000


def test_usual_spending_is_expected_until_the_next_salary_and_irregular_income_is_not() -> None:
    days = [date(2025, 1, 1) + timedelta(days=day) for day in range(0, 530, 2)]
    bought, earned = book(days, -1_000, "LIVING_GROCERIES"), book(days[::9], 9_000, "OTHER_INCOME")
    result = only(salary(), bought)
    assert -1_000 * 7 <= result["expected_flex"] <= -1_000 * 4
    assert only(salary(), bought, earned)["expected_flex"] == result["expected_flex"]
    assert only(salary(), bought, as_of=date(2026, 6, 29))["expected_flex"] > result["expected_flex"]


def test_what_invoices_bring_is_expected_of_those_who_live_on_them() -> None:
    days = [date(2025, 1, 1) + timedelta(days=day) for day in range(0, 530, 6)]
    paid = {"channel": "TRANSFER", "freelancer": "REVENUE"}
    invoices = [
        book(days[first::2], 60_000, "INCOME_OTHER", counterparty_key=payer, **paid).with_columns(
            id=pl.format("{}-{}", "id", "counterparty_key")
        )
        for first, payer in enumerate(("Kunde A", "Kunde B"))
    ]
    small_job = salary(cents=45_000)
    bought = book(days, -1_000, "LIVING_GROCERIES").with_columns(id=pl.format("food-{}", "id"))
    result = only(small_job, bought, *invoices)
    assert 60_000 <= result["expected_flex"] <= 200_000
    assert result["reason"].endswith("und übliche Einnahmen und Ausgaben")
    assert only(small_job, bought)["expected_flex"] < 0


def test_a_short_history_says_so() -> None:
    result = only(salary(months=3, last=(2026, 6)), as_of=date(2026, 6, 16))
    assert result["expected_flex"] == 0
    assert "Verlauf ist zu kurz" in result["reason"]


def test_neither_order_nor_other_users_change_anything() -> None:
    whole = found(households(4))
    assert_frame_equal(found(households(4).sample(fraction=1, shuffle=True, seed=2)), whole)
    assert_frame_equal(found(household("user-02", 2)), whole.filter(user="user-02"))
