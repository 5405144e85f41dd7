"""Users who live on invoices: what these brought in the complete months before the as-of date."""

import polars as pl

from analytics.analyses.cashflow.cycles import MIN_CYCLES
from analytics.analyses.cashflow.items import month_number
from analytics.analyses.snapshot import Snapshot
from analytics.frames import collected

REVENUE = "REVENUE"
MIN_PAYERS, MIN_INCOME_SHARE = 2, 0.5
"""A user lives on invoices if at least this many customers pay at least this share of the income."""
REVENUES = pl.Schema(
    {"user": pl.String(), "payers": pl.UInt32(), "months": pl.Int32(), "lowest": pl.Int64(), "highest": pl.Int64()}
)
INCOME_PREFIX = "INCOME_"


def invoice_revenues(snapshot: Snapshot, cycles: pl.DataFrame) -> pl.DataFrame:
    """`REVENUES` of the users who live on invoices: the numbers of customers and of months, the lowest and the highest month."""
    columns = ("user", "counterparty_key", "freelancer", "effective_category", "amount_cents", "booked_on")
    receipts = snapshot.bookings.select(columns).filter(snapshot.bookings["amount_cents"] > 0)
    users = receipts.filter(pl.col("freelancer") == REVENUE)["user"].unique()
    if users.is_empty():
        return REVENUES.to_frame()
    months = cycles.select(pl.col("user").cast(pl.String), "month_last", months="month_count")
    incomes = collected(
        receipts.lazy()
        .filter(pl.col("user").is_in(users.implode()))
        .with_columns(month=month_number(pl.col("booked_on")))
        .filter(pl.col("effective_category").str.starts_with(INCOME_PREFIX))
        .join(months.lazy(), on="user")
        .filter(pl.col("month").is_between(pl.col("month_last") - pl.col("months") + 1, pl.col("month_last")))
        .with_columns(is_invoice=pl.col("freelancer") == REVENUE)
    )
    cents, is_invoice = pl.col("amount_cents"), pl.col("is_invoice")
    totals = incomes.group_by("user", "months").agg(
        total=cents.sum(),
        invoiced=cents.filter(is_invoice).sum(),
        payers=pl.col("counterparty_key").filter(is_invoice).n_unique(),
    )
    by_month = incomes.filter("is_invoice").group_by("user", "month").agg(cents.sum())
    spans = by_month.group_by("user").agg(paid_months=pl.len(), lowest=cents.min(), highest=cents.max())
    lives_on_them = (
        (pl.col("payers") >= MIN_PAYERS)
        & (pl.col("invoiced") >= MIN_INCOME_SHARE * pl.col("total"))
        & (pl.col("months") >= MIN_CYCLES)
        & (pl.col("paid_months") >= MIN_CYCLES)
    )
    users_with_spans = totals.join(spans, on="user").filter(lives_on_them)
    lowest = pl.when(pl.col("paid_months") < pl.col("months")).then(0).otherwise("lowest")
    return users_with_spans.with_columns(lowest=lowest).select(REVENUES.names()).cast(REVENUES).sort("user")
