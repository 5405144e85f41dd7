"""Days on which banks book: no Saturdays, no Sundays, no holidays of the TARGET system."""

from datetime import date, timedelta
from functools import lru_cache

import polars as pl

from pipelines.banks.demo.histories import START


@lru_cache(maxsize=4)
def calendar(last_year: int) -> pl.DataFrame:
    """Every day from before the start to the end of a year, with the bank day on or after it and the one on or before it."""
    first, last = START - timedelta(days=31), date(last_year, 12, 31)
    holidays = [day for year in range(first.year, last_year + 1) for day in _holidays(year)]
    day = pl.col("day")
    books = (day.dt.weekday() <= 5) & ~day.is_in(holidays)
    booked = pl.when(books).then(day)
    return pl.DataFrame({"day": pl.date_range(first, last, "1d", eager=True)}).select(
        day, next=booked.backward_fill(), previous=booked.forward_fill()
    )


def _holidays(year: int) -> tuple[date, ...]:
    easter = _easter(year)
    return (
        date(year, 1, 1),
        easter - timedelta(days=2),
        easter + timedelta(days=1),
        date(year, 5, 1),
        date(year, 12, 25),
        date(year, 12, 26),
    )


def _easter(year: int) -> date:
    """Easter Sunday by Gauss, right from 1900 to 2099."""
    moon = (19 * (year % 19) + 24) % 30
    moon -= 1 if moon == 29 or (moon == 28 and year % 19 > 10) else 0
    sunday = (2 * (year % 4) + 4 * (year % 7) + 6 * moon + 5) % 7
    return date(year, 3, 22) + timedelta(days=moon + sunday)
