"""Sums by user, month and category, and incomes that are large beside the months before."""

import polars as pl

from analytics.events.ground import Ground

LEAST_MONTHS, MOST_MONTHS = 3, 12
RECENT, RECENT_DAYS = "-8mo", 248
"""More than the six full months that the rules ask for, and not fewer days than they can have."""
LARGE = 2
"""An income so many times the average month is large; exactly so many times is."""


def sums(bookings: pl.DataFrame) -> pl.DataFrame:
    """`user`, `month` (its first day), `category`, `cents`: what was booked in each effective category; incomes of all months,
    everything else of the last ones.
    """
    columns = bookings[["user", "booked_on", "as_of", "effective_category", "amount_cents"]]
    income = pl.col("effective_category").str.starts_with("INCOME_")
    near = pl.col("booked_on").to_physical() >= pl.col("as_of").to_physical() - RECENT_DAYS  # quick, and leaves few to look at
    wanted = columns.filter(income | near).filter(income | (pl.col("booked_on") >= pl.col("as_of").dt.offset_by(RECENT)))
    month = pl.col("booked_on").dt.month_start()
    return wanted.group_by("user", month=month, category="effective_category").agg(cents=pl.col("amount_cents").sum())


def last_months(base: Ground, least: int, most: int) -> pl.DataFrame:
    """The last full months, up to so many, of each user who has at least so many."""
    newest = pl.col("month").rank("ordinal", descending=True).over("user")
    return base.months.filter(newest <= most, pl.len().over("user") >= least)


def incomes(months: pl.DataFrame, summed: pl.DataFrame) -> pl.DataFrame:
    """The months with `income`, the sum of effective income, nothing where there is none."""
    earned = (
        summed.filter(pl.col("category").str.starts_with("INCOME_")).group_by("user", "month").agg(income=pl.col("cents").sum())
    )
    return months.join(earned, on=["user", "month"], how="left", maintain_order="left").with_columns(
        pl.col("income").fill_null(0)
    )


def large_incomes(base: Ground, summed: pl.DataFrame) -> pl.DataFrame:
    """`user`, `day`, `payer`, `cents`, `ids`, `average`: what one payer paid on one day, if it is large beside the average month
    of the up to twelve full months before; fewer than three say nothing.
    """
    monthly = _averages(incomes(base.months, summed))
    paid = (
        base.income.filter(pl.col("cents") > 0)
        .group_by("user", "day", "payer")
        .agg(pl.col("cents").sum(), ids=pl.col("id").sort(), name=pl.col("name").drop_nulls().sort().first().fill_null(""))
    )
    joined = paid.with_columns(month=pl.col("day").dt.month_start()).join(monthly, on=["user", "month"])
    enough = (pl.col("months") >= LEAST_MONTHS) & (pl.col("total") > 0)
    large = joined.filter(enough, pl.col("cents") * pl.col("months") >= LARGE * pl.col("total"))
    return large.with_columns(average=pl.col("total") / pl.col("months")).sort("user", "day", "payer")


def _averages(monthly: pl.DataFrame) -> pl.DataFrame:
    """For each month, and the one after the last: how many full months before count, and their total income."""
    of = monthly.sort("user", "month")
    total = pl.col("income").rolling_sum(MOST_MONTHS, min_samples=1).over("user")
    number = pl.int_range(1, pl.len() + 1).over("user").clip(upper_bound=MOST_MONTHS)
    return of.select("user", month=pl.col("month").dt.offset_by("1mo"), total=total, months=number)
