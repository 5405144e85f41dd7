"""Predicted cashflow: for every tag the current and the next item of each kind, its fixed part, and its bounds.

Fixed are the regular payments of contracts so far and the expected ones of active contracts; the rest is flexible. Quarters and
years are sums of months, main categories and aggregates are sums of tags; only the bounds are computed anew for each.
"""

from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.analyses.cashflow.cycles import MIN_CYCLES
from analytics.analyses.cashflow.flexible import remaining_shares
from analytics.analyses.cashflow.flows import (
    CATEGORIES,
    INCOME,
    NET,
    TAG_KEYS,
    TREE,
    Flows,
    Tags,
    decode_keys,
    in_both_trees,
    recent_flows,
    spending_course,
)
from analytics.analyses.cashflow.items import ITEM_MONTHS, KINDS, item_names
from analytics.analyses.cashflow.statistics import AGGREGATE, AGGREGATE_TAGS, LEVEL, MAIN, SUB
from analytics.analyses.cashflow.values import (
    RESIDUAL_COLUMNS,
    STEPS,
    add_values,
    current_number,
    cycle_of,
    future_flows,
    months_after,
)
from analytics.analyses.cashflow.yearly import yearly_cents
from analytics.analyses.german import german_euros
from analytics.frames import CASHFLOW_PREDICTIONS, checked, collected, nulls
from analytics.native.compiling import compiled
from analytics.native.dense_ids import Numbering

BOUND_GROWTH_POWER = 0.65
"""Bounds grow with this power of the number of months: random residuals cancel out (0.5), changes of contracts last (1)."""
INVOICE_INCOMES = (INCOME, "INCOME_OTHER", NET)
"""The tags in which paid invoices count."""
ZERO_ROWS = pl.Schema({"at": pl.UInt32(), "tree": TREE, "savings": pl.Boolean()})
VIEW_KEYS = ["user", "tree", "level", "tag", "with_savings", "without_savings"]


def predictions(payments: pl.DataFrame, flows: Flows, cycles: pl.DataFrame, revenues: pl.DataFrame) -> pl.DataFrame:
    """The predictions (frame `CASHFLOW_PREDICTIONS`), given the payments of contracts (frame `EXPECTED_PAYMENTS`) and the users
    who live on invoices (`revenues`).
    """
    recent_rows = recent_flows(flows, cycles)
    users, past = remaining_shares(cycles, spending_course(recent_rows, flows.tags)), in_both_trees(recent_rows, flows)
    coming = future_flows(payments, flows, cycles)
    keys, key_rows = _rank_keys(pl.concat([past["key"], coming["key"]]))
    rows = decode_keys(keys, flows)
    past, coming = past.with_columns(row=key_rows.head(past.height)), coming.with_columns(row=key_rows.tail(coming.height))
    rows_with_cycles = rows.join(users, on="user", how="left", maintain_order="left")
    values = add_values(rows_with_cycles, past, coming, flows.tags, yearly_cents(flows, cycles, keys))
    view_rows = _with_bounds(_sum_to_views(values, flows.tags)).join(users, on="user", how="inner", maintain_order="left")
    view_rows = view_rows.with_row_index("row")
    rows_by_cycle = {cycle: view_rows.filter(pl.col(f"{cycle}_count") >= MIN_CYCLES) for cycle in RESIDUAL_COLUMNS}
    numbers_by_cycle = {
        cycle: cycle_rows.select(current_number(kind).alias(kind) for kind in KINDS if cycle_of(kind) == cycle)
        for cycle, cycle_rows in rows_by_cycle.items()
    }
    parts = [
        _predict_item(rows_by_cycle[cycle_of(kind)], numbers_by_cycle[cycle_of(kind)][kind] + step, kind, step)
        for kind in KINDS
        for step in STEPS
    ]
    items = collected(pl.concat(parts).sort("position"))
    named_rows = view_rows[VIEW_KEYS].with_columns(flows.tags.names[view_rows["tag"]].alias("tag"))
    view_keys = named_rows.cast({name: CASHFLOW_PREDICTIONS[name] for name in VIEW_KEYS})[
        items["position"].to_numpy() // len(parts)
    ]
    return _with_reasons(view_keys.hstack(items), revenues)


def _with_reasons(items: pl.DataFrame, revenues: pl.DataFrame) -> pl.DataFrame:
    """The frame `CASHFLOW_PREDICTIONS`: with the reasons of the few predictions that have one. The income of users who live on
    invoices is an interval, and says what it rests on.
    """
    is_income = (pl.col("tree") == CATEGORIES) & pl.col("tag").is_in(INVOICE_INCOMES) & (pl.col("flex") != 0)
    is_interval = is_income & pl.col("user").is_in(revenues["user"].implode()) if revenues.height else pl.lit(value=False)
    flagged_items = items.with_columns(interval_only=is_interval)
    rows = flagged_items.select(pl.col("interval_only") | (pl.col("extra") != 0)).to_series().arg_true()
    reasons = nulls(items.height, pl.String)
    if not rows.is_empty():
        explained_items = flagged_items[["user", "tag", "extra", "interval_only"]][rows].join(
            revenues, on="user", how="left", maintain_order="left"
        )
        reasons = reasons.scatter(rows, explained_items.select(_reason()).to_series())
    return checked(flagged_items.with_columns(reason=reasons).select(CASHFLOW_PREDICTIONS.names()), CASHFLOW_PREDICTIONS)


@cache
def _reason() -> pl.Expr:
    """What an interval rests on, and what comes every year, in German."""
    basis = pl.format(
        "Rechnungen von {} Kunden brachten in {} Monaten zwischen {} und {} Euro im Monat",
        "payers",
        "months",
        german_euros(pl.col("lowest")),
        german_euros(pl.col("highest")),
    )
    side = pl.when(pl.col("extra") > 0).then(pl.lit("Einnahmen")).otherwise(pl.lit("Ausgaben"))
    change = pl.when(pl.col("extra") > 0).then(pl.lit("mehr")).otherwise(pl.lit("weniger"))
    euros = german_euros(pl.col("extra").abs())
    yearly = (
        pl.when(pl.col("tag") == NET)
        .then(pl.format("darin {} Euro {} durch Zahlungen, die in den Vorjahren im selben Monat anfielen", euros, change))
        .otherwise(pl.format("darin {} Euro {}, die in den Vorjahren im selben Monat anfielen", euros, side))
    )
    parts = [pl.when("interval_only").then(basis), pl.when(pl.col("extra") != 0).then(yearly)]
    reason = pl.concat_str(parts, separator="; ", ignore_nulls=True)
    return pl.concat_str(reason.str.slice(0, 1).str.to_uppercase(), reason.str.slice(1)).alias("reason")


def _rank_keys(keys: pl.Series) -> tuple[pl.Series, pl.Series]:
    """The distinct keys in order, and the index of each key among them."""
    first, rank = _rank(keys.to_numpy())
    return keys.gather(first), pl.Series(rank)


def _rank(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first row of each distinct key, in the order of the keys, and by row the rank of its key."""
    number, first = Numbering().of(pl.Series(keys).hash().to_numpy())
    order = np.argsort(keys[first])
    rank = np.empty(first.size, np.int64)
    rank[order] = np.arange(first.size)
    return first[order], rank[number]


def select_view(
    predictions: pl.DataFrame, tree: str = CATEGORIES, level: str = SUB, *, exclude_savings: bool = False, aggregates: bool = True
) -> pl.DataFrame:
    """The predictions of one view, as `roll_up` gives its statistics."""
    is_in_view = pl.col("without_savings" if exclude_savings else "with_savings")
    sums = aggregates and tree == CATEGORIES
    plain = (pl.col("level") == level) & ~(pl.lit(sums) & (pl.col("tag") == INCOME))
    return predictions.filter(pl.col("tree") == tree, is_in_view, plain | (pl.lit(sums) & (pl.col("level") == AGGREGATE)))


def _sum_to_views(rows: pl.DataFrame, tags: Tags) -> pl.DataFrame:
    """The rows summed to the tags of all views, with savings and, where that differs, without.

    The rows are wide, so it is determined first where each of them counts; then they are read once.
    """
    zero_rows = _zero_rows(rows, tags)
    tag_rows = rows.lazy().select(TAG_KEYS).with_row_index("at")
    category_rows = collected(
        tag_rows.filter(pl.col("tree") == CATEGORIES).join(tags.groups.lazy(), on="tag", how="inner")
    ).lazy()
    with_aggregate = collected(category_rows.filter(pl.col("aggregate").is_not_null())).lazy()
    level_parts = [
        _on_level(tag_rows, SUB, "tag"),
        _on_level(category_rows, MAIN, "main"),
        _on_level(with_aggregate, AGGREGATE, "aggregate"),
        _on_level(with_aggregate, AGGREGATE, "net"),
        _on_level(zero_rows.lazy(), AGGREGATE, "tag"),
    ]
    levels = collected(pl.concat(level_parts).with_columns(mixed=pl.col("savings").any().over(VIEW_KEYS[:4])))
    with_savings = levels.with_columns(with_savings=pl.lit(value=True), without_savings=~pl.col("mixed"))
    without_savings = levels.filter("mixed", ~pl.col("savings")).with_columns(
        with_savings=pl.lit(value=False), without_savings=pl.lit(value=True)
    )
    return _sum_groups(pl.concat([with_savings, without_savings]), rows.drop(TAG_KEYS))


def _sum_groups(counted_rows: pl.DataFrame, values: pl.DataFrame) -> pl.DataFrame:
    """The sums of the value rows (`at`) of each group of `VIEW_KEYS`, in the order of the groups. A row behind the last one adds
    nothing.
    """
    key = np.zeros(counted_rows.height, np.int64)
    for name in VIEW_KEYS:
        numbers = counted_rows[name].to_physical().cast(pl.Int64).to_numpy()
        key = key * (int(numbers.max(initial=0)) + 1) + numbers
    first, group = _rank(key)
    table = np.zeros((first.size, values.width), np.int64)
    _add(counted_rows["at"].to_numpy(), group, values.to_numpy(order="c"), table)
    return counted_rows[VIEW_KEYS][first].hstack(pl.DataFrame(table, schema=values.schema))


@compiled
def _add(value_row: NDArray[np.uint32], group: NDArray[np.int64], values: NDArray[np.int64], table: NDArray[np.int64]) -> None:
    """Adds each value row to the row of its group in the table."""
    for row in range(value_row.size):
        if value_row[row] < values.shape[0]:
            for column in range(values.shape[1]):
                table[group[row], column] += values[value_row[row], column]


def _on_level(rows: pl.LazyFrame, level: str, tag: str) -> pl.LazyFrame:
    """The rows (`at`) as they count on a level, for the tag in this column."""
    return rows.select("at", "user", "tree", "savings", tag=tag, level=pl.lit(level, LEVEL))


def _zero_rows(rows: pl.DataFrame, tags: Tags) -> pl.DataFrame:
    """Rows (`at`) behind the last one for every user, so that all users have the aggregates: `TAG_KEYS`."""
    users = rows[["user"]].unique()
    codes = pl.DataFrame({"tag": tags.codes(pl.Series(AGGREGATE_TAGS)).astype(np.uint32)})
    constants = pl.DataFrame({"at": [rows.height], "tree": [CATEGORIES], "savings": [False]}, ZERO_ROWS)
    return users.join(codes, how="cross").join(constants, how="cross")


def _with_bounds(view_rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the lowest and the highest residual of a month and of a week."""
    bounds = {f"{cycle}_lowest": pl.min_horizontal(columns).clip(upper_bound=0) for cycle, columns in RESIDUAL_COLUMNS.items()}
    bounds |= {f"{cycle}_highest": pl.max_horizontal(columns).clip(lower_bound=0) for cycle, columns in RESIDUAL_COLUMNS.items()}
    return view_rows.with_columns(**bounds)


def _predict_item(view_rows: pl.DataFrame, numbers: pl.Series, kind: str, step: int) -> pl.LazyFrame:
    """One item of one kind for all tags; `numbers` are those of the items. The bounds allow that what comes every year does not
    come, or is larger.
    """
    cycle = cycle_of(kind)
    months = pl.lit(float(ITEM_MONTHS.get(kind, 1))) if step else pl.col(f"{cycle}_left") + months_after(kind)
    cents = pl.col(f"fixed_{kind}{step}") + pl.col(f"flex_{kind}{step}")
    margins = {end: (pl.col(f"{cycle}_{end}") * _bound_growth(months)).round().cast(pl.Int64) for end in ("lowest", "highest")}
    extra = pl.col(f"extra_{kind}{step}") if kind in ITEM_MONTHS else pl.lit(0, pl.Int64)
    return view_rows.lazy().select(
        kind=pl.lit(kind),
        item=item_names(kind, numbers),
        cents=cents,
        fixed=f"fixed_{kind}{step}",
        flex=f"flex_{kind}{step}",
        lower=cents + margins["lowest"] - extra.clip(lower_bound=0) - (-extra).clip(lower_bound=0) // 2,
        upper=cents + margins["highest"] + extra.clip(lower_bound=0) // 2 + (-extra).clip(lower_bound=0),
        extra=extra,
        position=pl.col("row") * 8 + (2 * KINDS.index(kind) + step),
    )


def _bound_growth(months: pl.Expr) -> pl.Expr:
    """The factor by which the bounds of this number of months, or part of a month, are wider than those of one month."""
    return pl.when(months > 1).then(months**BOUND_GROWTH_POWER).otherwise(months.sqrt())
