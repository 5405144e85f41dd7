"""Cashflow: income and expenses by category or partner and by time, and what is to be expected.

Statistics are stored for the finest tags and items; `rolled` adds them up to a view. Predictions are stored as they are served;
`view` selects those of a view.
"""

from analytics.analyses.cashflow.analysis import Cashflow, cashflow
from analytics.analyses.cashflow.expected import awaited, expected, going_on, horizon
from analytics.analyses.cashflow.predictions import view
from analytics.analyses.cashflow.statistics import rolled

__all__ = [
    "Cashflow",
    "awaited",
    "cashflow",
    "expected",
    "going_on",
    "horizon",
    "rolled",
    "view",
]
