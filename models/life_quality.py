"""How good life events and stages are that are found in bookings of simulated people, against what happened to them."""

from datetime import timedelta

import polars as pl

from models.corpus import Corpus
from models.measures import Figure, figure, ratio

NEAR_DAYS = 45
"""An event that is dated further off is another one."""
UNSEEN_DAYS = 45
"""What happened so shortly before the as-of date cannot be seen yet: a second booking has to confirm it."""
NOT_MEASURED = ("MARRIAGE", "LARGEINCOME")
"""Off by default, and without a truth."""
DIMENSIONS = ("LABOURMARKET", "PARENTHOOD", "HOUSING")
YEAR_DAYS = 365.25


def event_figures(corpus: Corpus, events: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """F1, how far dates are off, and false events for each user and year."""
    outcomes = _outcomes(corpus, events)
    hit = pl.col("there") & pl.col("found")
    harmonic = ratio(2 * hit.cast(pl.Int64), pl.col("there").cast(pl.Int64) + pl.col("found").cast(pl.Int64))
    false = outcomes.filter(~pl.col("there")).group_by("user").agg(wrong=pl.len())
    years = _years(corpus).join(false, on="user", how="left").with_columns(pl.col("wrong").fill_null(0))
    return {
        "event_f1": figure(outcomes, harmonic, "user", times),
        "event_days_off": figure(outcomes.filter(hit), ratio(pl.col("off")), "user", times),
        "event_false_a_year": figure(years, ratio(pl.col("wrong"), pl.col("years")), "user", times),
    }


def stage_figures(corpus: Corpus, stages: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """The share of users whose stage is right, by dimension."""
    now = corpus.stages.filter(
        pl.col("since") <= corpus.as_of, pl.col("until").is_null() | (pl.col("until") >= corpus.as_of)
    ).join(_named(corpus), on="user")
    both = now.select("dimension", truth="item", user="name").join(
        stages.filter(~pl.col("item").str.ends_with("_LANDLORD")).select("user", "dimension", prediction="item"),
        on=["user", "dimension"],
        how="left",
    )
    right = ratio((pl.col("truth") == pl.col("prediction")).fill_null(value=False))
    return {
        f"stage_{dimension.lower()}": figure(both.filter(pl.col("dimension") == dimension), right, "user", times)
        for dimension in DIMENSIONS
    }


def _named(corpus: Corpus) -> pl.DataFrame:
    """The numbers of simulated users with the names that their bookings have."""
    return corpus.truth.select("user").with_columns(name=corpus.transactions["user"]).unique("user")


def _years(corpus: Corpus) -> pl.DataFrame:
    """For how long each user was seen."""
    days = (corpus.as_of - pl.col("start_on")).dt.total_days()
    return corpus.users.join(_named(corpus), on="user").select(user="name", years=days / YEAR_DAYS)


def _outcomes(corpus: Corpus, events: pl.DataFrame) -> pl.DataFrame:
    """A row for each event that happened or was found: `user`, `there`, `found`, `off` in days."""
    last = corpus.as_of - timedelta(days=UNSEEN_DAYS)
    true = (
        corpus.events.join(_named(corpus), on="user").select("item", "date", user="name").filter(pl.col("date") <= corpus.as_of)
    )
    true = true.filter(~pl.col("item").is_in(NOT_MEASURED)).with_row_index("true")
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
