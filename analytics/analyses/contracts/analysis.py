"""Contracts: what a user pays or receives again and again, since when, how much, and when next.

`contracts` is the whole way; each step of it is a module of its own. Nothing here looks at a clock: every user has an as-of date.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from analytics.analyses.contracts import amounts, dates
from analytics.analyses.contracts.details import described
from analytics.analyses.contracts.recognition import recognised
from analytics.analyses.contracts.regular import regular
from analytics.analyses.contracts.rhythm import names, periods, starts_of
from analytics.analyses.contracts.streams import Gathered, gathered


class Contracts(NamedTuple):
    """The contracts (frame `CONTRACTS`), the bookings of each (frame `CONTRACT_BOOKINGS`), and the places of these among all."""

    contracts: pl.DataFrame
    bookings: pl.DataFrame
    places: pl.Series


def contracts(seen: pl.DataFrame) -> Contracts:
    """The contracts of users in their booked bookings with tags until the as-of date, which stands beside them (`as_of`)."""
    found = gathered(seen)
    chosen = recognised(found, seen)
    rows = _payments(found, chosen, seen)
    return Contracts(*described(_forecast(rows), rows, found.others, seen))


def _payments(found: Gathered, chosen: pl.DataFrame, seen: pl.DataFrame) -> pl.DataFrame:
    """The bookings of the contracts, with whether each is a regular one."""
    placed = found.rows.with_columns(slot=pl.Series(found.rhythm.slot), inlier=pl.Series(found.rhythm.inlier))
    phases = found.rows.select(pl.col("stream").unique(maintain_order=True)).with_columns(phase=pl.Series(found.rhythm.phase))
    rows = placed.join(chosen.join(phases, on="stream"), on="stream", how="inner", maintain_order="left")
    return rows.with_columns(regular=pl.Series(regular(rows, starts_of(rows["stream"]), seen["purpose"][rows["row"]])))


def _forecast(rows: pl.DataFrame) -> pl.DataFrame:
    """Of each contract the rule of its days, when it is due next, and how much that will be."""
    paid = rows.filter("regular")
    heads = paid.group_by("stream", maintain_order=True).agg(pl.first("period", "phase", "period_confidence", "score"))
    starts, period = starts_of(paid["stream"]), heads["period"].to_numpy()
    day = paid["booked_on"].to_physical().cast(pl.Int64).to_numpy()
    due = dates.expected(starts, day, period, heads["phase"].to_numpy(), paid["slot"].to_numpy())
    months = periods().months[period]
    yearly = np.where(months > 0, 12 / np.maximum(months, 1), 0).astype(np.int64)
    return heads.with_columns(
        amount_next=pl.Series(amounts.following(starts, paid["cents"].to_numpy(), yearly)),
        due=pl.Series(due.due, dtype=pl.Int64).cast(pl.Int32).cast(pl.Date),
        grace=pl.Series(due.grace, dtype=pl.Int64),
        rule_kind=pl.Series(due.kind, dtype=pl.Int64),
        rule_number=pl.Series(due.number, dtype=pl.Int64),
        period=pl.Series(names()).gather(period),
    )
