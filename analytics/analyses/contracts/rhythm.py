"""The rhythm of payments: every period is compared with the dates of a stream, and the one that fits best wins.

The phase of a period is the mean direction of all dates on a circle of its length. A date near a full turn of the circle fills
the slot of that turn; empty slots, and dates that are not near a turn, reduce the fit.
"""

from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics import trees
from analytics.native.compiling import compiled, inner

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
NO_PERIOD = -1
MAX_PERIOD_REACH = 1.35
"""A period longer than this multiple of the time from the first to the last date cannot be recognised."""
NEARNESS_WEIGHT = 0.3
"""The part of the timing that depends on how near the dates are to their turns."""
DAYS_AT_ONCE = 2_000
"""Fractional months are computed for so many days, so that other users with other dates mostly need the same ones."""
MIN_MOVED_DATES, MAX_MOVED_TIMING = 8, 0.86
"""A day that moved is looked for in streams of at least this many dates that fit no period better than this."""


class Gap(NamedTuple):
    """The days from a date to the one that comes so many `dates` after it, the least days between two dates, and the least share
    of the dates that keep both.
    """

    dates: int
    least_days: int
    most_days: int
    least_step: int
    least_share: float


MOVED_DAY = Gap(1, 26, 35, 1, 0.9)
"""A month, wherever in the month it begins: the day of a wage may move from the 15th to the last."""
HALF_MONTH = Gap(2, 24, 38, 8, 0.85)
"""A month from one date to the next but one; bonuses beside a monthly wage come less often."""


class Periods(NamedTuple):
    """The periods of the tree that have a length, the shortest first. One of `weeks` and `months` is 0."""

    weeks: Floats
    months: Floats
    days: Floats
    tolerance: Floats


class StreamDates(NamedTuple):
    """Dates by stream, in order: the start index of each stream (and the end of the last), days, and fractional months."""

    starts: Integers
    day: Integers
    month: Floats


class Rhythm(NamedTuple):
    """By stream: the period, its fit (0 to 1), the number of filled slots, and the phase. By date: its slot, and whether it is
    near enough to fill it.
    """

    period: Integers
    timing: Floats
    slots: Integers
    phase: Floats
    slot: Integers
    inlier: Flags

    def select(self, keep_streams: Flags, keep_dates: Flags) -> "Rhythm":
        """The rhythm of some streams and their dates."""
        return Rhythm(
            self.period[keep_streams],
            self.timing[keep_streams],
            self.slots[keep_streams],
            self.phase[keep_streams],
            self.slot[keep_dates],
            self.inlier[keep_dates],
        )


@cache
def period_names() -> tuple[str, ...]:
    """The names of the periods, in the order of `periods()`."""
    return tuple(_period_table()["system_name"])


@cache
def periods() -> Periods:
    """The periods as tables."""
    table = _period_table()
    months = table["months"].fill_null(0).cast(pl.Float64).to_numpy()
    days = table["days"].to_numpy()
    return Periods(np.where(months > 0, 0, days / 7), months, days, table["tolerance"].to_numpy())


def _period_table() -> pl.DataFrame:
    """The periods that contracts have, the shortest first. Chosen in Python, since this runs when the module is loaded, and
    computing with Polars starts its threads.
    """
    table = trees.periods_frame()
    rows = [row for row in table.rows(named=True) if row["tolerance"] is not None]
    return pl.DataFrame(sorted(rows, key=lambda row: row["days"]), schema=table.schema)


def starts_of(streams: pl.Series) -> Integers:
    """The start index of each stream in a sorted column, and the end of the last one."""
    values = streams.to_numpy()
    return np.flatnonzero(np.r_[True, values[1:] != values[:-1], True]).astype(np.int64) if values.size else np.zeros(1, np.int64)


def stream_dates(rows: pl.DataFrame, by: str) -> StreamDates:
    """The dates of rows that are sorted by stream and day."""
    day = rows["booked_on"].to_physical().cast(pl.Int64).to_numpy()
    if not day.size:
        return StreamDates(starts_of(rows[by]), day, np.zeros(0))
    first, last = int(day.min()) // DAYS_AT_ONCE, int(day.max()) // DAYS_AT_ONCE
    months = _fractional_months(first * DAYS_AT_ONCE, (last + 1) * DAYS_AT_ONCE)
    return StreamDates(starts_of(rows[by]), day, months[day - first * DAYS_AT_ONCE])


@lru_cache(maxsize=16)
def _fractional_months(first: int, end: int) -> Floats:
    """The fractional month of each day from the first to the one before the end: there are fewer days than dates."""
    day = pl.col("day")
    month = day.dt.year() * 12 + day.dt.month() - 1 + (day.dt.day() - 1) / day.dt.days_in_month()
    days = pl.DataFrame({"day": np.arange(first, end, dtype=np.int32)}).cast(pl.Date)
    return days.select(month.cast(pl.Float64)).to_series().to_numpy()


def rhythm(stream_dates: StreamDates, may_be_halved: Flags | None = None) -> Rhythm:
    """The rhythm of every stream; a single date has none. Only streams that may be halved can be paid twice a month."""
    count, dates = stream_dates.starts.size - 1, stream_dates.day.size
    result = Rhythm(
        np.full(count, NO_PERIOD, np.int64),
        np.zeros(count),
        np.zeros(count, np.int64),
        np.zeros(count),
        np.zeros(dates, np.int64),
        np.zeros(dates, np.bool_),
    )
    half_month = period_names().index("MONTH_HALF")
    _fit(stream_dates, periods(), half_month, result)
    _assign_slots(stream_dates, periods(), result)
    may_have_moved = (np.diff(stream_dates.starts) >= MIN_MOVED_DATES) & (result.timing < MAX_MOVED_TIMING)
    _keep_gaps(stream_dates, may_have_moved, MOVED_DAY, period_names().index("MONTH_ONE"), result)
    if may_be_halved is not None and may_be_halved.any():
        _keep_gaps(stream_dates, may_be_halved, HALF_MONTH, half_month, result)
    return result


@compiled
def _keep_gaps(stream_dates: StreamDates, is_tried: Flags, gap: Gap, period: int, result: Rhythm) -> None:
    """Writes a period for those of the tried streams that keep its gap, though their dates are near no turns of a circle. Every
    date has a slot of its own.
    """
    starts, day, _ = stream_dates
    best, timing, slots, phase, slot, inlier = result
    for stream in np.flatnonzero(is_tried):
        low, high = starts[stream], starts[stream + 1]
        fitting = 0
        for date in range(low + gap.dates, high):
            days = day[date] - day[date - gap.dates]
            if gap.least_days <= days <= gap.most_days and day[date] - day[date - 1] >= gap.least_step:
                fitting += 1
        share = fitting / (high - low - gap.dates)
        if share < gap.least_share:
            continue
        best[stream], timing[stream], slots[stream], phase[stream] = period, share, high - low, 0.0
        for date in range(low, high):
            slot[date], inlier[date] = date - low, True


@compiled
def _fit(stream_dates: StreamDates, period_table: Periods, half_month: int, result: Rhythm) -> None:
    """Writes the best period of each stream, but for half months: many dates fit these by chance. The arrays are taken out of
    their tuples once: in the loop numba would count references each time.
    """
    starts, day, month = stream_dates
    _, months, days, tolerance = period_table
    best, best_timing, filled_slots, phases, _, _ = result
    first, last = (day.min(), day.max()) if day.size else (0, 0)
    turns = np.full((days.size, last - first + 1), np.nan)
    sines, cosines, stream_turns = np.empty(turns.shape), np.empty(turns.shape), np.empty(_longest(starts))
    for stream in range(starts.size - 1):
        low, dates = starts[stream], starts[stream + 1] - starts[stream]
        passed_days, passed_months = day[low + dates - 1] - day[low], month[low + dates - 1] - month[low]
        for period in range(days.size if dates > 1 else 0):
            if period == half_month or days[period] > MAX_PERIOD_REACH * passed_days + tolerance[period]:
                continue
            if _max_timing(_turn(passed_days, passed_months, days[period], months[period]), dates) < best_timing[stream] - 1e-6:
                continue
            sine, cosine = 0.0, 0.0
            for date in range(dates):
                day_index = day[low + date] - first
                if np.isnan(turns[period, day_index]):  # many dates lie on the same day
                    turn = _turn(day[low + date], month[low + date], days[period], months[period])
                    angle = 2 * np.pi * (turn - np.floor(turn))
                    turns[period, day_index] = turn
                    sines[period, day_index], cosines[period, day_index] = np.sin(angle), np.cos(angle)
                stream_turns[date] = turns[period, day_index]
                sine += sines[period, day_index]
                cosine += cosines[period, day_index]
            phase = _direction(sine, cosine, 0.0)
            sine, cosine, fitting = 0.0, 0.0, 0
            for date in range(dates):
                if abs(stream_turns[date] - phase - _slot(stream_turns[date], phase)) * days[period] <= tolerance[period]:
                    day_index = day[low + date] - first
                    sine += sines[period, day_index]
                    cosine += cosines[period, day_index]
                    fitting += 1
            if fitting < dates:  # else the same dates would say the same again
                phase = _direction(sine, cosine, phase)
            slots, timing = _timing(stream_turns, dates, phase, days[period], tolerance[period])
            if slots > 0 and timing >= best_timing[stream] - 1e-9:  # of equal ones the longer period
                best[stream], best_timing[stream], filled_slots[stream], phases[stream] = period, timing, slots, phase


@compiled
def _assign_slots(stream_dates: StreamDates, period_table: Periods, result: Rhythm) -> None:
    """Writes the slot of each date of a stream that has a period, and whether the date fills it."""
    starts, day, month = stream_dates
    _, months, days, tolerance = period_table
    best, _, _, phases, slot, inlier = result
    for stream in range(starts.size - 1):
        period, phase = best[stream], phases[stream]
        if period == NO_PERIOD:
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
def _max_timing(turns: float, dates: int) -> float:
    """The best timing possible for a period with this many turns: many dates cannot fill the few slots of a long period."""
    return float(min(1.0, (turns + 2) / dates))


@inner
def _turn(day: int, month: float, days: float, months: float) -> float:
    """The number of periods that have passed until a date."""
    return month / months if months > 0 else day / days


@inner
def _direction(sine: float, cosine: float, otherwise: float) -> float:
    """The phase to which the dates point together; `otherwise` if they cancel out."""
    return np.arctan2(sine, cosine) / (2 * np.pi) if sine != 0 or cosine != 0 else otherwise


@inner
def _slot(turn: float, phase: float) -> float:
    """The nearest slot."""
    return float(np.floor(turn - phase + 0.5))


@inner
def _timing(turns: Floats, dates: int, phase: float, days: float, tolerance: float) -> tuple[int, float]:
    """The number of filled slots, and the fit of the dates (0 to 1)."""
    slots, fitting, nearness = 0, 0, 0.0
    first, last = 0.0, 0.0
    scale = days / tolerance
    for date in range(dates):
        slot = _slot(turns[date], phase)
        distance = abs(turns[date] - phase - slot)
        if distance * days <= tolerance:
            fitting += 1
            nearness += 1 - distance * scale
            if slots == 0 or slot != last:
                first = slot if slots == 0 else first
                last = slot
                slots += 1
    if slots == 0:
        return 0, 0.0
    filled_share = slots / (last - first + 1)
    return slots, slots / dates * np.sqrt(filled_share) * (1 - NEARNESS_WEIGHT + NEARNESS_WEIGHT * nearness / fitting)
