"""On which day a contract is paid: the rule that would have met its last payments best, and the day that it names next.

A rule is a day of the month that moves forward (F) or back (B) to a business day, or a business day counted from the start (S) or
the end (E) of the month. Weekly payments keep their weekday.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.calendar import FIRST_DAY, FIRST_MONTH, Calendar, calendar, nth_business_day, nth_day
from analytics.contracts.rhythm import Floats, Integers, Periods, periods
from analytics.kernels import compiled, inner

FORWARD, BACK, FROM_START, FROM_END = 0, 1, 2, 3
KINDS = "FBSE"
DAYS, BUSINESS_DAYS = 31, 6
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


class Expected(NamedTuple):
    """By contract: kind and number of its rule, the day after its last regular payment on which the next one is due, and how many
    days late it may be.
    """

    kind: Integers
    number: Integers
    due: Integers
    grace: Integers


def expected(starts: Integers, day: Integers, period: Integers, phase: Floats, slot: Integers) -> Expected:
    """What follows the regular payments of each contract, given by contract and day."""
    count = starts.size - 1
    found = Expected(*(np.zeros(count, np.int64) for _ in Expected._fields))
    _expect(starts, day, period, phase, slot, periods(), calendar(), found)
    return found


def next_business_day(days: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first business day after each day."""
    return calendar().following[days + 1 - FIRST_DAY].astype(np.int64)


@compiled
def _expect(
    starts: Integers,
    day: Integers,
    period: Integers,
    phase: Floats,
    slot: Integers,
    known: Periods,
    tables: Calendar,
    found: Expected,
) -> None:
    for contract in range(starts.size - 1):
        low, high = starts[contract], starts[contract + 1]
        length = known.days[period[contract]]
        found.grace[contract] = np.int64(min(max(0.5 * length, LEAST_GRACE), MOST_GRACE))
        months = int(known.months[period[contract]])
        if months == 0:
            turn = np.int64(np.floor((slot[high - 1] + 1 + phase[contract]) * length + 0.5))
            found.due[contract] = tables.following[max(turn, day[high - 1] + 1) - FIRST_DAY]
            continue
        kind, number = _best(tables, day[max(low, high - HISTORY) : high])
        found.kind[contract], found.number[contract] = kind, number
        at = int(np.searchsorted(tables.month_start, day[high - 1], "right")) - 1 + FIRST_MONTH
        month, _ = _nearest(tables, kind, number, day[high - 1], at)
        found.due[contract] = _day(tables, kind, number, month + months)


@inner
def _best(tables: Calendar, days: Integers) -> tuple[int, int]:
    """The rule with the smallest error over the payments, the later ones counting more."""
    months = np.searchsorted(tables.month_start, days, "right") - 1 + FIRST_MONTH
    least, best_kind, best_number = np.inf, FORWARD, 1
    whole = (1 - FADING**days.size) / (1 - FADING)
    order = (FORWARD, FROM_END, FROM_START, BACK)
    for rank in range(4):
        for number in range(1, (DAYS if order[rank] <= BACK else BUSINESS_DAYS) + 1):
            error, weight = rank * PREFERENCE, 1.0 / whole
            for place in range(days.size - 1, -1, -1):
                _, off = _nearest(tables, order[rank], number, days[place], months[place])
                error += weight * min(off, MOST_ERROR)
                weight *= FADING
                if error >= least:  # cannot become better
                    break
            if error < least - 1e-12:
                least, best_kind, best_number = error, order[rank], number
    return best_kind, best_number


@inner
def _nearest(tables: Calendar, kind: int, number: int, day: int, at: int) -> tuple[int, int]:
    """The month for which a payment in the month `at` was, by this rule, and how many days it was off."""
    off = _day(tables, kind, number, at) - day
    if abs(off) <= HALF_A_MONTH:
        return at, abs(off)
    beside = at + 1 if off < 0 else at - 1
    other = abs(_day(tables, kind, number, beside) - day)
    return (beside, other) if other < abs(off) else (at, abs(off))


@inner
def _day(tables: Calendar, kind: int, number: int, month: int) -> int:
    """The day that a rule names in a month."""
    if kind == FORWARD:
        return int(tables.following[nth_day(tables, month, number) - FIRST_DAY])
    if kind == BACK:
        return int(tables.preceding[nth_day(tables, month, number) - FIRST_DAY])
    return nth_business_day(tables, month, number if kind == FROM_START else -number)
