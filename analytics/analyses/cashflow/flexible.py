"""Spending and income beside contracts in a usual cycle, the share of it still to come, and the residuals of past cycles.

For each tag the largest of twelve cycles counts no more than the second largest: what happens once a year is not expected next
month. But some rare expense happens in most months, so the amounts cut from expenses are pooled over all tags of a user, and
their expected part is distributed again. Income of a tag that came in half of the months or fewer is not expected in a month. A
bonus or a thirteenth salary returns in the same month of the next year, and so does what came three years in a row.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.analyses.cashflow.cycles import MAX_CYCLES

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
USUAL_WEEK_SHARES = (0.436, 0.584, 0.721, 0.858, 1.0, 1.0, 1.0)
"""The share of a week's spending booked by Monday, Tuesday, …; measured on simulated households. In months it grows evenly."""
OWN_COURSE_CYCLES = 6
"""With more complete cycles than this, a user's own course of spending outweighs the usual one."""
EXTRA_SALARY_MONTHS = 2
"""Months of a year with more salary than the others: a bonus and a thirteenth salary."""
RARE_CYCLES = 2
"""The number of largest cycles that are winsorised in the pool of rare expenses."""


class UsualSpending(NamedTuple):
    """By row: cents in a usual cycle. By row and cycle: cents that come on top in that month of every year, and the deviation of
    the cycle from the others, 0 for cycles that are not complete.
    """

    cents: Floats
    yearly: Floats
    residuals: Floats


def usual_spending(
    history: Floats,
    complete_cycles: Integers,
    user: Integers,
    spending: Flags,
    earning: Flags,
    max_yearly: Floats,
    yearly_cents: Floats,
) -> UsualSpending:
    """The usual spending, from cents of rows (tags of users) by cycle, the latest last; only the last `complete_cycles` count.

    Rare expenses are distributed among the rows of one `user` that are `spending`. In rows that are `earning` nothing is expected
    that came in half of the cycles or fewer. An excess of at most `max_yearly` cents comes every year; where that is 0, none
    does. The `yearly_cents` of a cycle come every year in any case.
    """
    count = np.maximum(complete_cycles, 1).astype(np.float64)
    history = history - yearly_cents
    capped_history, every_year, yearly = winsorise(history, 1), np.zeros_like(history), max_yearly > 0
    capped_history[yearly] = winsorise(history[yearly], EXTRA_SALARY_MONTHS)
    above = np.maximum(history[yearly] - capped_history[yearly], 0.0)
    every_year[yearly] = np.where(above <= max_yearly[yearly, None], above, 0.0)
    cut = np.minimum(history - capped_history, 0.0) * spending[:, None]
    rare_by_user = np.zeros((int(user.max(initial=-1)) + 1, MAX_CYCLES))
    np.add.at(rare_by_user, user[spending], cut[spending])
    rare_total = rare_by_user.sum(1)
    expected_share = np.divide(
        winsorise(rare_by_user, RARE_CYCLES).sum(1), rare_total, out=np.zeros_like(rare_total), where=rare_total < 0
    )
    cents = np.round((capped_history.sum(1) + cut.sum(1) * expected_share[user]) / count)
    is_complete = np.arange(MAX_CYCLES) >= MAX_CYCLES - complete_cycles[:, None]
    cents[earning & (2 * np.count_nonzero(history * is_complete, axis=1) <= count)] = 0.0
    leave_one_out = (count / np.maximum(count - 1, 1))[:, None]
    residuals = np.where(is_complete, (history - every_year - cents[:, None]) * leave_one_out, 0.0)
    return UsualSpending(cents, every_year + yearly_cents, residuals)


def winsorise(values: Floats, largest: int) -> Floats:
    """The values of each row, with the `largest` largest ones by size reduced to the size of the next one."""
    size = np.abs(values)
    limit = np.partition(size, MAX_CYCLES - 1 - largest, axis=1)[:, MAX_CYCLES - 1 - largest]
    winsorised: Floats = np.sign(values) * np.minimum(size, limit[:, None])
    return winsorised


def remaining_shares(cycles: pl.DataFrame, spending: pl.DataFrame) -> pl.DataFrame:
    """The cycles with the share of a usual month (`month_left`) and week (`week_left`) that comes after the as-of date."""
    as_of = pl.col("as_of")
    week = pl.Series(USUAL_WEEK_SHARES)
    courses = cycles.join(spending, on="user", how="left", maintain_order="left").with_columns(
        month_usual=as_of.dt.day() / as_of.dt.month_end().dt.day(),
        week_usual=week.gather(cycles["as_of"].dt.weekday() - 1),
    )
    return courses.select(*cycles.columns, **{f"{name}_left": _remaining_share(name) for name in ("month", "week")})


def _remaining_share(name: str) -> pl.Expr:
    """The share that is left by the course of spending: the usual one, and the user's own by the number of complete cycles."""
    total_cents, complete_cycles = pl.col(f"{name}_whole"), pl.col(f"{name}_count")
    share = pl.when(total_cents < 0).then(pl.col(f"{name}_part") / total_cents).otherwise(f"{name}_usual")
    weight = complete_cycles / (complete_cycles + OWN_COURSE_CYCLES)
    course = share * weight + pl.col(f"{name}_usual") * (1 - weight)
    over = pl.col(f"{name}_last") == pl.col(f"{name}_now")
    return pl.when(over).then(0.0).otherwise(1 - course).clip(0.0, 1.0)
