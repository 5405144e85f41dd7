"""The words of the lexicon as lines to learn from.

The simulator has few merchants, the world many trades and products. From the lexicon's `apotheke` the model learns letters that
`marktapotheke` has too. The lexicon was written independently of the simulator's lists.
"""

import polars as pl

from analytics.frames import LINES
from analytics.knowledge import TABLES
from analytics.trees import tree

FIELDS_OF_WHERE = {"name": ("merchant",), "purpose": ("purpose",), "any": ("merchant", "purpose")}
_AMOUNT_BINS = 8


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


def lexicon_lines(min_weight: float = 0.7) -> tuple[pl.DataFrame, pl.Series]:
    """A line for each word of at least `min_weight`, and their categories: words are merchants' names or transfers' purposes."""
    words = lexicon().filter(pl.col("weight") >= min_weight)
    words_in_fields = words.with_columns(
        field=pl.col("where").replace_strict(FIELDS_OF_WHERE, return_dtype=pl.List(pl.String))
    ).explode("field")
    signs = {item.system_name: item.sign for item in tree("CATEGORIES").items}
    at_till = pl.col("field") == "merchant"
    default_channel = pl.when(at_till).then(pl.lit("CARD")).otherwise(pl.lit("TRANSFER"))
    merchant = pl.when(at_till).then("word").otherwise(pl.lit(""))
    lines = words_in_fields.with_row_index("row").select(
        key=pl.col("row").cast(pl.UInt64),
        positive=pl.col("category").replace_strict(signs) == "+",
        amount_bin=(pl.col("word").str.len_bytes() % (_AMOUNT_BINS - 1) + 2).cast(pl.UInt8),
        channel=pl.when(pl.col("channel") == "").then(default_channel).otherwise("channel"),
        merchant=merchant,
        name=merchant,
        purpose=pl.when(at_till).then(pl.lit("")).otherwise("word"),
    )
    empty = [pl.lit("").alias(name) for name in LINES if name not in lines.columns]
    return lines.with_columns(empty).select(LINES.names()), words_in_fields["category"]
