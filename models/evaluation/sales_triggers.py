"""How good sales triggers are: whether they follow their rules where all tags are true, and how many are right end to end."""

from datetime import timedelta

import polars as pl

from models.evaluation.life_events import UNSEEN_DAYS
from models.evaluation.metrics import Figure, f1, figure, ratio
from models.simulator import Corpus
from models.simulator.truth.sales_triggers import EVENT_TRIGGERS

MAX_ROUNDING_CENTS = 1
"""Means may be rounded either way."""
TRIGGER_KEY = ["user", "item"]


def trigger_figures(corpus: Corpus, triggers: pl.DataFrame, true_triggers: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """F1 of the triggers; `true_triggers` are those of `trigger_truth` with `UNSEEN_DAYS`.

    A trigger lives from the day on which its event is known, which has no truth. One whose event is too recent to be recognised,
    or so old that the trigger is over unless it was recognised late, counts only if it was found.
    """
    both = _both(triggers, true_triggers)
    age = pl.lit(corpus.as_of) - pl.coalesce("event_date", "trigger_date_true")
    days = pl.col("item").replace_strict({item: days for item, (_, days) in EVENT_TRIGGERS.items()}, default=None)
    undecided = (age < timedelta(days=UNSEEN_DAYS)) | (age.dt.total_days() > days)
    is_undecided = pl.col("item").is_in(list(EVENT_TRIGGERS)) & undecided
    measurable = both.filter(~is_undecided | (pl.col("there") & pl.col("found")))
    return {"trigger_f1": figure(measurable, f1(pl.col("there"), pl.col("found")), "user", times)}


def conformity_figures(triggers: pl.DataFrame, true_triggers: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """The share of triggers with the right day and amount where the analysis gets nothing but truths."""
    amounts = pl.col("amount_true").is_null() | ((pl.col("amount") - pl.col("amount_true")).abs() <= MAX_ROUNDING_CENTS)
    same = pl.col("there") & pl.col("found") & (pl.col("trigger_date") == pl.col("trigger_date_true")) & amounts
    return {"trigger_conformity": figure(_both(triggers, true_triggers), ratio(same.fill_null(value=False)), "user", times)}


def _both(triggers: pl.DataFrame, true_triggers: pl.DataFrame) -> pl.DataFrame:
    """A row for each trigger that should be there or was found."""
    left = triggers.select(*TRIGGER_KEY, "trigger_date", "event_date", "amount", found=pl.lit(value=True))
    right = true_triggers.select(*TRIGGER_KEY, trigger_date_true="trigger_date", amount_true="amount", there=pl.lit(value=True))
    both = left.join(right, on=TRIGGER_KEY, how="full", coalesce=True)
    return both.with_columns(pl.col("found", "there").fill_null(value=False))
