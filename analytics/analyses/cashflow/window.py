"""A window of the cashflow: some days, one kind of time items, some tags.

Sums are stored by week and month. A window is therefore widened to whole weeks and months; quarters, years and the total are the
sums of the months in it, so that what a window shows adds up on every level.
"""

from datetime import date
from typing import NamedTuple

import polars as pl

from analytics.analyses.cashflow.items import KIND_INDEX, item_days
from analytics.trees.cashflow import TOTAL

TOTAL_KIND = "T"
"""The kind of the whole time, which has no letter in its name."""


class Window(NamedTuple):
    """Days (both included), the letter of a kind of time items, and names of tags; what is None is not limited."""

    first: date | None = None
    last: date | None = None
    kind: str | None = None
    tags: tuple[str, ...] | None = None

    def has_days_of(self, item: str) -> bool:
        """Whether some day of an item lies in the window. The whole time has days of all windows."""
        if item == TOTAL:
            return True
        first, last = item_days(item)
        return (self.first is None or last >= self.first) and (self.last is None or first <= self.last)

    def shows(self, item: str) -> bool:
        """Whether an item has days in the window and is of its kind."""
        kind = TOTAL_KIND if item == TOTAL else item[KIND_INDEX]
        return self.kind in (None, kind) and self.has_days_of(item)


def window_sums(statistics: pl.DataFrame, window: Window) -> pl.DataFrame:
    """The stored sums (frame `CASHFLOW`) of the weeks and months that have days in the window."""
    if window.first is None and window.last is None:
        return statistics
    items = [item for item in statistics["item"].unique() if window.has_days_of(item)]
    return statistics.filter(pl.col("item").is_in(items))


def window_rows(rows: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Those rows of a view (columns `item` and `tag`) that the window shows."""
    if window == Window():
        return rows
    items = [item for item in rows["item"].unique() if window.shows(item)]
    has_tag = pl.lit(value=True) if window.tags is None else pl.col("tag").is_in(list(window.tags))
    return rows.filter(pl.col("item").is_in(items), has_tag)
