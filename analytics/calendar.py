"""The business days of German banks: the TARGET calendar as tables by day and by month, for compiled loops.

A day is the number of days since 1970-01-01, a month the number of months since the year 0.
"""

from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FIRST_YEAR, LAST_YEAR = 1970, 2203
"""The years in which bookings are accepted, and some more for the payments expected after them."""
EPOCH = date(1970, 1, 1).toordinal()
FIRST_DAY = date(FIRST_YEAR, 1, 1).toordinal() - EPOCH
FIRST_MONTH = FIRST_YEAR * 12
EASTER_HOLIDAYS = (-2, 1)
"""Good Friday and Easter Monday, in days from Easter Sunday."""
FIXED_HOLIDAYS = ((1, 1), (5, 1), (12, 25), (12, 26))


class BusinessCalendar(NamedTuple):
    """By day: the business day on or after it (`following`) and on or before it (`preceding`). By month: its first day, and the
    index of its first business day in `business`; both have one entry more than there are months.
    """

    following: NDArray[np.int32]
    preceding: NDArray[np.int32]
    month_start: NDArray[np.int32]
    month_business: NDArray[np.int32]
    business: NDArray[np.int32]


@cache
def calendar() -> BusinessCalendar:
    """The tables for all days of the years from `FIRST_YEAR` to `LAST_YEAR`."""
    days = np.arange(FIRST_DAY, date(LAST_YEAR + 1, 1, 1).toordinal() - EPOCH, dtype=np.int32)
    holidays = np.array(sorted(day for year in range(FIRST_YEAR, LAST_YEAR + 1) for day in _holidays(year)), np.int32)
    weekday = (days + 3) % 7  # the first day of 1970 was a Thursday
    business = days[(weekday < 5) & ~np.isin(days, holidays)]
    next_business = np.searchsorted(business, days)
    months = range(FIRST_MONTH, (LAST_YEAR + 1) * 12 + 1)
    starts = np.array([date(month // 12, month % 12 + 1, 1).toordinal() - EPOCH for month in months], np.int32)
    return BusinessCalendar(
        following=business[np.minimum(next_business, business.size - 1)],
        preceding=business[np.maximum(np.searchsorted(business, days, "right") - 1, 0)],
        month_start=starts,
        month_business=np.searchsorted(business, starts).astype(np.int32),
        business=business,
    )


def _holidays(year: int) -> list[int]:
    easter = easter_sunday(year)
    moving = [easter + timedelta(days=offset) for offset in EASTER_HOLIDAYS]
    fixed = [date(year, month, day) for month, day in FIXED_HOLIDAYS]
    return [day.toordinal() - EPOCH for day in (*moving, *fixed)]


def easter_sunday(year: int) -> date:
    """The date of Easter Sunday by the Gregorian rule: the Sunday after the first ecclesiastical full moon of spring."""
    golden, century = year % 19, year // 100
    solar = century - century // 4 - (century - (century - 17) // 25) // 3
    epact = (solar + 19 * golden + 15) % 30
    epact -= (epact // 28) * (1 - (29 // (epact + 1)) * ((21 - golden) // 11))
    sunday = (year + year // 4 + epact + 2 - century + century // 4) % 7
    offset = epact - sunday
    month = 3 + (offset + 40) // 44
    return date(year, month, offset + 28 - 31 * (month // 4))
