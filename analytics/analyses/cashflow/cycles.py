"""The cycles of each user: the current month and week, and the complete ones before, from which predictions are computed."""

import polars as pl

from analytics.analyses.cashflow.items import month_number, week_number
from analytics.analyses.snapshot import Snapshot

MAX_CYCLES = 12
"""Of the complete cycles the latest ones count, at most this many."""
MIN_CYCLES = 3
"""With fewer complete cycles there is no prediction."""
MAX_START_DAYS = {"month": 3, "week": 1}
"""The cycle of the first booking counts as complete if that booking came within its first days: not every day has a booking."""
CYCLE_NUMBERS = {"month": month_number, "week": week_number}


def cycles(snapshot: Snapshot) -> pl.DataFrame:
    """By user with bookings: `as_of`, the current month and week (`…_now`), the last complete one (`…_last`), the number of
    complete ones that count (`…_count`), and that of all complete months (`month_total`).
    """
    users = snapshot.histories.with_columns(pl.col("user").cast(snapshot.users))
    as_of, first_day = pl.col("as_of"), pl.col("start")
    users = users.with_columns(
        **{f"{name}_now": number(as_of) for name, number in CYCLE_NUMBERS.items()},
        **{f"{name}_last": number(as_of.dt.offset_by("1d")) - 1 for name, number in CYCLE_NUMBERS.items()},
        **{
            f"{name}_first": number(first_day - pl.duration(days=MAX_START_DAYS[name] + 1)) + 1
            for name, number in CYCLE_NUMBERS.items()
        },
    )
    counts = {
        f"{name}_count": (pl.col(f"{name}_last") - pl.col(f"{name}_first") + 1).clip(0, MAX_CYCLES) for name in CYCLE_NUMBERS
    }
    month_total = pl.col("month_last") - pl.col("month_first") + 1
    return users.select("user", "as_of", "month_now", "week_now", "month_last", "week_last", **counts, month_total=month_total)
