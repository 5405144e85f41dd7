"""Cashflow to come: of every tag the current and the next item of each kind, what is fixed in it, and how sure it is.

Fixed is what regular payments of contracts brought so far and what active contracts will bring; the rest is flexible. Quarters
and years are sums of months, main categories and sums are sums of tags: only bounds are found anew for each.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.analyses.cashflow.cycles import LEAST
from analytics.analyses.cashflow.flexible import remaining
from analytics.analyses.cashflow.flows import (
    CATEGORIES,
    INCOME,
    KEYS,
    NET,
    TREE,
    Flows,
    category_groups,
    finest,
    in_both_trees,
    recent,
    spending,
)
from analytics.analyses.cashflow.items import KINDS, MONTHS, names
from analytics.analyses.cashflow.statistics import AGGREGATE, LEVEL, MAIN, SUB, SUMS
from analytics.analyses.cashflow.values import RESIDUALS, STEPS, cycle_of, future, months_after, now, valued
from analytics.frames import CASHFLOW_PREDICTIONS, checked
from analytics.native.compiling import compiled
from analytics.native.dense_ids import Numbering

LASTING = 0.65
"""The power of the months with which bounds grow: residuals by chance cancel out (0.5), changes of contracts last (1)."""
SHOWN = ["user", "tree", "level", "tag", "with_savings", "without_savings"]


def predictions(due: pl.DataFrame, flows: Flows, cycles: pl.DataFrame) -> pl.DataFrame:
    """What can be expected (frame `CASHFLOW_PREDICTIONS`), given what contracts will bring (frame `EXPECTED`)."""
    lately = recent(flows, cycles)
    users, past = remaining(cycles, spending(lately)), in_both_trees(lately, flows)
    coming = future(due, flows, cycles)
    keys, places = _ranked(pl.concat([past["key"], coming["key"]]))
    rows = finest(keys, flows)
    past, coming = past.with_columns(row=places.head(past.height)), coming.with_columns(row=places.tail(coming.height))
    known = rows.join(users, on="user", how="left", maintain_order="left")
    shown = _bounded(_shown(valued(known, past, coming))).join(users, on="user", how="inner", maintain_order="left")
    shown = shown.with_row_index("row")
    cycled = {cycle: shown.filter(pl.col(f"{cycle}_seen") >= LEAST) for cycle in RESIDUALS}
    parts = [_told(cycled[cycle_of(kind)], kind, step) for kind in KINDS for step in STEPS]
    whole = pl.concat(parts).sort("place")
    about = shown[SHOWN].cast({name: CASHFLOW_PREDICTIONS[name] for name in SHOWN})[whole["place"] // len(parts)]
    return checked(about.hstack(whole[CASHFLOW_PREDICTIONS.names()[len(SHOWN) :]]), CASHFLOW_PREDICTIONS)


def _ranked(keys: pl.Series) -> tuple[pl.Series, pl.Series]:
    """The distinct keys in order, and the place of each key among them."""
    number, first = Numbering().of(keys.hash().to_numpy().astype(np.uint64))
    distinct = keys.gather(first)
    order = distinct.arg_sort()
    rank = np.empty(first.size, np.int64)
    rank[order.to_numpy()] = np.arange(first.size)
    return distinct.gather(order), pl.Series(rank[number])


def view(
    predictions: pl.DataFrame, tree: str = CATEGORIES, level: str = SUB, *, exclude_savings: bool = False, aggregates: bool = True
) -> pl.DataFrame:
    """The predictions of one view, as `rolled` has its statistics."""
    counted = pl.col("without_savings" if exclude_savings else "with_savings")
    sums = aggregates and tree == CATEGORIES
    plain = (pl.col("level") == level) & ~(pl.lit(sums) & (pl.col("tag") == INCOME))
    return predictions.filter(pl.col("tree") == tree, counted, plain | (pl.lit(sums) & (pl.col("level") == AGGREGATE)))


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows summed to all tags that are shown, with savings and, where that differs, without.

    Rows are wide, so it is found first where each of them counts; then they are fetched once.
    """
    sums = _nothing(rows)
    named = rows.select(KEYS).with_row_index("at")
    groups = category_groups().select("tag", "main", "aggregate", net=pl.lit(NET)).cast(rows.schema["tag"])
    placed = named.filter(pl.col("tree") == CATEGORIES).join(groups, on="tag", how="inner")
    counted = placed.filter(pl.col("aggregate").is_not_null())
    levels = [
        _counting(named, SUB, "tag"),
        _counting(placed, MAIN, "main"),
        _counting(counted, AGGREGATE, "aggregate"),
        _counting(counted, AGGREGATE, "net"),
        _counting(sums.select(KEYS).with_row_index("at", offset=rows.height), AGGREGATE, "tag"),
    ]
    every = pl.concat(levels).with_columns(mixed=pl.col("savings").any().over(SHOWN[:4]))
    whole = every.with_columns(with_savings=pl.lit(value=True), without_savings=~pl.col("mixed"))
    rest = every.filter("mixed", ~pl.col("savings")).with_columns(
        with_savings=pl.lit(value=False), without_savings=pl.lit(value=True)
    )
    return _added(pl.concat([whole, rest]), pl.concat([rows, sums]).drop(KEYS))


def _added(chosen: pl.DataFrame, values: pl.DataFrame) -> pl.DataFrame:
    """The sums of the values that stand at the places (`at`) chosen, in the order of what they are shown for."""
    key = np.zeros(chosen.height, np.int64)
    for name in SHOWN:
        numbers = chosen[name].to_physical().cast(pl.Int64).to_numpy()
        key = key * (int(numbers.max(initial=0)) + 1) + numbers
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    table = np.zeros((first.size, values.width), np.int64)
    _add(chosen["at"].to_numpy(), group, values.to_numpy(order="c"), table)
    return chosen[SHOWN][first].hstack(pl.DataFrame(table, schema=values.schema))


@compiled
def _add(at: NDArray[np.uint32], group: NDArray[np.int64], values: NDArray[np.int64], table: NDArray[np.int64]) -> None:
    """Adds the line of values at each place to the line of its group."""
    for row in range(at.size):
        for column in range(values.shape[1]):
            table[group[row], column] += values[at[row], column]


def _counting(rows: pl.DataFrame, level: str, tag: str) -> pl.DataFrame:
    """Rows by their places (`at`) as they count on a level, for the tag that stands in a column."""
    return rows.select("at", "user", "tree", "savings", tag=tag, level=pl.lit(level, LEVEL))


def _nothing(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of nothing for every user, so that the sums are there for all of them."""
    users = (
        rows.drop("tag")
        .unique("user")
        .with_columns(pl.exclude(KEYS) * 0, tree=pl.lit(CATEGORIES, TREE), savings=pl.lit(value=False))
    )
    return users.join(pl.DataFrame({"tag": SUMS}).cast(rows.schema["tag"]), how="cross").select(rows.columns)


def _bounded(shown: pl.DataFrame) -> pl.DataFrame:
    """The rows with the lowest and the highest residual of a month and of a week."""
    bounds = {f"{cycle}_lowest": pl.min_horizontal(columns).clip(upper_bound=0) for cycle, columns in RESIDUALS.items()}
    bounds |= {f"{cycle}_highest": pl.max_horizontal(columns).clip(lower_bound=0) for cycle, columns in RESIDUALS.items()}
    return shown.with_columns(**bounds)


def _told(shown: pl.DataFrame, kind: str, step: int) -> pl.DataFrame:
    """One item of one kind for all tags. A bonus may not come, or be larger."""
    cycle = cycle_of(kind)
    months = pl.lit(float(MONTHS.get(kind, 1))) if step else pl.col(f"{cycle}_left") + months_after(kind)
    cents = pl.col(f"fixed_{kind}{step}") + pl.col(f"flex_{kind}{step}")
    off = {end: (pl.col(f"{cycle}_{end}") * _growth(months)).round().cast(pl.Int64) for end in ("lowest", "highest")}
    extra = pl.col(f"extra_{kind}{step}") if kind in MONTHS else pl.lit(0)
    return shown.select(
        kind=pl.lit(kind),
        item=names(kind, shown.select(now(kind) + step).to_series()),
        cents=cents,
        fixed=f"fixed_{kind}{step}",
        flex=f"flex_{kind}{step}",
        lower=cents + off["lowest"] - extra,
        upper=cents + off["highest"] + extra // 2,
        place=pl.col("row") * 8 + (2 * KINDS.index(kind) + step),
    )


def _growth(months: pl.Expr) -> pl.Expr:
    """By how much the bounds of so many months, or of a part of one, are wider than those of a month."""
    return pl.when(months > 1).then(months**LASTING).otherwise(months.sqrt())
