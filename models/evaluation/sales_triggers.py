"""How good sales triggers are: whether they follow their rules where all tags are true, and how many are right in the end."""

from datetime import timedelta

import polars as pl

from models.evaluation.life import UNSEEN_DAYS
from models.evaluation.metrics import Figure, f1, figure, ratio
from models.simulator import Corpus
from models.simulator.truth.triggers import AFTER_EVENTS

SAME_CENTS = 1
"""Means may be rounded either way."""
OF = ["user", "item"]


def trigger_figures(corpus: Corpus, said: pl.DataFrame, true: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """F1 of the triggers that were said; `true` are those of `trigger_truth`.

    Those of events that lie so shortly back that nobody can see them yet are not missed.
    """
    last = corpus.as_of - timedelta(days=UNSEEN_DAYS)
    both = _both(said, true)
    young = pl.col("item").is_in(list(AFTER_EVENTS)) & (pl.coalesce("trigger_date", "trigger_date_true") > last)
    counted = both.filter(~young | (pl.col("there") & pl.col("found")))
    return {"trigger_f1": figure(counted, f1(pl.col("there"), pl.col("found")), "user", times)}


def conformity_figures(said: pl.DataFrame, true: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """The share of triggers that are the same, with day and amount, where the analysis was given nothing but truths."""
    amounts = pl.col("amount_true").is_null() | ((pl.col("amount") - pl.col("amount_true")).abs() <= SAME_CENTS)
    same = pl.col("there") & pl.col("found") & (pl.col("trigger_date") == pl.col("trigger_date_true")) & amounts
    return {"trigger_conformity": figure(_both(said, true), ratio(same.fill_null(value=False)), "user", times)}


def _both(said: pl.DataFrame, true: pl.DataFrame) -> pl.DataFrame:
    """A row for each trigger that should be there or was said."""
    found = said.select(*OF, "trigger_date", "amount", found=pl.lit(value=True))
    there = true.select(*OF, trigger_date_true="trigger_date", amount_true="amount", there=pl.lit(value=True))
    whole = found.join(there, on=OF, how="full", coalesce=True)
    return whole.with_columns(pl.col("found", "there").fill_null(value=False))
