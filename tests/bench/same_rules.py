"""Rules that others can follow as well, as we would write them: simple contracts, and sums of cashflow; and the data for all.

The contracts of the house do much more than the simple rule: it is there to compare engines, not results.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.analyses.cashflow.flows import Flows, flows
from analytics.analyses.cashflow.items import month_number, week_number
from analytics.analyses.cashflow.statistics import roll_up, statistics
from analytics.analyses.snapshot import Snapshot
from analytics.native.compiling import compiled
from analytics.native.dense_ids import Numbering
from analytics.native.hashing import Numbers
from tests.bench.other_ways import LEAST, PERIODS, SPREAD

KEYS = ("user", "party")
KIND = pl.Enum(PERIODS)
ITEMS = 1 << 16
"""More than there are months or weeks."""
Days = NDArray[np.int64]


def give(known: Snapshot, folder: Path, few: int) -> list[str]:
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


def _payments(known: Snapshot) -> pl.DataFrame:
    party = pl.when(pl.col("counterparty_key") != "").then("counterparty_key").otherwise("partner").fill_null("")
    day = pl.col("booked_on").to_physical()
    return known.bookings.select("user", party=party, day=day, cents="amount_cents")


def for_rule(known: Snapshot) -> Callable[[], pl.DataFrame]:
    """The simple rule, on texts and numbers as they are read; what is compiled is so before."""
    rows = _payments(known)
    _regular(rows.head(LEAST))
    return lambda: _regular(rows)


def _regular(rows: pl.DataFrame) -> pl.DataFrame:
    """Pairs of user and party become numbers. What cannot be regular by number and amounts is dropped first, and only the days of
    the rest are put in order.
    """
    pair = rows.select(pl.col("user").hash(1) ^ pl.col("party").hash(2)).to_series()
    number, first = Numbering().of(pair.to_numpy().astype(np.uint64))
    cents, day = (rows[name].to_numpy() for name in ("cents", "day"))
    n = np.bincount(number, minlength=first.size)
    mean = np.bincount(number, cents, first.size) / n
    squares = np.bincount(number, cents.astype(np.float64) ** 2, first.size)
    even = (n >= LEAST) & (squares - n * mean**2 < (SPREAD * mean) ** 2 * (n - 1))
    starts = np.r_[0, np.cumsum(n * even)]
    days = np.empty(starts[-1], np.int64)
    _fill(number, day.astype(np.int64), even, starts[:-1].copy(), days)
    gap, stray = np.zeros(first.size), np.full(first.size, np.inf)
    _part(starts, days, gap, stray)
    kept = np.flatnonzero(stray < SPREAD * gap)
    return rows[["user", "party"]][first[kept]].with_columns(
        n=pl.Series(n[kept], dtype=pl.UInt32), mean=pl.Series(mean[kept]), gap=pl.Series(gap[kept])
    )


@compiled
def _fill(number: Numbers, day: Days, even: NDArray[np.bool_], ends: Days, days: Days) -> None:
    """The days of each pair one behind the other, in order: most of them come in order."""
    starts = ends.copy()
    for row in range(number.size):
        pair = number[row]
        if even[pair]:
            at = ends[pair]
            while at > starts[pair] and days[at - 1] > day[row]:
                days[at] = days[at - 1]
                at -= 1
            days[at] = day[row]
            ends[pair] += 1


@compiled
def _part(starts: Days, days: Days, gap: NDArray[np.float64], stray: NDArray[np.float64]) -> None:
    """The mean and the standard deviation of the days between the payments of each pair."""
    for pair in range(starts.size - 1):
        gaps = starts[pair + 1] - starts[pair] - 1
        if gaps >= LEAST - 1:
            gap[pair] = (days[starts[pair + 1] - 1] - days[starts[pair]]) / gaps
            squares = 0.0
            for place in range(starts[pair] + 1, starts[pair + 1]):
                squares += (days[place] - days[place - 1] - gap[pair]) ** 2
            stray[pair] = np.sqrt(squares / (gaps - 1))


def for_sums(known: Snapshot) -> Callable[[], pl.DataFrame]:
    """Sums by user and category: months and weeks from bookings, everything else from months."""
    given = flows(known)
    user, tag = (pl.col(name).to_physical().cast(pl.Int64) for name in ("user", "category"))
    rows = given.rows.select("month", "week", "cents", pair=user * given.tags.names.len() + tag)

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
    tags = given.tags.names
    user, category = given.users.categories.gather(sums["pair"] // tags.len()), tags.gather(sums["pair"] % tags.len())
    return sums.select("kind", "item", "cents", user=user, category=category)


def for_view(known: Snapshot) -> Callable[[], pl.DataFrame]:
    """The sums as the house stores and shows them: months and weeks of both trees, and a view of one, by names and in order."""
    given = flows(known)
    return lambda: roll_up(statistics(given), known.as_of, aggregates=False)


def equal(task: str, ours: pl.DataFrame, theirs: pl.DataFrame) -> bool:
    """Whether both found the same."""
    if task == "regular":
        both = ours.join(theirs.cast(dict.fromkeys(KEYS, pl.String)), on=KEYS, how="full", suffix="_theirs")
        near = (pl.col("mean") - pl.col("mean_theirs")).abs() + (pl.col("gap") - pl.col("gap_theirs")).abs() < 1e-6
        return bool(both.select((near & (pl.col("n") == pl.col("n_theirs"))).fill_null(value=False).all()).item())
    columns = ["user", "category", "kind", "item", "cents"]
    alike = [frame.select(pl.col(columns[:3]).cast(pl.String), pl.col(columns[3:]).cast(pl.Int64)) for frame in (ours, theirs)]
    return alike[0].sort(columns).equals(alike[1].sort(columns))
