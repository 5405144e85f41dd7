"""What a user spends and earns beside contracts in a usual cycle, how much of it is still to come, and how far it strays.

Of each tag the largest of twelve cycles counts no more than the second largest: what happens once a year is not expected next
month. But something of that kind happens in most months, so what was cut from expenses is looked at as a whole, and what can
be expected of it is shared out again. A bonus or a thirteenth salary comes back in the same month of the next year.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.analyses.cashflow.cycles import CYCLES

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
USUAL_WEEK = (0.436, 0.584, 0.721, 0.858, 1.0, 1.0, 1.0)
"""How much of a week's spending is booked by Monday, Tuesday, …; measured on simulated households. Months are even."""
OWN_COURSE = 6
"""From so many cycles on, a user's own course of spending counts more than the usual one."""
OFTEN_YEARLY = 2
"""So many months a year can bring more salary than the others: a bonus and a thirteenth one."""
RARE = 2
"""So many of the largest cycles are drawn to the one after them where rare expenses are looked at as a whole."""


class UsualSpending(NamedTuple):
    """By row: cents in a cycle. By row and cycle: what comes in that month of every year on top of it, and what the cycle strayed
    from the others, 0 where none was seen.
    """

    cents: Floats
    yearly: Floats
    residuals: Floats


def usual(history: Floats, seen: Integers, user: Integers, spending: Flags, most_yearly: Floats) -> UsualSpending:
    """What is usual, from a history of rows (tags of users) by cycle, the latest last, in which only the last `seen` count.

    Rare expenses are shared among the rows of one `user` that are `spending`. What stands out by
    no more than `most_yearly` comes every year; where that is 0, nothing does.
    """
    count = np.maximum(seen, 1).astype(np.float64)
    capped, every_year, yearly = drawn_in(history, 1), np.zeros_like(history), most_yearly > 0
    capped[yearly] = drawn_in(history[yearly], OFTEN_YEARLY)
    above = np.maximum(history[yearly] - capped[yearly], 0.0)
    every_year[yearly] = np.where(above <= most_yearly[yearly, None], above, 0.0)
    cut = np.minimum(history - capped, 0.0) * spending[:, None]
    pool = np.zeros((int(user.max(initial=-1)) + 1, CYCLES))
    np.add.at(pool, user[spending], cut[spending])
    whole = pool.sum(1)
    kept = np.divide(drawn_in(pool, RARE).sum(1), whole, out=np.zeros_like(whole), where=whole < 0)
    cents = np.round((capped.sum(1) + cut.sum(1) * kept[user]) / count)
    known = np.arange(CYCLES) >= CYCLES - seen[:, None]
    without = (count / np.maximum(count - 1, 1))[:, None]
    return UsualSpending(cents, every_year, np.where(known, (history - every_year - cents[:, None]) * without, 0.0))


def drawn_in(values: Floats, largest: int) -> Floats:
    """The values of each row with so many of the largest, by their size, drawn to the one after them."""
    size = np.abs(values)
    most = np.partition(size, CYCLES - 1 - largest, axis=1)[:, CYCLES - 1 - largest]
    near: Floats = np.sign(values) * np.minimum(size, most[:, None])
    return near


def remaining(cycles: pl.DataFrame, spending: pl.DataFrame) -> pl.DataFrame:
    """By user: the share of a usual month (`month_left`) and week (`week_left`) that is still to come after the as-of date."""
    as_of = pl.col("as_of")
    week = pl.Series(USUAL_WEEK)
    known = cycles.join(spending, on="user", how="left", maintain_order="left").with_columns(
        month_usual=as_of.dt.day() / as_of.dt.month_end().dt.day(),
        week_usual=week.gather(cycles["as_of"].dt.weekday() - 1),
    )
    return known.select(*cycles.columns, **{f"{name}_left": _left(name) for name in ("month", "week")})


def _left(name: str) -> pl.Expr:
    """What is left after the course of spending so far, the user's own one as far as it is known."""
    whole, seen = pl.col(f"{name}_whole"), pl.col(f"{name}_seen")
    share = pl.when(whole < 0).then(pl.col(f"{name}_part") / whole).otherwise(f"{name}_usual")
    weight = seen / (seen + OWN_COURSE)
    course = share * weight + pl.col(f"{name}_usual") * (1 - weight)
    over = pl.col(f"{name}_last") == pl.col(f"{name}_now")
    return pl.when(over).then(0.0).otherwise(1 - course).clip(0.0, 1.0)
