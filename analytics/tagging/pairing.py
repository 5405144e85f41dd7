"""Matching two sides one to one: of all candidates each finds its best, and only who find each other are a pair."""

import polars as pl

ROUNDS = 4
MOST = 100
"""Bookings of a group that are compared with each other: thousands that are alike would be millions of pairs."""


def mutual(candidates: pl.DataFrame, left: str, right: str, *cost: pl.Expr) -> pl.DataFrame:
    """The candidates that are each other's cheapest, round by round; what costs the same is decided by the ids."""
    rest = candidates.sort(*cost, left, right).with_row_index("place")
    chosen = [rest.clear()]
    for _ in range(ROUNDS):
        best = rest.filter(
            (pl.col("place") == pl.col("place").min().over(left)) & (pl.col("place") == pl.col("place").min().over(right))
        )
        if best.is_empty():
            break
        chosen.append(best)
        rest = rest.join(best, on=left, how="anti").join(best, on=right, how="anti")
    return pl.concat(chosen).drop("place")


def bounded(rows: pl.DataFrame, *group: str, order: pl.Expr | None = None) -> pl.DataFrame:
    """The rows, but of each group only the first in an order, or else in that of their ids."""
    largest = rows.select(group).group_by(group).len()["len"].max()
    if not isinstance(largest, int) or largest <= MOST:
        return rows
    ordered = rows.sort("id") if order is None else rows.sort(order, "id")
    return ordered.filter(pl.int_range(pl.len()).over(group) < MOST)
