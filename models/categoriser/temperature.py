"""Calibration of a classifier by one number, the temperature.

`CalibratedClassifierCV(method="temperature")` needs every class in the calibration set, and several rows of each. Rare categories
have no merchant there.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, has_fit_parameter

_LOG_BOUNDS = (-4.5, 4.5)
_TINY = np.finfo(np.float64).tiny


class TemperatureCalibration(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose decision values, or logarithms of probabilities, are divided by a temperature.

    Wrap a fitted classifier in `FrozenEstimator`, and `fit` looks for the temperature alone: the one under which the labels are
    most likely. They may lack classes.
    """

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803  names of scikit-learn
        """Fits the classifier, unless it is frozen, and the temperature."""
        self.estimator_ = clone(self.estimator) if self.estimator is not None else LogisticRegression()
        takes_weights = isinstance(self.estimator_, FrozenEstimator) or has_fit_parameter(self.estimator_, "sample_weight")
        self.estimator_.fit(X, y, **({"sample_weight": sample_weight} if sample_weight is not None and takes_weights else {}))
        self.classes_ = self.estimator_.classes_
        self.temperature_ = 1.0
        logits = self._logits(X)
        labels = column_or_1d(y, warn=True)
        if not np.isin(labels, self.classes_).all():
            raise ValueError("y has classes that the classifier does not know")
        weights = _check_sample_weight(sample_weight, logits, dtype=np.float64)
        places = np.arange(len(labels)), np.searchsorted(self.classes_, labels)

        def loss(logarithm: float) -> float:
            return float(-np.average(log_softmax(logits / np.exp(logarithm), axis=1)[places], weights=weights))

        best = minimize_scalar(loss, bounds=_LOG_BOUNDS, method="bounded", options={"xatol": 1e-6})
        self.temperature_ = round(float(np.exp(best.x)), 4)
        return self

    def uncalibrated(self) -> Self:
        """The frozen classifier with temperature 1, for want of rows to calibrate with."""
        self.estimator_, self.classes_, self.temperature_ = self.estimator, self.estimator.classes_, 1.0
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The calibrated probabilities by row and class."""
        check_is_fitted(self)
        return np.asarray(softmax(self._logits(X) / self.temperature_, axis=1))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The most probable class of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    @property
    def n_features_in_(self) -> int:
        """The number of columns, if the classifier reads a matrix."""
        return int(self.estimator_.n_features_in_)

    def _logits(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        if not hasattr(self.estimator_, "decision_function"):
            return np.asarray(np.log(np.maximum(self.estimator_.predict_proba(X), _TINY)))
        decisions = np.asarray(self.estimator_.decision_function(X), np.float64)
        return np.stack([-decisions / 2, decisions / 2], axis=1) if decisions.ndim == 1 else decisions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.estimator is None or get_tags(self.estimator).input_tags.sparse
        return tags
