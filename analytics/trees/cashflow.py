"""The items of the tree CASHFLOW: years, quarters, months and weeks. They are computed, since a file would end at some year."""

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from analytics.trees.items import GROUP, ITEM, Item, Tree, UnknownItem

TOTAL = "TOTAL_TOTAL"
TOTAL_ID = 60_000_000
ROOT = "TOTAL"
ROOT_ID = 60_000_001
"""The parent of the whole time and of all years."""
IDS_PER_YEAR = 1_000
LISTED_YEARS = range(2015, 2035)
"""Years whose items the tree lists; items of other years are found by name and id only."""
NAME = re.compile(r"(?P<year>(?:19|20|21|22)[0-9]{2})_(?P<kind>[YQMW])(?P<number>[0-9]{0,2})")
QUARTER_OFFSET, MONTH_OFFSET, WEEK_OFFSET = 0, 10, 30
"""Offsets within a year, added to the number of a quarter, month or week."""
WEEKS = 53
MONTHS = (
    *("Januar", "Februar", "März", "April", "Mai", "Juni"),
    *("Juli", "August", "September", "Oktober", "November", "Dezember"),
)


@dataclass(frozen=True)
class TimeTree(Tree[Item]):
    """The tree of time items. Besides the listed ones it finds the items of every year."""

    def item(self, system_name: str) -> Item:
        item = self.by_name.get(system_name) or time_item(system_name)
        if item is None:
            raise UnknownItem(f"{self.system_name}: {system_name}")
        return item

    def item_of_id(self, item_id: int) -> Item:
        return self.item(_name_of(item_id))


def listed_items() -> tuple[Item, ...]:
    """The root, the whole time, and every listed year with its quarters, months and weeks."""
    names = [ROOT, TOTAL, *(name for year in LISTED_YEARS for name in _names(year))]
    return tuple(item for name in names if (item := time_item(name)) is not None)


def time_item(system_name: str) -> Item | None:
    """The time item of this name; none if the calendar has no such time."""
    if system_name == ROOT:
        return Item(ROOT_ID, ROOT, "", GROUP, "Zeiträume", "Der gesamte Zeitraum und alle Jahre.")
    if system_name == TOTAL:
        return Item(TOTAL_ID, TOTAL, ROOT, ITEM, "Gesamter Zeitraum", "Alle bekannten Zahlungen, von der ersten bis zur letzten.")
    parts = NAME.fullmatch(system_name)
    if parts is None:
        return None
    year, number = int(parts["year"]), parts["number"]
    match parts["kind"], len(number):
        case "Y", 0:
            return _item(year, 0, system_name, f"Jahr {year}", date(year, 1, 1), date(year, 12, 31))
        case "Q", 1 if 1 <= int(number) <= 4:
            return _quarter(year, int(number), system_name)
        case "M", 2 if 1 <= int(number) <= 12:
            return _month(year, int(number), system_name)
        case "W", 2:
            return _week(year, int(number), system_name)
    return None


def _names(year: int) -> Iterator[str]:
    yield f"{year}_Y"
    yield from (f"{year}_Q{quarter}" for quarter in range(1, 5))
    yield from (f"{year}_M{month:02d}" for month in range(1, 13))
    yield from (f"{year}_W{week:02d}" for week in range(1, WEEKS + 1))


def _name_of(item_id: int) -> str:
    """The name of the item with this id; that of no item if there is none."""
    year, offset = divmod(item_id - TOTAL_ID, IDS_PER_YEAR)
    if item_id in (TOTAL_ID, ROOT_ID):
        return TOTAL if item_id == TOTAL_ID else ROOT
    if offset > WEEK_OFFSET:
        return f"{year}_W{offset - WEEK_OFFSET:02d}"
    if offset > MONTH_OFFSET:
        return f"{year}_M{offset - MONTH_OFFSET:02d}"
    return f"{year}_Q{offset}" if offset > QUARTER_OFFSET else f"{year}_Y"


def _quarter(year: int, quarter: int, name: str) -> Item:
    first, last = 3 * quarter - 2, 3 * quarter
    end = date(year, last, monthrange(year, last)[1])
    return _item(year, QUARTER_OFFSET + quarter, name, f"{quarter}. Quartal {year}", date(year, first, 1), end)


def _month(year: int, month: int, name: str) -> Item:
    end = date(year, month, monthrange(year, month)[1])
    return _item(year, MONTH_OFFSET + month, name, f"{MONTHS[month - 1]} {year}", date(year, month, 1), end)


def _week(year: int, week: int, name: str) -> Item | None:
    """An ISO 8601 week: it belongs to the year of its Thursday, and only some years have 53 weeks."""
    try:
        begin = date.fromisocalendar(year, week, 1)
    except ValueError:
        return None
    return _item(year, WEEK_OFFSET + week, name, f"Kalenderwoche {week}/{year}", begin, date.fromisocalendar(year, week, 7))


def _item(year: int, offset: int, name: str, display_name: str, begin: date, end: date) -> Item:
    parent = ROOT if name.endswith("_Y") else f"{year}_Y"
    description = f"Zahlungen vom {begin:%d.%m.%Y} bis zum {end:%d.%m.%Y}."
    return Item(TOTAL_ID + IDS_PER_YEAR * year + offset, name, parent, ITEM, display_name, description)
