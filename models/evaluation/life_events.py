"""How well life events are recognised in the bookings of simulated people, compared with what happened to them."""

from datetime import timedelta

import polars as pl

from models.evaluation.metrics import Figure, f1, figure, median, ratio
from models.evaluation.perfect_tags import user_names
from models.simulator import Corpus
from models.simulator.truth.plain_users import TrueLife
from models.simulator.truth.sales_triggers import large_income_truth

MAX_DAYS_OFF = 45
"""A recognised event further from the true date counts as another event."""
UNSEEN_DAYS = 45
"""Events of the last days before the as-of date cannot be recognised yet: a second booking has to confirm them."""
UNMEASURED_ITEMS = ("MARRIAGE",)
"""The analysis does not report these by default."""
YEAR_DAYS = 365.25


def event_figures(corpus: Corpus, events: pl.DataFrame, lives: list[TrueLife], times: int = 1000) -> dict[str, Figure]:
    """F1, the median error of the date in days, and false events per user and year."""
    outcomes = _outcomes(corpus, events, lives)
    hit = pl.col("there") & pl.col("found")
    false_events = outcomes.filter(~pl.col("there")).group_by("user").agg(wrong=pl.len())
    years = _years(corpus).join(false_events, on="user", how="left").with_columns(pl.col("wrong").fill_null(0))
    return {
        "event_f1": figure(outcomes, f1(pl.col("there"), pl.col("found")), "user", times),
        "event_days_off": figure(outcomes.filter(hit), median(pl.col("off"), MAX_DAYS_OFF), "user", times),
        "event_false_a_year": figure(years, ratio(pl.col("wrong"), pl.col("years")), "user", times),
    }


def _years(corpus: Corpus) -> pl.DataFrame:
    """The length of each user's history, in years."""
    days = (corpus.as_of - pl.col("start_on")).dt.total_days()
    return corpus.users.join(user_names(corpus), on="user").select(user="name", years=days / YEAR_DAYS)


def _outcomes(corpus: Corpus, events: pl.DataFrame, lives: list[TrueLife]) -> pl.DataFrame:
    """A row for each event that happened or was recognised: `user`, `there`, `found`, `off` in days."""
    last = corpus.as_of - timedelta(days=UNSEEN_DAYS)
    measured = ~pl.col("item").is_in(UNMEASURED_ITEMS)
    happened = corpus.events.join(user_names(corpus), on="user").select("item", "date", user="name")
    large_incomes = large_income_truth(lives).select(pl.lit("LARGEINCOME").alias("item"), "date", "user")
    true_events = pl.concat([happened, large_incomes]).filter(pl.col("date") <= corpus.as_of, measured).with_row_index("true")
    recognised_events = events.filter(measured).select("user", "item", "event_date").with_row_index("recognised")
    off = (pl.col("event_date") - pl.col("date")).dt.total_days().abs()
    pairs = true_events.join(recognised_events, on=["user", "item"]).with_columns(off=off)
    near = pairs.filter(pl.col("off") <= MAX_DAYS_OFF).sort("off", "true", "recognised")
    best = near.unique("true", keep="first", maintain_order=True).unique("recognised", keep="first", maintain_order=True)
    missed = true_events.join(best, on="true", how="anti").filter(pl.col("date") <= last)
    wrong = recognised_events.join(best, on="recognised", how="anti").filter(pl.col("event_date") <= last)
    return pl.concat(
        [
            best.select("user", there=pl.lit(value=True), found=pl.lit(value=True), off="off"),
            missed.select("user", there=pl.lit(value=True), found=pl.lit(value=False), off=pl.lit(None, pl.Int64)),
            wrong.select("user", there=pl.lit(value=False), found=pl.lit(value=True), off=pl.lit(None, pl.Int64)),
        ]
    )
