"""Examining tags against the truth of a simulated world: judged frames, figures and baselines, ready for a report.

Here belongs what brings truth and tags together. Measures are the business of `models.evaluation`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from analytics.bank_text import lines as reading
from analytics.tagging.tag import Scorer
from models.evaluation import tables
from models.evaluation.metrics import Figure, accuracy, figure
from models.evaluation.tables import JUDGED
from models.training.train import TEST_FORMATS, TrainingCorpus, from_text_alone


@dataclass(frozen=True)
class LabelledEvaluation:
    """What an examination has found."""

    judged: pl.DataFrame
    figures: Mapping[str, Figure]
    baselines: Mapping[str, Figure]


def examine_model(
    scorer: Scorer, corpus: TrainingCorpus, lexicon: pl.DataFrame | None = None, times: int = 1000
) -> LabelledEvaluation:
    """How good a categoriser is by itself, on bookings whose category their own text can show."""
    rows = corpus.truth.with_columns(key=reading.keys(corpus.transactions)).with_row_index("booking")
    first = rows.unique("key", keep="first", maintain_order=True)
    lines = reading.read(corpus.transactions[first["booking"]])
    scores = scorer.score(lines)
    said = lines.select("key", "positive", line_merchant="merchant").with_columns(
        prediction=scores["category"],
        confidence=scores["confidence"],
        keywords=tables.keywords(lines, lexicon) if lexicon is not None else pl.lit(None, pl.String),
    )
    joined = rows.join(said, on="key", how="left", maintain_order="left").filter(from_text_alone(pl.col("category")))
    judged = _judged(joined.with_columns(amount_cents=corpus.transactions["amount_cents"][joined["booking"]]))
    baselines = {"majority": _baseline(judged, tables.majority(judged["truth"], joined["positive"], joined["positive"]), times)}
    if lexicon is not None:
        baselines["keywords"] = _baseline(judged, joined["keywords"], times)
    return LabelledEvaluation(judged, tables.category_figures(judged, times=times), baselines)


def examine_tags(
    tagged: pl.DataFrame, corpus: TrainingCorpus, partner_of: Mapping[str, str] | None = None, times: int = 1000
) -> LabelledEvaluation:
    """How good all tags are, from `TAGGED` and `TRUTH` in the same order; `partner_of` gives the partner of each brand."""
    rows = corpus.truth.with_columns(
        tagged.select(
            prediction="category",
            confidence="category_confidence",
            line_merchant="counterparty_key",
            tagged_insurance="insurance",
            tagged_freelancer="freelancer",
            tagged_partner="partner",
        )
    ).with_columns(amount_cents=corpus.transactions["amount_cents"])
    judged = _judged(rows)
    figures = tables.category_figures(judged, times=times) | tables.income_figures(judged, times=times)
    user = pl.col("user").cast(pl.String)
    insured = rows.select(user, true_insurance="insurance", insurance="tagged_insurance")
    figures |= tables.insurance_figures(insured, times=times)
    business = rows.filter(pl.col("freelancer") != "").filter((pl.col("freelancer") != "PRIVATE").any().over("user"))
    if business.height:
        told = business.select(user, "amount_cents", true_freelancer="freelancer", freelancer="tagged_freelancer")
        figures |= tables.freelancer_figures(told, times=times)
    if partner_of is not None:
        known = pl.col("brand").replace_strict(partner_of, default=tables.UNKNOWN, return_dtype=pl.String)
        seen = rows.filter(pl.col("merchant_split") == "train").select(user, true_partner=known, partner="tagged_partner")
        figures |= tables.partner_figures(seen, times=times)
    return LabelledEvaluation(judged, figures, {})


def _judged(rows: pl.DataFrame) -> pl.DataFrame:
    """`JUDGED` of rows with `TRUTH`, `prediction`, `confidence`, `amount_cents` and `line_merchant`."""
    return rows.select(
        truth="category",
        prediction="prediction",
        confidence="confidence",
        amount_cents="amount_cents",
        user=pl.col("user").cast(pl.String),
        merchant=pl.when(pl.col("brand") != "").then("brand").otherwise("line_merchant"),
        merchant_seen=(pl.col("merchant_split") == "train") & ((pl.col("brand") != "") | (pl.col("wording_split") == "train")),
        format_seen=~pl.col("format").is_in(TEST_FORMATS),
    ).select(JUDGED.names())


def _baseline(judged: pl.DataFrame, prediction: pl.Series, times: int) -> Figure:
    return figure(judged.with_columns(prediction=prediction), accuracy, "merchant", times)
