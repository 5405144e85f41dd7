"""Making confidences honest: the temperature that turns scores into probabilities.

Here belong the search for the temperature and the list of words that the model knows. A merchant that training has seen is
recognised for sure; of an unseen one the model is less sure than its scores say. One temperature cannot serve both.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from models import scoring
from models.categoriser import Heat
from models.features import Features, Texts, blocks, features

FAMILIAR_BYTES = 1 << 17
_BLOCK = 4096


def familiar_words(of: Texts) -> NDArray[np.uint8]:
    """A bit for every word of these texts."""
    bits = np.zeros(FAMILIAR_BYTES * 8, np.bool_)
    for rows in blocks(of.rows, _BLOCK):
        found = features(of, rows, 8)
        words = found.spans[: found.span_ends[-1], 2].view(np.uint64)
        bits[((words ^ (words >> np.uint64(29))) % np.uint64(len(bits))).astype(np.int64)] = True
    return np.packbits(bits, bitorder="little")


def strangeness(found: Features, familiar: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The share of words that the model does not know, by row."""
    return scoring.strangeness(found.ends, found.owners, found.spans, found.span_ends, familiar)


def fit_heat(
    scores: NDArray[np.float32],
    strange: NDArray[np.float32],
    labels: NDArray[np.int32],
    importance: NDArray[np.float32],
    may: NDArray[np.bool_],
) -> Heat:
    """The temperature under which the truth is most likely; `scores` and `may` are by row and class."""
    masked = np.where(may, scores, -np.inf)
    rows = np.arange(len(labels))

    def surprise(at: NDArray[np.float64]) -> float:
        """The mean surprise at the truth, with a slight pull to where nothing is changed."""
        level = masked / Heat(float(np.exp(at[0])), float(at[1])).of(strange)[:, None]
        level = level - level.max(axis=1, keepdims=True)
        likely = level[rows, labels] - np.log(np.exp(level).sum(axis=1))
        return float(-np.average(likely, weights=importance) + 1e-4 * (at**2).sum())

    found = minimize(
        surprise, np.zeros(2), method="Nelder-Mead", bounds=[(-3, 3), (-3, 3)], options={"xatol": 1e-3, "fatol": 1e-6}
    )
    return Heat(round(float(np.exp(found.x[0])), 4), round(float(found.x[1]), 4))
