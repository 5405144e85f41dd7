"""Past cashflow: sums of bookings by tag and time item, stored at the finest level, and the totals of a view."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.analyses.cashflow.flows import (
    CATEGORIES,
    EXPENSES,
    INCOME,
    NET,
    PARTNERS,
    TAG_COLUMNS,
    Flows,
    category_groups,
    category_names,
)
from analytics.analyses.cashflow.items import KINDS, item_names, item_number, month_number, week_number
from analytics.frames import CASHFLOW, CASHFLOW_TOTALS, checked, collected
from analytics.native.compiling import compiled
from analytics.trees.cashflow import TOTAL

Codes = NDArray[np.uint32]
ItemNumbers = NDArray[np.int32]
SUB, MAIN, AGGREGATE = "sub", "main", "aggregate"
LEVEL = pl.Enum([AGGREGATE, MAIN, SUB])
AGGREGATE_TAGS = [EXPENSES, INCOME, NET]


class CashflowSums(NamedTuple):
    """Sums in the order of the frame: numbers of user, tree, tag and time item, whether the tag is savings, and cents."""

    user: Codes
    tree: Codes
    tag: Codes
    time: Codes
    savings: NDArray[np.bool_]
    cents: NDArray[np.int64]


def statistics(flows: Flows) -> pl.DataFrame:
    """The sums (frame `CASHFLOW`) of months and weeks."""
    if flows.rows.is_empty():
        return CASHFLOW.to_frame()
    user, partner, category = (
        flows.rows[name].to_physical().to_numpy().astype(np.uint32)
        for name in ("user", TAG_COLUMNS[PARTNERS], TAG_COLUMNS[CATEGORIES])
    )
    savings, cents = flows.rows["savings"].to_numpy().astype(np.bool_), flows.rows["cents"].to_numpy().astype(np.int64)
    time_items, item_numbers = _time_items(flows)
    max_rows = len(TAG_COLUMNS) * len(item_numbers) * cents.size
    user_of, tree_of, tag_of, time_of = (np.empty(max_rows, np.uint32) for _ in range(4))
    arrays = CashflowSums(user_of, tree_of, tag_of, time_of, np.empty(max_rows, np.bool_), np.empty(max_rows, np.int64))
    starts = np.r_[0, np.cumsum(np.bincount(user, minlength=len(flows.users.categories)))]
    order = np.argsort(user, kind="stable")
    count = _add(starts, order, (partner, category), flows.tags.names.len(), savings, item_numbers, cents, arrays)
    sums = pl.DataFrame({name: each[:count] for name, each in arrays._asdict().items()})
    names = {"user": flows.users.categories, "tree": pl.Series(list(TAG_COLUMNS)), "tag": flows.tags.names}
    labels = {name: labels_of[sums[name]] for name, labels_of in names.items()}
    items = {name: time_items[name][sums["time"]] for name in time_items.columns}
    return checked(sums.select(**labels, savings="savings", **items, cents="cents"), CASHFLOW)


def _time_items(flows: Flows) -> tuple[pl.DataFrame, tuple[ItemNumbers, ItemNumbers]]:
    """The months and then the weeks from the first to the last booking, and the numbers of both for each booking."""
    month, week = (flows.rows[column].to_numpy() for column in ("month", "week"))
    months, weeks = (pl.int_range(int(each.min()), int(each.max()) + 1, eager=True) for each in (month, week))
    time_items = pl.DataFrame(
        {
            "kind": ["M"] * months.len() + ["W"] * weeks.len(),
            "item": pl.concat([item_names("M", months), item_names("W", weeks)], rechunk=True),
        }
    )
    return time_items, (month - month.min(), week - week.min() + months.len())


@compiled
def _add(
    starts: NDArray[np.int64],
    order: NDArray[np.int64],
    tags: tuple[Codes, Codes],
    tag_count: int,
    savings: NDArray[np.bool_],
    item_numbers: tuple[ItemNumbers, ItemNumbers],
    cents: NDArray[np.int64],
    sums: CashflowSums,
) -> int:
    """Writes the sums, one user and tree after the other, and returns their number. It fills a table of tags by time items, which
    is several times faster than sorting or grouping.
    """
    count, tag_line = 0, np.zeros(2 * tag_count, np.int64)
    for user in range(starts.size - 1):
        rows = order[starts[user] : starts[user + 1]]
        if not rows.size:
            continue
        first = [each[rows].min() for each in item_numbers]
        width = [item_numbers[kind][rows].max() + 1 - first[kind] for kind in range(2)]
        for tree in range(2):
            for row in rows:
                tag_line[2 * tags[tree][row] + savings[row]] = 1
            used = np.flatnonzero(tag_line)
            tag_line[used] = np.arange(used.size)
            is_booked, total = np.zeros((used.size, sum(width)), np.bool_), np.zeros((used.size, sum(width)), np.int64)
            for row in rows:
                tag_row = tag_line[2 * tags[tree][row] + savings[row]]
                for kind in range(2):
                    column = item_numbers[kind][row] - first[kind] + kind * width[0]
                    is_booked[tag_row, column] = True
                    total[tag_row, column] += cents[row]
            for tag_row in range(used.size):
                for column in range(is_booked.shape[1]):
                    if is_booked[tag_row, column]:
                        sums.user[count], sums.tree[count], sums.tag[count] = user, tree, used[tag_row] // 2
                        sums.savings[count], sums.cents[count] = used[tag_row] % 2, total[tag_row, column]
                        sums.time[count] = column + first[0] if column < width[0] else column - width[0] + first[1]
                        count += 1
            tag_line[used] = 0
    return count


def roll_up(
    statistics: pl.DataFrame,
    as_of: pl.DataFrame,
    tree: str = CATEGORIES,
    level: str = SUB,
    *,
    exclude_savings: bool = False,
    aggregates: bool = True,
) -> pl.DataFrame:
    """One view (frame `CASHFLOW_TOTALS`) of the statistics: items with a booking, and always the current ones of each tag.

    The main category INCOME and the aggregate INCOME are one item of the tree: with aggregates, it is the aggregate.
    """
    with_aggregates = aggregates and tree == CATEGORIES
    statistics_of_tree = statistics.filter(pl.col("tree") == tree, ~(pl.col("savings") & exclude_savings))
    current_items, parent_items = (
        _current_items(as_of.join(statistics_of_tree.select("user").unique(), on="user", how="semi")),
        _parent_items(statistics_of_tree),
    )
    items = pl.Enum(sorted({*statistics_of_tree["item"].unique(), *parent_items["within"], *current_items["item"]}))
    names_of = {
        "user": pl.Enum(statistics_of_tree["user"].unique().sort()),
        "tag": pl.Enum(sorted({*statistics_of_tree["tag"].unique(), *category_names()})),
        "item": items,
        "within": items,
    }
    coded_statistics, current_items, parent_items = (
        each.cast({k: v for k, v in names_of.items() if k in each.columns})
        for each in (statistics_of_tree, current_items, parent_items)
    )
    level = MAIN if level == MAIN and tree == CATEGORIES else SUB
    rows = collected(_sum_tags(coded_statistics.lazy(), names_of["tag"], level, with_aggregates=with_aggregates))
    all_rows = collected(pl.concat([rows.lazy(), _sum_parents(rows.lazy(), parent_items.lazy())]))
    totals = _with_current_items(all_rows, current_items, with_aggregates=with_aggregates)
    sorted_totals = totals.sort("user", "level", "tag", "item").cast(dict(CASHFLOW_TOTALS.items()))
    return checked(collected(sorted_totals.select(CASHFLOW_TOTALS.names())), CASHFLOW_TOTALS)


def _sum_tags(coded_statistics: pl.LazyFrame, kind: pl.Enum, level: str, *, with_aggregates: bool) -> pl.LazyFrame:
    """The sums of months and weeks by the tags of a level, and optionally by the aggregates."""
    groups = category_groups().lazy().select(pl.col("tag", "main", "aggregate").cast(kind))
    grouped_rows = collected(coded_statistics.join(groups, on="tag", how="left")).lazy()
    tag_column = "main" if level == MAIN else "tag"
    level_sums = grouped_rows.group_by("user", "item", level=pl.lit(level, LEVEL), tag=tag_column).agg(pl.sum("cents"))
    if not with_aggregates:
        return level_sums
    with_aggregate = grouped_rows.filter(pl.col("aggregate").is_not_null())
    sums = with_aggregate.group_by("user", "item", level=pl.lit(AGGREGATE, LEVEL), tag="aggregate").agg(pl.sum("cents"))
    aggregate_sums = collected(sums).lazy()
    net = aggregate_sums.group_by("user", "item", "level", tag=pl.lit(NET, kind)).agg(pl.sum("cents"))
    return pl.concat([level_sums.filter(pl.col("tag") != INCOME), aggregate_sums, net])


def _parent_items(rows: pl.DataFrame) -> pl.DataFrame:
    """The quarter, the year and the whole time (`within`) of each month."""
    months = rows.filter(pl.col("kind") == "M").select(pl.col("item").unique())
    year, month = pl.col("item").str.slice(0, 4), pl.col("item").str.slice(6).cast(pl.Int32)
    parent_items = (pl.format("{}_Q{}", year, (month + 2) // 3), pl.format("{}_Y", year), pl.lit(TOTAL))
    return pl.concat([months.with_columns(within=item) for item in parent_items])


def _sum_parents(rows: pl.LazyFrame, parent_items: pl.LazyFrame) -> pl.LazyFrame:
    """The sums of months by quarter, year, and the whole time."""
    return (
        rows.join(parent_items, on="item", how="inner")
        .group_by("user", "level", "tag", item="within")
        .agg(pl.sum("cents"))
        .select("user", "item", "level", "tag", "cents")
    )


def _current_items(as_of: pl.DataFrame) -> pl.DataFrame:
    """By user the current item of each kind, and the whole time."""
    current_numbers = as_of.select("user", month=month_number(pl.col("as_of")), week=week_number(pl.col("as_of")))
    items = [
        current_numbers.select("user", item=item_names(kind, current_numbers.select(item_number(kind)).to_series()))
        for kind in KINDS
    ]
    return pl.concat([*items, current_numbers.select("user", item=pl.lit(TOTAL))])


def _with_current_items(rows: pl.DataFrame, current_items: pl.DataFrame, *, with_aggregates: bool) -> pl.LazyFrame:
    """The rows, with 0 cents in current items without a booking. Every user has the aggregates."""
    tags, items = rows.lazy().select("user", "level", "tag"), current_items.lazy()
    if with_aggregates:
        aggregate_tags = pl.DataFrame({"tag": AGGREGATE_TAGS}, {"tag": rows.schema["tag"]}).lazy()
        aggregates = items.select("user").unique().join(aggregate_tags, how="cross")
        tags = pl.concat([tags, aggregates.select("user", pl.lit(AGGREGATE, LEVEL).alias("level"), "tag")])
    missing_items = (
        tags.unique()
        .join(items, on="user", how="inner")
        .join(rows.lazy(), on=["user", "level", "tag", "item"], how="anti")
        .select("user", "item", "level", "tag", cents=pl.lit(0, pl.Int64))
    )
    return pl.concat([rows.lazy(), missing_items])
