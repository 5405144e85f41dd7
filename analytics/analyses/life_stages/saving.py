"""The stages of saving: the share of income put aside, as savings or as transfers to own savings and securities."""

import polars as pl

from analytics import trees
from analytics.analyses.life_events.evidence import EventEvidence
from analytics.analyses.life_events.months import last_months, monthly_incomes
from analytics.analyses.life_stages.signs import active_contracts
from analytics.analyses.snapshot import Snapshot
from analytics.products import ProductCategory

MAX_MONTHS, MIN_MONTHS = 6, 3
OWN_SAVINGS = ("TRANSFER_SAVINGS", "TRANSFER_SECURITIES")
SAVING_PRODUCTS = (
    ProductCategory.SAVINGS,
    ProductCategory.FIXED_DEPOSIT,
    ProductCategory.CALL_MONEY,
    ProductCategory.HOME_SAVINGS,
    ProductCategory.DEPOT,
)
"""Products that hold saved money: bookings on them are left out, since the money was counted when it left the other products."""
MAX_DISSAVING_RATE, MIN_SAVING_RATE, MIN_INTENSIVE_RATE = -0.05, 0.01, 0.15


def amounts_saved(snapshot: Snapshot, evidence: EventEvidence, month_sums: pl.DataFrame) -> pl.DataFrame:
    """`user`, `months`, `income`, `put_aside` (net, in cents) over the last up to six full months, and the latest `bookings`."""
    months = last_months(evidence, MIN_MONTHS, MAX_MONTHS)
    income_sums = monthly_incomes(months, month_sums).group_by("user").agg(pl.col("income").sum(), months=pl.len())
    saving_categories = trees.categories_frame().filter(pl.col("need") == "S")["system_name"].to_list()
    columns = snapshot.bookings.select("user", "product", "id", "booked_on", "amount_cents")
    rows = columns.filter(snapshot.are_in([*saving_categories, *OWN_SAVINGS]))
    saving_products = snapshot.products.filter(pl.col("category").is_in([str(store) for store in SAVING_PRODUCTS]))
    rows = rows.join(saving_products, on=["user", "product"], how="anti", maintain_order="left")
    rows = rows.with_columns(month=pl.col("booked_on").dt.month_start()).join(
        months, on=["user", "month"], how="semi", maintain_order="left"
    )
    saved_sums = (
        rows.sort("user", "booked_on", "id")
        .group_by("user", maintain_order=True)
        .agg(put_aside=-pl.col("amount_cents").sum(), bookings=pl.col("id").tail(3))
    )
    savers = income_sums.join(saved_sums, on="user", how="left")
    return savers.with_columns(pl.col("put_aside").fill_null(0), pl.col("bookings").fill_null([]))


def saving_stages(amounts: pl.DataFrame, evidence: EventEvidence) -> pl.DataFrame:
    """The saving stage of each user, by the share of income put aside and whether a contract does it."""
    plans = (
        active_contracts(evidence, "", "SAVINGS_PLAN", "SECURITIES_PLAN")
        .group_by("user")
        .agg(plan=pl.lit(True).first(), since=pl.col("since").min())
    )
    savers = amounts.filter(pl.col("income") > 0).join(plans, on="user", how="left").join(evidence.histories, on="user")
    rate = pl.col("put_aside") / pl.col("income")
    item = (
        pl.when(rate < MAX_DISSAVING_RATE)
        .then(pl.lit("SAVINGS_DISSAVING"))
        .when(rate < MIN_SAVING_RATE)
        .then(pl.lit("SAVINGS_NONE"))
        .when(pl.col("plan").is_null())
        .then(pl.lit("SAVINGS_OCCASIONAL"))
        .when(rate < MIN_INTENSIVE_RATE)
        .then(pl.lit("SAVINGS_REGULAR"))
        .otherwise(pl.lit("SAVINGS_INTENSIVE"))
    )
    share = (rate * 100).round(1).cast(pl.String).str.replace(".", ",", literal=True)
    return savers.select(
        "user",
        "bookings",
        item=item,
        since=pl.coalesce("since", "start"),
        confidence=pl.lit(0.85),
        reason=pl.format("{} % des Einkommens von {} Monaten zurückgelegt", share, "months"),
    )
