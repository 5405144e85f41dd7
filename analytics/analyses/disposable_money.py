"""Disposable money: what is left of the latest salary, and what will be left of it when the next one comes."""

import polars as pl

from analytics import trees
from analytics.analyses.cashflow import Cashflow, awaited, going_on, horizon
from analytics.analyses.cashflow.flows import EXPENSES
from analytics.analyses.cashflow.statistics import AGGREGATE
from analytics.analyses.snapshot import Snapshot
from analytics.frames import DISPOSABLE_MONEY, checked

SALARY = "INCOME_SALARY"
MONTH_DAYS = 30.4369
RARE_SHARE = 0.35
"""What a few days usually lack of their part of a month's spending, much of which are rare things; measured on simulated
households ten days before a salary."""
COUNTED = ("user", "id", "booked_on", "amount_cents", "effective_category")
OWN = "TRANSFER_"
"""How categories of own transfers begin: they neither give nor take."""


def disposable_money(seen: Snapshot, cashflow: Cashflow) -> pl.DataFrame:
    """The disposable money (frame `DISPOSABLE_MONEY`) of users with an active salary contract."""
    salaries = _salaries(seen)
    known = salaries.join(_flexible(cashflow), on="user", how="left")
    for sums in (_since(seen, salaries), _fixed(seen, salaries, cashflow)):
        known = known.join(sums, on="user", how="left")
    days = (pl.col("date_salary_next") - pl.col("as_of")).dt.total_days()
    part = (days - 1).clip(lower_bound=0) / MONTH_DAYS
    usual = 1 - RARE_SHARE * (1 - part).clip(lower_bound=0)
    filled = known.with_columns(
        pl.col("salary_latest", "cashflow", "expected_fixed", "occurrences").fill_null(0),
        days_until_salary=days.clip(lower_bound=0),
        expected_flex=(pl.col("monthly_flex").fill_null(0) * part * usual).round().cast(pl.Int64),
    )
    return checked(_told(filled).sort("user").select(DISPOSABLE_MONEY.names()), DISPOSABLE_MONEY)


def _salaries(seen: Snapshot) -> pl.DataFrame:
    """The salary of each user: the active contract with the largest median for its days, so that no bonus that comes every year
    is taken for it; of equal ones the first by its id.
    """
    active = going_on(seen).filter(pl.col("status") == "ACTIVE", pl.col("category") == SALARY, pl.col("date_next").is_not_null())
    periods = trees.periods_frame().select(period="system_name", days="days")
    rated = active.join(periods, on="period", how="left").with_columns(rate=pl.col("amount_median") / pl.col("days"))
    largest = rated.sort("user", "rate", "id", descending=[False, True, False]).unique("user", keep="first", maintain_order=True)
    return largest.join(seen.as_of, on="user", how="inner").select(
        "user",
        "as_of",
        employer=pl.coalesce("counterparty_name", pl.lit("")),
        contract="id",
        date_salary_latest="date_latest",
        date_salary_next="date_next",
        salary_next="amount_next",
    )


def _since(seen: Snapshot, salaries: pl.DataFrame) -> pl.DataFrame:
    """The latest salary, and what was booked since it came: sums, and the ids of both."""
    paid = seen.payments.filter("regular").join(salaries, on=["user", "contract"], how="inner")
    salary = paid.filter(pl.col("booked_on") == pl.col("date_salary_latest")).select("user", "id", salary=pl.lit(value=True))
    first = pl.lit(salaries["date_salary_latest"].min(), pl.Date)
    latest = seen.bookings.select(COUNTED).filter(pl.col("booked_on") >= first)
    later = latest.join(salaries.select("user", "date_salary_latest"), on="user", how="inner").filter(
        pl.col("booked_on") >= pl.col("date_salary_latest"), ~pl.col("effective_category").str.starts_with(OWN)
    )
    known = later.select("user", "id", "booked_on", "amount_cents").join(salary, on=["user", "id"], how="left")
    rows = known.sort("booked_on", "id")
    cents, is_salary = pl.col("amount_cents"), pl.col("salary").is_not_null()
    return rows.group_by("user", maintain_order=True).agg(
        salary_latest=(cents * is_salary).sum(), cashflow=(cents * ~is_salary).sum(), transactions="id"
    )


def _fixed(seen: Snapshot, salaries: pl.DataFrame, cashflow: Cashflow) -> pl.DataFrame:
    """What the other active contracts bring and take before the next salary comes."""
    until = salaries.select("user", until=pl.col("date_salary_next").dt.offset_by("-1d"))
    known = until.join(horizon(seen), on="user", suffix="_known").select((pl.col("until") <= pl.col("until_known")).all()).item()
    due = cashflow.expected if known else awaited(seen, until)
    due = due.join(until, on="user").filter(pl.col("expected_on") <= pl.col("until"))
    others = due.join(salaries, on=["user", "contract"], how="anti").filter(~pl.col("category").str.starts_with(OWN))
    return others.group_by("user").agg(expected_fixed=pl.sum("cents"), occurrences=pl.len())


def _flexible(cashflow: Cashflow) -> pl.DataFrame:
    """What is usually spent in a month beside contracts; money that comes irregularly is not expected."""
    months = cashflow.predictions.filter(
        pl.col("level") == AGGREGATE, pl.col("tag") == EXPENSES, pl.col("kind") == "M", "with_savings"
    )
    return months.group_by("user", maintain_order=True).agg(monthly_flex=pl.last("flex"))


def _told(known: pl.DataFrame) -> pl.DataFrame:
    """The sums of the sums, and the reason."""
    left = pl.col("salary_latest") + pl.col("cashflow")
    money = left + pl.col("expected_fixed")
    ends = money + pl.col("expected_flex")
    daily = (ends / pl.max_horizontal(pl.lit(1), "days_until_salary")).round().cast(pl.Int64)
    latest, following = (pl.col(f"date_salary_{which}").dt.strftime("%d.%m.%Y") for which in ("latest", "next"))
    payer = pl.when(pl.col("employer") != "").then(pl.format(" von {}", "employer")).otherwise(pl.lit(""))
    flexible = pl.when(pl.col("monthly_flex").is_null()).then(pl.lit("; der Verlauf ist zu kurz für übliche Ausgaben"))
    reason = pl.format(
        "Gehalt{} am {}, das nächste am {}; bis dahin {} erwartete Zahlungen", payer, latest, following, "occurrences"
    )
    return known.with_columns(
        currently_left=left,
        disposable_money=money,
        expected_left=ends,
        expected_left_daily=daily,
        reason=pl.concat_str(reason, flexible.otherwise(pl.lit(" und übliche Ausgaben"))),
    )
