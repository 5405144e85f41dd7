"""What active contracts will bring and take: every occurrence until a day.

The first one is the next date of the contract; the others follow in its period. A contract that is paid on the first or the last
business day of a month stays there, any other keeps its day of the month and moves to a business day.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics import trees
from analytics.analyses.snapshot import Snapshot
from analytics.calendar import FIRST_DAY, calendar
from analytics.frames import EXPECTED_PAYMENTS, checked

SALARY = "INCOME_SALARY"
LEFT_FOR_WORK = (SALARY, "INCOME_OTHER")
"""Income that ends when another employer pays: salary, and benefits for those without work."""
FIRST_DAYS = 4
"""A first business day after this day of the month is none that a contract would name so."""
Days = NDArray[np.int64]


def horizon(seen: Snapshot) -> pl.DataFrame:
    """For each user the end of the next year (`until`)."""
    return seen.as_of.select("user", until=pl.date(pl.col("as_of").dt.year() + 1, 12, 31))


def awaited(seen: Snapshot, until: pl.DataFrame) -> pl.DataFrame:
    """What contracts that go on will bring and take (frame `EXPECTED_PAYMENTS`). Income that did not come in its month is not awaited on
    top of that of the next one.
    """
    due, day = expected(going_on(seen), until), pl.col("expected_on")
    late = seen.contracts.filter("overdue", pl.col("amount_next") > 0).select("user", "date_next", "date_due", contract="id")
    known = due.join(late, on=["user", "contract"], how="left", maintain_order="left")
    slipped = (day == pl.col("date_next")) & (day.dt.month_start() > pl.col("date_due"))
    return known.filter(~slipped.fill_null(value=False)).select(due.columns)


def going_on(seen: Snapshot) -> pl.DataFrame:
    """The contracts without income that ended because of work: what is late after another salary has begun does not come."""
    late = seen.contracts.filter("overdue", pl.col("category").is_in(LEFT_FOR_WORK))
    paid = seen.contracts.filter(pl.col("category") == SALARY).select("user", began="date_first")
    left = late.join(paid, on="user").filter(pl.col("began") > pl.col("date_latest"))
    return seen.contracts.join(left, on=["user", "id"], how="anti", maintain_order="left")


def expected(contracts: pl.DataFrame, until: pl.DataFrame) -> pl.DataFrame:
    """The occurrences (frame `EXPECTED_PAYMENTS`) of active contracts, those until the last day of each user (`user`, `until`)."""
    periods = trees.periods_frame().select(period="system_name", months="months", days="days")
    active = contracts.filter(pl.col("status") == "ACTIVE", pl.col("date_next").is_not_null())
    known = active.join(until, on="user", how="inner").join(periods, on="period", how="left").sort("user", "id")
    turns = ((pl.col("until") - pl.col("date_due")).dt.total_days() / pl.col("days")).floor().cast(pl.Int64) + 1
    known = known.with_columns(turn=pl.int_ranges(0, turns.fill_null(0).clip(lower_bound=0) + 1))
    rows = known.select(
        "user",
        "category",
        "partner",
        "until",
        "date_next",
        "date_due",
        "turn",
        "months",
        "days",
        contract="id",
        cents="amount_next",
    ).explode("turn")
    dated = rows.with_columns(expected_on=pl.when(pl.col("turn") == 0).then("date_next").otherwise(_later(rows)))
    due = dated.filter(
        pl.col("expected_on") <= pl.col("until"), (pl.col("turn") == 0) | (pl.col("expected_on") > pl.col("date_next"))
    )
    return checked(due.select(EXPECTED_PAYMENTS.names()).sort("user", "contract", "expected_on"), EXPECTED_PAYMENTS)


def _later(rows: pl.DataFrame) -> pl.Series:
    """The dates of later turns; what stands for the first one has no meaning."""
    due = rows["date_due"].to_physical().cast(pl.Int64).to_numpy()
    turn, months = rows["turn"].to_numpy(), rows["months"].fill_null(0).cast(pl.Int64).to_numpy()
    steps = np.floor(turn * rows["days"].fill_null(0.0).to_numpy() + 0.5).astype(np.int64)
    last = calendar().following.size - 1
    plain = calendar().following[np.minimum(due + steps - FIRST_DAY, last)].astype(np.int64)
    return pl.Series(np.where(months > 0, _monthly(due, turn * months), plain)).cast(pl.Int32).cast(pl.Date)


def _monthly(due: Days, months: Days) -> Days:
    """So many months after a due day, on the like day."""
    tables = calendar()
    at = np.searchsorted(tables.month_start, due, "right") - 1
    to = np.minimum(at + months, tables.month_start.size - 2)
    first, last = tables.business[tables.month_business[:-1]], tables.business[tables.month_business - 1]
    like = np.minimum(tables.month_start[to] + due - tables.month_start[at], tables.month_start[to + 1] - 1)
    day = tables.following[like - FIRST_DAY]
    opens = (due == first[at]) & (due - tables.month_start[at] < FIRST_DAYS)
    found: Days = np.where(due == last[at + 1], last[to + 1], np.where(opens, first[to], day)).astype(np.int64)
    return found
