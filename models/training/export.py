"""A linear pipeline of scikit-learn as a `Categoriser`, which scores without scikit-learn, and the proof that both agree.

Here belongs what turns coefficients into whole numbers of eight bits. What a `Categoriser` does with them is its own business.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.categoriser.by_sign import is_constant
from models.categoriser.features import hinted, texts
from models.categoriser.line_features import matrix
from models.categoriser.model import Categoriser
from models.categoriser.temperature import TemperatureCalibration
from models.errors import ExportDiffers

CHECKED_LINES = 20_000
"""Lines on which both models are compared at most."""
MAX_CHANGED_SHARE = 0.01
MAX_MEAN_DIFFERENCE = 0.01
"""Of lines whose category differs, and of the probability: more, and eight bits are too few for these weights."""
_FLOAT_ERROR = 1e-3
"""What sums of some hundred numbers of single precision may be off."""
SIGNS = "-+"


class Columns(NamedTuple):
    """The linear models of both signs side by side: class and sign of each column, weights by slot and column, biases."""

    classes: tuple[str, ...]
    signs: str
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]


def is_linear(classifier: TemperatureCalibration) -> bool:
    """Whether decisions are sums of weights over the hashed features, for either sign."""
    by_sign, slots = _by_sign(classifier), 1 << _pipeline(classifier)["lines"].bits
    return all(
        one is None or is_constant(one) or np.shape(getattr(one, "coef_", ()))[1:] == (slots,) for one in by_sign.estimators_
    )


def exported(classifier: TemperatureCalibration, label: str, facts: Mapping[str, Any]) -> Categoriser:
    """The categoriser of a linear classifier, with weights rounded to eight bits.

    Nothing is clipped: the few large weights decide, and cutting them changes more categories than rounding the small ones.
    """
    columns = linear_columns(classifier)
    scale = np.maximum(np.abs(columns.weights).max(axis=0) / 127, 1e-6).astype(np.float32)
    whole = _whole(columns.weights, scale).astype(np.int8)
    return Categoriser(
        label, columns.classes, whole, scale, columns.bias, float(classifier.temperature_), dict(facts), columns.signs
    )


def linear_columns(classifier: TemperatureCalibration) -> Columns:
    """The coefficients of both signs. Two classes with one row of coefficients get half of it each, with opposite signs."""
    slots = 1 << _pipeline(classifier)["lines"].bits
    classes: list[str] = []
    signs, weights, bias = "", [np.empty((slots, 0), np.float32)], [np.empty(0)]
    for sign, estimator in zip(SIGNS, _by_sign(classifier).estimators_, strict=True):
        if estimator is None:
            continue
        coefficients, intercepts = np.zeros((1, slots), np.float32), np.zeros(1)
        if not is_constant(estimator):
            coefficients, intercepts = (
                np.asarray(estimator.coef_, np.float32),
                np.broadcast_to(estimator.intercept_, len(estimator.coef_)),
            )
        if len(estimator.classes_) == 2:
            coefficients, intercepts = (np.concatenate([-part / 2, part / 2]) for part in (coefficients, intercepts))
        classes += [str(name) for name in estimator.classes_]
        signs += sign * len(estimator.classes_)
        weights.append(coefficients.T)
        bias.append(intercepts)
    return Columns(tuple(classes), signs, np.concatenate(weights, axis=1), np.concatenate(bias).astype(np.float32))


def check_export(model: Categoriser, classifier: TemperatureCalibration, lines: pl.DataFrame) -> dict[str, float]:
    """How far both are apart on lines; `ExportDiffers` if that is more than rounding explains, or too much.

    Rounding moves a score by at most the sum of the line's features times the errors of their weights. Every score of
    every line must lie within that, and where both choose another category their scores must be as close.
    """
    lines = hinted(lines.head(CHECKED_LINES))
    exact, bounds = _exact_scores(model, classifier, lines)
    scores = model.logits(texts(lines), np.arange(lines.height))
    may = np.array([[sign == one for one in model.signs] for sign in SIGNS])[lines["positive"].cast(pl.Int8).to_numpy()]
    if (np.abs(scores - exact) > bounds)[may].any():
        raise ExportDiffers("the scores of the exported model are not those of scikit-learn")
    answers, probabilities = model.score(lines), classifier.predict_proba(lines)
    decided = answers["category"].is_not_null().to_numpy()
    expected = pl.Series(classifier.classes_[probabilities.argmax(axis=1)].astype(str))
    changed = (answers["category"] != expected).fill_null(value=False).to_numpy()
    best = np.where(may, exact, -np.inf)
    margin = _margin(best, scores, may)
    if (changed & (margin > 2 * np.where(may, bounds, 0).max(axis=1))).any():
        raise ExportDiffers("the exported model chooses other categories than scikit-learn, beyond rounding")
    differences = np.abs(answers["confidence"].to_numpy() - probabilities.max(axis=1))[decided & ~changed]
    agreement = {
        "changed_share": float(changed.mean()) if len(changed) else 0.0,
        "mean_difference": float(differences.mean()) if len(differences) else 0.0,
    }
    if agreement["changed_share"] > MAX_CHANGED_SHARE or agreement["mean_difference"] > MAX_MEAN_DIFFERENCE:
        raise ExportDiffers(
            f"eight bits are too few for these weights: they change {agreement['changed_share']:.1%} of the categories, "
            f"and probabilities by {agreement['mean_difference']:.3f}"
        )
    return agreement


def _margin(best: NDArray[np.float64], scores: NDArray[np.float32], may: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How far the exact score of the exported choice lies below the best exact score."""
    choice = np.where(may, scores, -np.inf).argmax(axis=1)
    return np.asarray(best.max(axis=1) - best[np.arange(len(best)), choice])


def _exact_scores(
    model: Categoriser, classifier: TemperatureCalibration, lines: pl.DataFrame
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The decision values of scikit-learn by line and column, and how far rounding may move them."""
    pipeline = _pipeline(classifier)
    decisions = np.asarray(pipeline.decision_function(lines), np.float64)
    if decisions.ndim == 1:
        decisions = np.stack([-decisions / 2, decisions / 2], axis=1)
    exact = decisions[:, np.searchsorted(pipeline.classes_.astype(str), model.classes)]
    weights = linear_columns(classifier).weights
    errors = np.abs(weights - _whole(weights, model.scale) * model.scale)
    features = matrix(lines, pipeline["lines"].bits)[:, 1:]
    return exact, features @ errors + _FLOAT_ERROR * (1 + np.abs(exact))


def _whole(weights: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.float32]:
    """The weights as whole numbers of eight bits."""
    return np.asarray(np.clip(np.rint(weights / scale), -127, 127))


def _pipeline(classifier: TemperatureCalibration) -> Any:
    return classifier.estimator_.estimator


def _by_sign(classifier: TemperatureCalibration) -> Any:
    return _pipeline(classifier)["classifier"]
