"""Rules that others can follow as well, as we would write them: simple contracts, and sums of cashflow; and the data for all.

The contracts of the house do much more than the simple rule: it is there to compare engines, not results.
"""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from analytics.cashflow.flows import Flows, flows
from analytics.cashflow.items import month_number, week_number
from analytics.cashflow.statistics import rolled, statistics
from analytics.seen import Seen
from tests.bench.other_ways import LEAST, PERIODS, SPREAD

KEYS = ("user", "party")
KIND = pl.Enum(PERIODS)
ITEMS = 1 << 16
"""More than there are months or weeks."""
DAYS = 1 << 20
"""More than there are days."""


def give(known: Seen, folder: Path, few: int) -> list[str]:
    """Writes what the others work on, and answers the users whose bookings the slow ones get."""
    day = pl.col("booked_on")
    month = month_number(day)
    items = {"total": pl.lit(0), "year": month // 12, "quarter": month // 3, "month": month, "week": week_number(day)}
    rows = _payments(known).hstack(known.bookings.select(category="effective_category", **items))
    rows.write_parquet(folder / "rows.parquet")
    users = sorted(known.bookings["user"].unique())[:few]
    told = known.bookings.filter(pl.col("user").is_in(users)).select(
        "user",
        "id",
        merchant=pl.coalesce("counterparty_name", "purpose", pl.lit("")),
        amount=pl.col("amount_cents") / 100,
        date=day.cast(pl.Datetime),
    )
    told.write_parquet(folder / "few.parquet")
    return users


def _payments(known: Seen) -> pl.DataFrame:
    party = pl.when(pl.col("counterparty_key") != "").then("counterparty_key").otherwise("partner").fill_null("")
    day = pl.col("booked_on").to_physical()
    return known.bookings.select("user", party=party, day=day, cents="amount_cents")


def for_rule(known: Seen) -> Callable[[], pl.DataFrame]:
    """The simple rule, on texts and numbers as they are read."""
    rows = _payments(known)
    return lambda: _regular(rows)


def _regular(rows: pl.DataFrame) -> pl.DataFrame:
    """What cannot be regular by number and amounts is dropped first, and only the rest is put in order.

    Whatever is grouped or ordered is a number by then: the pair of user and party, and the pair's place with the day.
    """
    pair = pl.col("user").hash(1) ^ pl.col("party").hash(2)
    keyed = rows.lazy().select("day", "cents", pair=pair, row=pl.int_range(pl.len(), dtype=pl.UInt32))
    grouped = keyed.with_columns(squares=pl.col("cents") ** 2).group_by("pair")
    sums = grouped.agg(pl.first("row"), pl.sum("squares"), n=pl.len(), mean=pl.sum("cents") / pl.len())
    variance = (pl.col("squares") - pl.col("n") * pl.col("mean") ** 2) / (pl.col("n") - 1)
    even = sums.filter(pl.col("n") >= LEAST, variance < (SPREAD * pl.col("mean")) ** 2)
    likely = even.with_columns(place=pl.int_range(pl.len(), dtype=pl.Int64)).collect()
    dated = keyed.join(likely.lazy().select("pair", "place"), on="pair").select(at=pl.col("place") * DAYS + pl.col("day"))
    ordered = dated.sort("at").select(place=pl.col("at") // DAYS, gap=pl.col("at").diff())
    inside = ordered.filter(pl.col("place") == pl.col("place").shift())
    gaps = inside.group_by("place").agg(pl.mean("gap"), stray=pl.std("gap")).filter(pl.col("stray") < SPREAD * pl.col("gap"))
    found = gaps.collect()
    kept = likely[found["place"]]
    return rows[["user", "party"]][kept["row"]].hstack([kept["n"], kept["mean"], found["gap"]])


def for_sums(known: Seen) -> Callable[[], pl.DataFrame]:
    """Sums by user and category: months and weeks from bookings, everything else from months."""
    given = flows(known)
    user, tag = (pl.col(name).to_physical().cast(pl.Int64) for name in ("user", "category"))
    rows = given.rows.select("month", "week", "cents", pair=user * len(given.tags.categories) + tag)

    def found() -> pl.DataFrame:
        parts = {"month": _summed(rows, pl.col("month")), "week": _summed(rows, pl.col("week"))}
        parts["quarter"] = _summed(parts["month"], pl.col("item") // 3)
        parts["year"] = _summed(parts["quarter"], pl.col("item") // 4)
        parts["total"] = _summed(parts["year"], pl.lit(0, pl.Int64))
        return pl.concat([frame.with_columns(kind=pl.lit(kind, KIND)) for kind, frame in parts.items()])

    return lambda: _named(found(), given)


def _summed(rows: pl.DataFrame, item: pl.Expr) -> pl.DataFrame:
    """The sums of pairs by item, grouped by one number."""
    cell = pl.col("pair") * ITEMS + item.cast(pl.Int64) + ITEMS // 2
    sums = rows.group_by(cell.alias("cell")).agg(pl.sum("cents"))
    return sums.select("cents", pair=pl.col("cell") // ITEMS, item=pl.col("cell") % ITEMS - ITEMS // 2)


def _named(sums: pl.DataFrame, given: Flows) -> pl.DataFrame:
    tags = given.tags.categories
    user, category = given.users.categories.gather(sums["pair"] // tags.len()), tags.gather(sums["pair"] % tags.len())
    return sums.select("kind", "item", "cents", user=user, category=category)


def for_view(known: Seen) -> Callable[[], pl.DataFrame]:
    """The sums as the house stores and shows them: months and weeks of both trees, and a view of one, by names and in order."""
    given = flows(known)
    return lambda: rolled(statistics(given), known.as_of, aggregates=False)


def equal(task: str, ours: pl.DataFrame, theirs: pl.DataFrame) -> bool:
    """Whether both found the same."""
    if task == "regular":
        both = ours.join(theirs.cast(dict.fromkeys(KEYS, pl.String)), on=KEYS, how="full", suffix="_theirs")
        near = (pl.col("mean") - pl.col("mean_theirs")).abs() + (pl.col("gap") - pl.col("gap_theirs")).abs() < 1e-6
        return bool(both.select((near & (pl.col("n") == pl.col("n_theirs"))).fill_null(value=False).all()).item())
    columns = ["user", "category", "kind", "item", "cents"]
    alike = [frame.select(pl.col(columns[:3]).cast(pl.String), pl.col(columns[3:]).cast(pl.Int64)) for frame in (ours, theirs)]
    return alike[0].sort(columns).equals(alike[1].sort(columns))
