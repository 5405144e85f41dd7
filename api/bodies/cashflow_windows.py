"""Windows of the cashflow, from the parameters of a request."""

from datetime import date
from enum import StrEnum

from analytics import trees
from analytics.analyses.cashflow import Window
from analytics.analyses.cashflow.statistics import MAIN
from analytics.analyses.cashflow.window import TOTAL_KIND
from analytics.trees import GROUP
from api.http.errors import misnamed, wrong
from api.schemas.languages import Text

MAX_TAGS = 50
MAX_NAME_CHARACTERS = 64
"""More than any system name has."""


class Granularity(StrEnum):
    """The time items that cashflow is told by."""

    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    TOTAL = "total"


KINDS = {
    Granularity.WEEK: "W",
    Granularity.MONTH: "M",
    Granularity.QUARTER: "Q",
    Granularity.YEAR: "Y",
    Granularity.TOTAL: TOTAL_KIND,
}
AFTER_END = Text("liegt nach to", "is after to")
TOO_MANY = Text("sind mehr als {maximum}", "are more than {maximum}")
MAIN_ONLY = Text("mit catLevel=main nur Hauptkategorien", "with catLevel=main only main categories")
UNKNOWN_TAG = Text("unbekannt", "unknown")


def window_of(first: date | None, last: date | None, granularity: Granularity | None, tags: tuple[str, ...] | None) -> Window:
    """The window between two days."""
    if first is not None and last is not None and first > last:
        raise wrong("from", AFTER_END, "query", first)
    return Window(first, last, None if granularity is None else KINDS[granularity], tags)


def tags_of(names: str, tree: str, level: str) -> tuple[str, ...]:
    """The tags of these names, separated by commas, with the subcategories of main categories.

    Looking for what an unknown name could mean takes long enough to need a thread.
    """
    items, chosen_names = trees.tree(tree).by_name, list(dict.fromkeys(names.split(",")))
    if len(chosen_names) > MAX_TAGS:
        raise wrong("tags", TOO_MANY, "query", maximum=MAX_TAGS)
    for name in chosen_names:
        if name not in items:
            raise misnamed("tags", UNKNOWN_TAG, "query", name, items)
        if level == MAIN and items[name].parent:
            raise wrong("tags", MAIN_ONLY, "query", name)
    groups = {name for name in chosen_names if items[name].kind == GROUP}
    children = [item.system_name for item in items.values() if item.parent in groups]
    return tuple(sorted({*chosen_names, *children}))
