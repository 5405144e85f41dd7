"""IBANs as they are compared: without blanks, in capitals, empty where there is none."""

import polars as pl

from analytics.native.columns import text_at, texts
from analytics.native.compiling import compiled, peek


def compared(ibans: pl.Series) -> pl.Series:
    """The IBANs in the form in which equal ones are equal."""
    given = ibans.fill_null("")
    source = texts(given)
    if _are_plain(source.address, source.rows):
        return given
    return given.str.replace_all(r"\s", "").str.to_uppercase()


@compiled
def _are_plain(table: int, rows: int) -> bool:
    """Whether there are only capitals and digits: nearly always, and looked for in all bookings."""
    for row in range(rows):
        begin, end = text_at(table, row)
        for i in range(begin, end):
            if not (48 <= peek(i) <= 57 or 65 <= peek(i) <= 90):
                return False
    return True
