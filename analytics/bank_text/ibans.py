"""IBANs in the form in which they are compared: without blanks, in capitals, empty where there is none."""

import polars as pl

from analytics.native.characters import is_capital, is_digit
from analytics.native.columns import Bytes, strings
from analytics.native.compiling import compiled


def compared(ibans: pl.Series) -> pl.Series:
    """The IBANs in the form in which equal ones are equal."""
    ibans = ibans.fill_null("")
    if _are_plain(strings(ibans)[0]):
        return ibans
    return ibans.str.replace_all(r"\s", "").str.to_uppercase()


@compiled
def _are_plain(data: Bytes) -> bool:
    """Whether there are only capitals and digits: nearly always, and looked for in all bookings."""
    for c in data:  # noqa: SIM110  compiled
        if not (is_capital(c) or is_digit(c)):
            return False
    return True
