"""The next amount of a contract: the last one where amounts keep their level, otherwise an estimate from usage.

Income that differs a little in every month, such as a wage by the hour, keeps a level as well: the mean of its latest amounts.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.analyses.contracts.rhythm import Floats, Integers
from analytics.native.compiling import compiled, inner

SEASON_PAYMENTS = 12
MIN_SEASON_CORRELATION = 0.6
"""A contract is seasonal above this correlation with the payments a year before."""
MAX_STEADY_DEVIATION = 0.1
MEDIAN_PAYMENTS, USAGE_PAYMENTS = 3, 6
MAX_INSERTION_SORT = 64
"""Up to this number of values are sorted by insertion."""
LIKE_LAST, YEARLY_STEP, LIKE_YEAR_AGO, MEDIAN_OF_LATEST, MEAN_OF_LATEST = range(5)
NEXT_AMOUNT_REASONS = (
    "wie zuletzt",
    "mit der Anpassung, die jedes Jahr um diese Zeit kommt",
    "wie vor einem Jahr, auf heutigem Niveau",
    "der mittlere der letzten drei Beträge",
    "im Mittel der letzten sechs Beträge, höchster und niedrigster durch die nächsten ersetzt",
)
"""How a next amount was estimated, in German."""
MAX_YEARLY_STEP = 0.05
"""Pensions, dynamic premiums and index rents rise by at most this share a year; a single larger step is a new tariff."""


def next_amounts(starts: Integers, cents: Integers, yearly: Integers) -> tuple[Integers, Integers]:
    """The next amount of each contract in cents, from its regular payments, and how it was estimated (an index of
    `NEXT_AMOUNT_REASONS`); `yearly` is the number of payments in a year.
    """
    next_cents, basis = np.zeros(starts.size - 1, np.int64), np.zeros(starts.size - 1, np.int64)
    _next_amounts(starts, cents.astype(np.float64), yearly, next_cents, basis)
    return next_cents, basis


def medians(lengths: NDArray[np.uint32], sizes: Floats) -> tuple[Floats, Floats]:
    """The median and the median absolute deviation of each group of sizes; groups lie one after the other, with `lengths`."""
    median, deviation = np.zeros(lengths.size), np.zeros(lengths.size)
    _medians(lengths, sizes, median, deviation)
    return median, deviation


@compiled
def _medians(lengths: NDArray[np.uint32], sizes: Floats, median: Floats, deviation: Floats) -> None:
    low, group_sizes = 0, np.empty(lengths.max() if lengths.size else 0)
    for group in range(lengths.size):
        count, equal = int(lengths[group]), True
        for index in range(count):
            group_sizes[index] = sizes[low + index]
            equal = equal and group_sizes[index] == group_sizes[0]
        median[group] = group_sizes[0] if equal else _median(group_sizes, count)
        if not equal:
            for index in range(count):
                group_sizes[index] = abs(group_sizes[index] - median[group])
            deviation[group] = _median(group_sizes, count)
        low += count


@inner
def _median(values: Floats, count: int) -> float:
    """The median of the first `count` values, which it sorts in place: they are few, and allocating memory would take longer."""
    if count > MAX_INSERTION_SORT:
        return float(np.median(values[:count]))
    for index in range(1, count):
        value, insert_at = values[index], index
        while insert_at > 0 and values[insert_at - 1] > value:
            values[insert_at] = values[insert_at - 1]
            insert_at -= 1
        values[insert_at] = value
    return float((values[(count - 1) // 2] + values[count // 2]) / 2)


@compiled
def _next_amounts(starts: Integers, cents: Floats, yearly: Integers, next_cents: Integers, basis: Integers) -> None:
    for contract in range(starts.size - 1):
        amounts = cents[starts[contract] : starts[contract + 1]]
        amount, basis[contract] = _next_amount(amounts, yearly[contract])
        next_cents[contract] = np.int64(np.floor(amount + 0.5))


@inner
def _next_amount(amounts: Floats, yearly: int) -> tuple[float, int]:
    last = float(amounts[-1])
    if amounts.size < 3:
        return last, LIKE_LAST
    if amounts[-2] == last:
        amount = _after_step(amounts, yearly)
        return amount, LIKE_LAST if amount == last else YEARLY_STEP
    if yearly == SEASON_PAYMENTS and amounts.size > SEASON_PAYMENTS + 3:
        later, earlier = amounts[SEASON_PAYMENTS:], amounts[:-SEASON_PAYMENTS]
        if _correlation(later, earlier) > MIN_SEASON_CORRELATION:
            if np.all(amounts[-1 - SEASON_PAYMENTS : -1] == amounts[-2]):
                return last, LIKE_LAST  # a price that rises once a year has just done so
            level, year_ago = np.mean(earlier), float(amounts[amounts.size - SEASON_PAYMENTS])
            if amounts.size >= 2 * SEASON_PAYMENTS and amounts[amounts.size - 2 * SEASON_PAYMENTS] == year_ago:
                return year_ago, LIKE_YEAR_AGO
            return float(year_ago * np.mean(later) / level) if level != 0 else last, LIKE_YEAR_AGO
    recent = amounts[-USAGE_PAYMENTS:]
    if np.std(recent) < MAX_STEADY_DEVIATION * abs(np.mean(recent)):
        return (_winsorised(recent), MEAN_OF_LATEST) if last > 0 and _varies(recent) else (last, LIKE_LAST)
    if amounts.size < USAGE_PAYMENTS:
        return float(np.median(amounts[-MEDIAN_PAYMENTS:])), MEDIAN_OF_LATEST
    return _winsorised(recent), MEAN_OF_LATEST


@inner
def _varies(recent: Floats) -> bool:
    """Whether each of the latest amounts differs from the one before, some upwards and some downwards."""
    steps = np.diff(recent)
    return bool(recent.size == USAGE_PAYMENTS and np.all(steps != 0) and steps.min() < 0 < steps.max())


@inner
def _after_step(amounts: Floats, yearly: int) -> float:
    """The last amount after the mean of the price steps one and two years ago, if the next one is due now: prices often rise in
    the same month. Two steps of the same amount are followed by that amount to the cent. With less than two years of payments a
    small step a year ago counts as a yearly one.
    """
    last = float(amounts[-1])
    if yearly < 2 or amounts.size <= yearly or not np.all(amounts[-yearly:] == last):
        return last
    latest_step = float(amounts[-yearly] / amounts[-yearly - 1])
    if amounts.size <= 2 * yearly:
        return last * latest_step if abs(latest_step - 1) <= MAX_YEARLY_STEP else last
    earlier_step = float(amounts[-2 * yearly] / amounts[-2 * yearly - 1])
    is_level = np.all(amounts[-2 * yearly : -yearly] == amounts[-2 * yearly])
    if not is_level or (latest_step - 1) * (earlier_step - 1) <= 0:
        return last
    difference = amounts[-yearly] - amounts[-yearly - 1]
    if difference == amounts[-2 * yearly] - amounts[-2 * yearly - 1]:
        return last + float(difference)
    return last * (latest_step + earlier_step) / 2


@inner
def _correlation(one: Floats, other: Floats) -> float:
    spread = np.std(one) * np.std(other)
    return float(np.mean((one - np.mean(one)) * (other - np.mean(other))) / spread) if spread > 0 else 0.0


@inner
def _winsorised(values: Floats) -> float:
    """The mean, with the largest and the smallest value replaced by the next ones."""
    sorted_values = np.sort(values)
    sorted_values[0], sorted_values[-1] = sorted_values[1], sorted_values[-2]
    return float(np.mean(sorted_values))
