"""The best possible forecast of a simulated world: an error that no forecast can be expected to beat.

It is the forecast of somebody who knows every contract that has begun with each of its regular payments to come, the middle of
all other flows of the person in the months until then, and how much more or less people spend at this time of the year. Nobody
can know the rest: contracts that begin later, settlements, the days and sizes of bonuses, what is bought or invoiced by chance,
by how much a wage that differs in every month will differ this time, and that a contract will end without notice. Until its end
shows in the bookings, such a contract is expected to go on: an end within a month is much rarer than none. A forecast without
these expected payments also knows the ends, which nobody can; it is reported beside the best.
"""

from datetime import date

import polars as pl

from analytics import trees
from analytics.analyses.cashflow.flows import EXPENSES
from models.evaluation.metrics import Figure, figure, ratio

MONTH_KEYS = ["user", "aggregate"]
CONTRACT = pl.col("contract_id")
MONTH_CENTS = pl.col("amount_cents")
MAX_PAYMENTS_AFTER_END = 5
"""Of a contract paid every week, this many payments are in the month after its end."""
INCOME_MONTHS = 12
"""People begin and end to live on invoices, so that older months say less."""
VARYING_PAYMENTS = 6
"""A contract whose last payments, this many, all differ has a level and no amount."""
LIMITED_TEMPLATES = ("elterngeld",)
"""Contracts whose end nobody has to announce: the law limits them."""


def expected_next_month(flows: pl.DataFrame, payments_after_ends: pl.DataFrame, as_of: date) -> pl.DataFrame:
    """By `user` and `aggregate` the cents (`best`) that are best expected in the month after the as-of date.

    Flows have `user`, `aggregate`, `booked_on`, `amount_cents`, `contract_id` and `regular`, before and after that date. The
    `payments_after_ends` are those of the function of this name; without any, all ends are known.
    """
    month, next_month = pl.col("booked_on").dt.month_start(), pl.lit(as_of).dt.month_start().dt.offset_by("1mo")
    regular = with_beginnings(flows).filter("regular", pl.col("begun_on") <= as_of)
    levels = usual_amounts(regular.filter(pl.col("booked_on") <= as_of))
    due = (
        regular.filter(month == next_month)
        .join(levels, on="contract_id", how="left")
        .with_columns(amount_cents=pl.coalesce("level", pl.col("amount_cents").cast(pl.Float64)))
    )
    unseen = payments_after_ends.filter(month == next_month, end_is_unseen(pl.lit(as_of)))
    due_columns = [*MONTH_KEYS, "amount_cents"]
    expected = pl.concat([due.select(due_columns), unseen.select(due_columns).cast({"amount_cents": pl.Float64})])
    due_cents = expected.group_by(MONTH_KEYS).agg(due=MONTH_CENTS.sum())
    others = flows.filter(CONTRACT.is_null()).group_by(*MONTH_KEYS, month=month).agg(pl.col("amount_cents").sum())
    complete = (
        flows.group_by("user")
        .agg(first=month.min(), last=month.max())
        .with_columns(month=pl.date_ranges("first", "last", "1mo"))
        .explode("month")
        .filter(pl.col("month") > pl.col("first"), pl.col("month") < next_month)
        .join(flows.select("aggregate").unique(), how="cross")
        .join(others, on=[*MONTH_KEYS, "month"], how="left")
    )
    complete = complete.with_columns(MONTH_CENTS.fill_null(0))
    usual_cents = _usual_months(complete)
    best = usual_cents.join(due_cents, on=MONTH_KEYS, how="full", coalesce=True).join(
        _season(complete, usual_cents, as_of), on="aggregate", how="left"
    )
    return best.select(*MONTH_KEYS, best=pl.sum_horizontal("due", pl.col("usual") * pl.col("season").fill_null(1.0)))


def _usual_months(months: pl.DataFrame) -> pl.DataFrame:
    """By `user` and `aggregate` the mean (`usual`) of the middle half of all these months, or of income of the last ones: over
    fifteen months of five worlds, no other mean or median had a smaller error.
    """
    latest = pl.col("month").rank("ordinal", descending=True).over(MONTH_KEYS) <= INCOME_MONTHS
    cents, cut = MONTH_CENTS.sort(), pl.len() // 4
    middle = cents.slice(cut, pl.len() - 2 * cut).mean()
    return months.filter((pl.col("aggregate") == EXPENSES) | latest).group_by(MONTH_KEYS).agg(usual=middle)


def _season(months: pl.DataFrame, usual_cents: pl.DataFrame, as_of: date) -> pl.DataFrame:
    """By aggregate of spending how many times their usual month people spend (`season`) in the month after the as-of date, as in
    the years before.
    """
    next_month = pl.lit(as_of).dt.month_start().dt.offset_by("1mo")
    is_earlier = (pl.col("month") < next_month) & (pl.col("month").dt.month() == next_month.dt.month())
    earlier = months.filter(is_earlier, pl.col("aggregate") == EXPENSES).join(usual_cents, on=MONTH_KEYS)
    return earlier.filter(pl.col("usual") < 0).group_by("aggregate").agg(season=(MONTH_CENTS / pl.col("usual")).median())


def usual_amounts(payments: pl.DataFrame) -> pl.DataFrame:
    """By contract the middle (`level`) of its last payments, if each of them differs from the one before: upwards or downwards by
    chance, so that the next one cannot be known.
    """
    latest = payments.sort("contract_id", "booked_on").group_by("contract_id").agg(pl.col("amount_cents").tail(VARYING_PAYMENTS))
    steps = pl.col("amount_cents").list.diff(null_behavior="drop")
    varies = (pl.col("amount_cents").list.len() == VARYING_PAYMENTS) & steps.list.eval(pl.element() != 0).list.all()
    is_both_ways = (steps.list.min() < 0) & (steps.list.max() > 0)
    return latest.filter(varies & is_both_ways).select("contract_id", level=pl.col("amount_cents").list.median())


def usual_cents_of_days(flows: pl.DataFrame, days: int) -> pl.DataFrame:
    """By `user` the middle sum (`usual`) of what flows without a contract in so many days on end."""
    by_day = flows.filter(CONTRACT.is_null(), ~pl.col("planned")).group_by("user", "booked_on").agg(pl.col("amount_cents").sum())
    all_days = (
        flows.group_by("user")
        .agg(first=pl.col("booked_on").min(), last=pl.col("booked_on").max())
        .select("user", booked_on=pl.date_ranges("first", "last", "1d"))
        .explode("booked_on")
        .join(by_day, on=["user", "booked_on"], how="left")
        .sort("user", "booked_on")
    )
    sums = all_days.select("user", cents=pl.col("amount_cents").fill_null(0).rolling_sum(days).over("user")).drop_nulls()
    return sums.group_by("user").agg(usual=pl.col("cents").median())


def payments_after_ends(flows: pl.DataFrame, contracts: pl.DataFrame) -> pl.DataFrame:
    """The payments that would have followed if contracts that ended without notice had gone on with their last amount: flows with
    the day of the last true payment (`ended_on`) and the day on which the end shows (`seen_on`): the first of these payments does
    not come, or another contract of the category begins. `contracts` are the true ones of a corpus.
    """
    periods = trees.periods_frame().select(period="system_name", months="months", days="days")
    is_unannounced = (
        (pl.col("status") == "INACTIVE") & (pl.col("instalments") == 0) & ~pl.col("template").is_in(LIMITED_TEMPLATES)
    )
    ended_contracts = contracts.filter(is_unannounced).join(periods, on="period", how="left")
    beginnings = contracts.select("user", "category", began="date_first")
    successors = ended_contracts.join(beginnings, on=["user", "category"]).filter(pl.col("began") > pl.col("date_latest"))
    replaced_on = successors.group_by("contract_id").agg(replaced_on=pl.col("began").min())
    turns = pl.select(turn=pl.int_range(1, MAX_PAYMENTS_AFTER_END + 1))
    latest, months, days = pl.col("date_latest"), pl.col("months") * pl.col("turn"), pl.col("days") * pl.col("turn")
    by_month, by_day = latest.dt.offset_by(pl.format("{}mo", months)), latest + pl.duration(days=days.round().cast(pl.Int64))
    due = ended_contracts.join(turns, how="cross").select(
        "contract_id",
        ended_on=latest,
        booked_on=pl.when(pl.col("months").is_null()).then(by_day).otherwise(by_month),
        amount_cents="amount_latest_cents",
    )
    missed = due.join(replaced_on, on="contract_id", how="left").with_columns(
        seen_on=pl.min_horizontal(pl.col("booked_on").min().over("contract_id"), "replaced_on")
    )
    kinds = flows.filter("regular").unique("contract_id", keep="first", maintain_order=True)
    return missed.drop("replaced_on").join(kinds.drop("booked_on", "amount_cents"), on="contract_id")


def end_is_unseen(as_of: pl.Expr) -> pl.Expr:
    """Whether on a day the last true payment is booked, and its contract seems to go on."""
    return (pl.col("ended_on") <= as_of) & (pl.col("seen_on") > as_of)


def with_beginnings(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows with the day of the first payment of their contract (`begun_on`)."""
    beginnings = flows.filter(CONTRACT.is_not_null()).group_by("contract_id").agg(begun_on=pl.col("booked_on").min())
    return flows.join(beginnings, on="contract_id", how="left")


def times_the_best(rows: pl.DataFrame, error: pl.Expr, best_error: pl.Expr, times: int) -> Figure:
    """How many times as large an error is as the best possible one."""
    return figure(rows, ratio(error, best_error), "user", times)
