"""One-to-one matching of two sides: candidates that are each other's cheapest are a pair."""

import polars as pl

MAX_ROUNDS = 4
MAX_GROUP_ROWS = 100
"""Bookings of a group that are compared with each other: thousands of equal ones would be millions of pairs."""


def mutual_pairs(candidates: pl.DataFrame, left: str, right: str, *cost: pl.Expr) -> pl.DataFrame:
    """The candidates that are each other's cheapest, found in rounds; the ids decide between equal costs."""
    open_pairs = candidates.sort(*cost, left, right).with_row_index("place")
    pairs = [open_pairs.clear()]
    for _ in range(MAX_ROUNDS):
        best = open_pairs.filter(
            (pl.col("place") == pl.col("place").min().over(left)) & (pl.col("place") == pl.col("place").min().over(right))
        )
        if best.is_empty():
            break
        pairs.append(best)
        open_pairs = open_pairs.join(best, on=left, how="anti").join(best, on=right, how="anti")
    return pl.concat(pairs).drop("place")


def limit_groups(rows: pl.DataFrame, *group: str, order: pl.Expr | None = None) -> pl.DataFrame:
    """The rows, at most `MAX_GROUP_ROWS` of each group: the first by `order` and id."""
    largest = rows.select(group).group_by(group).len()["len"].max()
    if not isinstance(largest, int) or largest <= MAX_GROUP_ROWS:
        return rows
    ordered_rows = rows.sort("id") if order is None else rows.sort(order, "id")
    return ordered_rows.filter(pl.int_range(pl.len()).over(group) < MAX_GROUP_ROWS)
