"""How well the life stages of simulated people are recognised, compared with the stages they are in."""

import polars as pl

from models.evaluation.metrics import Figure, figure, ratio
from models.evaluation.perfect_tags import user_names
from models.simulator import Corpus
from models.simulator.truth.life_stages import saving_truth
from models.simulator.truth.plain_users import TrueLife

DIMENSIONS = ("LABOURMARKET", "PARENTHOOD", "HOUSING", "SAVINGS")


def stage_figures(corpus: Corpus, stages: pl.DataFrame, lives: list[TrueLife], times: int = 1000) -> dict[str, Figure]:
    """The share of users whose stage is right, by dimension."""
    return _accuracies(_stages(corpus, stages, lives), times)


def stage_baselines(corpus: Corpus, stages: pl.DataFrame, lives: list[TrueLife], times: int = 1000) -> dict[str, Figure]:
    """The share of users who are in the most frequent stage, by dimension."""
    most_frequent = pl.col("truth").mode(maintain_order=True).first().over("dimension")
    return _accuracies(_stages(corpus, stages, lives).with_columns(prediction=most_frequent), times)


def _accuracies(stages: pl.DataFrame, times: int) -> dict[str, Figure]:
    right = ratio((pl.col("truth") == pl.col("prediction")).fill_null(value=False))
    return {
        f"stage_{dimension.lower()}": figure(stages.filter(pl.col("dimension") == dimension), right, "user", times)
        for dimension in DIMENSIONS
    }


def _stages(corpus: Corpus, stages: pl.DataFrame, lives: list[TrueLife]) -> pl.DataFrame:
    """A row for each user and dimension, with `truth` and `prediction`."""
    current = corpus.stages.filter(
        pl.col("since") <= corpus.as_of, pl.col("until").is_null() | (pl.col("until") >= corpus.as_of)
    ).join(user_names(corpus), on="user")
    saving = saving_truth(lives).select("user", dimension=pl.lit("SAVINGS"), truth="item")
    true_stages = pl.concat([current.select("dimension", truth="item", user="name").select(saving.columns), saving])
    recognised = stages.filter(~pl.col("item").str.ends_with("_LANDLORD")).select("user", "dimension", prediction="item")
    return true_stages.join(recognised, on=["user", "dimension"], how="left")
