"""The cashflow of users as JSON, in any of its views.

A view of one user has thousands of elements, each with a time item of three hundred bytes. An item is written once and then
joined to its rows, so that Python touches no element. The text of all users is a column of strips in order: the texts before,
between and after the two lists of an instance, and the elements of these lists.
"""

from functools import cache
from typing import Annotated, NamedTuple

import polars as pl
from pydantic import Field

from analytics.analyses.cashflow import Window, roll_up, select_view, window_rows, window_sums
from analytics.analyses.cashflow.flows import CATEGORIES, PARTNERS
from analytics.analyses.cashflow.items import KIND_INDEX
from analytics.analyses.cashflow.statistics import AGGREGATE, MAIN, SUB
from analytics.analyses.suite import Frames
from analytics.frames import collected
from analytics.trees.cashflow import TOTAL
from pipelines.results.documents.fields import Column, DocumentPart, Euros, Text, Truth, field_texts
from pipelines.results.documents.json_text import fields, plain
from pipelines.results.documents.tags import TagTreeItemReference, TagWriter

DOCUMENT = "cashflow"
TIME, TAG = "time", "tag"
TIMES = "CASHFLOW"
KIND_ORDER = "YQMW"
"""The letters of kinds of time items in their names, in the order of the list, which begins with the total."""
BEGIN, STATISTICS, BETWEEN, PREDICTIONS, END = range(5)
"""The sections of an instance: its two lists, and the texts before, between and after them."""
GAP = "\0"  # never occurs in JSON
EMPTY = f'{{"statistics":[{GAP}],"predictions":[{GAP}]}}'


class CashflowStatistic(DocumentPart):
    """What flowed. The item is a time item if the focus is on time, and else a category or partner."""

    cashflow: Annotated[Euros, Column("cents")] = Field(examples=[-312.5])
    tag_tree_item: TagTreeItemReference


class CashflowPrediction(CashflowStatistic):
    """What is expected to flow, in all of the current or the next time item."""

    cashflow_fixed: Annotated[Euros, Column("fixed")] = Field(examples=[-120], description="Of contracts")
    cashflow_flex: Annotated[Euros, Column("flex")] = Field(examples=[-192.5], description="All else")
    cashflow_lower: Annotated[Euros, Column("lower")] = Field(examples=[-400])
    cashflow_upper: Annotated[Euros, Column("upper")] = Field(examples=[-250])
    interval_only: Truth | None = Field(
        None, examples=[True], description="If only the bounds can be relied on: income from invoices"
    )
    reason: Text | None = Field(
        None,
        examples=["Darin 2.400,00 Euro, die in den Vorjahren im selben Monat kamen"],
        description="In the language of the response, where there is more to say than the usual course",
    )


class CashflowDetails(DocumentPart):
    """What flowed and what is expected."""

    statistics: list[CashflowStatistic]
    predictions: list[CashflowPrediction]


class CashflowView(NamedTuple):
    """How cashflow is presented: by `focus` (`time` or `tag`), the `tree` of the tags, the `level` of categories, and which part.

    The level is `sub` or `main`; for partners it has no effect.
    """

    focus: str = TIME
    tree: str = CATEGORIES
    level: str = SUB
    exclude_savings: bool = False
    window: Window = Window()


VIEWS = tuple(
    CashflowView(focus, tree, level, exclude_savings)
    for focus in (TIME, TAG)
    for tree, level in ((CATEGORIES, SUB), (CATEGORIES, MAIN), (PARTNERS, SUB))
    for exclude_savings in (False, True)
)
"""All distinct views of the whole."""


def cashflow(writer: TagWriter, frames: Frames, as_of: pl.DataFrame, view: CashflowView) -> pl.DataFrame:
    """`user` and their cashflow in this view; users without any have no row."""
    flows = [_statistics(frames, as_of, view), _predictions(frames, view)]
    times = _times(writer, pl.concat([rows["item"].unique() for rows in flows]).unique())
    tags = _tags(writer, pl.concat([rows.select("level", "tag").unique() for rows in flows]).unique(), view.tree)
    tree, outer, inner = (view.tree, tags, times) if view.focus == TIME else (TIMES, times, tags)
    lists = [
        collected(_elements(rows.lazy(), outer, inner, section))
        for rows, section in zip(flows, (STATISTICS, PREDICTIONS), strict=True)
    ]
    strips = pl.concat([*lists, *_frames(writer, tree, pl.concat(lists).select("user", "outer").unique(), outer)])
    return _join(strips.sort("user", "outer", "section", "place"))


def _join(strips: pl.DataFrame) -> pl.DataFrame:
    """The strips of each user as one text, with brackets and commas. Copies all text only twice."""
    user, section = pl.col("user"), pl.col("section")
    first, last = user != user.shift(), user != user.shift(-1)
    follows = (section == section.shift()) | (section == BEGIN)
    before = pl.when(first.fill_null(value=True)).then(pl.lit("[")).when(follows).then(pl.lit(",")).otherwise(pl.lit(""))
    after = pl.when(last.fill_null(value=True)).then(pl.lit("]")).otherwise(pl.lit(""))
    texts = strips.lazy().select("user", text=pl.concat_str(before, "text", "item", after))
    return collected(texts.group_by("user", maintain_order=True).agg(pl.col("text").str.join("").alias(DOCUMENT)))


def _frames(writer: TagWriter, tree: str, instances: pl.DataFrame, outer: pl.DataFrame) -> list[pl.DataFrame]:
    """The three strips around the two lists of each outer item."""
    items = instances.join(outer.select(pl.col("place").alias("outer"), item=outer.columns[0]), on="outer")
    rows = items.select("user", "outer", "item", suffix="item", details=pl.lit(EMPTY))
    texts = rows.select("user", "outer", strips=writer.on_users(tree, rows).str.split(GAP))
    places = {"place": pl.lit(0, pl.UInt32), "item": pl.lit("")}
    return [
        texts.select("user", "outer", section=pl.lit(section, pl.UInt8), text=pl.col("strips").list.get(index), **places)
        for index, section in enumerate((BEGIN, BETWEEN, END))
    ]


def _statistics(frames: Frames, as_of: pl.DataFrame, view: CashflowView) -> pl.DataFrame:
    """The sums of the past, with the JSON of their amounts."""
    sums, savings = view.focus == TIME, view.exclude_savings
    flows = window_sums(frames["cashflow"], view.window)
    rows = window_rows(roll_up(flows, as_of, view.tree, _level(view), exclude_savings=savings, aggregates=sums), view.window)
    return rows.select("user", "level", "tag", "item", amounts=_amounts(CashflowStatistic))


def _predictions(frames: Frames, view: CashflowView) -> pl.DataFrame:
    """The predictions, with the JSON of their amounts."""
    sums, savings = view.focus == TIME, view.exclude_savings
    flows = select_view(frames["cashflow_predictions"], view.tree, _level(view), exclude_savings=savings, aggregates=sums)
    rows = window_rows(flows, view.window)
    return rows.select("user", "level", "tag", "item", amounts=_amounts(CashflowPrediction))


def _level(view: CashflowView) -> str:
    return view.level if view.tree == CATEGORIES else SUB


@cache
def _amounts(model: type[CashflowStatistic]) -> pl.Expr:
    """The beginning of an element, up to its item."""
    names = (name for name in model.model_fields if name != "tag_tree_item")
    prepared = {"interval_only": plain(pl.when("interval_only").then("interval_only"))} if model is CashflowPrediction else {}
    return pl.concat_str(pl.lit("{"), fields(field_texts(model, names, **prepared)), pl.lit(',"tagTreeItem":'))


def _times(writer: TagWriter, names: pl.Series) -> pl.DataFrame:
    """Time items with their places and JSON: the total first, then each kind by time."""
    ordered_names = sorted(names, key=lambda name: (name != TOTAL, KIND_ORDER.find(name[KIND_INDEX]), name))
    return _with_places("item", ordered_names, writer.item_texts(TIMES, names))


def _tags(writer: TagWriter, tags: pl.DataFrame, tree: str) -> pl.DataFrame:
    """Tags with their places and JSON: sums first, then all others by name."""
    names = tags.sort(pl.col("level") != AGGREGATE, "tag")["tag"].to_list()
    return _with_places("tag", names, writer.item_texts(tree, tags["tag"]))


def _with_places(column: str, names: list[str], texts: dict[str, str]) -> pl.DataFrame:
    schema = {column: pl.String, "place": pl.UInt32, "text": pl.String}
    return pl.DataFrame([names, range(len(names)), [f"{texts[name]}}}" for name in names]], schema)


def _elements(rows: pl.LazyFrame, outer: pl.DataFrame, inner: pl.DataFrame, section: int) -> pl.LazyFrame:
    """The elements below each outer item, by the places of the inner items. The JSON of an element is `text` and `item`."""
    elements = rows.join(outer.lazy().select(outer.columns[0], outer="place"), on=outer.columns[0])
    return elements.join(inner.lazy(), on=inner.columns[0]).select(
        "user", "outer", section=pl.lit(section, pl.UInt8), text="amounts", place="place", item="text"
    )
