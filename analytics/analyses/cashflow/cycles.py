"""Where each user stands in time: the current month and week, and the complete ones before, from which is learned."""

import polars as pl

from analytics.analyses.cashflow.items import month_number, week_number
from analytics.analyses.snapshot import Snapshot

CYCLES = 12
"""So many complete cycles are looked at."""
LEAST = 3
"""With fewer complete cycles nothing is predicted."""
LATE_START = {"month": 3, "week": 1}
"""Days; a cycle is complete if the first booking of all came at most so late in it: not on every day something is booked."""
NUMBERS = {"month": month_number, "week": week_number}


def cycles(seen: Snapshot) -> pl.DataFrame:
    """Of each user with bookings: `as_of`, the current month and week (`…_now`), the last complete one (`…_last`), and how many
    of the complete ones count (`…_seen`).
    """
    known = seen.histories.with_columns(pl.col("user").cast(seen.users))
    as_of, first_day = pl.col("as_of"), pl.col("start")
    known = known.with_columns(
        **{f"{name}_now": number(as_of) for name, number in NUMBERS.items()},
        **{f"{name}_last": number(as_of.dt.offset_by("1d")) - 1 for name, number in NUMBERS.items()},
        **{f"{name}_first": number(first_day - pl.duration(days=LATE_START[name] + 1)) + 1 for name, number in NUMBERS.items()},
    )
    counts = {f"{name}_seen": (pl.col(f"{name}_last") - pl.col(f"{name}_first") + 1).clip(0, CYCLES) for name in NUMBERS}
    return known.select("user", "as_of", "month_now", "week_now", "month_last", "week_last", **counts)
