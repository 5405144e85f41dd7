"""Renders acts: the texts of their banks, and the truth about what can be read in them.

The truth columns hold what a perfect reader of the finished text could know, and are null where the text does not show it (then
there is nothing to compare):
  true_eref, true_mref, true_cred   the reference without any blanks, as far as it is visible: a cut one ends at the cut
  true_remittance                   the purpose without the bank's tags, labels and references, character by character as it
                                    stands, with lost umlauts, capitals, typing errors and the blanks that broken lines put in;
                                    of a card line, which has no tags, the whole purpose
  true_merchant                     the party as it is visible in name, ultimate party or purpose (the longest of the places),
                                    spoilt as there, but without the blanks of broken lines and without branch number and city
Blanks at line breaks cannot be told from others, so that merchants are to be compared with all blanks removed from both sides.
"""

import polars as pl

from analytics.frames import checked
from models.simulator.renderers.engine.noise import USUAL_RATES, Rates
from models.simulator.renderers.engine.writing import write

OUTPUT = pl.Schema(
    {
        "row": pl.UInt32(),
        "booking_text": pl.String(),
        "gv_code": pl.String(),
        "primanota": pl.String(),
        "purpose": pl.String(),
        "counterparty_name": pl.String(),
        "counterparty_iban": pl.String(),
        "counterparty_bic": pl.String(),
        "ultimate_name": pl.String(),
        "currency": pl.String(),
        "true_eref": pl.String(),
        "true_mref": pl.String(),
        "true_cred": pl.String(),
        "true_remittance": pl.String(),
        "true_merchant": pl.String(),
    }
)
"""What `render` gives: the texts of `analytics.frames.BOOKINGS`, and the truth about them."""

MAX_ROWS = 1 << 17
"""Rows that are written together."""


def render(acts: pl.DataFrame, seed: int, rates: Rates = USUAL_RATES) -> pl.DataFrame:
    """The acts as their banks write them, in the order given. A row's text does not depend on the rows beside it."""
    parts = [write(part, seed, rates) for part in acts.iter_slices(MAX_ROWS)] if acts.height else []
    return checked(pl.concat(parts), OUTPUT) if parts else OUTPUT.to_frame()
