"""Cashflow of made-up households: every sum is exact, what is closed stays, and what is to come follows from what was."""

from datetime import date, timedelta
from functools import cache
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analytics import trees
from analytics.analyses.cashflow import Cashflow, cashflow, payments_until, roll_up, select_view
from analytics.analyses.cashflow.flows import category_groups
from analytics.analyses.snapshot import Snapshot
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

VIEWS = [(level, exclude) for level in ("sub", "main") for exclude in (False, True)]
ITEM = ["user", "item"]


@cache
def world() -> tuple[Snapshot, Cashflow]:
    """Ten households."""
    result = take_snapshot(households())
    return result, cashflow(result)


def flowing(bookings: pl.DataFrame, as_of: date = AS_OF_DAY) -> tuple[Snapshot, Cashflow]:
    result = take_snapshot(bookings, as_of)
    return result, cashflow(result)


def tag_sums(rows: pl.DataFrame, *tags: str) -> pl.DataFrame:
    """The sum of some tags by user and item."""
    return rows.filter(pl.col("tag").is_in(tags)).group_by(ITEM).agg(pl.sum("cents")).sort(ITEM)


def prediction(bookings: pl.DataFrame, tag: str, item: str, as_of: date = AS_OF_DAY, tree: str = "CATEGORIES") -> dict[str, int]:
    rows = select_view(flowing(bookings, as_of)[1].predictions, tree).filter(tag=tag, item=item)
    return rows.row(0, named=True) if rows.height else {}


def statistic(bookings: pl.DataFrame, tag: str, item: str, as_of: date = AS_OF_DAY) -> int | None:
    whole, result = flowing(bookings, as_of)
    rows = roll_up(result.statistics, whole.as_of).filter(tag=tag, item=item)
    return rows["cents"][0] if rows.height else None


@pytest.mark.parametrize(("level", "exclude"), VIEWS)
def test_net_is_income_plus_expenses_in_the_past(level: str, exclude: bool) -> None:
    whole, result = world()
    sums = roll_up(result.statistics, whole.as_of, level=level, exclude_savings=exclude).filter(level="aggregate")
    assert_frame_equal(tag_sums(sums, "INCOME", "EXPENSES"), tag_sums(sums, "NET"))


@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize("part", ["cents", "fixed", "flex"])
def test_net_is_income_plus_expenses_in_what_is_to_come(exclude: bool, part: str) -> None:
    sums = select_view(world()[1].predictions, exclude_savings=exclude).filter(level="aggregate").with_columns(cents=part)
    assert sums.height == 10 * 3 * 8
    assert_frame_equal(tag_sums(sums, "INCOME", "EXPENSES"), tag_sums(sums, "NET"))


@pytest.mark.parametrize("exclude", [False, True])
def test_a_main_category_is_the_sum_of_its_subcategories(exclude: bool) -> None:
    whole, result = world()
    above = category_groups().select("tag", "main")
    for sub, main in (
        (
            roll_up(result.statistics, whole.as_of, level="sub", exclude_savings=exclude, aggregates=False),
            roll_up(result.statistics, whole.as_of, level="main", exclude_savings=exclude, aggregates=False),
        ),
        (
            select_view(result.predictions, level="sub", exclude_savings=exclude, aggregates=False),
            select_view(result.predictions, level="main", exclude_savings=exclude, aggregates=False),
        ),
    ):
        summed = sub.join(above, on="tag").group_by("user", "item", tag="main").agg(pl.sum("cents"))
        expected_sums = main.select("user", "item", "tag", "cents")
        assert_frame_equal(summed, expected_sums, check_row_order=False)


@pytest.mark.parametrize(("tree", "column"), [("CATEGORIES", "effective_category"), ("BUSINESS_PARTNERS", "partner")])
def test_every_booking_counts_once_in_each_kind_of_item(tree: str, column: str) -> None:
    whole, result = world()
    totals = whole.bookings.group_by("user", tag=column).agg(pl.sum("amount_cents")).sort("user", "tag")
    items = roll_up(result.statistics, whole.as_of, tree, aggregates=False)
    for kind in (r"^TOTAL_TOTAL$", r"_Y$", r"_Q\d$", r"_M\d\d$", r"_W\d\d$"):
        selection = (
            items.filter(pl.col("item").str.contains(kind)).group_by("user", "tag").agg(pl.sum("cents")).sort("user", "tag")
        )
        assert selection["cents"].to_list() == totals["amount_cents"].to_list()


def test_only_income_and_spending_count_in_the_sums() -> None:
    own = (
        "TRANSFER_SAVINGS",
        "TRANSFER_INTERNAL",
        "BANKFINANCE_CREDITINCOME",
        "BANKFINANCE_CASHDEPOSIT",
        "BANKFINANCE_ATMDEPOSIT",
    )
    neither = [book([date(2026, 5, 4)], 12_300, category) for category in own]
    counts = [book([date(2026, 5, 5)], -4_000, "LIVING_GROCERIES"), book([date(2026, 5, 6)], 1_000, "OTHER_INCOME")]
    bookings = pl.concat([*neither, *counts])
    assert [statistic(bookings, tag, "2026_M05") for tag in ("INCOME", "EXPENSES", "NET")] == [1_000, -4_000, -3_000]
    assert statistic(bookings, "TRANSFER_INTERNAL", "2026_M05") == 12_300


def test_without_savings_only_savings_are_missing() -> None:
    saved = ("SAVINGS_SECURITIES", "BANKFINANCE_INVESTMENT", "TRANSFER_SAVINGS", "TRANSFER_SECURITIES")
    stays = ("INCOME_INVESTMENT", "BANKFINANCE_OTHER", "TRANSFER_INTERNAL")
    whole, result = flowing(pl.concat([book([date(2026, 5, 4)], 700, category) for category in saved + stays]))
    left = roll_up(result.statistics, whole.as_of, exclude_savings=True, aggregates=False)
    assert set(left["tag"]) == set(stays)
    partners = roll_up(result.statistics, whole.as_of, "BUSINESS_PARTNERS", exclude_savings=True).filter(item="2026_M05")
    assert partners["cents"].to_list() == [700 * len(stays)]


def test_a_refund_lessens_what_was_spent_on_the_purchase() -> None:
    bought = book([date(2026, 5, 4)], -9_000, "SHOPPING_CLOTHINGACCESSORIES")
    back = bought.with_columns(id=pl.lit("back"), amount_cents=pl.lit(4_000, pl.Int64), category=pl.lit("TRANSFER_REFUND"))
    assert statistic(pl.concat([bought, back]), "EXPENSES", "2026_M05") == -5_000


def test_the_current_items_are_there_without_any_booking() -> None:
    whole, result = flowing(book([date(2024, 2, 5)], -500, "LIVING_GROCERIES"))
    items = roll_up(result.statistics, whole.as_of).filter(tag="LIVING_GROCERIES", cents=0)["item"].to_list()
    assert items == ["2026_M06", "2026_Q2", "2026_W25", "2026_Y"]


@pytest.mark.parametrize(
    ("day", "week"), [(date(2021, 1, 1), "2020_W53"), (date(2024, 12, 30), "2025_W01"), (date(2026, 1, 4), "2026_W01")]
)
def test_a_week_belongs_to_the_year_of_its_thursday(day: date, week: str) -> None:
    assert statistic(book([day], -100, "LIVING_GROCERIES"), "LIVING_GROCERIES", week) == -100


def test_every_item_is_one_of_the_tree() -> None:
    whole, result = world()
    tree, views = trees.tree("CASHFLOW"), roll_up(result.statistics, whole.as_of)
    names = {*views["item"], *result.predictions["item"]}
    assert {tree.item(name).system_name for name in names} == names


def test_a_user_without_bookings_has_no_cashflow() -> None:
    whole = take_snapshot(household("berta", 1), AS_OF_DAY, "nobody")
    result = cashflow(whole)
    assert set(result.statistics["user"]) == set(result.predictions["user"]) == {"berta"}
    nobody = cashflow(take_snapshot(TAGGED_BOOKINGS.to_frame(), AS_OF_DAY, "nobody"))
    assert nobody.statistics.is_empty()
    assert nobody.predictions.is_empty()
    assert roll_up(nobody.statistics, whole.as_of).is_empty()


def test_one_booking_is_counted_but_nothing_follows_from_it() -> None:
    only = book([date(2026, 6, 15)], -500, "LIVING_GROCERIES")
    assert statistic(only, "NET", "TOTAL_TOTAL") == -500
    assert flowing(only)[1].predictions.is_empty()


def test_bookings_of_nothing_are_bookings() -> None:
    nothing = book(monthly(6), 0, "LIVING_GROCERIES")
    assert statistic(nothing, "LIVING_GROCERIES", "2026_M02") == 0
    assert prediction(nothing, "LIVING_GROCERIES", "2026_M07")["cents"] == 0


def test_neither_order_nor_other_users_change_anything() -> None:
    result = world()[1]
    shuffled = cashflow(take_snapshot(households().sample(fraction=1, shuffle=True, seed=5)))
    assert_frame_equal(shuffled.statistics, result.statistics)
    assert_frame_equal(shuffled.predictions, result.predictions)
    alone = cashflow(take_snapshot(households().filter(user="user-03")))
    assert_frame_equal(result.statistics.filter(user="user-03"), alone.statistics)
    assert_frame_equal(result.predictions.filter(user="user-03"), alone.predictions)


def test_one_month_more_never_changes_what_is_closed() -> None:
    whole, result = world()
    before = take_snapshot(households(), date(2026, 5, 31))
    past = roll_up(cashflow(before).statistics, before.as_of)
    now = roll_up(result.statistics, whole.as_of)
    closed = pl.col("item").str.contains(r"_M") & (pl.col("item") < "2026_M06") & (pl.col("cents") != 0)
    keys = ["user", "level", "tag", "item", "cents"]
    same_tags = past.join(now.select("user", "level", "tag").unique(), on=["user", "level", "tag"], how="semi")
    assert_frame_equal(same_tags.filter(closed).select(keys), now.filter(closed).select(keys))


def test_what_comes_after_the_as_of_date_is_not_seen() -> None:
    day = date(2026, 3, 11)
    early = flowing(households(3).filter(pl.col("booked_on") <= day), day)[1]
    assert_frame_equal(flowing(households(3), day)[1].predictions, early.predictions)


def test_a_quarter_is_its_closed_months_and_the_predicted_ones() -> None:
    whole, result = world()
    past = roll_up(result.statistics, whole.as_of).filter(pl.col("item").is_in(["2026_M04", "2026_M05"]))
    views = select_view(result.predictions)
    keys = ["user", "level", "tag"]
    months = pl.concat([past.select(*keys, "cents"), views.filter(item="2026_M06").select(*keys, "cents")])
    quarter = views.filter(item="2026_Q2").select(*keys, "cents").sort(keys)
    summed = months.group_by(keys).agg(pl.sum("cents")).join(quarter, on=keys, how="semi").sort(keys)
    assert_frame_equal(summed, quarter)


def test_a_prediction_is_the_sum_of_its_parts_and_lies_within_its_bounds() -> None:
    rows = world()[1].predictions
    assert rows.drop("reason").null_count().sum_horizontal()[0] == 0
    assert (rows["cents"] == rows["fixed"] + rows["flex"]).all()
    assert ((rows["lower"] <= rows["cents"]) & (rows["cents"] <= rows["upper"])).all()
    assert set(rows["kind"]) == set("WMQY")


def test_nothing_is_predicted_from_fewer_than_three_months() -> None:
    bought = book([date(2026, 4, 1) + timedelta(days=day) for day in range(0, 77, 3)], -2_000, "LIVING_GROCERIES")
    kinds = flowing(bought)[1].predictions["kind"].unique().to_list()
    assert kinds == ["W"]


def test_a_rent_is_fixed_and_expected_in_every_month() -> None:
    assert prediction(rent(), "HOUSING_RENT", "2026_M07")["fixed"] == -80_000
    assert prediction(rent(), "HOUSING_RENT", "2026_Q3")["fixed"] == -240_000
    assert prediction(rent(), "HOUSING_RENT", "2027_Y")["cents"] == -960_000


def test_what_was_paid_in_this_month_is_not_expected_again() -> None:
    assert prediction(rent(), "HOUSING_RENT", "2026_M06")["cents"] == -80_000
    assert prediction(rent(day=25, last=(2026, 5)), "HOUSING_RENT", "2026_M06")["cents"] == -80_000


def test_a_late_salary_is_awaited_in_its_month_and_not_on_top_of_the_next_one() -> None:
    early, late = salary(day=10, last=(2026, 5)), salary(day=28, last=(2026, 5))
    assert prediction(early, "INCOME_SALARY", "2026_M06", date(2026, 6, 12))["fixed"] == 250_000
    assert prediction(late, "INCOME_SALARY", "2026_M07", date(2026, 6, 30))["fixed"] == 250_000
    assert prediction(late, "INCOME_SALARY", "2027_Y", date(2026, 6, 30))["fixed"] == 12 * 250_000


def test_a_late_salary_is_over_once_another_employer_pays() -> None:
    payments, day = salary(day=28, last=(2026, 5)), date(2026, 6, 30)
    new = book([date(2026, 6, 26)], 310_000, "INCOME_SALARY", channel="SALARY", counterparty_key="neu")
    assert prediction(pl.concat([payments, new]), "INCOME_SALARY", "2026_M07", day)["fixed"] == 310_000


def test_a_late_rent_is_still_expected() -> None:
    assert prediction(rent(day=10, last=(2026, 5)), "HOUSING_RENT", "2026_M06", date(2026, 6, 12))["cents"] == -80_000


def test_a_yearly_premium_is_expected_only_in_its_month() -> None:
    days = [date(year, 7, 1) for year in (2023, 2024, 2025)]
    result = {"channel": "DIRECTDEBIT", "insurance": "LIABILITY_PRIVATE"}
    premium = pl.concat([book(days, -6_900, "INSURANCE_LIABILITY", **result), rent()])
    assert prediction(premium, "INSURANCE_LIABILITY", "2026_M07")["cents"] == -6_900
    assert prediction(premium, "INSURANCE_LIABILITY", "2026_M06")["cents"] == 0
    assert prediction(premium, "INSURANCE_LIABILITY", "2026_Y")["cents"] == -6_900


def test_the_largest_month_counts_no_more_than_the_second_largest() -> None:
    spending = [-1_000 - 100 * month for month in range(12)]
    days = [day + timedelta(days=month % 5) for month, day in enumerate(monthly(12, 12, (2026, 5)))]
    before = book([date(2025, 5, 2)], -100, "FAMILY_TOYS", user="anna", counterparty_key="before")
    insurance = pl.concat([before, book(days, [*spending[:-1], -500_000], "FAMILY_TOYS")])
    usual = (sum(spending[:-1]) + spending[-2]) / 12
    assert prediction(insurance, "FAMILY_TOYS", "2026_M07")["flex"] == pytest.approx(usual, abs=1)


def test_rare_things_of_many_kinds_are_expected_together() -> None:
    kinds = category_groups().filter(aggregate="EXPENSES", main="RECREATION")["tag"].to_list()
    once = [book([day], -10_000, kind) for kind, day in zip(kinds, monthly(len(kinds), 20, (2026, 5)), strict=True)]
    weekly = book([date(2025, 5, 1) + timedelta(days=day) for day in range(0, 400, 7)], -10, "LIVING_GROCERIES")
    result = prediction(pl.concat([*once, weekly]), "RECREATION_SPORTS", "2026_M07")
    assert -2_000 < result["flex"] < 0


def test_a_bonus_comes_back_in_the_same_month() -> None:
    extra = book([date(2025, 11, 20)], 200_000, "INCOME_SALARY", purpose="Weihnachtsgeld", counterparty_key="einmal")
    payments = pl.concat([salary(), extra])
    year = prediction(payments, "INCOME_SALARY", "2026_Y")["cents"]
    assert year == 12 * 250_000 + 200_000
    assert prediction(payments, "INCOME_SALARY", "2026_M07")["cents"] == 250_000


def test_a_bonus_may_not_come() -> None:
    extra = book([date(2025, 7, 20)], 200_000, "INCOME_SALARY", purpose="Urlaubsgeld", counterparty_key="einmal")
    result = prediction(pl.concat([salary(), extra]), "INCOME_SALARY", "2026_M07")
    assert result["cents"] == 450_000
    assert result["lower"] <= 250_000


def test_a_settlement_of_many_salaries_does_not_come_back() -> None:
    extra = book([date(2025, 11, 20)], 2_000_000, "INCOME_SALARY", purpose="Abfindung", counterparty_key="einmal")
    assert prediction(pl.concat([salary(), extra]), "INCOME_SALARY", "2026_Y")["cents"] == 12 * 250_000


def test_less_of_a_usual_month_is_left_the_later_it_is() -> None:
    bought = book([date(2025, 1, 1) + timedelta(days=day) for day in range(0, 540, 2)], -1_000, "LIVING_GROCERIES")
    left = []
    for day in (5, 15, 25, 30):
        result = bought.filter(pl.col("booked_on") <= date(2026, 5, day))
        spending = result.filter(pl.col("booked_on") >= date(2026, 5, 1))["amount_cents"].sum()
        left.append(prediction(result, "LIVING_GROCERIES", "2026_M05", date(2026, 5, day))["cents"] - spending)
    assert left == sorted(left)
    assert left[0] < -10_000


def test_the_sums_are_predicted_for_users_without_income() -> None:
    assert prediction(rent(), "INCOME", "2026_M07")["cents"] == 0
    assert prediction(rent(), "NET", "2026_M07")["cents"] == -80_000


def test_partners_have_predictions_of_their_own() -> None:
    result = prediction(
        book(monthly(14, last=(2026, 5)), -1_299, "RECREATION_ONLINE", partner="NETFLIX"),
        "NETFLIX",
        "2026_M07",
        tree="BUSINESS_PARTNERS",
    )
    assert result["cents"] != 0


def test_occurrences_of_contracts_follow_their_period_and_avoid_weekends() -> None:
    result = take_snapshot(rent())
    until = pl.DataFrame({"user": ["anna"], "until": [date(2026, 12, 31)]})
    days = payments_until(result.contracts, until)["expected_on"].to_list()
    assert [day.month for day in days] == [7, 8, 9, 10, 11, 12]
    assert all(day.isoweekday() < 6 and abs(day.day - 3) <= 2 for day in days)


def test_the_last_business_day_stays_the_last_one() -> None:
    ends = [date(2025, 9, 30), date(2025, 10, 31), date(2025, 11, 28), date(2025, 12, 31), date(2026, 1, 30), date(2026, 2, 27)]
    payments = book(
        [*ends, date(2026, 3, 31), date(2026, 4, 30), date(2026, 5, 29)], 300_000, "INCOME_SALARY", channel="TRANSFER"
    )
    until = pl.DataFrame({"user": ["anna"], "until": [date(2026, 9, 30)]})
    result = payments_until(take_snapshot(payments).contracts, until)
    assert result["expected_on"].to_list() == [date(2026, 6, 30), date(2026, 7, 31), date(2026, 8, 31), date(2026, 9, 30)]
    assert result["cents"].to_list() == [300_000] * 4


def test_an_ended_contract_brings_nothing() -> None:
    result = take_snapshot(rent(last=(2025, 12)))
    assert payments_until(result.contracts, pl.DataFrame({"user": ["anna"], "until": [date(2027, 1, 1)]})).is_empty()


# What comes every year


def groceries(months: int, last: tuple[int, int] = (2026, 10)) -> pl.DataFrame:
    return book(monthly(months, 9, last), [-30_000 - number * 37 % 53 * 100 for number in range(months)], "LIVING_GROCERIES")


def yearly(
    category: str, cents: list[int], month: int = 12, years: tuple[int, ...] = (2023, 2024, 2025), **columns: Any
) -> pl.DataFrame:
    return book([date(year, month, 12) for year in years], cents, category, **columns)


def test_what_came_three_years_in_a_row_in_one_month_comes_again_with_its_reason() -> None:
    steady = pl.concat([salary(months=42, last=(2026, 10)), groceries(42)])
    gifts = yearly("SHOPPING_OTHER", [-40_000, -42_000, -41_000], channel="CARD")
    bookings = pl.concat([steady, gifts])
    _, flow = flowing(bookings, date(2026, 11, 20))
    rows = select_view(flow.predictions).filter(tag="SHOPPING_OTHER", item="2026_M12").row(0, named=True)
    assert rows["cents"] == -41_000
    assert rows["reason"] == "Darin 410,00 Euro Ausgaben, die in den Vorjahren im selben Monat anfielen"
    assert rows["lower"] <= rows["cents"] <= rows["upper"]
    assert rows["upper"] >= 0  # it may not come


def test_a_balance_is_told_as_more_or_less_and_not_as_income_or_expense() -> None:
    steady = pl.concat([salary(months=42, last=(2026, 10)), groceries(42)])
    bookings = pl.concat([steady, yearly("SHOPPING_OTHER", [-40_000, -42_000, -41_000], channel="CARD")])
    _, flow = flowing(bookings, date(2026, 11, 20))
    rows = select_view(flow.predictions).filter(tag="NET", item="2026_M12").row(0, named=True)
    assert rows["reason"] == "Darin 410,00 Euro weniger durch Zahlungen, die in den Vorjahren im selben Monat anfielen"


def test_a_month_with_less_spending_every_year_brings_no_income() -> None:
    days = [day for day in monthly(42, 14, (2026, 10)) if day.month != 12]
    steady = pl.concat([salary(months=42, last=(2026, 10)), groceries(42), book(days, -40_000, "SHOPPING_OTHER", channel="CARD")])
    _, flow = flowing(steady, date(2026, 11, 20))
    assert select_view(flow.predictions).filter(item="2026_M12")["reason"].is_null().all()


@pytest.mark.parametrize("years", [(2024, 2025), (2022, 2023, 2025)])
def test_what_missed_a_year_does_not_come_again(years: tuple[int, ...]) -> None:
    steady = pl.concat([salary(months=60, last=(2026, 10)), groceries(60)])
    gifts = yearly("SHOPPING_OTHER", [-40_000] * len(years), years=years, channel="CARD")
    _, flow = flowing(pl.concat([steady, gifts]), date(2026, 11, 20))
    rows = select_view(flow.predictions).filter(tag="SHOPPING_OTHER", item="2026_M12")
    assert (rows["cents"] > -20_000).all()
    assert rows["reason"].is_null().all()


@pytest.mark.parametrize(("months", "is_expected"), [((2, 5, 9), False), ((2, 3, 4, 5, 7, 8, 9, 11, 12), True)])
def test_income_is_expected_if_it_came_in_most_months(months: tuple[int, ...], *, is_expected: bool) -> None:
    gifts = book([date(2025, month, 11) for month in months], 30_000, "OTHER_INCOME", channel="TRANSFER")
    steady = pl.concat([salary(months=24, last=(2025, 12)), groceries(24, (2025, 12))])
    row = prediction(pl.concat([steady, gifts]), "OTHER_INCOME", "2026_M01", date(2025, 12, 31))
    assert (row["flex"] > 0) == is_expected
    assert row["upper"] >= 30_000


def test_income_from_invoices_is_an_interval_with_its_basis() -> None:
    days = [date(2025, month, 7 + month) for month in range(6, 13)] + [date(2026, month, 9 + month) for month in range(1, 6)]
    cents = [180_000, 620_000, 95_000, 410_000, 310_000, 540_000, 120_000, 700_000, 260_000, 150_000, 480_000, 330_000]
    parts = [
        book(days[first::2], cents[first::2], "INCOME_OTHER", channel="TRANSFER", counterparty_key=payer, freelancer="REVENUE")
        for first, payer in enumerate(("Kunde A", "Kunde B"))
    ]
    _, flow = flowing(pl.concat([*parts, groceries(14, (2026, 5))]), date(2026, 6, 16))
    months = select_view(flow.predictions).filter(tag="INCOME", kind="M")
    assert months["interval_only"].all()
    assert months["reason"].str.starts_with("Rechnungen von 2 Kunden brachten in ").all()
    assert (months["lower"] < months["upper"]).all()
    employee = select_view(flowing(pl.concat([salary(), groceries(14, (2026, 5))]))[1].predictions)
    assert not employee["interval_only"].any()


def granted(purpose: str, payments: int, cents: int = 154_160, category: str = "INCOME_STATE_FAMILY") -> pl.DataFrame:
    """A salary, and a benefit paid on the 5th for some months, the last time in June."""
    columns = {"channel": "PUBLIC", "partner": "UNKNOWN", "counterparty_name": "Landkreis Balingen", "purpose": purpose}
    return pl.concat([salary(), book(monthly(payments, 5), cents, category, **columns)])


@pytest.mark.parametrize(
    ("payments", "cents", "coming"),
    [(11, 154_160, 154_160), (12, 154_160, 0), (13, 154_160, 154_160), (14, 154_160, 0), (12, 70_000, 70_000)],
)
def test_parental_benefit_comes_no_longer_than_the_law_grants_it(payments: int, cents: int, coming: int) -> None:
    """Twelve months, fourteen for who raises a child alone; what may be halved is paid for twice as long."""
    benefit = granted("Elterngeld AZ 85830781", payments, cents)
    assert prediction(benefit, "INCOME_STATE_FAMILY", "2026_M07").get("fixed", 0) == coming
    contract = flowing(benefit)[0].contracts.row(by_predicate=pl.col("category") == "INCOME_STATE_FAMILY", named=True)
    assert (contract["status"], contract["overdue"], contract["date_due"]) == ("ACTIVE", False, date(2026, 7, 6))
    assert (contract["date_next"], contract["amount_next"]) == ((date(2026, 7, 6), coming) if coming else (None, None))
    assert ("weitere Zahlungen gewährt das Gesetz in der Regel nicht" in contract["reason"]) == (not coming)


@pytest.mark.parametrize(
    ("purpose", "category", "coming"),
    [
        ("ARBEITSLOSENGELD 01.06.2026 - 30.06.2026", "INCOME_OTHER", 154_160),
        ("ALG 06/2026 Kd-Nr. 258W041831", "INCOME_OTHER", 154_160),
        ("SGB III 258W041831 06/2026", "INCOME_OTHER", 154_160),
        ("Algarve Ferienhaus Kaution", "INCOME_OTHER", 0),
        ("Elterngeld BEEG 6984431355", "INCOME_STATE_FAMILY", 154_160),
        ("BEEG 306719950 Milan", "INCOME_STATE_FAMILY", 154_160),
        ("Elterngeld Nachzahlung", "INCOME_STATE_FAMILY", 0),
        ("Erstattung Einkommensteuer", "INCOME_OTHER", 0),
    ],
)
def test_a_benefit_granted_for_months_is_expected_after_its_first_payment(purpose: str, category: str, coming: int) -> None:
    row = prediction(granted(purpose, 1, category=category), category, "2026_M07")
    assert row.get("fixed", 0) == coming


@pytest.mark.parametrize(
    ("days", "cents", "coming"),
    [
        ([date(2026, 5, 29), date(2026, 6, 30)], [90_000] * 2, 90_000),
        ([date(2026, 4, 1), date(2026, 5, 4), date(2026, 6, 1)], [180_000] * 3, 180_000),
        ([date(2026, 4, 1), date(2026, 4, 13), date(2026, 6, 1)], [180_000, 25_000, 90_000], 0),
    ],
)
def test_a_benefit_of_few_months_is_expected_though_its_day_moves(days: list[date], cents: list[int], coming: int) -> None:
    """On the first business day of April, May and June 2026 it comes 33 and then 28 days after the payment before."""
    columns = {"channel": "PUBLIC", "partner": "UNKNOWN", "counterparty_name": "Landkreis Balingen", "purpose": "Wohngeld"}
    parts = [book([day], amount, "INCOME_OTHER", **columns) for day, amount in zip(days, cents, strict=True)]
    benefit = pl.concat(parts).with_columns(id=pl.format("benefit-{}", pl.int_range(pl.len())))
    row = prediction(pl.concat([salary(), benefit]), "INCOME_OTHER", "2026_M07", date(2026, 6, 30))
    assert row.get("fixed", 0) == coming


@pytest.mark.parametrize(
    ("purpose", "days", "cents", "coming"),
    [
        ("Gehalt", [date(2026, 6, 26)], [240_000], 240_000),
        ("Lohn / Gehalt 06/26", [date(2026, 6, 26)], [240_000], 240_000),
        ("Bonus", [date(2026, 6, 26)], [240_000], 0),
        ("Gehalt Nachzahlung 04/26", [date(2026, 6, 26)], [240_000], 0),
        ("Gehalt", [date(2026, 4, 1), date(2026, 5, 4), date(2026, 6, 1)], [271_433, 267_028, 269_144], 269_144),
        ("Gehalt", [date(2026, 4, 1), date(2026, 5, 4), date(2026, 6, 1)], [271_433, 98_000, 180_144], 0),
    ],
)
def test_the_wage_of_a_new_job_is_expected(purpose: str, days: list[date], cents: list[int], coming: int) -> None:
    """The old job has ended in February; on the first business days of three months, a wage comes 33 and then 28 days later."""
    old = salary().filter(pl.col("booked_on") < date(2026, 3, 1))
    columns = {"channel": "TRANSFER", "partner": "UNKNOWN", "counterparty_name": "Neue Arbeit GmbH", "purpose": purpose}
    columns |= dict.fromkeys(("counterparty_iban", "counterparty_key"), "DE02120300000000202051")
    parts = [book([day], amount, "INCOME_SALARY", **columns) for day, amount in zip(days, cents, strict=True)]
    new = pl.concat(parts).with_columns(id=pl.format("new-{}", pl.int_range(pl.len())))
    row = prediction(pl.concat([old, new]), "INCOME_SALARY", "2026_M07", date(2026, 6, 30))
    assert abs(row.get("fixed", 0) - coming) <= coming // 100


def test_beside_another_wage_a_single_one_need_not_come_again() -> None:
    columns = {"channel": "TRANSFER", "partner": "UNKNOWN", "counterparty_name": "Andere Arbeit GmbH", "purpose": "Gehalt"}
    columns |= dict.fromkeys(("counterparty_iban", "counterparty_key"), "DE02120300000000202051")
    alone = prediction(salary(), "INCOME_SALARY", "2026_M07", date(2026, 6, 30))
    beside = pl.concat([salary(), book([date(2026, 6, 12)], 90_000, "INCOME_SALARY", **columns).with_columns(id=pl.lit("new"))])
    assert prediction(beside, "INCOME_SALARY", "2026_M07", date(2026, 6, 30))["fixed"] == alone["fixed"]


def test_child_benefit_is_expected_though_arrears_came_with_the_first_payment() -> None:
    columns = {"channel": "PUBLIC", "partner": "FAMILIENKASSE", "counterparty_name": "Familienkasse", "purpose": "Kindergeld"}
    days = [date(2026, 3, 18), date(2026, 4, 20), date(2026, 5, 19), date(2026, 6, 22)]
    arrears = book([date(2026, 3, 19)], 51_800, "INCOME_STATE_FAMILY", **columns).with_columns(id=pl.lit("arrears"))
    bookings = pl.concat([salary(), book(days, 25_900, "INCOME_STATE_FAMILY", **columns), arrears])
    assert prediction(bookings, "INCOME_STATE_FAMILY", "2026_M07", date(2026, 6, 30))["fixed"] == 25_900
