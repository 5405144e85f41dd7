"""The truth about credit risk, as far as a simulation has one: how often payments went wrong.

Nobody defaults in a simulated world, so that nothing here can say how well a score predicts defaults. Counts come from what the
simulation knows and share no code with the analysis; they are of the last full months and the days after them.
"""

import polars as pl

from models.simulator.base.corpus import Corpus
from models.simulator.truth.affordability import affordability_truth, past_bookings, troubles, window_starts

COUNTED_TROUBLES = {
    "reminder_charges": "reminder_charges",
    "debt_collection_payments": "debt_collection_payments",
    "seizure_payments": "seizure_payments",
    "overdraft": "overdraft_interest",
}
"""The kinds of trouble whose bookings are counted one by one, and their signals. Returned debits are not: whether the fee of a
return is a second booking is up to the bank."""
CREDIT_RISK_TRUTH = pl.Schema([("user", pl.UInt32), *((signal, pl.Int64) for signal in COUNTED_TROUBLES.values())])
"""One row per user with at least three full months."""


def credit_risk_truth(corpus: Corpus) -> pl.DataFrame:
    """The frame `CREDIT_RISK_TRUTH` of a simulated world."""
    rows = past_bookings(corpus)
    recent = rows.join(window_starts(corpus, rows), on="user").filter(pl.col("booked_on") >= pl.col("first"))
    debits, signs = recent.filter(pl.col("amount_cents") < 0), troubles()
    counts = debits.group_by("user").agg(**{signal: signs[flag].sum() for flag, signal in COUNTED_TROUBLES.items()})
    truth = affordability_truth(corpus).select("user").join(counts, on="user", how="left")
    return truth.fill_null(0).select(CREDIT_RISK_TRUTH.names()).cast(dict(CREDIT_RISK_TRUTH.items())).sort("user")
