"""In which period payments follow each other: every period is laid over the dates of a stream, and the one that fits best wins.

A period has a phase, found as the mean direction of all dates on a circle of its length. A date that lies near a turn of the
circle fills the slot of that turn; slots that stay empty, and dates that lie beside, speak against the period.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics import trees
from analytics.kernels import compiled, inner

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
NONE = -1
REACH = 1.35
"""A period that is longer than this part of the time from the first to the last date cannot be seen in it."""
FIT = 0.3
"""The part of the score that dates lose which are as far from their turn as they may be."""


class Periods(NamedTuple):
    """The periods of the tree that have a length, the shortest first. One of `weeks` and `months` is 0."""

    weeks: Floats
    months: Floats
    days: Floats
    tolerance: Floats


class Streams(NamedTuple):
    """Dates by stream, in order: where each stream begins (and the last one ends), days, and months with their fraction."""

    starts: Integers
    day: Integers
    month: Floats


class Rhythm(NamedTuple):
    """By stream: the period, how well it fits (0 to 1), filled slots and phase. By date: its slot, and whether it fills it."""

    period: Integers
    timing: Floats
    slots: Integers
    phase: Floats
    slot: Integers
    inlier: Flags

    def kept(self, streams: Flags, dates: Flags) -> "Rhythm":
        """That of some streams and their dates."""
        return Rhythm(
            self.period[streams],
            self.timing[streams],
            self.slots[streams],
            self.phase[streams],
            self.slot[dates],
            self.inlier[dates],
        )


@cache
def names() -> tuple[str, ...]:
    """The items of the periods, by their place in `periods()`."""
    return tuple(_table()["system_name"])


@cache
def periods() -> Periods:
    """The periods as tables."""
    table = _table()
    months = table["months"].fill_null(0).cast(pl.Float64).to_numpy()
    days = table["days"].to_numpy()
    return Periods(np.where(months > 0, 0, days / 7), months, days, table["tolerance"].to_numpy())


def _table() -> pl.DataFrame:
    timed = trees.periods_frame().filter(pl.col("tolerance").is_not_null(), pl.col("system_name") != "MONTH_HALF")
    return timed.sort("days")


def starts_of(streams: pl.Series) -> Integers:
    """Where each stream of a sorted column begins, and where the last one ends."""
    of = streams.to_numpy()
    return np.flatnonzero(np.r_[True, of[1:] != of[:-1], True]).astype(np.int64) if of.size else np.zeros(1, np.int64)


def streams(rows: pl.DataFrame, by: str) -> Streams:
    """The streams of rows that are sorted by stream and day."""
    day = rows["booked_on"].to_physical().cast(pl.Int64).to_numpy()
    if not day.size:
        return Streams(starts_of(rows[by]), day, np.zeros(0))
    first = day.min()
    return Streams(starts_of(rows[by]), day, _months(first, day.max())[day - first])


def _months(first: int, last: int) -> Floats:
    """Of each day from the first to the last its month with its fraction: there are fewer days than dates."""
    day = pl.col("day")
    month = day.dt.year() * 12 + day.dt.month() - 1 + (day.dt.day() - 1) / day.dt.days_in_month()
    days = pl.DataFrame({"day": np.arange(first, last + 1, dtype=np.int32)}).cast(pl.Date)
    return days.select(month.cast(pl.Float64)).to_series().to_numpy()


def rhythm(of: Streams) -> Rhythm:
    """The rhythm of every stream; one date alone has none."""
    count, dates = of.starts.size - 1, of.day.size
    found = Rhythm(
        np.full(count, NONE, np.int64),
        np.zeros(count),
        np.zeros(count, np.int64),
        np.zeros(count),
        np.zeros(dates, np.int64),
        np.zeros(dates, np.bool_),
    )
    _fit(of, periods(), found)
    return found


@compiled
def _fit(of: Streams, known: Periods, found: Rhythm) -> None:
    longest = 0
    for stream in range(of.starts.size - 1):
        longest = max(longest, of.starts[stream + 1] - of.starts[stream])
    turns, slot, inlier = np.empty(longest), np.empty(longest, np.int64), np.empty(longest, np.bool_)
    first, last = (of.day.min(), of.day.max()) if of.day.size else (0, 0)
    directions = np.full((known.days.size, last - first + 1, 3), np.nan)
    for stream in range(of.starts.size - 1):
        low, high = of.starts[stream], of.starts[stream + 1]
        for period in range(known.days.size if high - low > 1 else 0):
            if known.days[period] > REACH * (of.day[high - 1] - of.day[low]) + known.tolerance[period]:
                continue
            if _most(of, known, period, low, high) < found.timing[stream] - 1e-6:
                continue
            phase = _phase(of, known, period, low, high, directions[period], first, turns, slot, inlier)
            slots, timing = _timing(turns, slot, inlier, high - low, phase, known.days[period] / known.tolerance[period])
            if slots > 0 and timing >= found.timing[stream] - 1e-9:  # of equal ones the longer period
                found.period[stream], found.timing[stream], found.slots[stream] = period, timing, slots
                found.phase[stream] = phase
                found.slot[low:high] = slot[: high - low]
                found.inlier[low:high] = inlier[: high - low]


@inner
def _most(of: Streams, known: Periods, period: int, low: int, high: int) -> float:
    """How well a period could fit at best: many dates cannot fill the few slots of a long one."""
    if known.months[period] > 0:
        turns = (of.month[high - 1] - of.month[low]) / known.months[period]
    else:
        turns = (of.day[high - 1] - of.day[low]) / known.days[period]
    return float(min(1.0, (turns + 2) / (high - low)))


@inner
def _phase(
    of: Streams,
    known: Periods,
    period: int,
    low: int,
    high: int,
    directions: Floats,
    first: int,
    turns: Floats,
    slot: Integers,
    inlier: Flags,
) -> float:
    """The phase over all dates, then once more over those that fill a slot.

    Many dates lie on the same day, so its turn and its direction on the circle, sine and cosine, are kept from the first on.
    """
    sine, cosine = 0.0, 0.0
    for date in range(high - low):
        day = of.day[low + date] - first
        if np.isnan(directions[day, 0]):
            months = known.months[period]
            turn = of.month[low + date] / months if months > 0 else of.day[low + date] / known.days[period]
            angle = 2 * np.pi * (turn - np.floor(turn))
            directions[day, 0], directions[day, 1], directions[day, 2] = turn, np.sin(angle), np.cos(angle)
        turns[date] = directions[day, 0]
        sine += directions[day, 1]
        cosine += directions[day, 2]
    phase = np.arctan2(sine, cosine) / (2 * np.pi) if sine != 0 or cosine != 0 else 0.0
    if _placed(turns, high - low, phase, known.days[period], known.tolerance[period], slot, inlier) == high - low:
        return phase  # the same dates would say the same again
    sine, cosine = 0.0, 0.0
    for date in range(high - low):
        if inlier[date]:
            day = of.day[low + date] - first
            sine += directions[day, 1]
            cosine += directions[day, 2]
    phase = np.arctan2(sine, cosine) / (2 * np.pi) if sine != 0 or cosine != 0 else phase
    _placed(turns, high - low, phase, known.days[period], known.tolerance[period], slot, inlier)
    return phase


@inner
def _placed(turns: Floats, dates: int, phase: float, days: float, tolerance: float, slot: Integers, inlier: Flags) -> int:
    """Puts dates into the slots of a phase, and answers how many fill theirs."""
    fitting = 0
    for date in range(dates):
        turn = np.floor(turns[date] - phase + 0.5)
        slot[date] = np.int64(turn)
        inlier[date] = abs(turns[date] - phase - turn) * days <= tolerance
        fitting += inlier[date]
    return fitting


@inner
def _timing(turns: Floats, slot: Integers, inlier: Flags, dates: int, phase: float, scale: float) -> tuple[int, float]:
    """How many slots are filled, and how well the dates fit; `scale` is the number of tolerances in a period."""
    slots, fitting, near = 0, 0, 0.0
    first, last = 0, 0
    for date in range(dates):
        if inlier[date]:
            fitting += 1
            near += 1 - abs(turns[date] - phase - slot[date]) * scale
            if slots == 0 or slot[date] != last:
                first = slot[date] if slots == 0 else first
                last = slot[date]
                slots += 1
    if slots == 0:
        return 0, 0.0
    filled = slots / (last - first + 1)
    return slots, slots / dates * np.sqrt(filled) * (1 - FIT + FIT * near / fitting)
