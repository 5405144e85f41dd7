"""What came three years in a row in the same month, and is expected again: a bonus, holiday pay, a tax, gifts before Christmas.

Only larger bookings beside contracts count. What a month brings every year is what it had more than a usual month.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.analyses.cashflow.cycles import MAX_CYCLES
from analytics.analyses.cashflow.flexible import Floats
from analytics.analyses.cashflow.flows import Flows, in_both_trees
from analytics.frames import collected

YEARS = 3
MIN_YEARLY_CENTS = 5_000
"""Smaller bookings, and smaller differences from a usual month, come by chance."""
MAX_YEARLY_FACTOR = 2.0
"""The largest of the three years is at most this many times the smallest."""
YEARLY_MONTHS = YEARS * MAX_CYCLES


def yearly_cents(flows: Flows, cycles: pl.DataFrame, keys: pl.Series) -> Floats:
    """By key and month of the year, as in the last twelve complete months: cents that came three years in a row, as much as in
    the last one; 0 where they did not. `keys` are those of `in_both_trees`, sorted.
    """
    yearly = np.zeros((keys.len(), MAX_CYCLES))
    months = _monthly_sums(flows, cycles, keys)
    if months.is_empty():
        return yearly
    rows, number = np.unique(months["row"].to_numpy(), return_inverse=True)
    sums = np.zeros((rows.size, YEARLY_MONTHS))
    sums[number, months["position"].to_numpy()] = months["cents"].to_numpy()
    excess = (sums - np.median(sums, axis=1, keepdims=True)).reshape(rows.size, YEARS, MAX_CYCLES)
    size, is_more = np.abs(excess), np.sign(excess) == np.sign(sums.reshape(excess.shape))
    same_sign = (np.abs(np.sign(excess).sum(1)) == YEARS) & is_more.all(1)
    comes_again = (
        same_sign & (size.min(1) >= MIN_YEARLY_CENTS) & (size.max(1) <= MAX_YEARLY_FACTOR * size.min(1)) & _is_known(months, rows)
    )
    yearly[rows] = np.where(comes_again, np.round(excess[:, -1]), 0.0)
    return yearly


def _monthly_sums(flows: Flows, cycles: pl.DataFrame, keys: pl.Series) -> pl.DataFrame:
    """By `row` among the keys and `position` among the last three years: `cents`, and the complete months of the user."""
    first_known = YEARLY_MONTHS - MAX_CYCLES + 1
    users = cycles.filter(pl.col("month_total") >= first_known).select("user", "month_last", "month_total")
    if users.is_empty():
        return pl.DataFrame(schema={"row": pl.UInt32, "position": pl.Int32, "cents": pl.Int64, "month_total": pl.Int32})
    is_large = ~pl.col("regular") & (pl.col("cents").abs() >= MIN_YEARLY_CENTS)
    large_rows = flows.rows.lazy().filter(is_large).join(users.lazy(), on="user", how="inner")
    position = pl.col("month") - pl.col("month_last") + YEARLY_MONTHS - 1
    dated_rows = collected(large_rows.with_columns(position=position).filter(pl.col("position").is_between(0, YEARLY_MONTHS - 1)))
    cells = in_both_trees(dated_rows, flows).lazy().group_by("key", "position")
    sums = collected(cells.agg(pl.sum("cents"), pl.first("month_total"))).lazy()
    repeated_keys = sums.group_by("key").len().filter(pl.col("len") >= YEARS).select("key")
    numbered_keys = keys.to_frame("key").lazy().with_row_index("row")
    known_keys = numbered_keys.join(repeated_keys, on="key", how="semi", maintain_order="left")
    return collected(sums.join(known_keys, on="key", how="inner").select("row", "position", "cents", "month_total"))


def _is_known(months: pl.DataFrame, rows: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """By row and month of the year whether the history reaches back to the first of the three years."""
    totals = np.zeros(int(rows.max()) + 1, np.int64)
    totals[months["row"].to_numpy()] = months["month_total"].to_numpy()
    known: NDArray[np.bool_] = totals[rows][:, None] >= YEARLY_MONTHS - np.arange(MAX_CYCLES)
    return known
