"""Cashflow of the past: sums of bookings by tag and time item, stored at the finest level, and the sums above it."""

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
    TAGS,
    Flows,
    category_groups,
    category_names,
)
from analytics.analyses.cashflow.items import KINDS, month_number, names, number, week_number
from analytics.frames import CASHFLOW, CASHFLOW_TOTALS, checked
from analytics.native.compiling import compiled
from analytics.trees.cashflow import TOTAL

Codes = NDArray[np.uint32]
Places = NDArray[np.int32]
SUB, MAIN, AGGREGATE = "sub", "main", "aggregate"
LEVEL = pl.Enum([AGGREGATE, MAIN, SUB])
SUMS = [EXPENSES, INCOME, NET]


class Sums(NamedTuple):
    """Sums in the order of the frame: places of user, tree, tag and time, whether it is savings, and cents."""

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
        flows.rows[name].to_physical().to_numpy().astype(np.uint32) for name in ("user", TAGS[PARTNERS], TAGS[CATEGORIES])
    )
    savings, cents = flows.rows["savings"].to_numpy().astype(np.bool_), flows.rows["cents"].to_numpy().astype(np.int64)
    times, places = _times(flows)
    most = len(TAGS) * len(places) * cents.size
    user_of, tree_of, tag_of, time_of = (np.empty(most, np.uint32) for _ in range(4))
    sums = Sums(user_of, tree_of, tag_of, time_of, np.empty(most, np.bool_), np.empty(most, np.int64))
    starts = np.r_[0, np.cumsum(np.bincount(user, minlength=len(flows.users.categories)))]
    order = np.argsort(user, kind="stable")
    count = _add(starts, order, (partner, category), len(flows.tags.categories), savings, places, cents, sums)
    found = pl.DataFrame({name: each[:count] for name, each in sums._asdict().items()})
    named = {"user": flows.users.categories, "tree": pl.Series(list(TAGS)), "tag": flows.tags.categories}
    told = {name: known.gather(found[name]) for name, known in named.items()}
    timed = {name: times[name].gather(found["time"]) for name in times.columns}
    return checked(found.select(**told, savings="savings", **timed, cents="cents"), CASHFLOW)


def _times(flows: Flows) -> tuple[pl.DataFrame, tuple[Places, Places]]:
    """The months and then the weeks from the first to the last booking, and the places of both for each booking."""
    month, week = (flows.rows[column].to_numpy() for column in ("month", "week"))
    months, weeks = (pl.int_range(int(each.min()), int(each.max()) + 1, eager=True) for each in (month, week))
    every = pl.DataFrame(
        {
            "kind": ["M"] * months.len() + ["W"] * weeks.len(),
            "item": pl.concat([names("M", months), names("W", weeks)], rechunk=True),
        }
    )
    return every, (month - month.min(), week - week.min() + months.len())


@compiled
def _add(
    starts: NDArray[np.int64],
    order: NDArray[np.int64],
    tags: tuple[Codes, Codes],
    known: int,
    savings: NDArray[np.bool_],
    places: tuple[Places, Places],
    cents: NDArray[np.int64],
    sums: Sums,
) -> int:
    """Writes the sums, of one user and tree after the other, and answers how many there are: a table of tags and times is filled,
    which is several times faster than sorting or grouping.
    """
    count, line = 0, np.zeros(2 * known, np.int64)
    for user in range(starts.size - 1):
        rows = order[starts[user] : starts[user + 1]]
        if not rows.size:
            continue
        first = [each[rows].min() for each in places]
        width = [places[kind][rows].max() + 1 - first[kind] for kind in range(2)]
        for tree in range(2):
            for row in rows:
                line[2 * tags[tree][row] + savings[row]] = 1
            used = np.flatnonzero(line)
            line[used] = np.arange(used.size)
            booked, total = np.zeros((used.size, sum(width)), np.bool_), np.zeros((used.size, sum(width)), np.int64)
            for row in rows:
                at = line[2 * tags[tree][row] + savings[row]]
                for kind in range(2):
                    column = places[kind][row] - first[kind] + kind * width[0]
                    booked[at, column] = True
                    total[at, column] += cents[row]
            for at in range(used.size):
                for column in range(booked.shape[1]):
                    if booked[at, column]:
                        sums.user[count], sums.tree[count], sums.tag[count] = user, tree, used[at] // 2
                        sums.savings[count], sums.cents[count] = used[at] % 2, total[at, column]
                        sums.time[count] = column + first[0] if column < width[0] else column - width[0] + first[1]
                        count += 1
            line[used] = 0
    return count


def rolled(
    statistics: pl.DataFrame,
    as_of: pl.DataFrame,
    tree: str = CATEGORIES,
    level: str = SUB,
    *,
    exclude_savings: bool = False,
    aggregates: bool = True,
) -> pl.DataFrame:
    """One view (frame `CASHFLOW_TOTALS`) of the statistics: items with a booking, and always the current ones of each tag.

    The main category INCOME and the sum INCOME are one item of the tree: where sums are wanted, it is the sum.
    """
    sums = aggregates and tree == CATEGORIES
    chosen = statistics.filter(pl.col("tree") == tree, ~(pl.col("savings") & exclude_savings))
    current, above = _current(as_of.join(chosen.select("user").unique(), on="user", how="semi")), _above(chosen)
    items = pl.Enum(sorted({*chosen["item"].unique(), *above["within"], *current["item"]}))
    names_of = {
        "user": pl.Enum(chosen["user"].unique().sort()),
        "tag": pl.Enum(sorted({*chosen["tag"].unique(), *category_names()})),
        "item": items,
        "within": items,
    }
    coded, current, above = (
        each.cast({k: v for k, v in names_of.items() if k in each.columns}) for each in (chosen, current, above)
    )
    rows = _tagged(coded, MAIN if level == MAIN and tree == CATEGORIES else SUB, sums=sums)
    whole = _with_current(pl.concat([rows, _higher(rows, above)]), current, sums=sums)
    return checked(
        whole.sort("user", "level", "tag", "item").cast(dict(CASHFLOW_TOTALS.items())).select(CASHFLOW_TOTALS.names()),
        CASHFLOW_TOTALS,
    )


def _tagged(coded: pl.DataFrame, level: str, *, sums: bool) -> pl.DataFrame:
    """The months and weeks of the tags of a level, and if wanted of the sums."""
    kind = coded.schema["tag"]
    groups = category_groups().select(pl.col("tag", "main", "aggregate").cast(kind))
    placed = coded.join(groups, on="tag", how="left")
    shown = "main" if level == MAIN else "tag"
    plain = placed.group_by("user", "item", level=pl.lit(level, LEVEL), tag=shown).agg(pl.sum("cents"))
    if not sums:
        return plain
    counted = placed.filter(pl.col("aggregate").is_not_null())
    added = counted.group_by("user", "item", level=pl.lit(AGGREGATE, LEVEL), tag="aggregate").agg(pl.sum("cents"))
    net = added.group_by("user", "item", "level", tag=pl.lit(NET, kind)).agg(pl.sum("cents"))
    return pl.concat([plain.filter(pl.col("tag") != INCOME), added, net])


def _above(rows: pl.DataFrame) -> pl.DataFrame:
    """The quarter, the year and the whole time (`within`) of each month."""
    months = rows.filter(pl.col("kind") == "M").select(pl.col("item").unique())
    year, month = pl.col("item").str.slice(0, 4), pl.col("item").str.slice(6).cast(pl.Int32)
    above = (pl.format("{}_Q{}", year, (month + 2) // 3), pl.format("{}_Y", year), pl.lit(TOTAL))
    return pl.concat([months.with_columns(within=item) for item in above])


def _higher(rows: pl.DataFrame, above: pl.DataFrame) -> pl.DataFrame:
    """The sums of months to quarters, years, and the whole time."""
    return (
        rows.join(above, on="item", how="inner")
        .group_by("user", "level", "tag", item="within")
        .agg(pl.sum("cents"))
        .select(rows.columns)
    )


def _current(as_of: pl.DataFrame) -> pl.DataFrame:
    """The current item of each kind, and the whole time, for every user."""
    now = as_of.select("user", month=month_number(pl.col("as_of")), week=week_number(pl.col("as_of")))
    items = [now.select("user", item=names(kind, now.select(number(kind)).to_series())) for kind in KINDS]
    return pl.concat([*items, now.select("user", item=pl.lit(TOTAL))])


def _with_current(rows: pl.DataFrame, current: pl.DataFrame, *, sums: bool) -> pl.DataFrame:
    """The rows, and nothing in the current items that had no booking. The sums are there for every user."""
    shown = rows.select("user", "level", "tag").unique()
    if sums:
        always = pl.DataFrame({"tag": SUMS}, {"tag": rows.schema["tag"]}).with_columns(level=pl.lit(AGGREGATE, LEVEL))
        shown = pl.concat([shown, current.select("user").unique().join(always, how="cross").select(shown.columns)]).unique()
    missing = shown.join(current, on="user", how="inner").join(rows, on=["user", "level", "tag", "item"], how="anti")
    return pl.concat([rows, missing.select("user", "level", "tag", "item", cents=pl.lit(0, pl.Int64)).select(rows.columns)])
