"""On which day a contract is paid: the rule that would have met its last payments best, and the day that it names next.

A rule is a day of the month that moves forward (F) or back (B) to a business day, or a business day counted from the start (S) or
the end (E) of the month. Weekly payments keep their weekday.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.analyses.contracts.rhythm import Floats, Integers, Periods, periods
from analytics.calendar import FIRST_DAY, calendar
from analytics.native.compiling import compiled, inner

Days = NDArray[np.int32]
FORWARD, BACK, FROM_START, FROM_END = 0, 1, 2, 3
KINDS = "FBSE"
DAYS, BUSINESS_DAYS = 31, 6
ORDER = ((FORWARD, DAYS), (FROM_END, BUSINESS_DAYS), (FROM_START, BUSINESS_DAYS), (BACK, DAYS))
"""The kinds of rules in the order in which they are tried, and how many there are of each."""
HISTORY = 12
"""So many payments before decide."""
FADING = 0.92
"""What a payment weighs of the one after it."""
MOST_ERROR = 6.0
"""Days; a payment that is further off counts no more than this."""
HALF_A_MONTH = 13
"""A day that is not further off than this is nearer than that of any other month."""
LEAST_GRACE, MOST_GRACE = 7, 45
PREFERENCE = 0.01
"""What a kind of rule loses to the one before it in the order F, E, S, B: of rules that fit alike the simpler one wins."""


class DueDates(NamedTuple):
    """By contract: kind and number of its rule, the day after its last regular payment on which the next one is due, and how many
    days late it may be.
    """

    kind: Integers
    number: Integers
    due: Integers
    grace: Integers


class DateRules(NamedTuple):
    """All rules in the order of their trial: kind, number, what each loses to the first kind; and by month and rule the day that
    the rule names there. By month also its first day, and by day the business day on or after it.
    """

    kind: Integers
    number: Integers
    loss: Floats
    named: Days
    month_start: Days
    following: Days


def expected(starts: Integers, day: Integers, period: Integers, phase: Floats, slot: Integers) -> DueDates:
    """What follows the regular payments of each contract, given by contract and day."""
    count = starts.size - 1
    found = DueDates(*(np.zeros(count, np.int64) for _ in DueDates._fields))
    _expect(starts, day, period, phase, slot, periods(), rules(), found)
    return found


def next_business_day(days: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first business day after each day."""
    return calendar().following[days + 1 - FIRST_DAY].astype(np.int64)


@cache
def rules() -> DateRules:
    """The rules, with the days that they name in all months."""
    tables = calendar()
    first, after = tables.month_start[:-1, None], tables.month_start[1:, None]
    nth = np.minimum(first + np.arange(DAYS), after - 1) - FIRST_DAY
    low, high = tables.month_business[:-1, None], tables.month_business[1:, None]
    business = np.arange(BUSINESS_DAYS)
    named = {
        FORWARD: tables.following[nth],
        FROM_END: tables.business[np.maximum(high - 1 - business, low)],
        FROM_START: tables.business[np.minimum(low + business, high - 1)],
        BACK: tables.preceding[nth],
    }
    return DateRules(
        np.concatenate([np.full(count, kind) for kind, count in ORDER]),
        np.concatenate([np.arange(1, count + 1) for _, count in ORDER]),
        np.concatenate([np.full(count, rank * PREFERENCE) for rank, (_, count) in enumerate(ORDER)]),
        np.concatenate([named[kind] for kind, _ in ORDER], axis=1).astype(np.int32),
        tables.month_start,
        tables.following,
    )


@compiled
def _expect(
    starts: Integers,
    day: Integers,
    period: Integers,
    phase: Floats,
    slot: Integers,
    known: Periods,
    of: DateRules,
    found: DueDates,
) -> None:
    """Columns are taken out of their tuples once: in a loop that would count references each time."""
    kinds, numbers, loss, named, month_start, following = of
    kind, number, due, grace = found
    all_days, all_months = known.days, known.months
    first, last = (day.min(), day.max()) if day.size else (0, 0)
    off, errors = np.full((last - first + 1, kinds.size), np.nan), np.empty(kinds.size)
    for contract in range(starts.size - 1):
        low, high = starts[contract], starts[contract + 1]
        length = all_days[period[contract]]
        grace[contract] = np.int64(min(max(0.5 * length, LEAST_GRACE), MOST_GRACE))
        months = int(all_months[period[contract]])
        if months == 0:
            turn = np.int64(np.floor((slot[high - 1] + 1 + phase[contract]) * length + 0.5))
            due[contract] = following[max(turn, day[high - 1] + 1) - FIRST_DAY]
            continue
        for place in range(max(low, high - HISTORY), high):
            if np.isnan(off[day[place] - first, 0]):  # many payments lie on the same day
                _measure(named, month_start, day[place], off[day[place] - first])
        rule = _best(loss, off, day, first, max(low, high - HISTORY), high, errors)
        kind[contract], number[contract] = kinds[rule], numbers[rule]
        month = _nearest(named, month_start, rule, day[high - 1])
        due[contract] = named[month + months, rule]


@inner
def _measure(named: Days, month_start: Days, day: int, off: Floats) -> None:
    """How many days each rule would miss a day by."""
    month = int(np.searchsorted(month_start, day, "right")) - 1
    for rule in range(off.size):
        days = named[month, rule] - day
        if abs(days) > HALF_A_MONTH:
            days = min(abs(days), abs(named[month + 1 if days < 0 else month - 1, rule] - day))
        off[rule] = min(abs(days), MOST_ERROR)


@inner
def _best(loss: Floats, off: Floats, day: Integers, first: int, low: int, high: int, errors: Floats) -> int:
    """The rule with the smallest error over the payments, the later ones counting more; all rules are tried side by side."""
    for rule in range(errors.size):
        errors[rule] = loss[rule]
    weight = 1.0 / ((1 - FADING ** (high - low)) / (1 - FADING))
    for place in range(high - 1, low - 1, -1):
        for rule in range(errors.size):
            errors[rule] += weight * off[day[place] - first, rule]
        weight *= FADING
    best = 0
    for rule in range(1, errors.size):
        if errors[rule] < errors[best] - 1e-12:
            best = rule
    return best


@inner
def _nearest(named: Days, month_start: Days, rule: int, day: int) -> int:
    """The place of the month for which a payment on this day was, by this rule."""
    month = int(np.searchsorted(month_start, day, "right")) - 1
    off = named[month, rule] - day
    if abs(off) <= HALF_A_MONTH:
        return month
    beside = month + 1 if off < 0 else month - 1
    return beside if abs(named[beside, rule] - day) < abs(off) else month
