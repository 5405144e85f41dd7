"""What a simulation returns: the bookings of simulated users with the truth about them."""

from dataclasses import dataclass
from datetime import date

import polars as pl


@dataclass(frozen=True)
class Corpus:
    """Bookings of simulated users and everything that is true about them."""

    transactions: pl.DataFrame
    products: pl.DataFrame
    truth: pl.DataFrame
    contracts: pl.DataFrame
    events: pl.DataFrame
    stages: pl.DataFrame
    users: pl.DataFrame
    texts: pl.DataFrame
    """The fields that a perfect reader finds in each booking: `true_eref`, `true_mref`, `true_cred`, `true_remittance`,
    `true_merchant`."""
    as_of: date
