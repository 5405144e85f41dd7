"""A search for the parameters of a pipeline, by scikit-learn, and its learning curve.

Here belong what is searched and the course of it as plain tables. What is drawn of them is in `models.training.search_plots`.
No merchant is in both parts of a split: what is measured is how well unseen merchants are recognised.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor, log
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  HalvingRandomSearchCV needs it
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, HalvingRandomSearchCV, learning_curve

from models.errors import EstimatorInvalid, NothingToLearn
from models.progress import Progress, silent
from models.training.estimators import limited_steps, pipeline, space
from models.training.settings import SearchSettings, TrainingSettings
from models.training.train import class_numbers, importance, parted

CURVE_SHARES = (0.1, 0.2, 0.4, 0.7, 1.0)
"""Shares of the lines that the learning curve is measured at."""
MIN_LINES = 200


@dataclass(frozen=True)
class Search:
    """The best parameters of a search, with its score on unseen merchants and its course."""

    estimator: str
    scoring: str
    parameters: Mapping[str, Any]
    """For `set_params` of the pipeline, or `parameters` of the settings."""
    score: float
    trials: pl.DataFrame
    """Every trial: `round`, `trial` (the same number is the same parameters), `lines`, `score`, `seconds`, `parameters`."""
    curve: pl.DataFrame
    """The learning curve of the best parameters: `lines`, and the mean scores `seen` and `unseen`."""


@dataclass(frozen=True)
class Lessons:
    """Lines with their labels, weights and merchants, in the order in which scikit-learn needs them."""

    lines: pl.DataFrame
    labels: NDArray[Any]
    weights: NDArray[np.float32]
    merchants: NDArray[np.int64]


def search(examples: pl.DataFrame, settings: TrainingSettings, choices: SearchSettings, on_progress: Progress = silent) -> Search:
    """The best of some random parameters: all are tried on few lines, and the better ones on more and more."""
    lessons = sample(examples, settings, choices.lines)
    fits = _Fits(choices, on_progress)
    halving = HalvingRandomSearchCV(
        pipeline(settings),
        dict(space(settings.estimator)),
        n_candidates=choices.trials,
        factor=choices.factor,
        min_resources="exhaust",
        cv=GroupKFold(choices.folds),
        scoring=fits.score,
        refit=False,
        random_state=settings.seed,
        error_score="raise",
    )
    try:
        with limited_steps():
            halving.fit(lessons.lines, lessons.labels, groups=lessons.merchants, classifier__sample_weight=lessons.weights)
    except ValueError as error:
        raise EstimatorInvalid(f"the search failed: {error}") from error
    parameters = {name: _plain(value) for name, value in halving.best_params_.items()}
    on_progress("search", 1.0)
    best = settings.model_copy(update={"parameters": {**settings.parameters, **parameters}})
    curve = learning(lessons, best, choices, on_progress)
    return Search(settings.estimator, choices.scoring, best.parameters, float(halving.best_score_), _trials(halving), curve)


def learning(
    lessons: Lessons, settings: TrainingSettings, choices: SearchSettings, on_progress: Progress = silent
) -> pl.DataFrame:
    """The learning curve of a pipeline: how its scores on seen and unseen merchants grow with the lines."""
    on_progress("curve", 0.0)
    with limited_steps():
        sizes, seen_scores, unseen_scores = learning_curve(
            pipeline(settings),
            lessons.lines,
            lessons.labels,
            groups=lessons.merchants,
            train_sizes=CURVE_SHARES,
            cv=GroupKFold(choices.folds),
            scoring=choices.scoring,
            shuffle=True,
            random_state=settings.seed,
            error_score="raise",
            params={"classifier__sample_weight": lessons.weights},
        )
    on_progress("curve", 1.0)
    return pl.DataFrame({"lines": sizes, "seen": seen_scores.mean(axis=1), "unseen": unseen_scores.mean(axis=1)})


def sample(examples: pl.DataFrame, settings: TrainingSettings, max_lines: int) -> Lessons:
    """At most so many of the lines to learn from, always the same ones for a seed."""
    lines = parted(examples, settings)[0].sort(pl.col("key").hash(settings.seed), "category")[:max_lines]
    if lines.height < MIN_LINES or lines["category"].n_unique() < 2:
        raise NothingToLearn(f"{lines.height} lines of {lines['category'].n_unique()} categories are too few for a search")
    classes = tuple(lines["category"].unique().sort())
    weights = importance(class_numbers(lines["category"], classes), lines["count"].to_numpy(), settings)
    merchant = pl.when(pl.col("merchant") != "").then("merchant").otherwise("purpose")
    merchants = lines.select(merchant.rank("dense")).to_series().to_numpy().astype(np.int64)
    return Lessons(lines.drop("category", "count", "part"), lines["category"].to_numpy().astype(str), weights, merchants)


class _Fits:
    """A scorer that counts how many of the search's fits are done."""

    def __init__(self, choices: SearchSettings, on_progress: Progress) -> None:
        self.scorer = get_scorer(choices.scoring)
        self.on_progress = on_progress
        rounds = 1 + floor(log(choices.trials, choices.factor))
        self.total = sum(ceil(choices.trials / choices.factor**number) * choices.folds for number in range(rounds))
        self.count = 0

    def score(self, estimator: Any, lines: Any, labels: Any) -> float:
        """The score of one fit."""
        self.count += 1
        self.on_progress("search", min(self.count / self.total, 1.0))
        return float(self.scorer(estimator, lines, labels))


def _trials(halving: HalvingRandomSearchCV) -> pl.DataFrame:
    results = halving.cv_results_
    parameters = [{name: _plain(value) for name, value in row.items()} for row in results["params"]]
    numbers: dict[str, int] = {}
    return pl.DataFrame(
        {
            "round": np.asarray(results["iter"], np.int64),
            "trial": [numbers.setdefault(repr(row), len(numbers) + 1) for row in parameters],
            "lines": np.asarray(results["n_resources"], np.int64),
            "score": np.asarray(results["mean_test_score"], np.float64),
            "seconds": np.asarray(results["mean_fit_time"], np.float64),
            "parameters": [
                ", ".join(f"{name.rpartition('__')[2]} {_short(value)}" for name, value in row.items()) for row in parameters
            ],
        }
    )


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python, with four digits: more are chance."""
    if isinstance(value, np.generic):
        value = value.item()
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
