"""Reading lines as a step of scikit-learn: a frame of `LINES` in, a sparse matrix of hashed features out.

The features themselves are defined in `models.categoriser.features`; the compiled scorer reads the same ones without a matrix.
"""

from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack
from sklearn.base import BaseEstimator, TransformerMixin

from models.categoriser.features import NOTHING_HIDDEN, Hiding, LineTexts, blocks, features, texts, values
from models.categoriser.threads import in_threads

BLOCK_ROWS = 8192
"""Rows that are read at a time: the room for the features of all rows at once would be several gigabytes."""


class LineFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Lines as a matrix: column 0 is 1 for money received, the other `2 ** bits` columns are the values of hashed features.

    Only `fit_transform` hides words, merchants and hints, so that a model trained on its matrix learns from every word. What
    is hidden depends on the seed and the number of the row: a frame that is repeated is hidden differently each time.
    """

    def __init__(
        self,
        bits: int = 17,
        hidden_words: float = 0.0,
        hidden_merchants: float = 0.0,
        hidden_hints: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.bits = bits
        self.hidden_words = hidden_words
        self.hidden_merchants = hidden_merchants
        self.hidden_hints = hidden_hints
        self.seed = seed

    def fit(self, X: pl.DataFrame, y: Any = None) -> Self:  # noqa: ARG002, N803  names of scikit-learn
        """Nothing is learned from the lines: features are hashed."""
        return self

    def transform(self, X: pl.DataFrame) -> csr_matrix:  # noqa: N803
        """The matrix of the lines, nothing hidden."""
        return matrix(X, self.bits)

    def fit_transform(self, X: pl.DataFrame, y: Any = None, **_: Any) -> csr_matrix:  # noqa: ARG002, N803
        """The matrix to learn from."""
        return matrix(X, self.bits, Hiding(self.hidden_words, self.hidden_merchants, self.hidden_hints, self.seed))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.no_validation = True
        return tags


def matrix(lines: pl.DataFrame, bits: int, hiding: Hiding = NOTHING_HIDDEN) -> csr_matrix:
    """The sign and the features of lines, by row; without duplicates, indices in order."""
    line_texts = texts(lines)
    parts = in_threads(lambda rows: _block(line_texts, rows, bits, hiding), list(blocks(line_texts.rows, BLOCK_ROWS)))
    return vstack(parts, format="csr") if parts else csr_matrix((0, 1 + (1 << bits)), dtype=np.float32)


def _block(line_texts: LineTexts, rows: NDArray[np.int64], bits: int, hiding: Hiding) -> csr_matrix:
    """The rows of the matrix; the sign stands before the features of its row."""
    line_features = features(line_texts, rows, bits, hiding)
    ends = line_features.ends[:, -1]
    starts = np.concatenate([[0], ends[:-1]])
    feature_values = np.repeat(values(line_features.ends).ravel(), np.diff(line_features.ends.ravel(), prepend=0))
    data = np.insert(feature_values, starts, line_texts.positive[rows].astype(np.float32))
    columns = np.insert(line_features.slots[: ends[-1]] + 1, starts, 0)
    pointers = np.concatenate([[0], ends + np.arange(1, len(rows) + 1)]).astype(np.int32)
    block = csr_matrix((data, columns, pointers), shape=(len(rows), 1 + (1 << bits)))
    block.sum_duplicates()
    return block
