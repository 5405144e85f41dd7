"""Fitting a calibration: a logistic regression on the points of signals, cross-validated over people.

The features are the shares of the best points that were reached. The scorecard says which way each one must count; a signal that
counts the other way in the outcomes is left out and named, and that is done anew within every fold, so that the figures are
honest about it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold

from analytics.analyses.credit_risk.scorecard import Scorecard
from models.credit_risk import gate
from models.credit_risk.calibration import Calibration, CalibrationBin, CalibrationFigure
from models.errors import NothingToLearn

FOLDS = 5
BINS = 10
RESAMPLES = 200
STRENGTH = 1.0
"""The inverse strength of the ridge, as scikit-learn counts it."""
SAME_VALUE, NO_EFFECT = "no differences", "tells nothing beside the others"
MIN_WRONG_DEVIATIONS = 2.58
"""A signal counts the wrong way if those who default have more points than others, by so many standard errors of the mean."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class _Fit:
    """The weights of all features, zero where one is left out."""

    intercept: float
    weights: Floats

    def probabilities(self, features: Floats) -> Floats:
        return np.asarray(1 / (1 + np.exp(-(self.intercept + features @ self.weights))))


def calibrate(
    points: pl.DataFrame, card: Scorecard, *, tenant: str, scorecard_version: str, day: date, seed: int = 1
) -> Calibration:
    """The calibration from points: `person`, `outcome` (1 is a default) and the points of every signal, a row per outcome.

    Raises `NothingToLearn` if there are too few outcomes of either kind for the folds.
    """
    best = np.array([signal.max_points for signal in card.signals], np.float64)
    features = points.select(card.names).to_numpy().astype(np.float64) / best
    outcomes = points["outcome"].to_numpy().astype(np.int64)
    people = points["person"].rank("dense").to_numpy().astype(np.int64) - 1
    _require_both_kinds(outcomes, people)
    whole, predicted = _fit(features, outcomes), _out_of_fold(features, outcomes, people, seed)
    scores = features @ best
    figures = _figures(outcomes, predicted, scores, people, seed)
    left_out = {card.names[place]: _reason(features[:, place], outcomes) for place in np.flatnonzero(whole.weights == 0)}
    weights = {name: round(float(weight), 6) for name, weight in zip(card.names, whole.weights, strict=True)}
    calibration = Calibration(
        version=f"{day}-{_digest(points, scorecard_version)}",
        tenant=tenant,
        calibrated_on=day,
        scorecard=scorecard_version,
        intercept=round(whole.intercept, 6),
        weights={name: weight for name, weight in weights.items() if name not in left_out},
        max_points={signal.name: signal.max_points for signal in card.signals},
        left_out=left_out,
        outcomes=len(outcomes),
        defaults=int(outcomes.sum()),
        figures=figures,
        bins=_bins(outcomes, predicted),
        objections=[],
    )
    return calibration.model_copy(update={"objections": gate.objections(calibration)})


def _require_both_kinds(outcomes: Integers, people: Integers) -> None:
    for kind, name in ((1, "defaults"), (0, "outcomes without a default")):
        count = len(set(people[outcomes == kind].tolist()))
        if count < FOLDS:
            raise NothingToLearn(f"{count} people with {name}: at least {FOLDS} are needed to fit anything")


def _fit(features: Floats, outcomes: Integers) -> _Fit:
    """The regression without features that do not vary, and without those whose weight would be above zero, the largest first."""
    places = [place for place in range(features.shape[1]) if np.ptp(features[:, place]) > 0]
    while places:
        model = LogisticRegression(C=STRENGTH, solver="newton-cholesky", max_iter=100).fit(features[:, places], outcomes)
        if model.coef_[0].max() <= 0:
            weights = np.zeros(features.shape[1])
            weights[places] = model.coef_[0]
            return _Fit(float(model.intercept_[0]), weights)
        del places[int(model.coef_[0].argmax())]
    rate = outcomes.mean()
    return _Fit(float(np.log(rate / (1 - rate))), np.zeros(features.shape[1]))


def _reason(feature: Floats, outcomes: Integers) -> str:
    """Why a feature is left out."""
    if np.ptp(feature) == 0:
        return SAME_VALUE
    defaulted, others = feature[outcomes == 1], feature[outcomes == 0]
    error = np.sqrt(defaulted.var() / len(defaulted) + others.var() / len(others))
    is_wrong = defaulted.mean() - others.mean() > MIN_WRONG_DEVIATIONS * error
    return gate.WRONG_WAY if is_wrong else NO_EFFECT


def _out_of_fold(features: Floats, outcomes: Integers, people: Integers, seed: int) -> Floats:
    """The prediction for each row by a fit that has seen nothing of its person."""
    predicted = np.full(len(outcomes), outcomes.mean())
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
    for training_rows, test_rows in folds.split(features, outcomes, people):
        if len(set(outcomes[training_rows].tolist())) > 1:
            predicted[test_rows] = _fit(features[training_rows], outcomes[training_rows]).probabilities(features[test_rows])
    return predicted


def _figures(outcomes: Integers, predicted: Floats, scores: Floats, people: Integers, seed: int) -> dict[str, CalibrationFigure]:
    """Every figure with its interval over resampled people."""
    values = figure_values(outcomes, predicted, scores)
    rows_of = [np.flatnonzero(people == person) for person in range(int(people.max()) + 1)]
    chance, resampled_values = np.random.default_rng(seed), []
    for _ in range(RESAMPLES):
        rows = np.concatenate([rows_of[person] for person in chance.integers(0, len(rows_of), len(rows_of))])
        if 0 < outcomes[rows].sum() < len(rows):
            resampled_values.append(figure_values(outcomes[rows], predicted[rows], scores[rows]))
    bounds = {name: np.quantile([resample[name] for resample in resampled_values], (0.025, 0.975)) for name in values}
    return {
        name: CalibrationFigure(
            value=round(value, 6), low=round(float(bounds[name][0]), 6), high=round(float(bounds[name][1]), 6)
        )
        for name, value in values.items()
    }


def figure_values(outcomes: Integers, predicted: Floats, scores: Floats) -> dict[str, float]:
    """AUC, Gini, KS, Brier score and calibration error of predictions, and the AUC of the bare score beside them."""
    auc = _area_under_curve(outcomes, predicted)
    gaps = [abs(each.predicted - each.observed) * each.outcomes for each in _bins(outcomes, predicted)]
    return {
        "auc": auc,
        "gini": 2 * auc - 1,
        "ks": _kolmogorov_smirnov(outcomes, predicted),
        "brier": float(np.square(outcomes - predicted).mean()),
        "calibration_error": sum(gaps) / len(outcomes),
        "score_auc": _area_under_curve(outcomes, -scores),
    }


def _area_under_curve(outcomes: Integers, values: Floats) -> float:
    """The share of pairs of a default and another outcome in which the default has the higher value; equal ones count half."""
    defaults = int(outcomes.sum())
    ranks = rankdata(values)[outcomes == 1].sum() - defaults * (defaults + 1) / 2
    return float(ranks / (defaults * (len(outcomes) - defaults)))


def _kolmogorov_smirnov(outcomes: Integers, predicted: Floats) -> float:
    """The largest distance between the distributions of predictions of the two kinds of outcomes."""
    edges = np.unique(predicted)
    shares = [
        np.searchsorted(np.sort(predicted[outcomes == kind]), edges, side="right") / (outcomes == kind).sum() for kind in (0, 1)
    ]
    return float(np.abs(shares[0] - shares[1]).max())


def _bins(outcomes: Integers, predicted: Floats) -> list[CalibrationBin]:
    """The outcomes in bins of equal size, by their prediction."""
    pieces: Sequence[Integers] = np.array_split(np.argsort(predicted, kind="stable"), min(BINS, len(outcomes)))
    return [
        CalibrationBin(outcomes=len(rows), predicted=float(predicted[rows].mean()), observed=float(outcomes[rows].mean()))
        for rows in pieces
    ]


def _digest(points: pl.DataFrame, scorecard_version: str) -> str:
    content: Mapping[str, str] = {"card": scorecard_version, "points": points.drop("person").write_csv()}
    return sha256("\n".join(content.values()).encode()).hexdigest()[:8]
