"""The true contracts on the as-of date, as an analysis of all bookings until then should find them, and their next payments."""

import numpy as np
import polars as pl

from models.simulator.base.lists import wordings
from models.simulator.base.schemas import CONTRACTS
from models.simulator.contracts.holdings import WEEKLY_PERIODS
from models.simulator.contracts.templates import templates
from models.simulator.people.scene import Scene

PERIODS = {
    1: "MONTH_ONE",
    2: "MONTH_TWO",
    3: "QUARTER_ONE",
    4: "MONTH_FOUR",
    6: "HALFYEAR_ONE",
    12: "YEAR_ONE",
    24: "YEAR_TWO",
    WEEKLY_PERIODS + 1: "WEEK_ONE",
    WEEKLY_PERIODS + 2: "WEEK_TWO",
    WEEKLY_PERIODS + 4: "WEEK_FOUR",
}


def contract_truth(scene: Scene, contracts: pl.DataFrame, slots: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Every contract with a regular booking until the as-of date."""
    past_bookings = rows.filter(pl.col("contract").is_not_null(), pl.col("day") <= scene.grid.as_of, ~pl.col("copy"))
    facts = _statistics(past_bookings)
    coming = _coming(scene, contracts, slots)
    facts = facts.join(
        contracts.unique("contract", keep="first", maintain_order=True), on="contract", how="left", maintain_order="left"
    )
    facts = facts.join(coming, on="contract", how="left", maintain_order="left")
    spans = wordings().select(wording="number", dated=pl.col("text").str.contains("{von}", literal=True))
    facts = facts.join(spans, on="wording", how="left", maintain_order="left")
    kinds = pl.DataFrame(
        {
            "template": np.arange(len(templates())),
            "name": [t.name for t in templates()],
            "sold": [t.insurance for t in templates()],
        }
    )
    facts = facts.join(kinds, on="template", how="left", maintain_order="left")
    frame = facts.select(
        contract_id="contract",
        user=(pl.col("who") + int(scene.group.number[0])).cast(pl.UInt32),
        template="name",
        category="category",
        insurance="insurance",
        product_held=pl.when(pl.col("sold") == "").then(pl.lit("UNRELATED_OTHER")).otherwise("sold"),
        brand="brand",
        period=pl.col("period").replace_strict(PERIODS, return_dtype=pl.String),
        day_rule=pl.when(pl.col("period") < WEEKLY_PERIODS).then("rule").otherwise(pl.lit("")),
        status=pl.when(pl.col("next_day").is_not_null()).then(pl.lit("ACTIVE")).otherwise(pl.lit("INACTIVE")),
        date_start=pl.when(pl.col("dated").fill_null(False)).then("first_span").otherwise("first_day").cast(pl.Date),
        date_first=pl.col("first_day").cast(pl.Date),
        date_latest=pl.col("latest_day").cast(pl.Date),
        date_next=pl.col("next_day").cast(pl.Int32).cast(pl.Date),
        date_end=pl.col("last_day").cast(pl.Int32).cast(pl.Date),
        amount_first_cents="first_cents",
        amount_latest_cents="latest_cents",
        amount_next_cents="next_cents",
        amount_minimum_cents="least",
        amount_maximum_cents="most",
        amount_mean="mean",
        amount_median="median",
        standard_deviation="deviation",
        amount_total_cents=pl.col("regular_total") + pl.col("other_total"),
        amount_total_regular_cents="regular_total",
        amount_total_non_regular_cents="other_total",
        growth_rate=pl.when(pl.col("regular_count") == 1)
        .then(0.0)
        .otherwise((pl.col("latest_cents") - pl.col("first_cents")) / pl.col("first_cents").abs()),
        days_age=(scene.grid.as_of - pl.col("first_day")).cast(pl.Int32),
        regular_count="regular_count",
        non_regular_count="other_count",
        counterparty_name="party",
        counterparty_iban=pl.when(pl.col("kind") == "CARD").then(None).otherwise("iban"),
        counterparty_bic=pl.when(pl.col("kind") == "CARD").then(None).otherwise("bic"),
        instalments=pl.col("terms").cast(pl.UInt32),
    )
    return frame.select(CONTRACTS.names()).cast(dict(CONTRACTS.items())).sort("contract_id")


def _statistics(bookings: pl.DataFrame) -> pl.DataFrame:
    """Sums and moments over the regular bookings, and the sum of the others."""
    ordered = bookings.sort("day", "key")
    regular, other = ordered.filter(pl.col("regular")), ordered.filter(~pl.col("regular"))
    sums = regular.group_by("contract", maintain_order=True).agg(
        first_day=pl.col("day").first(),
        latest_day=pl.col("day").last(),
        first_span=pl.col("from_day").first(),
        first_cents=pl.col("cents").first(),
        latest_cents=pl.col("cents").last(),
        least=pl.col("cents").min(),
        most=pl.col("cents").max(),
        mean=pl.col("cents").mean(),
        median=pl.col("cents").median(),
        deviation=pl.col("cents").std(ddof=0),
        regular_total=pl.col("cents").sum(),
        regular_count=pl.len(),
    )
    rest = other.group_by("contract").agg(other_total=pl.col("cents").sum(), other_count=pl.len())
    statistics = sums.join(rest, on="contract", how="left", maintain_order="left")
    return statistics.with_columns(pl.col("other_total").fill_null(0), pl.col("other_count").fill_null(0))


def _coming(scene: Scene, contracts: pl.DataFrame, slots: pl.DataFrame) -> pl.DataFrame:
    """Next date and amount, and the last date of contracts that end within sight."""
    contract = contracts["contract"][slots["contract_row"].cast(pl.UInt32)]
    end = contracts["end"][slots["contract_row"].cast(pl.UInt32)]
    due = slots.select("day", "cents").with_columns(contract=contract, end=end).sort("day")
    later = due.filter(pl.col("day") > scene.grid.as_of)
    after = later.group_by("contract").agg(next_day=pl.col("day").first(), next_cents=pl.col("cents").first())
    ended = due.filter(pl.col("end") < int(scene.grid.month_starts[-2])).group_by("contract").agg(last_day=pl.col("day").last())
    return due.select("contract").unique().join(after, on="contract", how="left").join(ended, on="contract", how="left")
