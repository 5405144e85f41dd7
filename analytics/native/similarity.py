"""Similarity of plain names by their character trigrams, for spellings with a typing error or a cut.

Rare trigrams count more, so that `stadtwerke` in common does not make two towns alike.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from analytics.native.alias_scan import Ints
from analytics.native.characters import BLANK
from analytics.native.columns import Bytes, Offsets, strings
from analytics.native.compiling import compiled, inner
from analytics.native.hashing import Hashes

TRIGRAM_BITS = 16
MAX_TRIGRAMS = 96
"""Trigrams of a name that are compared."""
NO_NAME = -1
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


@dataclass(frozen=True)
class Names:
    """Known names, ordered by their first token."""

    names: pl.Series

    @cached_property
    def weights(self) -> Floats:
        """How much each trigram tells, by its hash."""
        counts = _counts(*strings(self.names), 1 << TRIGRAM_BITS)
        return (np.log((1 + len(self.names)) / (1 + counts)) + 1).astype(np.float32)

    @cached_property
    def order(self) -> tuple[Hashes, Ints]:
        """The hashes of the first tokens in ascending order, and the rows of their names."""
        heads = self.names.str.split(" ").list.first().hash(0).to_numpy()
        order = np.argsort(heads, kind="stable").astype(np.int32)
        return heads[order], order


def most_alike(texts: pl.Series, candidates: Names, min_similarity: float) -> tuple[Ints, Floats]:
    """For each text the row of the most similar known name with the same first token, or `NO_NAME`, and the similarity."""
    heads, order = candidates.order
    text_heads = texts.str.split(" ").list.first().hash(0).to_numpy()
    low = np.searchsorted(heads, text_heads, "left")
    high = np.searchsorted(heads, text_heads, "right")
    names, similarity = _best(*strings(texts), *strings(candidates.names), order, low, high, candidates.weights)
    names[similarity < min_similarity] = NO_NAME
    return names, similarity


@inner
def _trigrams(data: Bytes, start: int, stop: int, out: Ints) -> int:
    """Writes the sorted trigram hashes of a text with a blank before and after, and returns their number."""
    size = 0
    for at in range(start - 1, stop - 1):
        if size == len(out):
            break
        first = BLANK if at < start else np.int64(data[at])
        third = BLANK if at + 2 >= stop else np.int64(data[at + 2])
        key = (first * 31 + np.int64(data[at + 1])) * 31 + third
        out[size] = (key * 2654435761 >> 8) & ((1 << TRIGRAM_BITS) - 1)
        size += 1
    out[:size].sort()
    return size


@compiled
def _counts(data: Bytes, offsets: Offsets, size: int) -> Offsets:
    """The number of names that have each trigram."""
    counts = np.zeros(size, np.int64)
    trigrams = np.empty(MAX_TRIGRAMS, np.int32)
    for row in range(offsets.size - 1):
        for at in range(_trigrams(data, offsets[row], offsets[row + 1], trigrams)):
            if at == 0 or trigrams[at] != trigrams[at - 1]:
                counts[trigrams[at]] += 1
    return counts


@inner
def _cosine(left: Ints, left_size: int, right: Ints, right_size: int, weights: Floats) -> float:
    dot = 0.0
    left_square = 0.0
    right_square = 0.0
    for at in range(left_size):
        left_square += weights[left[at]] ** 2
    for at in range(right_size):
        right_square += weights[right[at]] ** 2
    i = 0
    j = 0
    while i < left_size and j < right_size:
        if left[i] == right[j]:
            dot += weights[left[i]] ** 2
            i += 1
            j += 1
        elif left[i] < right[j]:
            i += 1
        else:
            j += 1
    return dot / np.sqrt(left_square * right_square) if left_square > 0 and right_square > 0 else 0.0


@compiled
def _best(
    data: Bytes,
    offsets: Offsets,
    names: Bytes,
    name_offsets: Offsets,
    order: Ints,
    low: Offsets,
    high: Offsets,
    weights: Floats,
) -> tuple[Ints, Floats]:
    rows = offsets.size - 1
    best = np.full(rows, NO_NAME, np.int32)
    similarity = np.zeros(rows, np.float32)
    mine = np.empty(MAX_TRIGRAMS, np.int32)
    other = np.empty(MAX_TRIGRAMS, np.int32)
    for row in range(rows):
        if low[row] == high[row]:
            continue
        size = _trigrams(data, offsets[row], offsets[row + 1], mine)
        for place in range(low[row], high[row]):
            name = order[place]
            other_size = _trigrams(names, name_offsets[name], name_offsets[name + 1], other)
            value = _cosine(mine, size, other, other_size, weights)
            if value > similarity[row]:
                similarity[row], best[row] = value, name
    return best, similarity
