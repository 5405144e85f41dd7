"""The scorecard: which value of a signal gives how many points, and which score is which class.

It is read from `tables/`: `signals.csv` names the signals, `scorecard.csv` their ranges with points and German reasons,
`classes.csv` the lowest score of each class. A table that breaks a rule of a scorecard is refused when it is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.trees.files import Row, read_rows

TABLES = Path(__file__).parent / "tables"
MAX_SCORE = 100
CLASSES = ("A", "B", "C", "D", "E")
GROUPS = ("income", "charges", "behaviour", "buffer", "data")
UNITS = ("euros", "percent", "months", "count")
LOW, HIGH = "low", "high"
MISSING = "missing"
VALUE = "{value}"
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class ScorecardBroken(ValueError):
    """A table of the scorecard breaks a rule; the message names signal and rule."""


@dataclass(frozen=True)
class PointRange:
    """The points of a value from `lower` to below `upper`, the best class that it allows, and its German reason."""

    lower: float
    upper: float
    points: int
    best_class: int
    reason: str


@dataclass(frozen=True)
class Signal:
    """A signal: which of its values are worse (`low` or `high` ones), its ranges in ascending order, and the range of a value
    that is not known, if that is allowed.
    """

    name: str
    group: str
    worse: str
    unit: str
    display_name: str
    ranges: tuple[PointRange, ...]
    missing: PointRange | None

    @cached_property
    def all_ranges(self) -> tuple[PointRange, ...]:
        """The ranges, and the one of unknown values as the last if there is one."""
        return self.ranges if self.missing is None else (*self.ranges, self.missing)

    @property
    def max_points(self) -> int:
        return max(range_.points for range_ in self.ranges)

    @cached_property
    def _bounds(self) -> Floats:
        return np.array([range_.lower for range_ in self.ranges[1:]])

    @cached_property
    def _points(self) -> Integers:
        return np.array([range_.points for range_ in self.all_ranges], np.int64)

    @cached_property
    def _best_classes(self) -> Integers:
        return np.array([range_.best_class for range_ in self.all_ranges], np.int64)

    def places(self, values: Floats) -> Integers:
        """The place of each value among `all_ranges`; an unknown value is NaN."""
        places = np.searchsorted(self._bounds, values, side="right")
        unknown = np.isnan(values)
        if self.missing is None and unknown.any():
            raise ValueError(f"{self.name} has no points for unknown values")
        return np.where(unknown, len(self.ranges), places).astype(np.int64)

    def points(self, values: Floats) -> Integers:
        """The points of each value."""
        return self._points[self.places(values)]

    def best_classes(self, values: Floats) -> Integers:
        """The best class that each value allows, as a place in `CLASSES`."""
        return self._best_classes[self.places(values)]


class Assessment(NamedTuple):
    """What a scorecard says of rows of values: for each signal its numbers, NaN where a value is not known; the score of each
    row; and, as places in `CLASSES`, the class of that score and the class that is the best one all values allow.
    """

    numbers: tuple[Floats, ...]
    scores: Integers
    class_of_score: Integers
    classes: Integers


@dataclass(frozen=True)
class Scorecard:
    """The signals in the order of their table, and the lowest score of each class, the best class first."""

    signals: tuple[Signal, ...]
    class_bounds: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(signal.name for signal in self.signals)

    def points(self, values: pl.DataFrame) -> Integers:
        """The points by row and signal; the values have a column for each signal, null where a value is not known."""
        return self._points(self._numbers(values), values.height)

    def scores(self, values: pl.DataFrame) -> Integers:
        """The score of each row: the sum of its points."""
        return self.assess(values).scores

    def classes(self, values: pl.DataFrame) -> Integers:
        """The class of each row as a place in `CLASSES`: that of its score, or the best one that all its values allow."""
        return self.assess(values).classes

    def assess(self, values: pl.DataFrame) -> Assessment:
        """Scores and classes of all rows, from one reading of the values."""
        numbers = self._numbers(values)
        scores = np.asarray(self._points(numbers, values.height).sum(axis=1), np.int64)
        by_score = self.class_of_scores(scores)
        allowed = [signal.best_classes(column) for signal, column in zip(self.signals, numbers, strict=True)]
        classes = np.asarray(np.maximum(by_score, np.max(allowed, axis=0, initial=0)), np.int64)
        return Assessment(numbers, scores, by_score, classes)

    def class_of_scores(self, scores: Integers) -> Integers:
        """The place in `CLASSES` of each score."""
        ascending = np.array(self.class_bounds[::-1])
        return len(CLASSES) - np.searchsorted(ascending, scores, side="right")

    def _points(self, numbers: Sequence[Floats], height: int) -> Integers:
        columns = [signal.points(column) for signal, column in zip(self.signals, numbers, strict=True)]
        return np.stack(columns, axis=1) if columns else np.zeros((height, 0), np.int64)

    def _numbers(self, values: pl.DataFrame) -> tuple[Floats, ...]:
        """The values of each signal as floats, NaN where they are null."""
        return tuple(values.get_column(name).cast(pl.Float64).to_numpy() for name in self.names)


@cache
def version(folder: Path = TABLES) -> str:
    """Eight characters that change with any table of the scorecard."""
    digest = sha256()
    for path in sorted(folder.glob("*.csv")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:8]


@cache
def scorecard() -> Scorecard:
    """The scorecard of the product."""
    return read_scorecard(TABLES)


def read_scorecard(folder: Path) -> Scorecard:
    """The scorecard of three tables in a folder; raises `ScorecardBroken` if they break a rule."""
    ranges: dict[str, list[Row]] = {}
    for row in read_rows(folder / "scorecard.csv"):
        ranges.setdefault(row["signal"], []).append(row)
    signal_rows = list(read_rows(folder / "signals.csv"))
    _require([row["signal"] for row in signal_rows] == list(ranges), "scorecard.csv: not the signals of signals.csv, in order")
    signals = tuple(_signal(row, ranges[row["signal"]]) for row in signal_rows)
    bounds = tuple(_whole(row["from"], "classes.csv") for row in read_rows(folder / "classes.csv"))
    names = tuple(row["class"] for row in read_rows(folder / "classes.csv"))
    card = Scorecard(signals, bounds)
    _check(card, names)
    return card


def _signal(row: Mapping[str, str], range_rows: Sequence[Row]) -> Signal:
    name = row["signal"]
    missing = [_range(name, each) for each in range_rows if each["from"] == MISSING]
    ranges = tuple(_range(name, each) for each in range_rows if each["from"] != MISSING)
    _require(len(missing) <= 1, f"{name}: more than one row for unknown values")
    return Signal(name, row["group"], row["worse"], row["unit"], row["display_name"], ranges, missing[0] if missing else None)


def _range(name: str, row: Row) -> PointRange:
    lower, upper = row["from"] if row["from"] != MISSING else "", row["to"]
    _require(row["best_class"] in ("", *CLASSES), f"{name}: {row['best_class']} is no class")
    return PointRange(
        _number(lower, -np.inf, name),
        _number(upper, np.inf, name),
        _whole(row["points"], name),
        CLASSES.index(row["best_class"]) if row["best_class"] else 0,
        row["reason"],
    )


def _check(card: Scorecard, class_names: tuple[str, ...]) -> None:
    for signal in card.signals:
        _check_signal(signal)
    _require(len(set(card.names)) == len(card.names), "a signal is there twice")
    total = sum(signal.max_points for signal in card.signals)
    _require(total == MAX_SCORE, f"the best points of all signals add up to {total}, not to {MAX_SCORE}")
    _require(class_names == CLASSES, "classes.csv: not the classes A to E, the best first")
    falling = all(better > worse for better, worse in pairwise(card.class_bounds))
    _require(falling and card.class_bounds[-1] == 0, "classes.csv: scores do not fall from A to E, and end at 0")
    _require(card.class_bounds[0] <= MAX_SCORE, "classes.csv: nobody can reach A")


def _check_signal(signal: Signal) -> None:
    """Checks that ranges cover every number once, and that a worse value never gives more points or a better class."""
    name, ranges = signal.name, signal.ranges
    words = (signal.group, GROUPS), (signal.unit, UNITS), (signal.worse, (LOW, HIGH))
    for word, allowed in words:
        _require(word in allowed, f"{name}: {word} is none of {', '.join(allowed)}")
    _require(bool(ranges), f"{name}: no ranges")
    _require(ranges[0].lower == -np.inf and ranges[-1].upper == np.inf, f"{name}: the first or last range has an end")
    _require(all(before.upper == after.lower for before, after in pairwise(ranges)), f"{name}: ranges leave a gap or overlap")
    _require(all(range_.lower < range_.upper for range_ in ranges), f"{name}: a range is empty")
    worst_first = ranges if signal.worse == LOW else ranges[::-1]
    points, classes = [range_.points for range_ in worst_first], [range_.best_class for range_ in worst_first]
    _require(points == sorted(points), f"{name}: a worse value gives more points")
    _require(classes == sorted(classes, reverse=True), f"{name}: a worse value allows a better class")
    _require(points[0] == 0, f"{name}: the worst value gives {points[0]} points, not 0")
    _require(all(range_.reason.strip() for range_ in signal.all_ranges), f"{name}: a range has no reason")
    if signal.missing is not None:
        _require(0 <= signal.missing.points <= signal.max_points, f"{name}: points of unknown values are out of range")
        _require(VALUE not in signal.missing.reason, f"{name}: the reason of unknown values names a value")


def _number(text: str, without: float, name: str) -> float:
    try:
        return float(text) if text else without
    except ValueError:
        raise ScorecardBroken(f"{name}: {text} is no number") from None


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ScorecardBroken(f"{name}: {text} is no whole number") from None


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ScorecardBroken(message)
