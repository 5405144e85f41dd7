"""The analysis of cashflow: past sums, predictions, and the payments expected of contracts."""

from dataclasses import dataclass

import polars as pl

from analytics.analyses.cashflow.cycles import cycles
from analytics.analyses.cashflow.expected import expected_payments, horizon
from analytics.analyses.cashflow.flows import flows
from analytics.analyses.cashflow.predictions import predictions
from analytics.analyses.cashflow.revenues import invoice_revenues
from analytics.analyses.cashflow.statistics import statistics
from analytics.analyses.snapshot import Snapshot


@dataclass(frozen=True)
class Cashflow:
    """The frames `CASHFLOW` and `CASHFLOW_PREDICTIONS`, and the payments of contracts until the end of the next year (frame
    `EXPECTED_PAYMENTS`).
    """

    statistics: pl.DataFrame
    predictions: pl.DataFrame
    expected: pl.DataFrame


def cashflow(snapshot: Snapshot) -> Cashflow:
    """The cashflow of all users as of their dates."""
    user_cycles = cycles(snapshot)
    snapshot_flows = flows(snapshot)
    payments = expected_payments(snapshot, horizon(snapshot))
    revenues = invoice_revenues(snapshot, user_cycles)
    return Cashflow(statistics(snapshot_flows), predictions(payments, snapshot_flows, user_cycles, revenues), payments)
