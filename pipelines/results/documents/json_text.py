"""Expressions that write JSON: from columns of a frame the texts of values, and from these the texts of objects and lists.

A null stays null, and a field without a value is left out of its object.
"""

from collections.abc import Mapping

import polars as pl

CENTS_PER_EURO = 100
RATE_DECIMALS = 4
EXACT = pl.Decimal(38, 2)
"""Decimals are stored as integers, so that amounts never pass through binary floats."""


def amount(cents: str | pl.Expr) -> pl.Expr:
    """Euros with exactly two decimals, from integer cents."""
    return (_column(cents).cast(EXACT) / CENTS_PER_EURO).cast(pl.String)


def mean_amount(cents: str | pl.Expr) -> pl.Expr:
    """Euros from fractional cents like means, rounded to whole cents, half away from zero."""
    return amount(_finite(_column(cents)).round(0, mode="half_away_from_zero").cast(pl.Int64))


def rate(value: str | pl.Expr) -> pl.Expr:
    """A ratio or a confidence with at most four decimals; null for NaN and infinity."""
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
    encoded = pl.struct(_column(value).alias("x")).struct.json_encode()
    bare = encoded.str.strip_prefix('{"x":').str.strip_suffix("}")
    return pl.when(bare != "null").then(bare)


def fields(values: Mapping[str, pl.Expr]) -> pl.Expr:
    """The members of an object, without its braces: the fields that have a value."""
    members = [pl.concat_str(pl.lit(f'"{name}":'), value) for name, value in values.items()]
    return pl.concat_str(members, separator=",", ignore_nulls=True)


def json_object(values: Mapping[str, pl.Expr]) -> pl.Expr:
    """An object of the fields that have a value."""
    return pl.concat_str(pl.lit("{"), fields(values), pl.lit("}"))


def json_list(values: pl.Expr) -> pl.Expr:
    """A list of all values of a group, for use in aggregations."""
    return pl.concat_str(pl.lit("["), values.str.join(","), pl.lit("]"))


def _column(value: str | pl.Expr) -> pl.Expr:
    return pl.col(value) if isinstance(value, str) else value


def _finite(value: pl.Expr) -> pl.Expr:
    return pl.when(value.is_finite()).then(value)
