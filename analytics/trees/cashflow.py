"""Time items of cashflow. They are computed: years go on, and a file of them would end."""

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from analytics.trees.items import ITEM, Item, Tree, UnknownItem

TOTAL = "TOTAL_TOTAL"
TOTAL_ID = 60_000_000
YEAR_IDS = 1_000  # room for the items of one year
LISTED_YEARS = range(2015, 2035)
"""Years whose items the tree lists; those of any other year that bookings can have are found as well."""
NAME = re.compile(r"(?P<year>(?:19|20|21|22)[0-9]{2})_(?P<kind>[YQMW])(?P<number>[0-9]{0,2})")
QUARTER_IDS, MONTH_IDS, WEEK_IDS = 0, 10, 30  # added to the number of a quarter, month or week
WEEKS = 53
MONTHS = (
    *("Januar", "Februar", "März", "April", "Mai", "Juni"),
    *("Juli", "August", "September", "Oktober", "November", "Dezember"),
)


@dataclass(frozen=True)
class TimeTree(Tree[Item]):
    """The tree of time items: beyond those that it lists, it has those of every year."""

    def item(self, system_name: str) -> Item:
        found = self.by_name.get(system_name) or named(system_name)
        if found is None:
            raise UnknownItem(f"{self.system_name}: {system_name}")
        return found

    def item_of_id(self, item_id: int) -> Item:
        return self.item(_name_of(item_id))


def listed() -> tuple[Item, ...]:
    """The whole time, and every year with its quarters, months and weeks."""
    names = [TOTAL, *(name for year in LISTED_YEARS for name in _names(year))]
    return tuple(item for name in names if (item := named(name)) is not None)


def named(system_name: str) -> Item | None:
    """The time item of this name; none if there is no such time."""
    if system_name == TOTAL:
        return Item(
            TOTAL_ID, TOTAL, "TOTAL", ITEM, "Gesamter Zeitraum", "Alle bekannten Zahlungen, von der ersten bis zur letzten."
        )
    found = NAME.fullmatch(system_name)
    if found is None:
        return None
    year, number = int(found["year"]), found["number"]
    match found["kind"], len(number):
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
    """The name that an id stands for, if it stands for any."""
    year, place = divmod(item_id - TOTAL_ID, YEAR_IDS)
    if item_id == TOTAL_ID:
        return TOTAL
    if place > WEEK_IDS:
        return f"{year}_W{place - WEEK_IDS:02d}"
    if place > MONTH_IDS:
        return f"{year}_M{place - MONTH_IDS:02d}"
    return f"{year}_Q{place}" if place > QUARTER_IDS else f"{year}_Y"


def _quarter(year: int, quarter: int, name: str) -> Item:
    first, last = 3 * quarter - 2, 3 * quarter
    end = date(year, last, monthrange(year, last)[1])
    return _item(year, QUARTER_IDS + quarter, name, f"{quarter}. Quartal {year}", date(year, first, 1), end)


def _month(year: int, month: int, name: str) -> Item:
    end = date(year, month, monthrange(year, month)[1])
    return _item(year, MONTH_IDS + month, name, f"{MONTHS[month - 1]} {year}", date(year, month, 1), end)


def _week(year: int, week: int, name: str) -> Item | None:
    """A week of ISO 8601: it belongs to the year that holds its Thursday, and only some years have 53."""
    try:
        begin = date.fromisocalendar(year, week, 1)
    except ValueError:
        return None
    return _item(year, WEEK_IDS + week, name, f"Kalenderwoche {week}/{year}", begin, date.fromisocalendar(year, week, 7))


def _item(year: int, place: int, name: str, display_name: str, begin: date, end: date) -> Item:
    parent = "TOTAL" if name.endswith("_Y") else f"{year}_Y"
    description = f"Zahlungen vom {begin:%d.%m.%Y} bis zum {end:%d.%m.%Y}."
    return Item(TOTAL_ID + YEAR_IDS * year + place, name, parent, ITEM, display_name, description)
