"""Likeness of plain names by their character trigrams, for spellings that a typing error or a cut keeps from being found.

Rare trigrams count more, so that `stadtwerke` in common does not make two towns alike.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from analytics.native.alias_scan import Bytes, Hashes, Ints, Longs
from analytics.native.columns import strings
from analytics.native.compiling import compiled, inner

BITS = 16
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


@dataclass(frozen=True)
class Names:
    """Known names, ordered by their first token."""

    names: pl.Series

    @cached_property
    def weights(self) -> Floats:
        """How much each trigram tells, by its hash."""
        data, ends = strings(self.names)
        counts = _counts(data, ends, 1 << BITS)
        return (np.log((1 + len(self.names)) / (1 + counts)) + 1).astype(np.float32)

    @cached_property
    def order(self) -> tuple[Hashes, Ints]:
        heads = self.names.str.split(" ").list.first().hash(0).to_numpy()
        order = np.argsort(heads, kind="stable").astype(np.int32)
        return heads[order], order


def most_alike(texts: pl.Series, known: Names, least: float) -> tuple[Ints, Floats]:
    """For each text the known name with the same first token that is most like it (its row, or -1), and how much."""
    heads, order = known.order
    wanted = texts.str.split(" ").list.first().hash(0).to_numpy()
    low = np.searchsorted(heads, wanted, "left")
    high = np.searchsorted(heads, wanted, "right")
    found, likeness = _best(*strings(texts), *strings(known.names), order, low, high, known.weights)
    found[likeness < least] = -1
    return found, likeness


@inner
def _grams(data: Bytes, start: int, stop: int, out: Ints) -> int:
    """Sorted trigram hashes of a text with a blank before and after; their number comes back."""
    size = 0
    for at in range(start - 1, stop - 1):
        if size == len(out):
            break
        first = 32 if at < start else np.int64(data[at])
        third = 32 if at + 2 >= stop else np.int64(data[at + 2])
        key = (first * 31 + np.int64(data[at + 1])) * 31 + third
        out[size] = (key * 2654435761 >> 8) & ((1 << BITS) - 1)
        size += 1
    out[:size].sort()
    return size


@compiled
def _counts(data: Bytes, ends: Longs, size: int) -> Longs:
    counts = np.zeros(size, np.int64)
    grams = np.empty(96, np.int32)
    for row in range(len(ends) - 1):
        for at in range(_grams(data, ends[row], ends[row + 1], grams)):
            if at == 0 or grams[at] != grams[at - 1]:
                counts[grams[at]] += 1
    return counts


@inner
def _cosine(left: Ints, lefts: int, right: Ints, rights: int, weights: Floats) -> float:
    dot = 0.0
    one = 0.0
    two = 0.0
    for at in range(lefts):
        one += weights[left[at]] ** 2
    for at in range(rights):
        two += weights[right[at]] ** 2
    i = 0
    j = 0
    while i < lefts and j < rights:
        if left[i] == right[j]:
            dot += weights[left[i]] ** 2
            i += 1
            j += 1
        elif left[i] < right[j]:
            i += 1
        else:
            j += 1
    return dot / np.sqrt(one * two) if one > 0 and two > 0 else 0.0


@compiled
def _best(
    data: Bytes, ends: Longs, names: Bytes, name_ends: Longs, order: Ints, low: Longs, high: Longs, weights: Floats
) -> tuple[Ints, Floats]:
    rows = len(ends) - 1
    found = np.full(rows, -1, np.int32)
    likeness = np.zeros(rows, np.float32)
    mine = np.empty(96, np.int32)
    other = np.empty(96, np.int32)
    for row in range(rows):
        if low[row] == high[row]:
            continue
        size = _grams(data, ends[row], ends[row + 1], mine)
        for place in range(low[row], high[row]):
            name = order[place]
            value = _cosine(mine, size, other, _grams(names, name_ends[name], name_ends[name + 1], other), weights)
            if value > likeness[row]:
                likeness[row], found[row] = value, name
    return found, likeness
