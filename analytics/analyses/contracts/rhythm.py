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
from analytics.native.compiling import compiled, inner

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
    _place(of, periods(), found)
    return found


@compiled
def _fit(of: Streams, known: Periods, found: Rhythm) -> None:
    """Columns are taken out of their tuples once: in a loop that would count references each time."""
    starts, day, month = of
    _, months, days, tolerance = known
    best, most, filled, phases, _, _ = found
    first, last = (day.min(), day.max()) if day.size else (0, 0)
    turns = np.full((days.size, last - first + 1), np.nan)
    sines, cosines, own = np.empty(turns.shape), np.empty(turns.shape), np.empty(_longest(starts))
    for stream in range(starts.size - 1):
        low, dates = starts[stream], starts[stream + 1] - starts[stream]
        passed, passed_months = day[low + dates - 1] - day[low], month[low + dates - 1] - month[low]
        for period in range(days.size if dates > 1 else 0):
            if days[period] > REACH * passed + tolerance[period]:
                continue
            if _most(_turn(passed, passed_months, days[period], months[period]), dates) < most[stream] - 1e-6:
                continue
            sine, cosine = 0.0, 0.0
            for date in range(dates):
                at = day[low + date] - first
                if np.isnan(turns[period, at]):  # many dates lie on the same day
                    turn = _turn(day[low + date], month[low + date], days[period], months[period])
                    angle = 2 * np.pi * (turn - np.floor(turn))
                    turns[period, at], sines[period, at], cosines[period, at] = turn, np.sin(angle), np.cos(angle)
                own[date] = turns[period, at]
                sine += sines[period, at]
                cosine += cosines[period, at]
            phase = _direction(sine, cosine, 0.0)
            sine, cosine, fitting = 0.0, 0.0, 0
            for date in range(dates):
                if abs(own[date] - phase - _slot(own[date], phase)) * days[period] <= tolerance[period]:
                    at = day[low + date] - first
                    sine += sines[period, at]
                    cosine += cosines[period, at]
                    fitting += 1
            if fitting < dates:  # else the same dates would say the same again
                phase = _direction(sine, cosine, phase)
            slots, timing = _timing(own, dates, phase, days[period], tolerance[period])
            if slots > 0 and timing >= most[stream] - 1e-9:  # of equal ones the longer period
                best[stream], most[stream], filled[stream], phases[stream] = period, timing, slots, phase


@compiled
def _place(of: Streams, known: Periods, found: Rhythm) -> None:
    """Puts the dates of each stream that has a period into slots, and says which fill theirs."""
    starts, day, month = of
    _, months, days, tolerance = known
    best, _, _, phases, slot, inlier = found
    for stream in range(starts.size - 1):
        period, phase = best[stream], phases[stream]
        if period == NONE:
            continue
        for date in range(starts[stream], starts[stream + 1]):
            turn = _turn(day[date], month[date], days[period], months[period])
            near = _slot(turn, phase)
            slot[date] = np.int64(near)
            inlier[date] = abs(turn - phase - near) * days[period] <= tolerance[period]


@inner
def _longest(starts: Integers) -> int:
    longest = 0
    for stream in range(starts.size - 1):
        longest = max(longest, starts[stream + 1] - starts[stream])
    return longest


@inner
def _most(turns: float, dates: int) -> float:
    """How well a period could fit at best that comes round so often: many dates cannot fill the few slots of a long one."""
    return float(min(1.0, (turns + 2) / dates))


@inner
def _turn(day: int, month: float, days: float, months: float) -> float:
    """How many periods have passed until a date."""
    return month / months if months > 0 else day / days


@inner
def _direction(sine: float, cosine: float, otherwise: float) -> float:
    """The phase to which dates point together; the other one if they point nowhere."""
    return np.arctan2(sine, cosine) / (2 * np.pi) if sine != 0 or cosine != 0 else otherwise


@inner
def _slot(turn: float, phase: float) -> float:
    """The slot that lies nearest."""
    return float(np.floor(turn - phase + 0.5))


@inner
def _timing(turns: Floats, dates: int, phase: float, days: float, tolerance: float) -> tuple[int, float]:
    """How many slots are filled, and how well the dates fit."""
    slots, fitting, near = 0, 0, 0.0
    first, last = 0.0, 0.0
    scale = days / tolerance
    for date in range(dates):
        slot = _slot(turns[date], phase)
        beside = abs(turns[date] - phase - slot)
        if beside * days <= tolerance:
            fitting += 1
            near += 1 - beside * scale
            if slots == 0 or slot != last:
                first = slot if slots == 0 else first
                last = slot
                slots += 1
    if slots == 0:
        return 0, 0.0
    filled = slots / (last - first + 1)
    return slots, slots / dates * np.sqrt(filled) * (1 - FIT + FIT * near / fitting)
