"""Estimators as an installation would write them, for `package.module:function`."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import SGDClassifier


def linear(seed: int) -> Any:
    """A classifier of scikit-learn with other parameters."""
    return SGDClassifier(loss="modified_huber", random_state=seed)


class Majority(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A class of one's own."""

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        return self

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        return np.tile(self.shares_, (X.shape[0], 1))


def careless(seed: int) -> Any:
    """A classifier that keeps a state of chance instead of a seed."""
    return DummyClassifier(strategy="stratified", random_state=np.random.RandomState(seed))


def majority(_seed: int) -> Any:
    return Majority()
