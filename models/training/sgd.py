"""Training of the weights: multinomial logistic regression by gradient descent, over the classes that a line's sign allows.

Here belong the loop over batches and its compiled parts. Which lines, labels and settings is the business of `models.training`.

Rows of a batch are shared out for the scores and classes for the update, always in the same number of parts: no two threads ever
write the same number, so a result depends on the settings alone, not on the machine.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytics.native.compiling import compiled, inner
from models.categoriser.features import Features, Hiding, LineTexts, features, values

Floats = NDArray[np.float32]
PARTS = 2
"""In how many parts the rows and the classes of a batch are shared out."""
LANES = 16


@dataclass(frozen=True)
class Descent:
    """The settings of the descent."""

    bits: int
    epochs: int
    rate: float
    """The first step; it falls to nothing by the end."""
    batch: int
    hiding: Hiding
    smoothing: float
    """Share of the truth that is spread over all allowed classes, against overconfidence."""
    shrink: float
    """How much weights shrink with each step that touches them."""


@dataclass
class Learned:
    """Weights by slot and class, and biases."""

    weights: Floats
    bias: Floats
    squares: Floats
    """Sums of squared gradients by part and slot: the more a slot has moved, the smaller its next step."""
    bias_squares: Floats


def descend(
    of: LineTexts,
    labels: NDArray[np.int32],
    importance: Floats,
    allowed: NDArray[np.bool_],
    how: Descent,
    on_progress: Callable[[float], None],
) -> Learned:
    """The weights for these labelled rows."""
    width = allowed.shape[1] + -allowed.shape[1] % (LANES * PARTS)
    slots = 1 << how.bits
    learned = Learned(
        np.zeros((slots, width), np.float32),
        np.zeros(width, np.float32),
        np.full((PARTS, slots), 1e-6, np.float32),
        np.full(width, 1e-6, np.float32),
    )
    batches = list(_batches(len(labels), how))
    with ThreadPoolExecutor(PARTS) as pool:
        for step, (hiding, batch) in enumerate(batches):
            rate = np.float32(how.rate * (1 - step / len(batches)))

            def slope(part: Any, hiding: Hiding = hiding) -> tuple[Features, Floats, Floats]:
                rows = features(of, part, how.bits, hiding)
                worth = values(rows.ends)
                truth = (labels[part], importance[part], of.positive[part], allowed, how.smoothing)
                return rows, worth, _slope(rows.slots, rows.ends, worth, learned.weights, learned.bias, truth)

            slopes = list(pool.map(slope, np.array_split(batch, PARTS)))
            edges = np.linspace(0, width, PARTS + 1).astype(int)

            def update(part: int, slopes: Any = slopes, rate: Any = rate, edges: Any = edges) -> None:
                for rows, worth, slope in slopes:
                    _update(
                        (rows.slots, rows.ends, worth, slope),
                        (learned.weights, learned.squares[part], learned.bias, learned.bias_squares),
                        (edges[part], edges[part + 1]),
                        rate,
                        how.shrink,
                    )

            list(pool.map(update, range(PARTS)))
            if step % 64 == 0:
                on_progress(step / len(batches))
    on_progress(1.0)
    return learned


def _batches(rows: int, how: Descent) -> Iterator[tuple[Hiding, NDArray[np.int64]]]:
    """The rows in a new order in each epoch, and what is hidden of them."""
    for epoch in range(how.epochs):
        order = np.random.default_rng([how.hiding.seed, epoch]).permutation(rows)
        hiding = replace(how.hiding, seed=how.hiding.seed * 1000 + epoch + 1)
        for start in range(0, rows, how.batch):
            yield hiding, order[start : start + how.batch]


@compiled
def _slope(slots: NDArray[np.int32], ends: Any, values: Floats, weights: Floats, bias: Floats, truth: Any) -> Floats:
    """The gradient of the loss by row and class: probability minus truth, times the row's importance."""
    labels, importance, positive, allowed, smoothing = truth
    out = np.zeros((len(ends), weights.shape[1]), np.float32)
    total = np.empty(weights.shape[1], np.float32)
    at = 0
    for row in range(len(ends)):
        scores = out[row]
        scores[:] = bias
        for group in range(ends.shape[1]):
            total[:] = 0.0
            at = _sum(slots, at, ends[row, group], weights, total)
            for c in range(len(scores)):
                scores[c] += values[row, group] * total[c]
        _soften(scores, allowed[positive[row]], labels[row], importance[row], smoothing)
    return out


@inner
def _sum(slots: NDArray[np.int32], at: int, stop: int, weights: Floats, total: Floats) -> int:
    """Adds the weights of some slots, four at a time because the loads of one hide the waiting of the others."""
    while at + 4 <= stop:
        one, two, three, four = slots[at], slots[at + 1], slots[at + 2], slots[at + 3]
        for c in range(len(total)):
            total[c] += (weights[one, c] + weights[two, c]) + (weights[three, c] + weights[four, c])
        at += 4
    while at < stop:
        one = slots[at]
        for c in range(len(total)):
            total[c] += weights[one, c]
        at += 1
    return at


@inner
def _soften(scores: Floats, may: NDArray[np.bool_], label: int, importance: float, smoothing: float) -> None:
    """Turns scores into the gradient, in place; classes that the sign forbids have none."""
    top, count = np.float32(-np.inf), 0
    for c in range(len(may)):
        if may[c]:
            count += 1
            top = max(top, scores[c])
    whole = 0.0
    for c in range(len(scores)):
        if c < len(may) and may[c]:
            scores[c] = np.exp(scores[c] - top)
            whole += scores[c]
        else:
            scores[c] = 0.0
    for c in range(len(may)):
        if may[c]:
            scores[c] = importance * (scores[c] / whole - smoothing / count - (1.0 - smoothing if c == label else 0.0))


@compiled
def _update(batch: Any, learned: Any, edges: tuple[int, int], rate: float, shrink: float) -> None:
    """Steps against the gradient, for the classes between the edges."""
    slots, ends, values, slopes = batch
    weights, squares, bias, bias_squares = learned
    low, high = edges
    at = 0
    for row in range(len(ends)):
        slope = slopes[row, low:high]
        square = np.float32(0.0)
        for c in range(high - low):
            square += slope[c] * slope[c]
        for c in range(low, high):
            bias_squares[c] += slopes[row, c] * slopes[row, c]
            bias[c] -= np.float32(0.1) * rate * slopes[row, c] / np.sqrt(bias_squares[c])
        for group in range(ends.shape[1]):
            value = values[row, group]
            while at < ends[row, group]:
                slot = slots[at]
                at += 1
                squares[slot] += value * value * square
                step = rate * value / np.sqrt(squares[slot])
                keep = np.float32(1.0 - shrink * rate)
                for c in range(high - low):
                    weights[slot, low + c] = keep * weights[slot, low + c] - step * slope[c]
