"""Time items as numbers, to count with, and as names. Weeks are those of ISO 8601 and belong to the year of their Thursday.

A month's number is its year × 12 + 0 to 11; a week's number counts the weeks since that of the first day of 1970.
"""

from datetime import date, timedelta
from functools import cache

import polars as pl

EPOCH = date(1970, 1, 1)
"""A Thursday: seven times the number of a week are the days from here to its Thursday."""
THURSDAY_OFFSET_DAYS = 3
"""Days from a Monday to the Thursday of its week."""
KINDS = ("W", "M", "Q", "Y")
ITEM_MONTHS = {"M": 1, "Q": 3, "Y": 12}
"""The number of months in an item of each kind but weeks."""
KIND_INDEX = 5
"""The place of the letter of its kind in the name of an item."""


def month_number(day: pl.Expr) -> pl.Expr:
    """The number of the month of a day."""
    return day.dt.year() * 12 + day.dt.month().cast(pl.Int32) - 1


def week_number(day: pl.Expr) -> pl.Expr:
    """The number of the week of a day."""
    return (day.to_physical() + THURSDAY_OFFSET_DAYS) // 7


def item_number(kind: str, month: str = "month", week: str = "week") -> pl.Expr:
    """The number of the item of a kind, from columns with the numbers of month and week."""
    return pl.col(week) if kind == "W" else pl.col(month) // ITEM_MONTHS[kind]


def item_names(kind: str, numbers: pl.Series) -> pl.Series:
    """The names of items of one kind."""
    low, high = numbers.min(), numbers.max()
    if not isinstance(low, int) or not isinstance(high, int):
        return pl.Series(numbers.name, [None] * numbers.len(), dtype=pl.String)
    table = pl.Series(numbers.name, [item_name(kind, each) for each in range(low, high + 1)], dtype=pl.String)
    return table[numbers.to_numpy() - low] if not numbers.null_count() else table.gather(numbers - low)


@cache
def item_name(kind: str, number: int) -> str:
    """The name of an item in the tree of cashflow."""
    if kind == "W":
        year, week, _ = (EPOCH + timedelta(weeks=number)).isocalendar()
        return f"{year}_W{week:02d}"
    year, index = divmod(number, 12 // ITEM_MONTHS[kind])
    return f"{year}_Y" if kind == "Y" else f"{year}_{kind}{index + 1:0{2 if kind == 'M' else 1}d}"


@cache
def item_days(name: str) -> tuple[date, date]:
    """The first and the last day of an item, by its name in the tree of cashflow."""
    year, kind, index = int(name[: KIND_INDEX - 1]), name[KIND_INDEX], name[KIND_INDEX + 1 :]
    if kind == "W":
        return date.fromisocalendar(year, int(index), 1), date.fromisocalendar(year, int(index), 7)
    months = ITEM_MONTHS[kind]
    first = (int(index) - 1) * months if index else 0
    end = date(year + (first + months) // 12, (first + months) % 12 + 1, 1)
    return date(year, first + 1, 1), end - timedelta(days=1)
