"""Who saves: the one answer that life stages and affordability share.

Money is put aside as savings, or by transfers to own savings and securities; what comes back counts against it.
"""

from functools import cache
from typing import NamedTuple

import polars as pl

from analytics import trees
from analytics.analyses.contracts.streams import OWN_SAVINGS
from analytics.analyses.life_events.evidence import full_months
from analytics.analyses.life_events.months import latest_months, monthly_incomes
from analytics.analyses.snapshot import Snapshot
from analytics.frames import collected
from analytics.products import SAVING_PRODUCTS

MAX_MONTHS, MIN_MONTHS = 6, 3
MIN_SAVING_RATE = 0.01
MAX_DISSAVING_RATE = -0.05
"""Who takes more than this share of the income from savings lives on them."""


class Savers(NamedTuple):
    """What users save: the frames of `amounts_saved` and of `regular_savers`."""

    amounts: pl.DataFrame
    regular: pl.DataFrame


def find_savers(snapshot: Snapshot, month_sums: pl.DataFrame) -> Savers:
    """Who saves how much; `month_sums` are the incomes by user, month and category."""
    amounts = amounts_saved(snapshot, month_sums)
    return Savers(amounts, regular_savers(snapshot, amounts))


def regular_savers(snapshot: Snapshot, amounts: pl.DataFrame) -> pl.DataFrame:
    """`user` and `since`: users with an active contract or standing order that puts money aside, since the first one.

    They save at least `MIN_SAVING_RATE` of the income (`amounts` are those of `amounts_saved`), even if it is spent in the end,
    and do not live on their savings.
    """
    is_saving = pl.col("category").is_in(saving_categories()) & (pl.col("amount_latest") < 0)
    contracts = snapshot.contracts.lazy().filter(is_saving)
    plans = pl.concat([contracts, snapshot.savings_plans.lazy()]).filter(pl.col("status") == "ACTIVE")
    savers = amounts.lazy().filter(
        pl.col("income") > 0, pl.col("gross") / pl.col("income") >= MIN_SAVING_RATE, ~lives_on_savings()
    )
    active_plans = plans.join(savers, on="user", how="semi")
    return collected(active_plans.group_by("user").agg(since=pl.col("date_first").min()).sort("user"))


def amounts_saved(snapshot: Snapshot, month_sums: pl.DataFrame) -> pl.DataFrame:
    """`user`, `months`, `income`, what was saved (`gross`) and what of it did not come back (`put_aside`) over the last up to six
    full months, in cents, and the latest `bookings`.
    """
    months = latest_months(full_months(snapshot.histories), MIN_MONTHS, MAX_MONTHS)
    income_sums = monthly_incomes(months, month_sums).lazy().group_by("user").agg(pl.col("income").sum(), months=pl.len())
    columns = snapshot.bookings.lazy().select("user", "product", "id", "booked_on", "amount_cents")
    rows = columns.filter(snapshot.are_in([*saving_categories().item(), *OWN_SAVINGS]))
    saving_products = snapshot.products.lazy().filter(pl.col("category").is_in([str(store) for store in SAVING_PRODUCTS]))
    rows = rows.join(saving_products, on=["user", "product"], how="anti", maintain_order="left")
    rows = rows.with_columns(month=pl.col("booked_on").dt.month_start()).join(
        months.lazy(), on=["user", "month"], how="semi", maintain_order="left"
    )
    saved_sums = (
        rows.sort("user", "booked_on", "id")
        .group_by("user", maintain_order=True)
        .agg(
            put_aside=-pl.col("amount_cents").sum(),
            gross=-pl.col("amount_cents").filter(pl.col("amount_cents") < 0).sum(),
            bookings=pl.col("id").tail(3),
        )
    )
    savers = income_sums.join(saved_sums, on="user", how="left")
    return collected(savers.with_columns(pl.col("put_aside", "gross").fill_null(0), pl.col("bookings").fill_null([])))


def lives_on_savings() -> pl.Expr:
    """Whether a user of `amounts_saved` takes more from savings than is put aside."""
    return pl.col("put_aside") / pl.col("income") < MAX_DISSAVING_RATE


@cache
def saving_categories() -> pl.Series:
    """The categories of money put aside, as a list in one row."""
    return trees.categories_frame().filter(pl.col("need") == "S")["system_name"].implode()


@cache
def saving_insurances() -> pl.Series:
    """The insurance types that are savings, as a list in one row."""
    return trees.insurance_types_frame().filter("savings")["system_name"].implode()
