"""How good life events and stages are that are found in bookings of simulated people, against what happened to them."""

from datetime import timedelta

import polars as pl

from models.evaluation.metrics import Figure, figure, median, ratio
from models.simulator import Corpus
from models.simulator.truth.plain_users import TrueLife
from models.simulator.truth.saving import saving_truth
from models.simulator.truth.triggers import large_income_truth

NEAR_DAYS = 45
"""An event that is dated further off is another one."""
UNSEEN_DAYS = 45
"""What happened so shortly before the as-of date cannot be seen yet: a second booking has to confirm it."""
NOT_MEASURED = ("MARRIAGE",)
"""Off by default."""
DIMENSIONS = ("LABOURMARKET", "PARENTHOOD", "HOUSING", "SAVINGS")
YEAR_DAYS = 365.25


def event_figures(corpus: Corpus, events: pl.DataFrame, known: list[TrueLife], times: int = 1000) -> dict[str, Figure]:
    """F1, how far dates are off in the median, and false events for each user and year; `known` are the users' true lives."""
    outcomes = _outcomes(corpus, events, known)
    hit = pl.col("there") & pl.col("found")
    harmonic = ratio(2 * hit.cast(pl.Int64), pl.col("there").cast(pl.Int64) + pl.col("found").cast(pl.Int64))
    false = outcomes.filter(~pl.col("there")).group_by("user").agg(wrong=pl.len())
    years = _years(corpus).join(false, on="user", how="left").with_columns(pl.col("wrong").fill_null(0))
    return {
        "event_f1": figure(outcomes, harmonic, "user", times),
        "event_days_off": figure(outcomes.filter(hit), median(pl.col("off"), NEAR_DAYS), "user", times),
        "event_false_a_year": figure(years, ratio(pl.col("wrong"), pl.col("years")), "user", times),
    }


def stage_figures(corpus: Corpus, stages: pl.DataFrame, known: list[TrueLife], times: int = 1000) -> dict[str, Figure]:
    """The share of users whose stage is right, by dimension."""
    both = _stages(corpus, stages, known)
    return _right(both, times)


def stage_baselines(corpus: Corpus, stages: pl.DataFrame, known: list[TrueLife], times: int = 1000) -> dict[str, Figure]:
    """The share of users who are in the stage that most are in."""
    both = _stages(corpus, stages, known)
    usual = pl.col("truth").mode(maintain_order=True).first().over("dimension")
    return _right(both.with_columns(prediction=usual), times)


def _right(both: pl.DataFrame, times: int) -> dict[str, Figure]:
    right = ratio((pl.col("truth") == pl.col("prediction")).fill_null(value=False))
    return {
        f"stage_{dimension.lower()}": figure(both.filter(pl.col("dimension") == dimension), right, "user", times)
        for dimension in DIMENSIONS
    }


def _stages(corpus: Corpus, stages: pl.DataFrame, known: list[TrueLife]) -> pl.DataFrame:
    """A row for each user and dimension: `truth`, and the `prediction`."""
    now = corpus.stages.filter(
        pl.col("since") <= corpus.as_of, pl.col("until").is_null() | (pl.col("until") >= corpus.as_of)
    ).join(_named(corpus), on="user")
    saving = saving_truth(known).select("user", dimension=pl.lit("SAVINGS"), truth="item")
    true = pl.concat([now.select("dimension", truth="item", user="name").select(saving.columns), saving])
    said = stages.filter(~pl.col("item").str.ends_with("_LANDLORD")).select("user", "dimension", prediction="item")
    return true.join(said, on=["user", "dimension"], how="left")


def _named(corpus: Corpus) -> pl.DataFrame:
    """The numbers of simulated users with the names that their bookings have."""
    return corpus.truth.select("user").with_columns(name=corpus.transactions["user"]).unique("user")


def _years(corpus: Corpus) -> pl.DataFrame:
    """For how long each user was seen."""
    days = (corpus.as_of - pl.col("start_on")).dt.total_days()
    return corpus.users.join(_named(corpus), on="user").select(user="name", years=days / YEAR_DAYS)


def _outcomes(corpus: Corpus, events: pl.DataFrame, known: list[TrueLife]) -> pl.DataFrame:
    """A row for each event that happened or was found: `user`, `there`, `found`, `off` in days."""
    last = corpus.as_of - timedelta(days=UNSEEN_DAYS)
    happened = corpus.events.join(_named(corpus), on="user").select("item", "date", user="name")
    large = large_income_truth(known).select(pl.lit("LARGEINCOME").alias("item"), "date", "user")
    true = pl.concat([happened, large]).filter(pl.col("date") <= corpus.as_of, ~pl.col("item").is_in(NOT_MEASURED))
    true = true.with_row_index("true")
    said = events.filter(~pl.col("item").is_in(NOT_MEASURED)).select("user", "item", "event_date").with_row_index("said")
    off = (pl.col("event_date") - pl.col("date")).dt.total_days().abs()
    pairs = (
        true.join(said, on=["user", "item"]).with_columns(off=off).filter(pl.col("off") <= NEAR_DAYS).sort("off", "true", "said")
    )
    best = pairs.unique("true", keep="first", maintain_order=True).unique("said", keep="first", maintain_order=True)
    missed = true.join(best, on="true", how="anti").filter(pl.col("date") <= last)
    wrong = said.join(best, on="said", how="anti").filter(pl.col("event_date") <= last)
    return pl.concat(
        [
            best.select("user", there=pl.lit(value=True), found=pl.lit(value=True), off="off"),
            missed.select("user", there=pl.lit(value=True), found=pl.lit(value=False), off=pl.lit(None, pl.Int64)),
            wrong.select("user", there=pl.lit(value=False), found=pl.lit(value=True), off=pl.lit(None, pl.Int64)),
        ]
    )
