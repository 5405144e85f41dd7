"""Cashflow: what came in and went out by category or partner and by time, and what is to be expected.

`cashflow` is the whole way. Statistics are stored at the finest level, and `rolled` makes a view of them; predictions are stored
as they are shown, and `view` chooses those of a view.
"""

from dataclasses import dataclass

import polars as pl

from analytics.cashflow.cycles import cycles
from analytics.cashflow.expected import EXPECTED, expected
from analytics.cashflow.flows import flows
from analytics.cashflow.predictions import PREDICTIONS, predictions, view
from analytics.cashflow.statistics import ROLLED, STATISTICS, rolled, statistics
from analytics.seen import Seen

__all__ = ["EXPECTED", "PREDICTIONS", "ROLLED", "STATISTICS", "Cashflow", "cashflow", "expected", "rolled", "view"]


@dataclass(frozen=True)
class Cashflow:
    """The frames `STATISTICS` and `PREDICTIONS`."""

    statistics: pl.DataFrame
    predictions: pl.DataFrame


def cashflow(seen: Seen) -> Cashflow:
    """The cashflow of all users as of their dates."""
    known = cycles(seen)
    found = flows(seen)
    return Cashflow(statistics(found), predictions(seen, found, known))
