"""Disposable money: what is left of the latest salary, and what is expected to be left when the next one comes."""

import polars as pl

from analytics import trees
from analytics.analyses.cashflow import Cashflow, continuing_contracts, expected_payments, horizon
from analytics.analyses.cashflow.expected import payments_until
from analytics.analyses.cashflow.flows import EXPENSES, INCOME
from analytics.analyses.cashflow.statistics import AGGREGATE
from analytics.analyses.german import german_euros
from analytics.analyses.snapshot import Snapshot
from analytics.frames import DISPOSABLE_MONEY, checked, collected, divided

SALARY_CATEGORY = "INCOME_SALARY"
MONTH_DAYS = 30.4369
RARE_SHARE = 0.35
"""By this share the spending of a few days falls short of their part of a month, since much of a month's spending is rare.
Measured on simulated households ten days before a salary."""
BOOKING_COLUMNS = ("user", "id", "booked_on", "amount_cents", "effective_category")
OWN_TRANSFER_PREFIX = "TRANSFER_"
"""Categories of transfers between own accounts begin with this; they are neither income nor expense."""


def disposable_money(snapshot: Snapshot, cashflow: Cashflow) -> pl.DataFrame:
    """The disposable money (frame `DISPOSABLE_MONEY`) of users with an active salary contract."""
    salaries = _salaries(snapshot)
    salaries_with_sums = salaries.lazy().join(_monthly_flexible(cashflow), on="user", how="left")
    for sums in (
        _booked_since_salary(snapshot, salaries),
        _expected_fixed(snapshot, salaries, cashflow),
        _expected_savings(snapshot, salaries),
    ):
        salaries_with_sums = salaries_with_sums.join(sums, on="user", how="left")
    days = (pl.col("date_salary_next") - pl.col("as_of")).dt.total_days()
    month_share = divided((days - 1).clip(lower_bound=0), MONTH_DAYS)
    usual_share = 1 - RARE_SHARE * (1 - month_share).clip(lower_bound=0)
    complete = salaries_with_sums.with_columns(
        pl.col("salary_latest", "cashflow", "savings", "occurrences", "expected_savings").fill_null(0),
        expected_fixed=pl.col("expected_fixed").fill_null(0) + pl.col("expected_savings").fill_null(0),
        days_until_salary=days.clip(lower_bound=0),
        expected_flex=(pl.col("monthly_flex").fill_null(0) * month_share * usual_share).round().cast(pl.Int64),
    )
    return checked(collected(_with_results(complete).sort("user").select(DISPOSABLE_MONEY.names())), DISPOSABLE_MONEY)


def _salaries(snapshot: Snapshot) -> pl.DataFrame:
    """The salary contract of each user: the active one with the largest median per day of its period, so that a yearly bonus does
    not win; of equal ones the first by id.
    """
    active = (
        continuing_contracts(snapshot)
        .lazy()
        .filter(pl.col("status") == "ACTIVE", pl.col("category") == SALARY_CATEGORY, pl.col("date_next").is_not_null())
    )
    periods = trees.periods_frame().lazy().select(period="system_name", days="days")
    salaries = active.join(periods, on="period", how="left").with_columns(rate=pl.col("amount_median") / pl.col("days"))
    largest_salaries = salaries.sort("user", "rate", "id", descending=[False, True, False]).unique(
        "user", keep="first", maintain_order=True
    )
    user_salaries = largest_salaries.join(snapshot.as_of.lazy(), on="user", how="inner").select(
        "user",
        "as_of",
        employer=pl.coalesce("counterparty_name", pl.lit("")),
        contract="id",
        date_salary_latest="date_latest",
        date_salary_next="date_next",
        salary_next="amount_next",
    )
    return collected(user_salaries)


def _booked_since_salary(snapshot: Snapshot, salaries: pl.DataFrame) -> pl.LazyFrame:
    """By user: the latest salary, the sum of what was booked since, of that what went to own savings as planned, all in cents,
    and the ids of these bookings.
    """
    salary_payments = snapshot.payments.lazy().filter("regular").join(salaries.lazy(), on=["user", "contract"], how="inner")
    salary = salary_payments.filter(pl.col("booked_on") == pl.col("date_salary_latest")).select(
        "user", "id", salary=pl.lit(value=True)
    )
    first = pl.lit(salaries["date_salary_latest"].min(), pl.Date)
    latest = snapshot.bookings.lazy().select(BOOKING_COLUMNS).filter(pl.col("booked_on") >= first)
    planned = snapshot.savings_plan_payments.lazy().filter("regular").select("user", "id", planned=pl.lit(value=True))
    recent = latest.join(salaries.lazy().select("user", "date_salary_latest"), on="user", how="inner").filter(
        pl.col("booked_on") >= pl.col("date_salary_latest")
    )
    with_plans = recent.join(planned, on=["user", "id"], how="left").with_columns(pl.col("planned").fill_null(value=False))
    since_salary = with_plans.filter(~pl.col("effective_category").str.starts_with(OWN_TRANSFER_PREFIX) | pl.col("planned"))
    bookings = since_salary.select("user", "id", "booked_on", "amount_cents", "planned").join(
        salary, on=["user", "id"], how="left"
    )
    rows = bookings.sort("booked_on", "id")
    cents, is_salary = pl.col("amount_cents"), pl.col("salary").is_not_null()
    return rows.group_by("user", maintain_order=True).agg(
        salary_latest=(cents * is_salary).sum(),
        cashflow=(cents * ~is_salary).sum(),
        savings=cents.filter("planned").sum(),
        transactions="id",
    )


def _expected_savings(snapshot: Snapshot, salaries: pl.DataFrame) -> pl.LazyFrame:
    """By user: cents that standing orders to own savings take before the next salary."""
    until = salaries.select("user", until=pl.col("date_salary_next").dt.offset_by("-1d"))
    return payments_until(snapshot.savings_plans, until).lazy().group_by("user").agg(expected_savings=pl.sum("cents"))


def _expected_fixed(snapshot: Snapshot, salaries: pl.DataFrame, cashflow: Cashflow) -> pl.LazyFrame:
    """By user: cents and number of the payments that the other active contracts bring or take before the next salary."""
    until = salaries.select("user", until=pl.col("date_salary_next").dt.offset_by("-1d"))
    is_covered = (
        until.join(horizon(snapshot), on="user", suffix="_known").select((pl.col("until") <= pl.col("until_known")).all()).item()
    )
    payments = cashflow.expected if is_covered else expected_payments(snapshot, until)
    due_payments = payments.lazy().join(until.lazy(), on="user").filter(pl.col("expected_on") <= pl.col("until"))
    others = due_payments.join(salaries.lazy(), on=["user", "contract"], how="anti").filter(
        ~pl.col("category").str.starts_with(OWN_TRANSFER_PREFIX)
    )
    return others.group_by("user").agg(expected_fixed=pl.sum("cents"), occurrences=pl.len())


def _monthly_flexible(cashflow: Cashflow) -> pl.LazyFrame:
    """By user: cents usually spent in a month beside contracts, and what invoices usually bring to those who live on them (then
    `lives_on_invoices`). Other irregular income is not expected.
    """
    is_income = pl.col("tag") == INCOME
    months = cashflow.predictions.lazy().filter(
        pl.col("level") == AGGREGATE,
        (pl.col("tag") == EXPENSES) | (is_income & pl.col("interval_only")),
        pl.col("kind") == "M",
        "with_savings",
    )
    next_months = months.group_by("user", "tag", maintain_order=True).agg(pl.last("flex"))
    return next_months.group_by("user", maintain_order=True).agg(monthly_flex=pl.sum("flex"), lives_on_invoices=is_income.any())


def _with_results(salaries: pl.LazyFrame) -> pl.LazyFrame:
    """With the amounts left, the disposable money and the reason."""
    left = pl.col("salary_latest") + pl.col("cashflow")
    money = left + pl.col("expected_fixed")
    expected_left = money + pl.col("expected_flex")
    daily = (expected_left / pl.max_horizontal(pl.lit(1), "days_until_salary")).round().cast(pl.Int64)
    latest, following = (pl.col(f"date_salary_{which}").dt.strftime("%d.%m.%Y") for which in ("latest", "next"))
    payer = pl.when(pl.col("employer") != "").then(pl.format(" von {}", "employer")).otherwise(pl.lit(""))
    committed = pl.col("savings") + pl.col("expected_savings")
    savings = pl.when(committed < 0).then(
        pl.format("; {} Euro gehen per Dauerauftrag auf eigene Sparkonten", german_euros(-committed))
    )
    flexible = (
        pl.when(pl.col("monthly_flex").is_null())
        .then(pl.lit("; der Verlauf ist zu kurz für übliche Ausgaben"))
        .when("lives_on_invoices")
        .then(pl.lit(" und übliche Einnahmen und Ausgaben"))
        .otherwise(pl.lit(" und übliche Ausgaben"))
    )
    expected = (
        pl.when(pl.col("occurrences") == 0)
        .then(pl.lit("keine erwarteten Zahlungen"))
        .when(pl.col("occurrences") == 1)
        .then(pl.lit("eine erwartete Zahlung"))
        .otherwise(pl.format("{} erwartete Zahlungen", "occurrences"))
    )
    reason = pl.format("Gehalt{} am {}, das nächste am {}; bis dahin {}", payer, latest, following, expected)
    return salaries.with_columns(
        currently_left=left,
        disposable_money=money,
        expected_left=expected_left,
        expected_left_daily=daily,
        reason=pl.concat_str(reason, flexible, savings.otherwise(pl.lit(""))),
    )
