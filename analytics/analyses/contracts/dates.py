"""Due dates of contracts: the date rule that fits the last payments best, and the next day by that rule.

A rule is a day of the month that moves forward (F) or back (B) to a business day, or a business day counted from the start (S) or
the end (E) of the month. Weekly payments keep their weekday. Of two payments a month each comes on its own day.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.analyses.contracts.rhythm import Floats, Integers, Periods, period_names, periods
from analytics.calendar import FIRST_DAY, calendar
from analytics.native.compiling import compiled, inner

Days = NDArray[np.int32]
FORWARD, BACK, FROM_START, FROM_END = 0, 1, 2, 3
MONTH_DAYS, BUSINESS_DAYS = 31, 6
RULE_ORDER = ((FORWARD, MONTH_DAYS), (FROM_END, BUSINESS_DAYS), (FROM_START, BUSINESS_DAYS), (BACK, MONTH_DAYS))
"""The kinds of rules in the order in which they are tried, and the number of rules of each kind."""
MAX_PAYMENTS = 12
"""The latest payments that choose the rule, at most this many."""
WEIGHT_DECAY = 0.92
"""The weight of a payment relative to the one after it."""
MAX_ERROR_DAYS = 6.0
"""A payment further off counts no more than this."""
HALF_MONTH_DAYS = 13
"""A rule's day at most this far off is nearer than that of any other month."""
MIN_GRACE_DAYS, MAX_GRACE_DAYS = 7, 45
KIND_LOSS_DAYS = 0.01
"""The loss of each kind of rule against the one before it in `RULE_ORDER`: of rules that fit alike the simpler one wins."""


class DueDates(NamedTuple):
    """By contract: kind and number of its rule, the day on which the payment after the last regular one is due, and the days of
    grace after it.
    """

    kind: Integers
    number: Integers
    due: Integers
    grace: Integers


class DateRules(NamedTuple):
    """By rule, in the order of trial: kind, number, and loss against the first kind. By month and rule: the rule's day in that
    month. By month: its first day. By day: the business day on or after it.
    """

    kind: Integers
    number: Integers
    loss: Floats
    days: Days
    month_start: Days
    following: Days


def due_dates(starts: Integers, day: Integers, period: Integers, phase: Floats, slot: Integers) -> DueDates:
    """The due dates of all contracts, from their regular payments by contract and day."""
    count = starts.size - 1
    result = DueDates(*(np.zeros(count, np.int64) for _ in DueDates._fields))
    _find_due_dates(starts, day, period, phase, slot, periods(), period_names().index("MONTH_HALF"), date_rules(), result)
    return result


def next_business_day(days: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first business day after each day."""
    return calendar().following[days + 1 - FIRST_DAY].astype(np.int64)


@cache
def date_rules() -> DateRules:
    """The rules with their days in all months."""
    tables = calendar()
    first, after = tables.month_start[:-1, None], tables.month_start[1:, None]
    nth = np.minimum(first + np.arange(MONTH_DAYS), after - 1) - FIRST_DAY
    low, high = tables.month_business[:-1, None], tables.month_business[1:, None]
    business = np.arange(BUSINESS_DAYS)
    days_by_kind = {
        FORWARD: tables.following[nth],
        FROM_END: tables.business[np.maximum(high - 1 - business, low)],
        FROM_START: tables.business[np.minimum(low + business, high - 1)],
        BACK: tables.preceding[nth],
    }
    return DateRules(
        np.concatenate([np.full(count, kind) for kind, count in RULE_ORDER]),
        np.concatenate([np.arange(1, count + 1) for _, count in RULE_ORDER]),
        np.concatenate([np.full(count, rank * KIND_LOSS_DAYS) for rank, (_, count) in enumerate(RULE_ORDER)]),
        np.concatenate([days_by_kind[kind] for kind, _ in RULE_ORDER], axis=1).astype(np.int32),
        tables.month_start,
        tables.following,
    )


@compiled
def _find_due_dates(
    starts: Integers,
    day: Integers,
    period: Integers,
    phase: Floats,
    slot: Integers,
    period_table: Periods,
    half_month: int,
    rules: DateRules,
    result: DueDates,
) -> None:
    """Fills the result. The arrays are taken out of their tuples once: in the loop numba would count references each time."""
    kinds, numbers, loss, rule_days, month_start, following = rules
    kind, number, due, grace = result
    all_days, all_months = period_table.days, period_table.months
    first, last = (day.min(), day.max()) if day.size else (0, 0)
    errors_by_day, errors = np.full((last - first + 1, kinds.size), np.nan), np.empty(kinds.size)
    for contract in range(starts.size - 1):
        low, high = starts[contract], starts[contract + 1]
        length = all_days[period[contract]]
        grace[contract] = np.int64(min(max(0.5 * length, MIN_GRACE_DAYS), MAX_GRACE_DAYS))
        months = int(all_months[period[contract]])
        if period[contract] == half_month and high - low > 1:
            month = int(np.searchsorted(month_start, day[high - 2], "right")) - 1
            same_day = month_start[month + 1] + day[high - 2] - month_start[month]
            due[contract] = following[min(same_day, month_start[month + 2] - 1) - FIRST_DAY]
            continue
        if months == 0:
            turn = np.int64(np.floor((slot[high - 1] + 1 + phase[contract]) * length + 0.5))
            due[contract] = following[max(turn, day[high - 1] + 1) - FIRST_DAY]
            continue
        for payment in range(max(low, high - MAX_PAYMENTS), high):
            if np.isnan(errors_by_day[day[payment] - first, 0]):  # many payments lie on the same day
                _measure_errors(rule_days, month_start, day[payment], errors_by_day[day[payment] - first])
        rule = _best_rule(loss, errors_by_day, day, first, max(low, high - MAX_PAYMENTS), high, errors)
        kind[contract], number[contract] = kinds[rule], numbers[rule]
        month = _nearest_month(rule_days, month_start, rule, day[high - 1])
        due[contract] = rule_days[month + months, rule]


@inner
def _measure_errors(rule_days: Days, month_start: Days, day: int, errors: Floats) -> None:
    """Writes by how many days each rule misses this day."""
    month = int(np.searchsorted(month_start, day, "right")) - 1
    for rule in range(errors.size):
        days = rule_days[month, rule] - day
        if abs(days) > HALF_MONTH_DAYS:
            days = min(abs(days), abs(rule_days[month + 1 if days < 0 else month - 1, rule] - day))
        errors[rule] = min(abs(days), MAX_ERROR_DAYS)


@inner
def _best_rule(loss: Floats, errors_by_day: Floats, day: Integers, first: int, low: int, high: int, errors: Floats) -> int:
    """The rule with the smallest weighted error over the payments, where later ones weigh more."""
    for rule in range(errors.size):
        errors[rule] = loss[rule]
    weight = 1.0 / ((1 - WEIGHT_DECAY ** (high - low)) / (1 - WEIGHT_DECAY))
    for payment in range(high - 1, low - 1, -1):
        for rule in range(errors.size):
            errors[rule] += weight * errors_by_day[day[payment] - first, rule]
        weight *= WEIGHT_DECAY
    best = 0
    for rule in range(1, errors.size):
        if errors[rule] < errors[best] - 1e-12:
            best = rule
    return best


@inner
def _nearest_month(rule_days: Days, month_start: Days, rule: int, day: int) -> int:
    """The index of the month to which a payment on this day belongs by this rule."""
    month = int(np.searchsorted(month_start, day, "right")) - 1
    off = rule_days[month, rule] - day
    if abs(off) <= HALF_MONTH_DAYS:
        return month
    neighbour = month + 1 if off < 0 else month - 1
    return neighbour if abs(rule_days[neighbour, rule] - day) < abs(off) else month
