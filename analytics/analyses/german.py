"""Amounts as Germans write them, for the reasons that people read."""

import polars as pl

CENTS_PER_EURO = 100


def german_euros(cents: pl.Expr) -> pl.Expr:
    """Whole cents as euros: `1.245,00`; a negative amount begins with a minus."""
    size = cents.abs()
    backwards = (size // CENTS_PER_EURO).cast(pl.String).str.reverse().str.replace_all(r"([0-9]{3})", "${1}.")
    euros = backwards.str.strip_chars_end(".").str.reverse()
    sign = pl.when(cents < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    return pl.concat_str(sign, euros, pl.lit(","), (size % CENTS_PER_EURO).cast(pl.String).str.zfill(2))
