"""The months of a simulation and the banks' working days in them. Days are numbers since 1970-01-01, months since year 0."""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Days = NDArray[np.int32]

EPOCH = date(1970, 1, 1)
FUTURE_MONTHS = 3
"""The last months are withheld from the analyses, as the future that they forecast."""
BEYOND_MONTHS = 25
"""Schedules go on this long after the last booking, so that the next date of a yearly contract is known."""


def day_number(day: date) -> int:
    """Days since 1970-01-01."""
    return (day - EPOCH).days


def easter(year: int) -> date:
    """Easter Sunday, after the rule for the Gregorian calendar."""
    a, b, c = year % 19, year // 100, year % 100
    h = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    offset = (32 + 2 * (b % 4) + 2 * (c // 4) - h - c % 4) % 7
    m = (a + 11 * h + 22 * offset) // 451
    month, day = divmod(h + offset - 7 * m + 114, 31)
    return date(year, month, day + 1)


def closed_days(year: int) -> list[date]:
    """The days on which the European payment system rests."""
    sunday = easter(year)
    fixed = [date(year, 1, 1), date(year, 5, 1), date(year, 12, 25), date(year, 12, 26)]
    return [*fixed, sunday - timedelta(2), sunday + timedelta(1)]


@dataclass(frozen=True)
class Grid:
    """Months from `start` on; `months` of them have bookings."""

    start: date
    months: int

    @property
    def first_month(self) -> int:
        return self.start.year * 12 + self.start.month - 1

    @property
    def first_day(self) -> int:
        return day_number(self.start.replace(day=1))

    @cached_property
    def month_starts(self) -> Days:
        """First day of every month, the one after the last included."""
        numbers = self.first_month + np.arange(self.months + BEYOND_MONTHS + 1)
        return (numbers - 1970 * 12).astype("datetime64[M]").astype("datetime64[D]").astype(np.int32)

    @property
    def end_day(self) -> int:
        """The first day after the last booking."""
        return int(self.month_starts[self.months])

    @property
    def as_of(self) -> int:
        """The last day that the analyses see."""
        return int(self.month_starts[self.months - FUTURE_MONTHS]) - 1

    @cached_property
    def open_days(self) -> NDArray[np.bool_]:
        """Whether banks work, by day from ten days before the first month on."""
        days = np.arange(self.first_day - 10, int(self.month_starts[-1]) + 20)
        years = range(self.start.year - 1, self.start.year + (self.months + BEYOND_MONTHS) // 12 + 3)
        closed = np.array([day_number(day) for year in years for day in closed_days(year)])
        return ((days + 3) % 7 < 5) & ~np.isin(days, closed)

    @cached_property
    def _next_open(self) -> Days:
        days = np.arange(self.open_days.size)
        return np.minimum.accumulate(np.where(self.open_days, days, days.size - 1)[::-1])[::-1].astype(np.int32)

    @cached_property
    def _last_open(self) -> Days:
        days = np.arange(self.open_days.size)
        return np.maximum.accumulate(np.where(self.open_days, days, 0)).astype(np.int32)

    def _position(self, days: NDArray[np.integer]) -> NDArray[np.int64]:
        return np.asarray(np.clip(days - (self.first_day - 10), 0, self.open_days.size - 1), np.int64)

    def forward(self, days: NDArray[np.integer]) -> Days:
        """The same day, or the next on which banks work."""
        return np.asarray(self._next_open[self._position(days)] + self.first_day - 10, np.int32)

    def back(self, days: NDArray[np.integer]) -> Days:
        """The same day, or the last on which banks worked."""
        return np.asarray(self._last_open[self._position(days)] + self.first_day - 10, np.int32)

    def later(self, days: NDArray[np.integer], steps: NDArray[np.integer]) -> Days:
        """The days `steps` working days later."""
        for step in range(1, int(steps.max(initial=0)) + 1):
            days = np.where(steps >= step, self.forward(days + 1), days)
        return days.astype(np.int32)

    @cached_property
    def _open_numbers(self) -> Days:
        return (np.flatnonzero(self.open_days) + self.first_day - 10).astype(np.int32)

    def rule_dates(self, rule: str) -> Days:
        """The date in every month by a day rule: `F15` rolls forward, `B30` back, `E1` is the last working day, `S2` the 2nd."""
        starts, ends = self.month_starts[:-1], self.month_starts[1:]
        kind, number = rule[0], int(rule[1:])
        if kind in "FB":
            nominal = np.minimum(starts + number - 1, ends - 1)
            return self.forward(nominal) if kind == "F" else self.back(nominal)
        if kind == "S":
            return self._open_numbers[np.searchsorted(self._open_numbers, starts) + number - 1]
        return self._open_numbers[np.searchsorted(self._open_numbers, ends) - number]

    def month_of(self, days: NDArray[np.integer]) -> NDArray[np.int64]:
        """Position of the day's month in the grid."""
        numbers = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 1970 * 12
        return np.asarray(numbers - self.first_month, np.int64)
