"""Sums by user, month and category, and incomes that are large compared with the months before."""

import polars as pl

from analytics.analyses.life_events.evidence import INCOME_CATEGORIES, OTHER_INCOME, EventEvidence
from analytics.analyses.snapshot import CATEGORY_CODES, Snapshot
from analytics.frames import collected

MIN_MONTHS, MAX_MONTHS = 3, 12
SPENDING_LOOKBACK = "-8mo"
"""Covers the six full months that the rules read."""
MONTH_STRIDE = 1 << 16
"""Larger than any number of a month since the year 0."""
LARGE_INCOME_FACTOR = 2
"""An income of at least this many times the average month is large."""
MIN_REGULAR_PAYMENTS, MIN_EXTRA_FACTOR = 3, 1.5
"""Of a payer with so many payments, only one that exceeds its usual payment by this factor can be large."""


def sum_months(snapshot: Snapshot) -> pl.DataFrame:
    """`user`, `month` (its first day), `category`, `cents`: the sums of each effective category, for income in all months, for
    everything else since `SPENDING_LOOKBACK`. User, month and category are one number while the sums are added.
    """
    since = snapshot.histories.select("user", since=pl.col("as_of").dt.offset_by(SPENDING_LOOKBACK))
    since_by_user = pl.DataFrame({"user": snapshot.users.categories}).join(since, on="user", how="left", maintain_order="left")[
        "since"
    ]
    day, user = snapshot.bookings["booked_on"], snapshot.user.to_physical().cast(pl.Int64)
    rows = pl.DataFrame(
        {"user": user, "day": day, "category": snapshot.category.to_physical(), "cents": snapshot.bookings["amount_cents"]}
    )
    counted_rows = rows.filter(snapshot.are_in((*INCOME_CATEGORIES, OTHER_INCOME)) | (day >= since_by_user.gather(user)))
    categories = len(CATEGORY_CODES.categories)
    month = pl.col("day").dt.year() * 12 + pl.col("day").dt.month() - 1
    key = (pl.col("user") * MONTH_STRIDE + month) * categories + pl.col("category")
    sums = counted_rows.group_by(key=key).agg(pl.sum("cents"))
    month_number = pl.col("key") // categories % MONTH_STRIDE
    return sums.select(
        user=snapshot.users.categories.gather(sums["key"] // (MONTH_STRIDE * categories)),
        month=pl.date(month_number // 12, month_number % 12 + 1, 1),
        category=CATEGORY_CODES.categories.gather(sums["key"] % categories),
        cents="cents",
    )


def last_months(evidence: EventEvidence, min_months: int, max_months: int) -> pl.DataFrame:
    """The last full months, at most `max_months`, of each user who has at least `min_months`."""
    return latest_months(evidence.months, min_months, max_months)


def latest_months(months: pl.DataFrame, min_months: int, max_months: int) -> pl.DataFrame:
    """The last of these months (`user`, `month`), at most `max_months`, of each user who has at least `min_months`."""
    rank = pl.col("month").rank("ordinal", descending=True).over("user")
    return months.filter(rank <= max_months, pl.len().over("user") >= min_months)


def monthly_incomes(months: pl.DataFrame, sums_by_month: pl.DataFrame, *, with_other: bool = False) -> pl.DataFrame:
    """The months with `income`, the sum of all categories of income in cents, 0 where there is none; on request with other
    income, such as what parents give to a student.
    """
    is_income = pl.col("category").str.starts_with("INCOME_") | (pl.lit(with_other) & (pl.col("category") == OTHER_INCOME))
    income_sums = sums_by_month.lazy().filter(is_income).group_by("user", "month").agg(income=pl.col("cents").sum())
    with_income = months.lazy().join(income_sums, on=["user", "month"], how="left", maintain_order="left")
    return collected(with_income.with_columns(pl.col("income").fill_null(0)))


def large_incomes(evidence: EventEvidence, sums_by_month: pl.DataFrame) -> pl.DataFrame:
    """`user`, `day`, `payer`, `cents`, `ids`, `average`: the income by one payer on one day, if it is large compared with the
    average of the up to twelve full months before; at least three are needed. A gift or an inheritance is an income, too.
    What a payer pays regularly is not large in itself: the first full wage after an apprenticeship is a new level.
    """
    monthly = _months_before(monthly_incomes(evidence.months, sums_by_month, with_other=True).lazy())
    payment_keys, incoming = ["user", "day", "payer"], evidence.income.filter(pl.col("cents") > 0)
    payments = incoming.group_by(payment_keys).agg(pl.col("cents").sum()).lazy()
    with_history = payments.with_columns(month=pl.col("day").dt.month_start()).join(monthly, on=["user", "month"])
    has_history = (pl.col("months") >= MIN_MONTHS) & (pl.col("total") > 0)
    large = with_history.filter(has_history, pl.col("cents") * pl.col("months") >= LARGE_INCOME_FACTOR * pl.col("total"))
    usual = payments.group_by("user", "payer").agg(usual=pl.col("cents").median(), times=pl.len())
    is_regular = (pl.col("times") >= MIN_REGULAR_PAYMENTS) & (pl.col("cents") < MIN_EXTRA_FACTOR * pl.col("usual"))
    unusual = large.join(usual, on=["user", "payer"], how="left", maintain_order="left")
    large = collected(unusual.filter(~is_regular.fill_null(value=False))).lazy()
    income_rows = incoming.lazy().join(large, on=payment_keys, how="semi", nulls_equal=True).group_by(payment_keys)
    names = income_rows.agg(ids=pl.col("id").sort(), name=pl.col("name").drop_nulls().sort().first().fill_null(""))
    with_names = large.join(names, on=payment_keys, how="left", nulls_equal=True)
    return collected(with_names.with_columns(average=pl.col("total") / pl.col("months")).sort(payment_keys))


def _months_before(monthly: pl.LazyFrame) -> pl.LazyFrame:
    """By month, and for the one after the last: the number of full months before that count, and their total income."""
    sorted_months = monthly.sort("user", "month")
    total = pl.col("income").rolling_sum(MAX_MONTHS, min_samples=1).over("user")
    number = pl.int_range(1, pl.len() + 1).over("user").clip(upper_bound=MAX_MONTHS)
    return sorted_months.select("user", month=pl.col("month").dt.offset_by("1mo"), total=total, months=number)
