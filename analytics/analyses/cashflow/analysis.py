"""Cashflow: what came in and went out by category or partner and by time, and what is to be expected.

`cashflow` is the whole way. Statistics are stored at the finest level, and `rolled` makes a view of them; predictions are stored
as they are shown, and `view` chooses those of a view.
"""

from dataclasses import dataclass

import polars as pl

from analytics.analyses.cashflow.cycles import cycles
from analytics.analyses.cashflow.expected import awaited, horizon
from analytics.analyses.cashflow.flows import flows
from analytics.analyses.cashflow.predictions import predictions
from analytics.analyses.cashflow.statistics import statistics
from analytics.analyses.snapshot import Snapshot


@dataclass(frozen=True)
class Cashflow:
    """The frames `STATISTICS` and `PREDICTIONS`, and what contracts will bring until the end of the next year (`EXPECTED`)."""

    statistics: pl.DataFrame
    predictions: pl.DataFrame
    expected: pl.DataFrame


def cashflow(seen: Snapshot) -> Cashflow:
    """The cashflow of all users as of their dates."""
    known = cycles(seen)
    found = flows(seen)
    coming = awaited(seen, horizon(seen))
    return Cashflow(statistics(found), predictions(coming, found, known), coming)
