"""Cashflow: income and expenses by category or partner and by time, and what is to be expected.

Statistics are stored for the finest tags and items; `roll_up` adds them up to a view. Predictions are stored as they are served;
`select_view` selects those of a view.
"""

from analytics.analyses.cashflow.analysis import Cashflow, cashflow
from analytics.analyses.cashflow.expected import continuing_contracts, expected_payments, horizon, payments_until
from analytics.analyses.cashflow.predictions import select_view
from analytics.analyses.cashflow.statistics import roll_up
from analytics.analyses.cashflow.window import Window, window_rows, window_sums

__all__ = [
    "Cashflow",
    "Window",
    "cashflow",
    "continuing_contracts",
    "expected_payments",
    "horizon",
    "payments_until",
    "roll_up",
    "select_view",
    "window_rows",
    "window_sums",
]
