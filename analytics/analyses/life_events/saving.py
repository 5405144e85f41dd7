"""How much of their income users put aside: savings, and transfers to their own savings and securities; and the stage of it."""

import polars as pl

from analytics import trees
from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.months import incomes, last_months
from analytics.analyses.life_events.signs import active
from analytics.analyses.snapshot import Snapshot
from analytics.products import ProductCategory

MONTHS, LEAST_MONTHS = 6, 3
OWN = ("TRANSFER_SAVINGS", "TRANSFER_SECURITIES")
STORES = (
    ProductCategory.SAVINGS,
    ProductCategory.FIXED_DEPOSIT,
    ProductCategory.CALL_MONEY,
    ProductCategory.HOME_SAVINGS,
    ProductCategory.DEPOT,
)
"""On these products money lies that was put aside: what moves there has been counted where it came from."""
DISSAVING, NO_SAVING, INTENSIVE = -0.05, 0.01, 0.15


def saved(seen: Snapshot, base: EventEvidence, summed: pl.DataFrame) -> pl.DataFrame:
    """`user`, `months`, `income`, `put_aside` (net, in cents) over the last up to six full months, and the latest `bookings`."""
    months = last_months(base, LEAST_MONTHS, MONTHS)
    earned = incomes(months, summed).group_by("user").agg(pl.col("income").sum(), months=pl.len())
    kinds = trees.categories_frame().filter(pl.col("need") == "S")["system_name"].to_list()
    columns = seen.bookings.select("user", "product", "id", "booked_on", "amount_cents")
    rows = columns.filter(seen.are_in([*kinds, *OWN]))
    stores = seen.products.filter(pl.col("category").is_in([str(store) for store in STORES]))
    rows = rows.join(stores, on=["user", "product"], how="anti", maintain_order="left")
    rows = rows.with_columns(month=pl.col("booked_on").dt.month_start()).join(
        months, on=["user", "month"], how="semi", maintain_order="left"
    )
    aside = (
        rows.sort("user", "booked_on", "id")
        .group_by("user", maintain_order=True)
        .agg(put_aside=-pl.col("amount_cents").sum(), bookings=pl.col("id").tail(3))
    )
    joined = earned.join(aside, on="user", how="left")
    return joined.with_columns(pl.col("put_aside").fill_null(0), pl.col("bookings").fill_null([]))


def savings(aside: pl.DataFrame, base: EventEvidence) -> pl.DataFrame:
    """By the share of income that was put aside, and whether by contract."""
    plans = (
        active(base, "", "SAVINGS_PLAN", "SECURITIES_PLAN")
        .group_by("user")
        .agg(plan=pl.lit(True).first(), since=pl.col("since").min())
    )
    rated = aside.filter(pl.col("income") > 0).join(plans, on="user", how="left").join(base.histories, on="user")
    rate = pl.col("put_aside") / pl.col("income")
    item = (
        pl.when(rate < DISSAVING)
        .then(pl.lit("SAVINGS_DISSAVING"))
        .when(rate < NO_SAVING)
        .then(pl.lit("SAVINGS_NONE"))
        .when(pl.col("plan").is_null())
        .then(pl.lit("SAVINGS_OCCASIONAL"))
        .when(rate < INTENSIVE)
        .then(pl.lit("SAVINGS_REGULAR"))
        .otherwise(pl.lit("SAVINGS_INTENSIVE"))
    )
    share = (rate * 100).round(1).cast(pl.String).str.replace(".", ",", literal=True)
    return rated.select(
        "user",
        "bookings",
        item=item,
        since=pl.coalesce("since", "start"),
        confidence=pl.lit(0.85),
        reason=pl.format("{} % des Einkommens von {} Monaten zurückgelegt", share, "months"),
    )
