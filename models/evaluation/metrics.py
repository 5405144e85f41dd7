"""Measures of quality and their bootstrap intervals, for any frame of predictions beside the truth.

A measure is a tally and a formula: the tally gives columns of sums by group (a user, a merchant), the formula turns sums into the
figure. The figure of all rows and those of a thousand resamples are the same formula on sums that are weighted differently, so
that an interval costs one matrix product. `sklearn.metrics` would need a thousand passes over all rows; tests hold every figure
that it has against it. Tables without intervals are computed by it (`models.evaluation.tables`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BINS = 15
RIGHT = pl.col("truth") == pl.col("prediction")
EUROS = pl.col("amount_cents").abs().cast(pl.Float64)


@dataclass(frozen=True)
class Figure:
    """A figure and its 95 % interval over resamples of groups."""

    value: float
    low: float
    high: float
    rows: int

    @property
    def bounds(self) -> tuple[float, float, float]:
        """Value, low and high."""
        return self.value, self.low, self.high

    def as_dict(self) -> dict[str, float | int]:
        return {"value": self.value, "low": self.low, "high": self.high, "rows": self.rows}


@dataclass(frozen=True)
class Measure:
    """A tally of rows, and the formula over its columns; `tally` gets each row's group number and the number of groups."""

    tally: Callable[[pl.DataFrame, NDArray[np.int64], int], Floats]
    formula: Callable[[Floats], Floats]


def figure(frame: pl.DataFrame, measure: Measure, by: str | None = "user", times: int = 1000, seed: int = 1) -> Figure:
    """The figure of these rows, and its interval over resampled groups; without groups the interval is the figure."""
    groups = frame[by].rank("dense").fill_null(1).to_numpy().astype(np.int64) - 1 if by else np.zeros(frame.height, np.int64)
    count = int(groups.max()) + 1 if frame.height else 1
    sums = measure.tally(frame, groups, count)
    value = float(measure.formula(sums.sum(axis=0)))
    if count < 2:
        return Figure(value, value, value, frame.height)
    values = measure.formula(_resamples(count, times, seed) @ sums)
    if np.isnan(values).all():
        return Figure(value, value, value, frame.height)
    low, high = np.nanquantile(values, (0.025, 0.975))
    return Figure(value, float(low), float(high), frame.height)


@lru_cache(maxsize=4)
def _resamples(count: int, times: int, seed: int) -> Floats:
    """How often each of `count` groups is drawn in each of `times` resamples. Most figures of a world have the same groups."""
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=times).astype(np.float64)
    drawn.setflags(write=False)
    return drawn


def ratio(part: pl.Expr, whole: pl.Expr | None = None) -> Measure:
    """The sum of `part` divided by the sum of `whole`, by default the number of rows."""

    def tally(frame: pl.DataFrame, groups: NDArray[np.int64], count: int) -> Floats:
        columns = frame.select(part=part.cast(pl.Float64), whole=(pl.lit(1.0) if whole is None else whole.cast(pl.Float64)))
        return _by_group(columns.fill_null(0).to_numpy(), groups, count)

    return Measure(tally, lambda sums: _divide(sums[..., 0], sums[..., 1]))


def difference(left: Measure, left_rows: pl.Expr, right: Measure, right_rows: pl.Expr) -> Measure:
    """One figure minus another, each over its own rows."""

    def tally(frame: pl.DataFrame, groups: NDArray[np.int64], count: int) -> Floats:
        parts = []
        for measure, rows in ((left, left_rows), (right, right_rows)):
            mask = frame.select(rows).to_series().to_numpy()
            parts.append(measure.tally(frame.filter(pl.Series(mask)), groups[mask], count))
        return np.concatenate(parts, axis=1)

    def formula(sums: Floats) -> Floats:
        half = sums.shape[-1] // 2
        return left.formula(sums[..., :half]) - right.formula(sums[..., half:])

    return Measure(tally, formula)


def precision(predicted: pl.Expr, right: pl.Expr) -> Measure:
    """The share of predictions that are right."""
    return ratio(predicted & right, predicted)


def recall(there: pl.Expr, right: pl.Expr) -> Measure:
    """The share of true cases that were predicted right."""
    return ratio(there & right, there)


def f1(there: pl.Expr, predicted: pl.Expr) -> Measure:
    """The harmonic mean of precision and recall."""
    return ratio(2 * (there & predicted).cast(pl.Int64), there.cast(pl.Int64) + predicted.cast(pl.Int64))


accuracy = ratio(RIGHT)
value_share = ratio(RIGHT * EUROS, EUROS)
"""The share of the money whose category is right."""


def macro_f1(min_support: int = 1) -> Measure:
    """The mean F1 of the true classes that have at least `min_support` rows."""

    def tally(frame: pl.DataFrame, groups: NDArray[np.int64], count: int) -> Floats:
        classes = frame["truth"].value_counts().filter(pl.col("count") >= min_support)["truth"].sort()
        truth, prediction = class_codes(frame["truth"], classes), class_codes(frame["prediction"], classes)
        size = len(classes)
        columns = [_count(groups, codes, count, size) for codes in (np.where(truth == prediction, truth, -1), truth, prediction)]
        return np.concatenate(columns, axis=1)

    def formula(sums: Floats) -> Floats:
        right, there, predicted = np.split(sums, 3, axis=-1)
        scores = np.where(there > 0, _divide(2 * right, there + predicted), 0)
        return _divide(scores.sum(axis=-1), (there > 0).sum(axis=-1).astype(float))

    return Measure(tally, formula)


def calibration_error(bins: int = BINS) -> Measure:
    """The expected calibration error: the mean distance of confidence and accuracy, over bins of equal width."""

    def tally(frame: pl.DataFrame, groups: NDArray[np.int64], count: int) -> Floats:
        bin_of = bin_numbers(frame, bins)
        confidence, right = frame["confidence"].to_numpy(), frame.select(RIGHT).to_series().to_numpy()
        gaps = _sum(groups, bin_of, count, bins, confidence - right)
        return np.concatenate([gaps, _count(groups, bin_of, count, bins)], axis=1)

    def formula(sums: Floats) -> Floats:
        gaps, rows = np.split(sums, 2, axis=-1)
        return _divide(np.abs(gaps).sum(axis=-1), rows.sum(axis=-1))

    return Measure(tally, formula)


def coverage(min_precision: float = 0.99, steps: int = 200) -> Measure:
    """The largest share of rows, the most confident first, whose precision is at least `min_precision`."""

    def tally(frame: pl.DataFrame, groups: NDArray[np.int64], count: int) -> Floats:
        edges = np.quantile(frame["confidence"].to_numpy(), np.linspace(0, 1, steps + 1)[1:-1])
        step = np.searchsorted(edges, frame["confidence"].to_numpy(), side="right")
        right = frame.select(RIGHT).to_series().to_numpy().astype(float)
        return np.concatenate([_sum(groups, step, count, steps, right), _count(groups, step, count, steps)], axis=1)

    def formula(sums: Floats) -> Floats:
        right, rows = (np.cumsum(part[..., ::-1], axis=-1) for part in np.split(sums, 2, axis=-1))
        covered_rows = np.where((rows > 0) & (right >= min_precision * rows), rows, 0).max(axis=-1)
        return _divide(covered_rows, rows[..., -1])

    return Measure(tally, formula)


def average_precision(there: pl.Expr, score: pl.Expr, steps: int = 2000) -> Measure:
    """The area under precision over recall; scores count as equal within a step of the ranking."""

    def tally(frame: pl.DataFrame, groups: NDArray[np.int64], count: int) -> Floats:
        columns = frame.select(there=there, score=score)
        values = columns["score"].to_numpy()
        edges = np.unique(np.quantile(np.unique(values), np.linspace(0, 1, steps + 1), method="lower"))
        step = len(edges) - np.searchsorted(edges, values, side="right")
        hits = columns["there"].to_numpy().astype(float)
        size = len(edges) + 1
        return np.concatenate([_sum(groups, step, count, size, hits), _count(groups, step, count, size)], axis=1)

    def formula(sums: Floats) -> Floats:
        hits, rows = np.split(sums, 2, axis=-1)
        hits_so_far, rows_so_far = np.cumsum(hits, axis=-1), np.cumsum(rows, axis=-1)
        return _divide((_divide(hits_so_far, rows_so_far) * hits).sum(axis=-1), hits_so_far[..., -1])

    return Measure(tally, formula)


def median(value: pl.Expr, maximum: int) -> Measure:
    """The median of whole numbers from 0 to `maximum`."""

    def tally(frame: pl.DataFrame, groups: NDArray[np.int64], count: int) -> Floats:
        return _count(groups, frame.select(value.cast(pl.Int64)).to_series().to_numpy(), count, maximum + 1)

    def formula(sums: Floats) -> Floats:
        reached, rows = np.cumsum(sums, axis=-1), sums.sum(axis=-1)
        lower, upper = (np.argmax(reached >= half[..., None], axis=-1) for half in ((rows + 1) // 2, rows // 2 + 1))
        return np.asarray(np.where(rows > 0, (lower + upper) / 2, np.nan))

    return Measure(tally, formula)


def _divide(part: Floats, whole: Floats) -> Floats:
    """The quotient, NaN where the divisor is 0."""
    return np.asarray(np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=np.asarray(whole) != 0))


def bin_numbers(frame: pl.DataFrame, bins: int) -> NDArray[np.int64]:
    """The bin of each row's confidence, of bins of equal width."""
    return np.asarray(np.clip(frame["confidence"].to_numpy() * bins, 0, bins - 1), np.int64)


def class_codes(names: pl.Series, classes: pl.Series) -> NDArray[np.int64]:
    """The number of each name among the classes, or -1."""
    numbers = pl.DataFrame({"name": classes, "number": np.arange(len(classes))})
    return (
        names.alias("name")
        .to_frame()
        .join(numbers, on="name", how="left", maintain_order="left")["number"]
        .fill_null(-1)
        .to_numpy()
    )


def _by_group(columns: Floats, groups: NDArray[np.int64], count: int) -> Floats:
    return np.stack([np.bincount(groups, column, count) for column in columns.T], axis=1)


def _count(groups: NDArray[np.int64], codes: NDArray[np.int64], count: int, size: int) -> Floats:
    """The number of rows by group and code; rows with code -1 are left out."""
    coded = codes >= 0
    return np.bincount(groups[coded] * size + codes[coded], minlength=count * size).reshape(count, size).astype(float)


def _sum(groups: NDArray[np.int64], codes: NDArray[np.int64], count: int, size: int, values: Floats) -> Floats:
    return np.asarray(np.bincount(groups * size + codes, values, count * size).reshape(count, size), np.float64)
