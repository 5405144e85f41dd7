"""Expected payments: every payment of active contracts until a day.

The first one is on the next date of the contract; the others follow in its period. A contract paid on the first or the last
business day of a month stays there; any other keeps its day of the month and moves to a business day.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics import trees
from analytics.analyses.parental_benefit import FAMILY_CATEGORY, granted_until
from analytics.analyses.snapshot import Snapshot
from analytics.calendar import FIRST_DAY, calendar
from analytics.frames import EXPECTED_PAYMENTS, checked, collected

SALARY_CATEGORY = "INCOME_SALARY"
ENDED_BY_NEW_JOB = (SALARY_CATEGORY, "INCOME_OTHER")
"""Income that ends when another employer pays: salary, and unemployment benefits."""
MAX_FIRST_BUSINESS_DAY = 4
"""Day of the month, counted from 0. A later first business day does not count as the first of the month for a contract."""
Days = NDArray[np.int64]


def horizon(snapshot: Snapshot) -> pl.DataFrame:
    """By user the last day of the next year (`until`)."""
    return snapshot.as_of.select("user", until=pl.date(pl.col("as_of").dt.year() + 1, 12, 31))


def expected_payments(snapshot: Snapshot, until: pl.DataFrame) -> pl.DataFrame:
    """The payments (frame `EXPECTED_PAYMENTS`) of continuing contracts until each user's last day (`user`, `until`).

    Overdue income that did not come in its month is not expected in addition to that of the next month.
    """
    payments, day = payments_until(continuing_contracts(snapshot), until), pl.col("expected_on")
    late = (
        snapshot.contracts.lazy()
        .filter("overdue", pl.col("amount_next") > 0)
        .select("user", "date_next", "date_due", contract="id")
    )
    with_due_dates = payments.lazy().join(late, on=["user", "contract"], how="left", maintain_order="left")
    is_in_later_month = (day == pl.col("date_next")) & (day.dt.month_start() > pl.col("date_due"))
    due_payments = with_due_dates.filter(~is_in_later_month.fill_null(value=False))
    limits = _parental_benefit_ends(snapshot)
    limited_payments = due_payments.join(limits, on=["user", "contract"], how="left", maintain_order="left")
    is_granted = (day < pl.col("ended_on")).fill_null(value=True)
    return collected(limited_payments.filter(is_granted).select(payments.columns))


def _parental_benefit_ends(snapshot: Snapshot) -> pl.LazyFrame:
    """By user and contract of a parental benefit the day from which the law no longer grants it (`ended_on`), null if it was paid
    for longer than the law says.
    """
    benefits = snapshot.contracts.lazy().filter(pl.col("category") == FAMILY_CATEGORY)
    purposes = snapshot.bookings.lazy().select("user", "id", "purpose")
    dated_benefits = benefits.join(purposes, on=["user", "id"]).with_columns(ended_on=granted_until(pl.col("purpose")))
    return dated_benefits.select("user", "ended_on", contract="id")


def continuing_contracts(snapshot: Snapshot) -> pl.DataFrame:
    """The contracts without overdue income that a new job has ended: it does not come after another salary has begun."""
    late = snapshot.contracts.lazy().filter("overdue", pl.col("category").is_in(ENDED_BY_NEW_JOB))
    salaries = snapshot.contracts.lazy().filter(pl.col("category") == SALARY_CATEGORY).select("user", began="date_first")
    ended_contracts = late.join(salaries, on="user").filter(pl.col("began") > pl.col("date_latest"))
    return collected(snapshot.contracts.lazy().join(ended_contracts, on=["user", "id"], how="anti", maintain_order="left"))


def payments_until(contracts: pl.DataFrame, until: pl.DataFrame) -> pl.DataFrame:
    """The payments (frame `EXPECTED_PAYMENTS`) of the active ones of these contracts until each user's last day."""
    periods = trees.periods_frame().lazy().select(period="system_name", months="months", days="days")
    active = contracts.lazy().filter(pl.col("status") == "ACTIVE", pl.col("date_next").is_not_null())
    active_contracts = active.join(until.lazy(), on="user", how="inner").join(periods, on="period", how="left").sort("user", "id")
    turns = ((pl.col("until") - pl.col("date_due")).dt.total_days() / pl.col("days")).floor().cast(pl.Int64) + 1
    active_contracts = active_contracts.with_columns(turn=pl.int_ranges(0, turns.fill_null(0).clip(lower_bound=0) + 1))
    selected_contracts = active_contracts.select(
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
    )
    rows = collected(selected_contracts.explode("turn"))
    dated_payments = rows.lazy().with_columns(
        expected_on=pl.when(pl.col("turn") == 0).then("date_next").otherwise(_later_dates(rows))
    )
    payments = dated_payments.filter(
        pl.col("expected_on") <= pl.col("until"), (pl.col("turn") == 0) | (pl.col("expected_on") > pl.col("date_next"))
    )
    sorted_payments = payments.select(EXPECTED_PAYMENTS.names()).sort("user", "contract", "expected_on")
    return checked(collected(sorted_payments), EXPECTED_PAYMENTS)


def _later_dates(rows: pl.DataFrame) -> pl.Series:
    """The dates of the payments after the first one; the value for the first one (turn 0) has no meaning."""
    due = rows["date_due"].to_physical().cast(pl.Int64).to_numpy()
    turn, months = rows["turn"].to_numpy(), rows["months"].fill_null(0).cast(pl.Int64).to_numpy()
    steps = np.floor(turn * rows["days"].fill_null(0.0).to_numpy() + 0.5).astype(np.int64)
    last = calendar().following.size - 1
    plain = calendar().following[np.minimum(due + steps - FIRST_DAY, last)].astype(np.int64)
    return pl.Series(np.where(months > 0, _add_months(due, turn * months), plain)).cast(pl.Int32).cast(pl.Date)


def _add_months(due: Days, months: Days) -> Days:
    """The day that corresponds to a due day the given number of months later."""
    tables = calendar()
    from_month = np.searchsorted(tables.month_start, due, "right") - 1
    to_month = np.minimum(from_month + months, tables.month_start.size - 2)
    first, last = tables.business[tables.month_business[:-1]], tables.business[tables.month_business - 1]
    same_day = np.minimum(
        tables.month_start[to_month] + due - tables.month_start[from_month], tables.month_start[to_month + 1] - 1
    )
    day = tables.following[same_day - FIRST_DAY]
    opens = (due == first[from_month]) & (due - tables.month_start[from_month] < MAX_FIRST_BUSINESS_DAY)
    later_days: Days = np.where(due == last[from_month + 1], last[to_month + 1], np.where(opens, first[to_month], day)).astype(
        np.int64
    )
    return later_days
