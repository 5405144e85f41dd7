"""Sums by user, month and category, and incomes that are large beside the months before."""

import polars as pl

from analytics.analyses.life_events.evidence import INCOMES, EventEvidence
from analytics.analyses.snapshot import CATEGORY_CODES, Snapshot

LEAST_MONTHS, MOST_MONTHS = 3, 12
RECENT = "-8mo"
"""More than the six full months that the rules ask for."""
MOST_NUMBER = 1 << 16
"""More than there are months since the year 0."""
LARGE = 2
"""An income so many times the average month is large; exactly so many times is."""


def sums(seen: Snapshot) -> pl.DataFrame:
    """`user`, `month` (its first day), `category`, `cents`: what was booked in each effective category; incomes of all months,
    everything else of the last ones. What a sum is about is one number while it is added.
    """
    since = seen.histories.select("user", since=pl.col("as_of").dt.offset_by(RECENT))
    known = pl.DataFrame({"user": seen.users.categories}).join(since, on="user", how="left", maintain_order="left")["since"]
    day, user = seen.bookings["booked_on"], seen.user.to_physical().cast(pl.Int64)
    rows = pl.DataFrame(
        {"user": user, "day": day, "category": seen.category.to_physical(), "cents": seen.bookings["amount_cents"]}
    )
    wanted = rows.filter(seen.are_in(INCOMES) | (day >= known.gather(user)))
    categories = len(CATEGORY_CODES.categories)
    month = pl.col("day").dt.year() * 12 + pl.col("day").dt.month() - 1
    about = (pl.col("user") * MOST_NUMBER + month) * categories + pl.col("category")
    found = wanted.group_by(about=about).agg(pl.sum("cents"))
    number = pl.col("about") // categories % MOST_NUMBER
    return found.select(
        user=seen.users.categories.gather(found["about"] // (MOST_NUMBER * categories)),
        month=pl.date(number // 12, number % 12 + 1, 1),
        category=CATEGORY_CODES.categories.gather(found["about"] % categories),
        cents="cents",
    )


def last_months(base: EventEvidence, least: int, most: int) -> pl.DataFrame:
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


def large_incomes(base: EventEvidence, summed: pl.DataFrame) -> pl.DataFrame:
    """`user`, `day`, `payer`, `cents`, `ids`, `average`: what one payer paid on one day, if it is large beside the average month
    of the up to twelve full months before; fewer than three say nothing.
    """
    monthly = _averages(incomes(base.months, summed))
    of, incoming = ["user", "day", "payer"], base.income.filter(pl.col("cents") > 0)
    paid = incoming.group_by(of).agg(pl.col("cents").sum())
    joined = paid.with_columns(month=pl.col("day").dt.month_start()).join(monthly, on=["user", "month"])
    enough = (pl.col("months") >= LEAST_MONTHS) & (pl.col("total") > 0)
    large = joined.filter(enough, pl.col("cents") * pl.col("months") >= LARGE * pl.col("total"))
    told = incoming.join(large, on=of, how="semi", nulls_equal=True).group_by(of)
    names = told.agg(ids=pl.col("id").sort(), name=pl.col("name").drop_nulls().sort().first().fill_null(""))
    named = large.join(names, on=of, how="left", nulls_equal=True)
    return named.with_columns(average=pl.col("total") / pl.col("months")).sort(of)


def _averages(monthly: pl.DataFrame) -> pl.DataFrame:
    """For each month, and the one after the last: how many full months before count, and their total income."""
    of = monthly.sort("user", "month")
    total = pl.col("income").rolling_sum(MOST_MONTHS, min_samples=1).over("user")
    number = pl.int_range(1, pl.len() + 1).over("user").clip(upper_bound=MOST_MONTHS)
    return of.select("user", month=pl.col("month").dt.offset_by("1mo"), total=total, months=number)
