"""How good tags are compared with the truth of a simulated world, ready for a report.

Here tags and truth are put side by side. The figures over such rows are in `models.evaluation.tables`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from models.evaluation import tables
from models.evaluation.metrics import Figure
from models.evaluation.tables import LABELLED_BOOKINGS
from models.training.train import TEST_FORMATS, TrainingCorpus


@dataclass(frozen=True)
class LabelledEvaluation:
    """Predictions beside the truth, and the figures over them."""

    bookings: pl.DataFrame
    """`LABELLED_BOOKINGS`."""
    figures: Mapping[str, Figure]
    baselines: Mapping[str, Figure]
    without_model: Mapping[str, Figure] = field(default_factory=dict)
    """The same figures of rules, partners and words alone."""


def evaluate_tags(tags: pl.DataFrame, corpus: TrainingCorpus, times: int = 1000) -> LabelledEvaluation:
    """The figures of all tags, from `TAGGED` and the corpus's `TRUTH` in the same order."""
    rows = corpus.truth.with_columns(
        tags.select(
            prediction="category",
            confidence="category_confidence",
            line_merchant="counterparty_key",
            tagged_insurance="insurance",
            tagged_freelancer="freelancer",
        )
    ).with_columns(amount_cents=corpus.transactions["amount_cents"])
    bookings = _labelled_bookings(rows)
    figures = tables.category_figures(bookings, times=times) | tables.income_figures(bookings, times=times)
    user = pl.col("user").cast(pl.String)
    insurances = rows.select(user, true_insurance="insurance", insurance="tagged_insurance")
    figures |= tables.insurance_figures(insurances, times=times)
    business = rows.filter(pl.col("freelancer") != "").filter((pl.col("freelancer") != "PRIVATE").any().over("user"))
    if business.height:
        items = business.select(user, "amount_cents", true_freelancer="freelancer", freelancer="tagged_freelancer")
        figures |= tables.freelancer_figures(items, times=times)
    return LabelledEvaluation(bookings, figures, {})


def _labelled_bookings(rows: pl.DataFrame) -> pl.DataFrame:
    """`LABELLED_BOOKINGS` from rows with `TRUTH`, `prediction`, `confidence`, `amount_cents` and `line_merchant`."""
    return rows.select(
        truth="category",
        prediction="prediction",
        confidence="confidence",
        amount_cents="amount_cents",
        user=pl.col("user").cast(pl.String),
        merchant=pl.when(pl.col("brand") != "").then("brand").otherwise("line_merchant"),
        merchant_seen=(pl.col("merchant_split") == "train") & ((pl.col("brand") != "") | (pl.col("wording_split") == "train")),
        format_seen=~pl.col("format").is_in(TEST_FORMATS),
        merchant_of_test=pl.col("merchant_split") == "test",
        branded=pl.col("brand") != "",
    ).select(LABELLED_BOOKINGS.names())
