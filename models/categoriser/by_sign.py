"""Two classifiers, one for money paid and one for money received."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter, validate_data

FORBIDDEN = -1e6
"""The decision value of a class that the sign forbids: its probability is 0 under any temperature."""
PAID, RECEIVED = 0, 1
"""Numbers of the classifiers: whether the first column is above zero."""


def _decides(classifier: "BySign") -> bool:
    fitted = getattr(classifier, "estimators_", (classifier.estimator or SGDClassifier(),))
    return all(hasattr(one, "decision_function") or one is None or is_constant(one) for one in fitted)


def _has_probabilities(classifier: "BySign") -> bool:
    fitted = getattr(classifier, "estimators_", (classifier.estimator or SGDClassifier(),))
    return all(hasattr(one, "predict_proba") or one is None for one in fitted)


class BySign(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A clone of the classifier for each sign of the first column; the other columns are what it learns from.

    Whoever receives money never pays rent with it: a class that a sign never had in training is not chosen for it.
    """

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803  names of scikit-learn
        """Fits both classifiers to their rows."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_features=2)  # noqa: N806
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        signs = _signs(X)
        self.estimators_ = []
        for sign in (PAID, RECEIVED):
            rows = np.flatnonzero(signs == sign)
            weights = None if sample_weight is None else sample_weight[rows]
            self.estimators_.append(self._fitted(X[rows][:, 1:], y[rows], weights) if len(rows) else None)
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The most probable class of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self._values(X).argmax(axis=1)])

    @available_if(_decides)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The decision values by row and class, `FORBIDDEN` for classes that the sign never had; one column for two classes."""
        check_is_fitted(self)
        decisions = self._values(X)
        return decisions[:, 1] - decisions[:, 0] if len(self.classes_) == 2 else decisions

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probabilities by row and class, 0 for classes that the sign never had."""
        check_is_fitted(self)
        return self._spread(X, _probabilities, 0.0)

    def _fitted(self, rows: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None) -> Any:
        estimator = clone(self.estimator) if self.estimator is not None else SGDClassifier(loss="log_loss", random_state=0)
        if len(np.unique(labels)) < 2:
            return DummyClassifier(strategy="most_frequent").fit(rows, labels)
        if weights is None or not weights.sum():
            return estimator.fit(rows, labels)
        name = _weight_parameter(estimator)
        return estimator.fit(rows, labels, **({name: weights} if name else {}))

    def _values(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        if _decides(self):
            return self._spread(X, _decisions, FORBIDDEN)
        return self._spread(X, _probabilities, 0.0)

    def _spread(self, X: Any, response: Any, floor: float) -> NDArray[np.float64]:  # noqa: N803
        """What each classifier says of its rows, in the columns of all classes."""
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)  # noqa: N806
        signs = _signs(X)
        out = np.full((X.shape[0], len(self.classes_)), floor)
        for sign, estimator in enumerate(self.estimators_):
            rows = np.flatnonzero(signs == sign)
            if not len(rows):
                continue
            if estimator is None:
                out[rows] = 1 / len(self.classes_)
            else:
                columns = np.searchsorted(self.classes_, estimator.classes_)
                out[np.ix_(rows, columns)] = response(estimator, X[rows][:, 1:])
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.estimator is None or get_tags(self.estimator).input_tags.sparse
        return tags


def is_constant(estimator: Any) -> bool:
    """Whether it stands for a sign that has one class only."""
    return isinstance(estimator, DummyClassifier) and len(getattr(estimator, "classes_", ())) == 1


def _signs(X: Any) -> NDArray[np.int64]:  # noqa: N803
    first = X[:, 0]
    return (np.asarray(first.todense() if hasattr(first, "todense") else first).ravel() > 0).astype(np.int64)


def _decisions(estimator: Any, rows: Any) -> NDArray[np.float64]:
    """Decision values by row and class, also where two classes share one column: its value is their difference."""
    if is_constant(estimator):
        return np.zeros((rows.shape[0], 1))
    decisions = np.asarray(estimator.decision_function(rows), np.float64)
    return np.stack([-decisions / 2, decisions / 2], axis=1) if decisions.ndim == 1 else decisions


def _probabilities(estimator: Any, rows: Any) -> NDArray[np.float64]:
    return np.asarray(estimator.predict_proba(rows), np.float64)


def _weight_parameter(estimator: Any) -> str:
    """The name under which `fit` takes weights: of a pipeline its last step does. Empty if there is none."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = _weight_parameter(last)
        return f"{name}__{inner}" if inner else ""
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else ""
