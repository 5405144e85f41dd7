"""JSON written by expressions: columns of a frame become the text of values, and these the text of objects and lists.

A value that is null stays null, and a field without a value is left out of its object.
"""

from collections.abc import Mapping

import polars as pl

CENTS = 100
RATE_DECIMALS = 4
EXACT = pl.Decimal(38, 2)
"""Decimals are integers inside: no binary float comes near an amount."""


def amount(cents: str | pl.Expr) -> pl.Expr:
    """Euros with exactly two decimals, of integer cents."""
    return (_column(cents).cast(EXACT) / CENTS).cast(pl.String)


def mean_amount(cents: str | pl.Expr) -> pl.Expr:
    """Euros of cents that are a mean or the like: rounded to whole cents first, half away from zero."""
    return amount(_finite(_column(cents)).round(0, mode="half_away_from_zero").cast(pl.Int64))


def rate(value: str | pl.Expr) -> pl.Expr:
    """A ratio or a confidence, with at most four decimals; what is no number is left out."""
    rounded = _finite(_column(value)).round(RATE_DECIMALS, mode="half_away_from_zero")
    return pl.when(rounded == 0).then(0.0).otherwise(rounded).cast(pl.String)  # so that zero has no sign


def plain(value: str | pl.Expr) -> pl.Expr:
    """A whole number or a boolean."""
    return _column(value).cast(pl.String)


def day(value: str | pl.Expr) -> pl.Expr:
    """A day, yyyy-mm-dd."""
    return pl.concat_str(pl.lit('"'), _column(value).dt.strftime("%Y-%m-%d"), pl.lit('"'))


def quoted(value: str | pl.Expr) -> pl.Expr:
    """A text, or a list of texts."""
    written = pl.struct(_column(value).alias("x")).struct.json_encode()
    bare = written.str.strip_prefix('{"x":').str.strip_suffix("}")
    return pl.when(bare != "null").then(bare)


def fields(values: Mapping[str, pl.Expr]) -> pl.Expr:
    """The fields that have a value."""
    named = [pl.concat_str(pl.lit(f'"{name}":'), value) for name, value in values.items()]
    return pl.concat_str(named, separator=",", ignore_nulls=True)


def json_object(values: Mapping[str, pl.Expr]) -> pl.Expr:
    """An object of the fields that have a value."""
    return pl.concat_str(pl.lit("{"), fields(values), pl.lit("}"))


def json_list(values: pl.Expr) -> pl.Expr:
    """A list of all values of a group: for use where rows are grouped."""
    return pl.concat_str(pl.lit("["), values.str.join(","), pl.lit("]"))


def wire_name(name: str) -> str:
    """A name as the interface writes it."""
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


def _column(value: str | pl.Expr) -> pl.Expr:
    return pl.col(value) if isinstance(value, str) else value


def _finite(value: pl.Expr) -> pl.Expr:
    return pl.when(value.is_finite()).then(value)
