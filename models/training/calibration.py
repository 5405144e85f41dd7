"""Calibration: the temperature that turns scores into probabilities."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar


def fit_temperature(
    scores: NDArray[np.float32], labels: NDArray[np.int32], importance: NDArray[np.float32], may: NDArray[np.bool_]
) -> float:
    """The temperature under which the labels are most likely; `scores` and `may` are by row and class."""
    masked = np.where(may, scores, -np.inf)
    masked -= masked.max(axis=1, keepdims=True)
    truth = masked[np.arange(len(labels)), labels]

    def loss(logarithm: float) -> float:
        temperature = np.exp(logarithm)
        log_likelihood = truth / temperature - np.log(np.exp(masked / temperature).sum(axis=1))
        return float(-np.average(log_likelihood, weights=importance))

    best = minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded", options={"xatol": 1e-4})
    return round(float(np.exp(best.x)), 4)
