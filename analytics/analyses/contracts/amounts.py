"""What a contract will cost next: the last amount where amounts keep their level, else what usage has shown."""

import numpy as np
from numpy.typing import NDArray

from analytics.analyses.contracts.rhythm import Floats, Integers
from analytics.native.compiling import compiled, inner

SEASON = 12
SEASONAL = 0.6
"""From this correlation with the payments a year before on, a contract has seasons."""
STEADY = 0.1
USUAL, USAGE = 3, 6
FEW = 64
"""So many values are put in order one by one."""
SMALL_STEP = 0.05
"""Pensions, dynamic premiums and index rents rise by no more than this a year; one larger step was a new tariff."""


def following(starts: Integers, cents: Integers, yearly: Integers) -> Integers:
    """The amount that follows the regular payments of each contract; `yearly` says how many of them there are in a year."""
    out = np.zeros(starts.size - 1, np.int64)
    _follow(starts, cents.astype(np.float64), yearly, out)
    return out


def medians(lengths: NDArray[np.uint32], sizes: Floats) -> tuple[Floats, Floats]:
    """Of each group of sizes, given one behind the other with their lengths: the median, and the median distance from it."""
    median, deviation = np.zeros(lengths.size), np.zeros(lengths.size)
    _medians(lengths, sizes, median, deviation)
    return median, deviation


@compiled
def _medians(lengths: NDArray[np.uint32], sizes: Floats, median: Floats, deviation: Floats) -> None:
    low, own = 0, np.empty(lengths.max() if lengths.size else 0)
    for group in range(lengths.size):
        count, equal = int(lengths[group]), True
        for place in range(count):
            own[place] = sizes[low + place]
            equal = equal and own[place] == own[0]
        median[group] = own[0] if equal else _middle(own, count)
        if not equal:
            for place in range(count):
                own[place] = abs(own[place] - median[group])
            deviation[group] = _middle(own, count)
        low += count


@inner
def _middle(values: Floats, count: int) -> float:
    """The median of the first values, which are put in order: they are few, and asking for memory would take longer."""
    if count > FEW:
        return float(np.median(values[:count]))
    for place in range(1, count):
        value, at = values[place], place
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value
    return float((values[(count - 1) // 2] + values[count // 2]) / 2)


@compiled
def _follow(starts: Integers, cents: Floats, yearly: Integers, out: Integers) -> None:
    for contract in range(starts.size - 1):
        paid = cents[starts[contract] : starts[contract + 1]]
        out[contract] = np.int64(np.floor(_next(paid, yearly[contract]) + 0.5))


@inner
def _next(paid: Floats, yearly: int) -> float:
    last = float(paid[-1])
    if paid.size < 3:
        return last
    if paid[-2] == last:
        return last * _yearly_step(paid, yearly)
    if yearly == SEASON and paid.size > SEASON + 3 and _correlation(paid[SEASON:], paid[:-SEASON]) > SEASONAL:
        earlier = np.mean(paid[:-SEASON])
        return float(paid[paid.size - SEASON] * np.mean(paid[SEASON:]) / earlier) if earlier != 0 else last
    recent = paid[-USAGE:]
    if np.std(recent) < STEADY * abs(np.mean(recent)):
        return last
    if paid.size < USAGE:
        return float(np.median(paid[-USUAL:]))
    return _winsorised(recent)


@inner
def _yearly_step(paid: Floats, yearly: int) -> float:
    """The mean of the steps one and two years ago, if now is the time for the next: prices often rise in the same month. Of less
    than two years a small step a year ago is taken for a yearly one.
    """
    if yearly < 2 or paid.size <= yearly or not np.all(paid[-yearly:] == paid[-1]):
        return 1.0
    once = float(paid[-yearly] / paid[-yearly - 1])
    if paid.size <= 2 * yearly:
        return once if abs(once - 1) <= SMALL_STEP else 1.0
    twice = float(paid[-2 * yearly] / paid[-2 * yearly - 1])
    level = np.all(paid[-2 * yearly : -yearly] == paid[-2 * yearly])
    same_way = (once - 1) * (twice - 1) > 0
    return (once + twice) / 2 if level and same_way else 1.0


@inner
def _correlation(one: Floats, other: Floats) -> float:
    spread = np.std(one) * np.std(other)
    return float(np.mean((one - np.mean(one)) * (other - np.mean(other))) / spread) if spread > 0 else 0.0


@inner
def _winsorised(values: Floats) -> float:
    """The mean, with the largest and the smallest value drawn to the next ones."""
    ordered = np.sort(values)
    ordered[0], ordered[-1] = ordered[1], ordered[-2]
    return float(np.mean(ordered))
