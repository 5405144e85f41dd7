"""IBANs as they are compared: without blanks, in capitals, empty where there is none."""

import polars as pl


def compared(ibans: pl.Series) -> pl.Series:
    """The IBANs in the form in which equal ones are equal."""
    given = ibans.fill_null("")
    if not given.str.contains(r"[\sa-z]").any():
        return given
    return given.str.replace_all(r"\s", "").str.to_uppercase()
