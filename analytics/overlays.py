"""What a pass over rows lays over the categories that lines have got; only rows that the pass decides are in it."""

import polars as pl

OVERLAY = pl.Schema(
    {
        "id": pl.String,
        "category": pl.String,
        "confidence": pl.Float64,
        "reason": pl.String,
        "effective_category": pl.String,
        "refund_of": pl.String,
        "pair_of": pl.String,
    }
)


def with_missing(rows: pl.DataFrame, **columns: object) -> pl.DataFrame:
    """The rows with these columns, filled with the given value where a column is not there or empty."""
    there = [pl.col(name).fill_null(value) for name, value in columns.items() if name in rows.columns and value is not None]
    return rows.with_columns(*there, *(pl.lit(value).alias(name) for name, value in columns.items() if name not in rows.columns))
