"""What a pass over rows lays over the categories that lines have got; only rows that the pass decides are in it.

A row is named by its place among all rows, and by its id for whoever reads the overlay.
"""

import polars as pl

OVERLAY = pl.Schema(
    {
        "row": pl.UInt32,
        "id": pl.String,
        "category": pl.String,
        "confidence": pl.Float64,
        "reason": pl.String,
        "effective_category": pl.String,
        "refund_of": pl.String,
        "pair_of": pl.String,
    }
)


def picked(rows: pl.DataFrame, chosen: pl.Expr, *columns: str, **said: object) -> pl.DataFrame:
    """Of the chosen rows these columns, and those that may be missing or empty, filled with the given value."""
    there = [name for name in said if name in rows.columns]
    found = rows.lazy().filter(chosen).select(*columns, *there).collect()
    filled = [pl.col(name).fill_null(said[name]) if name in there else pl.lit(said[name]).alias(name) for name in said]
    return found.with_columns(filled)
