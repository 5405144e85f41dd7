"""Lessons from a dictionary: the words that the house knows, as lines to learn from.

Merchants of the simulator are few, the trades and products of the world many. What the lexicon says in rules, the model
learns as letters: from `apotheke` it knows `marktapotheke` too. The lexicon is written without a look at the simulator's lists.
"""

import polars as pl

from analytics.frames import LINES
from analytics.knowledge import TABLES
from analytics.trees import tree

WHERE = {"name": ("merchant",), "purpose": ("purpose",), "any": ("merchant", "purpose")}
_BINS = 8


def lexicon() -> pl.DataFrame:
    """The words of the lexicon: `word`, `category`, `weight`, `where`, `channel`."""
    table = pl.read_csv(TABLES / "lexicon.csv", infer_schema=False).fill_null("")
    return (
        table.select(
            pl.col("words").str.split("|").alias("word"),
            pl.col("channels").str.split("|").list.first().alias("channel"),
            pl.col("weight").cast(pl.Float64),
            category="item",
            where="where",
        )
        .explode("word")
        .filter(~pl.col("word").str.starts_with("@"))
        .with_columns(pl.col("word").str.replace_all("*", "", literal=True).str.strip_chars())
        .filter(pl.col("word").str.len_bytes() > 1)
        .unique(["word", "category", "where"], maintain_order=True)
    )


def lexicon_lines(least_weight: float = 0.7) -> tuple[pl.DataFrame, pl.Series]:
    """A line for each word that is sure enough, and the categories: in the name as at a till, in the purpose as in a transfer."""
    words = lexicon().filter(pl.col("weight") >= least_weight)
    places = words.with_columns(place=pl.col("where").replace_strict(WHERE, return_dtype=pl.List(pl.String))).explode("place")
    signs = {item.system_name: item.sign for item in tree("CATEGORIES").items}
    at_till = pl.col("place") == "merchant"
    usual = pl.when(at_till).then(pl.lit("CARD")).otherwise(pl.lit("TRANSFER"))
    named = pl.when(at_till).then("word").otherwise(pl.lit(""))
    lines = places.with_row_index("row").select(
        key=pl.col("row").cast(pl.UInt64),
        positive=pl.col("category").replace_strict(signs) == "+",
        amount_bin=(pl.col("word").str.len_bytes() % (_BINS - 1) + 2).cast(pl.UInt8),
        channel=pl.when(pl.col("channel") == "").then(usual).otherwise("channel"),
        merchant=named,
        name=named,
        purpose=pl.when(at_till).then(pl.lit("")).otherwise("word"),
    )
    empty = [pl.lit("").alias(name) for name in LINES if name not in lines.columns]
    return lines.with_columns(empty).select(LINES.names()), places["category"]
