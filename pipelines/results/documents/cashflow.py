"""The cashflow of users as JSON, in any of its views.

A view of one user has thousands of elements, each with a time item of three hundred bytes. An item is written once and then
joined to its rows, so that no element is touched by Python. The text of all users is a column of strips, in their order: what
stands before, between and after the two lists of an instance, and the elements of these.
"""

from typing import NamedTuple

import polars as pl

from analytics.analyses.cashflow import roll_up, select_view
from analytics.analyses.cashflow.flows import CATEGORIES, PARTNERS
from analytics.analyses.cashflow.statistics import AGGREGATE, MAIN, SUB
from analytics.analyses.suite import Frames
from analytics.trees.cashflow import TOTAL
from pipelines.results.documents.json_text import amount, fields
from pipelines.results.documents.tags import TagWriter, item_texts

DOCUMENT = "cashflow"
TIME, TAG = "time", "tag"
TIMES = "CASHFLOW"
KIND_PLACES = "YQMW"
"""Kinds of time items by the letter in their names, in the order in which they are listed, after the whole time."""
KIND_LETTER = 5
PREDICTED = {"cashflowFixed": "fixed", "cashflowFlex": "flex", "cashflowLower": "lower", "cashflowUpper": "upper"}
BEGIN, STATISTICS, BETWEEN, PREDICTIONS, END = range(5)
"""The sections of an instance: what stands before, between and after its two lists, and these."""
GAP = "\0"  # no JSON holds it
EMPTY = f'{{"statistics":[{GAP}],"predictions":[{GAP}]}}'


class CashflowView(NamedTuple):
    """How cashflow is shown: `focus` is `time` or `tag`, `tree` that of the tags, `level` of categories `sub` or `main`.

    Partners have one level, whatever is said.
    """

    focus: str = TIME
    tree: str = CATEGORIES
    level: str = SUB
    exclude_savings: bool = False


VIEWS = tuple(
    CashflowView(focus, tree, level, exclude_savings)
    for focus in (TIME, TAG)
    for tree, level in ((CATEGORIES, SUB), (CATEGORIES, MAIN), (PARTNERS, SUB))
    for exclude_savings in (False, True)
)
"""All views that differ."""


def cashflow(writer: TagWriter, frames: Frames, as_of: pl.DataFrame, chosen: CashflowView) -> pl.DataFrame:
    """`user` and their cashflow in this view; users without any have no row."""
    told = [_past(frames, as_of, chosen), _coming(frames, chosen)]
    times = _times(pl.concat([rows["item"].unique() for rows in told]).unique())
    tags = _tags(pl.concat([rows.select("level", "tag").unique() for rows in told]).unique(), chosen.tree)
    tree, outer, inner = (chosen.tree, tags, times) if chosen.focus == TIME else (TIMES, times, tags)
    lists = [_elements(rows, outer, inner, section) for rows, section in zip(told, (STATISTICS, PREDICTIONS), strict=True)]
    strips = pl.concat([*lists, *_around(writer, tree, pl.concat(lists).select("user", "outer").unique(), outer)])
    return _joined(strips.sort("user", "outer", "section", "place"))


def _joined(strips: pl.DataFrame) -> pl.DataFrame:
    """The strips of each user put together, with what stands between them. All text is copied only twice."""
    user, section = pl.col("user"), pl.col("section")
    first, last = user != user.shift(), user != user.shift(-1)
    follows = (section == section.shift()) | (section == BEGIN)
    before = pl.when(first.fill_null(value=True)).then(pl.lit("[")).when(follows).then(pl.lit(",")).otherwise(pl.lit(""))
    after = pl.when(last.fill_null(value=True)).then(pl.lit("]")).otherwise(pl.lit(""))
    texts = strips.select("user", text=pl.concat_str(before, "text", "item", after))
    return texts.group_by("user", maintain_order=True).agg(pl.col("text").str.join("").alias(DOCUMENT))


def _around(writer: TagWriter, tree: str, shown: pl.DataFrame, outer: pl.DataFrame) -> list[pl.DataFrame]:
    """What stands around the two lists of each outer item: three strips."""
    named = shown.join(outer.select(pl.col("place").alias("outer"), item=outer.columns[0]), on="outer")
    rows = named.select("user", "outer", "item", apart="item", details=pl.lit(EMPTY))
    cut = rows.select("user", "outer", strips=writer.on_users(tree, rows).str.split(GAP))
    places = {"place": pl.lit(0, pl.UInt32), "item": pl.lit("")}
    return [
        cut.select("user", "outer", section=pl.lit(section, pl.UInt8), text=pl.col("strips").list.get(at), **places)
        for at, section in enumerate((BEGIN, BETWEEN, END))
    ]


def _past(frames: Frames, as_of: pl.DataFrame, chosen: CashflowView) -> pl.DataFrame:
    """The sums of the past, with the text of each."""
    sums, savings = chosen.focus == TIME, chosen.exclude_savings
    rows = roll_up(frames["cashflow"], as_of, chosen.tree, _level(chosen), exclude_savings=savings, aggregates=sums)
    return rows.select("user", "level", "tag", "item", amounts=_amounts({"cashflow": "cents"}))


def _coming(frames: Frames, chosen: CashflowView) -> pl.DataFrame:
    """What is predicted, with the text of each."""
    sums, savings = chosen.focus == TIME, chosen.exclude_savings
    rows = select_view(frames["cashflow_predictions"], chosen.tree, _level(chosen), exclude_savings=savings, aggregates=sums)
    return rows.select("user", "level", "tag", "item", amounts=_amounts({"cashflow": "cents", **PREDICTED}))


def _level(chosen: CashflowView) -> str:
    return chosen.level if chosen.tree == CATEGORIES else SUB


def _amounts(columns: dict[str, str]) -> pl.Expr:
    return pl.concat_str(
        pl.lit("{"), fields({name: amount(column) for name, column in columns.items()}), pl.lit(',"tagTreeItem":')
    )


def _times(names: pl.Series) -> pl.DataFrame:
    """Time items with their places: the whole time, then each kind by time; and the JSON of each."""
    ordered = sorted(names, key=lambda name: (name != TOTAL, KIND_PLACES.find(name[KIND_LETTER]), name))
    return _placed("item", ordered, item_texts(TIMES, names))


def _tags(shown: pl.DataFrame, tree: str) -> pl.DataFrame:
    """Tags with their places: sums, then all others by name; and the JSON of each."""
    ordered = shown.sort(pl.col("level") != AGGREGATE, "tag")["tag"].to_list()
    return _placed("tag", ordered, item_texts(tree, shown["tag"]))


def _placed(column: str, ordered: list[str], texts: dict[str, str]) -> pl.DataFrame:
    schema = {column: pl.String, "place": pl.UInt32, "text": pl.String}
    return pl.DataFrame([ordered, range(len(ordered)), [f"{texts[name]}}}" for name in ordered]], schema)


def _elements(rows: pl.DataFrame, outer: pl.DataFrame, inner: pl.DataFrame, section: int) -> pl.DataFrame:
    """The elements below each outer item, by the places of the inner items; each in two parts, of which one is its item."""
    placed = rows.join(outer.select(outer.columns[0], outer="place"), on=outer.columns[0])
    return placed.join(inner, on=inner.columns[0]).select(
        "user", "outer", section=pl.lit(section, pl.UInt8), text="amounts", place="place", item="text"
    )
