"""Cashflow of the past: sums of bookings by tag and time item, stored at the finest level, and the sums above it."""

import polars as pl

from analytics.cashflow.flows import CATEGORIES, EXPENSES, INCOME, NET, TAGS, Flows, category_groups, category_names
from analytics.cashflow.items import KINDS, month_number, name, names, number, week_number
from analytics.frames import checked
from analytics.trees.cashflow import TOTAL

STATISTICS = pl.Schema(
    {
        "user": pl.String,
        "tree": pl.String,
        "tag": pl.String,
        "savings": pl.Boolean,
        "kind": pl.String,
        "item": pl.String,
        "cents": pl.Int64,
    }
)
"""Months (kind M) and weeks (W) with at least one booking, by tree, tag and whether it is savings."""
ROLLED = pl.Schema({"user": pl.String, "level": pl.String, "tag": pl.String, "item": pl.String, "cents": pl.Int64})
"""All time items of one view, by user, level, tag and item. `level` is `sub`, `main` or `aggregate`; partners have `sub`."""
SPAN = 1 << 14
PLACES = {"M": 1900 * 12, "W": -3653}
"""The first month and week that have a place among so many: those of 1900."""
SUB, MAIN, AGGREGATE = "sub", "main", "aggregate"
LEVEL = pl.Enum([AGGREGATE, MAIN, SUB])
SUMS = [EXPENSES, INCOME, NET]


def statistics(flows: Flows) -> pl.DataFrame:
    """The sums (frame `STATISTICS`) of months and weeks."""
    cells = [_cell(flows, tree, tag, kind) for tree, tag in enumerate(TAGS.values()) for kind in PLACES]
    rows = pl.concat([flows.rows.select("cents", cell=cell) for cell in cells]).sort("cell")
    running = rows.with_columns(pl.col("cents").cum_sum()).filter(pl.col("cell") != pl.col("cell").shift(-1, fill_value=-1))
    sums = running.with_columns(pl.col("cents") - pl.col("cents").shift(1, fill_value=0))
    return checked(_read(sums, flows), STATISTICS)


def _cell(flows: Flows, tree: int, tag: str, kind: str) -> pl.Expr:
    """All that a sum is about as one number, in the order of the frame: sorting it is several times faster than grouping."""
    user, place = (pl.col(name).to_physical().cast(pl.Int64) for name in ("user", tag))
    at = number(kind) - PLACES[kind] + (SPAN if kind == "W" else 0)
    return (((user * 2 + tree) * len(flows.tags.categories) + place) * 2 + pl.col("savings").cast(pl.Int64)) * 2 * SPAN + at


def _read(cells: pl.DataFrame, flows: Flows) -> pl.DataFrame:
    """The sums with what their cells stand for."""
    cell, tags = cells["cell"], flows.tags.categories
    time, above = cell % (2 * SPAN), cell // (2 * SPAN)
    return pl.DataFrame(
        {
            "user": flows.users.categories.gather(above // (4 * tags.len())),
            "tree": pl.Series(list(TAGS)).gather(above // (2 * tags.len()) % 2),
            "tag": tags.gather(above // 2 % tags.len()),
            "savings": above % 2 == 1,
            "kind": pl.Series(list(PLACES)).gather(time // SPAN),
            "item": _item_names(time.unique()).gather(time),
            "cents": cells["cents"],
        }
    )


def _item_names(times: pl.Series) -> pl.Series:
    """The names of these items, each at its place."""
    table: list[str | None] = [None] * (2 * SPAN)
    for time in times:
        kind = "W" if time >= SPAN else "M"
        table[time] = name(kind, time % SPAN + PLACES[kind])
    return pl.Series(table, dtype=pl.String)


def rolled(
    statistics: pl.DataFrame,
    as_of: pl.DataFrame,
    tree: str = CATEGORIES,
    level: str = SUB,
    *,
    exclude_savings: bool = False,
    aggregates: bool = True,
) -> pl.DataFrame:
    """One view (frame `ROLLED`) of the statistics: items with a booking, and always the current ones of each tag.

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
    return checked(whole.sort("user", "level", "tag", "item").cast(dict(ROLLED.items())).select(ROLLED.names()), ROLLED)


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
