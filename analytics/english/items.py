"""The tag trees in English: the same items with the same ids and system names, with English names and descriptions."""

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from analytics import trees
from analytics.english.writing import MONTHS, english_date
from analytics.trees import Item, Partner, Tree
from analytics.trees.files import read_rows

TABLE = Path(__file__).parent / "tables" / "items.csv"
TREES, TIMES, PARTNERS = "TREES", "CASHFLOW", "BUSINESS_PARTNERS"
TIME_NAMES = {
    "TOTAL": ("Periods", "The whole time and all years."),
    "TOTAL_TOTAL": ("Whole time", "All known payments, from the first to the last."),
}
TIME_FORMS = {"Y": "Year {year}", "Q": "Quarter {number} of {year}", "M": "{month} {year}", "W": "Week {number} of {year}"}
TIME = re.compile(r"(?P<year>\d{4})_(?P<kind>[YQMW])(?P<number>\d*)")
GERMAN_DATE = re.compile(r"\d\d\.\d\d\.\d{4}")
Names = tuple[str, str]
"""Display name and description."""


@dataclass(frozen=True)
class EnglishTimeTree(Tree[Item]):
    """The tree of time items, which finds the items of every year."""

    def item(self, system_name: str) -> Item:
        return self.by_name.get(system_name) or _translate(TIMES, trees.tree(TIMES).item(system_name))

    def item_of_id(self, item_id: int) -> Item:
        return self.by_id.get(item_id) or _translate(TIMES, trees.tree(TIMES).item_of_id(item_id))


@cache
def tree(system_name: str) -> Tree[Item]:
    """The tree of this name in English."""
    german = trees.tree(system_name)
    display_name, description = _names()[TREES, system_name]
    make = EnglishTimeTree if system_name == TIMES else Tree
    items = tuple(_translate(system_name, item) for item in german.items)
    return make(german.id, system_name, display_name, description, german.version, items)


def item_names(tree_name: str, system_name: str) -> Names:
    """Display name and description of an item."""
    item = tree(tree_name).item(system_name)
    return item.display_name, item.description


def _translate(tree_name: str, item: Item) -> Item:
    if tree_name == TIMES:
        display_name, description = _time_names(item)
    elif isinstance(item, Partner) and (tree_name, item.system_name) not in _names():
        display_name, description = item.display_name, _partner_description(item)
    else:
        display_name, description = _names()[tree_name, item.system_name]
    return replace(item, display_name=display_name, description=description)


def _time_names(item: Item) -> Names:
    parts = TIME.fullmatch(item.system_name)
    if parts is None:
        return TIME_NAMES[item.system_name]
    year, number = parts["year"], int(parts["number"] or 0)
    display_name = TIME_FORMS[parts["kind"]].format(year=year, number=number, month=MONTHS[(number - 1) % 12])
    first, last = GERMAN_DATE.findall(item.description)
    return display_name, f"Payments from {english_date(first)} to {english_date(last)}."


def _partner_description(partner: Partner) -> str:
    """A sentence on a partner: its group and its most likely category."""
    group = f" ({partner.group} group)" if partner.group and partner.group != partner.display_name else ""
    category = _names().get(("CATEGORIES", partner.categories[0])) if partner.categories else None
    mostly = f", mostly in the category “{category[0]}”" if category else ""
    return f"Payments to or from {partner.display_name}{group}{mostly}."


@cache
def _names() -> dict[tuple[str, str], Names]:
    return {(row["tree"], row["system_name"]): (row["display_name"], row["description"]) for row in read_rows(TABLE)}
