"""From features to classes: the compiled loops that add up weights, choose the class and find the words that decided.

Here belong loops over arrays. Here do not belong frames, files and names of classes: `categoriser` knows them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytics.native.characters import BAR, ZERO
from analytics.native.compiling import compiled, inner
from models.categoriser.features import PAIR

Floats = NDArray[np.float32]
Slots = NDArray[np.int32]
Ints = NDArray[np.int64]
MAX_WORDS = 3
"""The number of words that explain a class at most."""
_MAX_EXACT_WEIGHTS = 256
"""This number of weights of eight bits never overflows a sum of sixteen bits."""
_MAX_DISTANCE = 16.0
"""A class further below the best adds less than a millionth to the sum of probabilities."""
_MIN_SHARE = 0.15
"""A word that moves the score by less than this share of what the first word does explains nothing."""
_TEXT_GROUPS = 5
"""The number of groups of `features.FeatureGroup`, the first ones, that are made of the line's own words."""


@compiled
def add_up(slots: Slots, ends: Ints, values: Floats, weights: NDArray[np.int8], scale: Floats, bias: Floats) -> Floats:
    """The sums of the weights, by row and class: whole numbers within a group, multiplied once."""
    classes = weights.shape[1]
    scores = np.empty((len(ends), classes), np.float32)
    total = np.empty(classes, np.int16)
    at = 0
    for row in range(len(ends)):
        scores[row] = bias
        for group in range(ends.shape[1]):
            while at < ends[row, group]:
                total[:] = 0
                stop = min(ends[row, group], at + _MAX_EXACT_WEIGHTS)
                at = _sum(slots, at, stop, weights, total)
                for c in range(classes):
                    scores[row, c] += np.float32(total[c]) * (values[row, group] * scale[c])
    return scores


@inner
def _sum(slots: Slots, at: int, stop: int, weights: NDArray[np.int8], total: NDArray[np.int16]) -> int:
    """Adds the weights of some slots, four at a time because the loads of one hide the waiting of the others."""
    while at + 4 <= stop:
        one, two, three, four = slots[at], slots[at + 1], slots[at + 2], slots[at + 3]
        for c in range(len(total)):
            total[c] = np.int16(total[c] + weights[one, c] + weights[two, c] + weights[three, c] + weights[four, c])
        at += 4
    while at < stop:
        one = slots[at]
        for c in range(len(total)):
            total[c] = np.int16(total[c] + weights[one, c])
        at += 1
    return at


@compiled
def choose(
    scores: Floats, positive: NDArray[np.uint8], allowed: NDArray[np.bool_], temperature: float, priors: Floats, prior_of: Slots
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The most probable class that the sign allows, and its probability. Priors are logarithms; `prior_of` is a row or -1."""
    best, confidence = np.full(len(scores), -1, np.int32), np.zeros(len(scores))
    level = np.empty(allowed.shape[1])
    for row in range(len(scores)):
        may = allowed[positive[row]]
        top = -np.inf
        for c in range(len(may)):
            if may[c]:
                level[c] = scores[row, c] / temperature
                if prior_of[row] >= 0:
                    level[c] += priors[prior_of[row], c]
                if level[c] > top:
                    top, best[row] = level[c], c
        whole = 0.0
        for c in range(len(may)):
            if may[c] and level[c] > top - _MAX_DISTANCE:
                whole += np.exp(level[c] - top)
        if whole > 0.0:
            confidence[row] = 1.0 / whole
    return best, confidence


@compiled
def decisive_words(data: NDArray[np.uint8], rows: Any, values: Floats, weights: NDArray[np.int8], best: Slots) -> Ints:
    """Start and end of the words without which the class would lose most of its score, by row and rank; -1 where none is."""
    slots, owners, ends, spans, span_ends = rows
    word_spans = np.full((len(ends), MAX_WORDS, 2), -1, np.int64)
    room = 1
    for row in range(len(ends)):
        room = max(room, span_ends[row] - (span_ends[row - 1] if row else 0))
    loss, sums, sizes = np.empty(room), np.zeros(room), np.zeros(room)
    at, first = 0, 0
    for row in range(len(ends)):
        count = span_ends[row] - first
        loss[:count] = 0.0
        for group in range(ends.shape[1]):
            end = ends[row, group]
            if group < _TEXT_GROUPS and end > at and best[row] >= 0:
                _lose(slots[at:end], owners[at:end], values[row, group], weights, best[row], loss[:count], sums, sizes)
            at = end
        _rank(data, spans[first : first + count], loss[:count], word_spans[row])
        first = span_ends[row]
    return word_spans


@inner
def _lose(
    slots: Slots,
    owners: Any,
    value: float,
    weights: NDArray[np.int8],
    best: int,
    loss: NDArray[np.float64],
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> None:
    """Adds what the class loses in one group when a word is taken out, the new value of the group's other features included."""
    whole, size = 0.0, float(len(slots))
    for feature in range(len(slots)):
        weight = float(weights[slots[feature], best])
        whole += weight
        word = owners[feature] & (PAIR - 1)
        sums[word] += weight
        sizes[word] += 1.0
        if owners[feature] & PAIR:
            sums[word + 1] += weight
            sizes[word + 1] += 1.0
    for word in range(len(loss)):
        if sizes[word] > 0.0:
            rest = size - sizes[word]
            loss[word] += value * whole
            if rest > 0.0:
                loss[word] -= value * np.sqrt(size / rest) * (whole - sums[word])
            sums[word], sizes[word] = 0.0, 0.0


@inner
def _rank(data: NDArray[np.uint8], spans: Ints, loss: NDArray[np.float64], word_spans: Ints) -> None:
    """Fills in the words that lose most; not those with a zero, which may stand for other digits, and not single letters."""
    for word in range(len(spans)):
        for other in range(word):
            if spans[other, 2] == spans[word, 2]:
                loss[other] += loss[word]
                loss[word] = 0.0
                break
    for word in range(len(spans)):
        if spans[word, 1] - spans[word, 0] < 2 or _has_zero(data, spans[word, 0], spans[word, 1]):
            loss[word] = 0.0
    least = 0.0
    for rank in range(len(word_spans)):
        word = int(np.argmax(loss)) if len(loss) else 0
        if len(loss) == 0 or loss[word] <= least:
            break
        if rank == 0:
            least = loss[word] * _MIN_SHARE
        word_spans[rank, 0], word_spans[rank, 1] = spans[word, 0], spans[word, 1]
        loss[word] = 0.0


@inner
def _has_zero(data: NDArray[np.uint8], begin: int, end: int) -> bool:
    """Whether the digit 0 stands in a word."""
    for at in range(begin, end):  # noqa: SIM110  compiled
        if data[at] == ZERO:
            return True
    return False


@compiled
def spell(data: NDArray[np.uint8], word_spans: Ints) -> tuple[NDArray[np.uint8], Ints]:
    """The words as one text column, `a|b|c`: its bytes and offsets."""
    offsets = np.zeros(len(word_spans) + 1, np.int64)
    room = 0
    for row in range(len(word_spans)):
        for rank in range(word_spans.shape[1]):
            room += max(word_spans[row, rank, 1] - word_spans[row, rank, 0] + 1, 0)
    letters, at = np.empty(room, np.uint8), 0
    for row in range(len(word_spans)):
        for rank in range(word_spans.shape[1]):
            if word_spans[row, rank, 0] < 0:
                break
            if rank:
                letters[at] = BAR
                at += 1
            for byte in range(word_spans[row, rank, 0], word_spans[row, rank, 1]):
                letters[at] = data[byte]
                at += 1
        offsets[row + 1] = at
    return letters[:at], offsets
