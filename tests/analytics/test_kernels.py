"""The compiled numerics of contracts, cashflow and events beside plain Python: what each kernel computes, written to be read.

The references know one group at a time, lists and dictionaries. They share constants and tables with the kernels, no code.
"""

import math
from collections import Counter
from datetime import date, timedelta
from functools import cache
from itertools import pairwise
from statistics import fmean, median, pstdev
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analytics.analyses.cashflow import predictions, statistics
from analytics.analyses.contracts import amounts, dates, modes, regular, rhythm, streams
from analytics.analyses.life_events import guards
from analytics.calendar import EPOCH, calendar

MAX_GROUPS, MAX_ROWS = 6, 40
CENTS = st.integers(-500_000, 500_000) | st.sampled_from([-99_900, -4_999, 250_000])
PRICES = st.lists(st.sampled_from([1000.0, 1020.0, 1050.0, 1300.0]) | st.integers(1, 400_000).map(float), min_size=1, max_size=40)
DAYS = st.integers(date(2019, 1, 1).toordinal() - EPOCH, date(2026, 12, 31).toordinal() - EPOCH)


def groups_of(values: st.SearchStrategy[Any], least: int = 1) -> st.SearchStrategy[list[list[Any]]]:
    """A few groups of values."""
    return st.lists(st.lists(values, min_size=least, max_size=MAX_ROWS), min_size=1, max_size=MAX_GROUPS)


def starts_of(groups: list[list[Any]]) -> NDArray[np.int64]:
    """Where each group starts when they lie one after the other, and the end of the last."""
    return np.cumsum([0, *map(len, groups)]).astype(np.int64)


def flat(groups: list[list[Any]], kind: Any) -> NDArray[Any]:
    """The values of all groups, one after the other."""
    return np.array([value for group in groups for value in group], kind)


# Amounts


@given(groups_of(CENTS))
def test_medians(groups: list[list[int]]) -> None:
    lengths = np.array([len(group) for group in groups], np.uint32)
    medians, deviations = amounts.medians(lengths, flat(groups, np.float64))
    assert list(medians) == [median(group) for group in groups]
    assert list(deviations) == [median(abs(cents - median(group)) for cents in group) for group in groups]


@given(st.lists(PRICES, min_size=1, max_size=MAX_GROUPS), st.sampled_from([1, 2, 4, 12]))
def test_next_amounts(contracts: list[list[float]], yearly: int) -> None:
    cents = flat(contracts, np.int64)
    next_cents, basis = amounts.next_amounts(starts_of(contracts), cents, np.full(len(contracts), yearly))
    expected = [plain_next_amount([float(int(price)) for price in contract], yearly) for contract in contracts]
    assert list(basis) == [kind for _, kind in expected]
    assert list(next_cents) == pytest.approx([amount for amount, _ in expected], abs=0.51)


def plain_next_amount(prices: list[float], yearly: int) -> tuple[float, int]:
    """The next price of one contract, and how it was estimated."""
    last = prices[-1]
    if len(prices) < 3:
        return last, amounts.LIKE_LAST
    if prices[-2] == last:
        stepped = plain_after_step(prices, yearly)
        return stepped, amounts.LIKE_LAST if stepped == last else amounts.YEARLY_STEP
    year = amounts.SEASON_PAYMENTS
    if yearly == year and len(prices) > year + 3 and correlation(prices[year:], prices[:-year]) > amounts.MIN_SEASON_CORRELATION:
        if len(set(prices[-1 - year : -1])) == 1:
            return last, amounts.LIKE_LAST
        year_ago = prices[-year]
        if len(prices) >= 2 * year and prices[-2 * year] == year_ago:
            return year_ago, amounts.LIKE_YEAR_AGO
        return year_ago * fmean(prices[year:]) / fmean(prices[:-year]), amounts.LIKE_YEAR_AGO
    recent = prices[-amounts.USAGE_PAYMENTS :]
    if pstdev(recent) < amounts.MAX_STEADY_DEVIATION * abs(fmean(recent)):
        steps = [later - earlier for earlier, later in pairwise(recent)]
        varies = len(recent) == amounts.USAGE_PAYMENTS and all(steps) and min(steps) < 0 < max(steps)
        return (plain_winsorised(recent), amounts.MEAN_OF_LATEST) if last > 0 and varies else (last, amounts.LIKE_LAST)
    if len(prices) < amounts.USAGE_PAYMENTS:
        return median(prices[-amounts.MEDIAN_PAYMENTS :]), amounts.MEDIAN_OF_LATEST
    return plain_winsorised(recent), amounts.MEAN_OF_LATEST


def plain_winsorised(recent: list[float]) -> float:
    """The mean, with the largest and the smallest price replaced by the next ones."""
    _, second, *middle, last_but_one, _ = sorted(recent)
    return fmean([second, second, *middle, last_but_one, last_but_one])


def plain_after_step(prices: list[float], yearly: int) -> float:
    """The price after the step that is due, if one comes every year."""
    last, years = prices[-1], len(prices) / yearly
    if yearly < 2 or years <= 1 or set(prices[-yearly:]) != {last}:
        return last
    before = prices[-yearly - 1]
    if years <= 2:
        return last * last / before if abs(last / before - 1) <= amounts.MAX_YEARLY_STEP else last
    earlier_year, before_that = prices[-2 * yearly : -yearly], prices[-2 * yearly - 1]
    both_rise_or_fall = (last - before) * (before - before_that) > 0
    if len(set(earlier_year)) > 1 or not both_rise_or_fall:
        return last
    if last - before == before - before_that:
        return last + last - before
    return last * (last / before + before / before_that) / 2


def correlation(one: list[float], other: list[float]) -> float:
    """Pearson's; 0 if one of them does not vary."""
    spread = pstdev(one) * pstdev(other)
    products = [(left - fmean(one)) * (right - fmean(other)) for left, right in zip(one, other, strict=True)]
    return fmean(products) / spread if spread > 0 else 0.0


# Dates


@given(st.lists(st.lists(DAYS, min_size=1, max_size=15, unique=True).map(sorted), min_size=1, max_size=MAX_GROUPS))
def test_due_dates_of_monthly_contracts(contracts: list[list[int]]) -> None:
    month = rhythm.period_names().index("MONTH_ONE")
    count, rows = len(contracts), sum(map(len, contracts))
    due = dates.due_dates(
        starts_of(contracts), flat(contracts, np.int64), np.full(count, month), np.zeros(count), np.zeros(rows, np.int64)
    )
    for number, days in enumerate(contracts):
        kind, day_of_month, next_day = plain_due_date([date.fromordinal(day + EPOCH) for day in days])
        assert (due.kind[number], due.number[number]) == (kind, day_of_month)
        assert date.fromordinal(int(due.due[number]) + EPOCH) == next_day


def plain_due_date(days: list[date]) -> tuple[int, int, date]:
    """Kind and number of the rule that fits the latest payments best, and the day of the month after the last one by it."""
    latest = days[-dates.MAX_PAYMENTS :][::-1]
    weights = [dates.WEIGHT_DECAY**age for age in range(len(latest))]

    def loss(rank: int, kind: int, number: int) -> float:
        errors = [min(abs((near_rule_day(kind, number, day) - day).days), dates.MAX_ERROR_DAYS) for day in latest]
        weighted = sum(weight * error for weight, error in zip(weights, errors, strict=True)) / sum(weights)
        return round(weighted + rank * dates.KIND_LOSS_DAYS, 9)

    rules = [(rank, kind, number) for rank, (kind, count) in enumerate(dates.RULE_ORDER) for number in range(1, count + 1)]
    _, kind, number = min(rules, key=lambda rule: loss(*rule))
    year, month = month_of(near_rule_day(kind, number, days[-1], of_month=True))
    return kind, number, rule_day(kind, number, *next_month(year, month))


def near_rule_day(kind: int, number: int, day: date, *, of_month: bool = False) -> date:
    """The rule's day that is nearest to a day, looked for in its month and the one beside it; or a day of that month."""
    own = rule_day(kind, number, day.year, day.month)
    if abs((own - day).days) <= dates.HALF_MONTH_DAYS:
        return day.replace(day=1) if of_month else own
    year, month = next_month(day.year, day.month) if own < day else month_of(day.replace(day=1) - timedelta(days=1))
    neighbour = rule_day(kind, number, year, month)
    if abs((neighbour - day).days) < abs((own - day).days):
        return date(year, month, 1) if of_month else neighbour
    return day.replace(day=1) if of_month else own


def rule_day(kind: int, number: int, year: int, month: int) -> date:
    """The day of a rule in a month."""
    last = date(*next_month(year, month), 1) - timedelta(days=1)
    month_days = [date(year, month, day) for day in range(1, last.day + 1)]
    business = [day for day in month_days if is_business(day)]
    if kind == dates.FROM_START:
        return business[number - 1]
    if kind == dates.FROM_END:
        return business[-number]
    day, step = month_days[min(number, last.day) - 1], timedelta(days=1 if kind == dates.FORWARD else -1)
    while not is_business(day):
        day += step
    return day


@cache
def is_business(day: date) -> bool:
    index = np.searchsorted(calendar().business, day.toordinal() - EPOCH)
    return bool(calendar().business[index] == day.toordinal() - EPOCH)


def month_of(day: date) -> tuple[int, int]:
    return day.year, day.month


def next_month(year: int, month: int) -> tuple[int, int]:
    return year + month // 12, month % 12 + 1


# Rhythm


@given(
    st.lists(
        st.lists(DAYS, min_size=1, max_size=12, unique=True).map(sorted)
        | st.builds(
            lambda first, step, moves: sorted({first + step * number + move for number, move in enumerate(moves)}),
            DAYS,
            st.sampled_from([7, 14, 28, 30, 61, 91, 182, 365]),
            st.lists(st.integers(-3, 3), min_size=2, max_size=12),
        ),
        min_size=1,
        max_size=MAX_GROUPS,
    )
)
def test_rhythm(groups: list[list[int]]) -> None:
    rows = pl.DataFrame({"stream": flat([[number] * len(group) for number, group in enumerate(groups)], np.int64)})
    rows = rows.with_columns(booked_on=pl.Series(flat(groups, np.int32)).cast(pl.Date))
    result = rhythm.rhythm(rhythm.stream_dates(rows, "stream"))
    starts = starts_of(groups)
    for number, days in enumerate(groups):
        fits = plain_fits(days)
        best = max((timing for timing, *_ in fits.values()), default=0.0)
        period = int(result.period[number])
        if best == 0.0:
            assert period == rhythm.NO_PERIOD
            continue
        moved = len(days) >= rhythm.MIN_MOVED_DATES and best < rhythm.MAX_MOVED_TIMING and plain_moved_share(days)
        if moved and moved >= rhythm.MOVED_DAY.least_share:
            assert rhythm.period_names()[period] == "MONTH_ONE"
            assert result.timing[number] == pytest.approx(moved)
            continue
        timing, slots, filled = fits[period]
        assert timing == pytest.approx(best)
        assert result.timing[number] == pytest.approx(timing)
        assert result.slots[number] == slots
        assert list(result.inlier[starts[number] : starts[number + 1]]) == filled


def plain_fits(days: list[int]) -> dict[int, tuple[float, int, list[bool]]]:
    """Of each period that could be recognised: the fit, the number of filled slots, and which dates fill one."""
    periods, fits = rhythm.periods(), {}
    passed = days[-1] - days[0]
    for period, name in enumerate(rhythm.period_names()):
        length, tolerance = periods.days[period], periods.tolerance[period]
        if name == "MONTH_HALF" or len(days) < 2 or length > rhythm.MAX_PERIOD_REACH * passed + tolerance:
            continue
        turns = [fractional_month(day) / months if (months := periods.months[period]) else day / length for day in days]
        phase = direction(turns)
        near_turns = [turn for turn in turns if distance(turn, phase) * length <= tolerance]
        if len(near_turns) < len(turns):
            phase = direction(near_turns) if near_turns else phase
        off_days = [distance(turn, phase) * length for turn in turns]
        filled = [off <= tolerance for off in off_days]
        slots = sorted({math.floor(turn - phase + 0.5) for turn, fills in zip(turns, filled, strict=True) if fills})
        if slots:
            nearness = fmean(1 - off / tolerance for off in off_days if off <= tolerance)
            share = len(slots) / (slots[-1] - slots[0] + 1)
            weight = 1 - rhythm.NEARNESS_WEIGHT + rhythm.NEARNESS_WEIGHT * nearness
            fits[period] = (len(slots) / len(days) * math.sqrt(share) * weight, len(slots), filled)
    return fits


def plain_moved_share(days: list[int]) -> float:
    """The share of the dates that come a month after the one before."""
    gap = rhythm.MOVED_DAY
    steps = [later - earlier for earlier, later in pairwise(days)]
    return fmean(gap.least_days <= step <= gap.most_days for step in steps)


def fractional_month(day: int) -> float:
    when = date.fromordinal(day + EPOCH)
    length = (date(*next_month(when.year, when.month), 1) - when.replace(day=1)).days
    return when.year * 12 + when.month - 1 + (when.day - 1) / length


def direction(turns: list[float]) -> float:
    """The mean of the turns' places on a circle."""
    angles = [2 * math.pi * (turn % 1) for turn in turns]
    return math.atan2(sum(map(math.sin, angles)), sum(map(math.cos, angles))) / (2 * math.pi)


def distance(turn: float, phase: float) -> float:
    """From a turn to the nearest slot."""
    return abs(turn - phase - math.floor(turn - phase + 0.5))


# Regular payments


PAYMENT = st.tuples(
    st.integers(0, 8), st.sampled_from([1000, 1010, 1250, 4000]) | st.integers(1, 9000), st.booleans(), st.booleans()
)


@given(groups_of(PAYMENT))
def test_regular_payments(groups: list[list[tuple[int, int, bool, bool]]]) -> None:
    streams_of_payments = [sorted(group, key=lambda payment: payment[0]) for group in groups]
    slots, cents, inliers, specials = zip(*(payment for group in streams_of_payments for payment in group), strict=True)
    rows = pl.DataFrame(
        {"cents": cents, "slot": slots, "inlier": inliers}, schema_overrides={"cents": pl.Int64, "slot": pl.Int64}
    )
    purposes = pl.Series(["Bonus" if special else "Beitrag" for special in specials])
    marked = regular.find_regular(rows, starts_of(streams_of_payments), purposes)
    assert list(marked) == [flag for group in streams_of_payments for flag in plain_regular(group)]


def plain_regular(payments: list[tuple[int, int, bool, bool]]) -> list[bool]:
    """Of each payment (slot, cents, whether it is near its slot, whether it has special words) whether it is regular."""
    if len(payments) == 1:
        return [True]
    many_special = sum(special for *_, special in payments) > regular.MAX_SPECIAL_SHARE * len(payments)
    fitting = [row for row, (_, _, near, special) in enumerate(payments) if near and (many_special or not special)]
    cents = [size for _, size, *_ in payments]
    chosen: list[int] = []
    for row in fitting:
        if not chosen or payments[chosen[-1]][0] != payments[row][0]:
            chosen.append(row)
            continue
        *before, rival = chosen
        usual = median(cents[other] for other in (before[-regular.MAX_PAYMENTS_BEFORE :] or fitting))
        if abs(cents[row] - usual) < abs(cents[rival] - usual):
            chosen[-1] = row
    sizes = [cents[row] for row in chosen]
    usual_rows = {row for index, row in enumerate(chosen) if is_usual(sizes, index)}
    return [row in usual_rows for row in range(len(payments))]


def is_usual(sizes: list[int], index: int) -> bool:
    """Whether a payment has about the size of the two before and after it, or that of one beside it."""
    around = sizes[max(0, index - 2) : index + 3]
    size, middle = sizes[index], median(around)
    if len(around) < 3 or middle / regular.MAX_SIZE_FACTOR <= size <= middle * regular.MAX_SIZE_FACTOR:
        return True
    neighbours = sizes[max(0, index - 1) : index] + sizes[index + 1 : index + 2]
    return any(abs(neighbour - size) <= regular.MAX_LEVEL_DIFFERENCE * size for neighbour in neighbours)


# Groups


@given(groups_of(st.sampled_from(["Miete", "Strom", "Gas", ""])))
def test_most_frequent_text(groups: list[list[str]]) -> None:
    texts = modes.most_frequent(starts_of(groups), pl.Series([text for group in groups for text in group]))
    for group, text in zip(groups, texts, strict=True):
        counts = Counter(group)
        last_first = sorted(counts, key=lambda each: -max(row for row, other in enumerate(group) if other == each))
        assert text == max(last_first, key=lambda each: counts[each])


@given(st.lists(st.tuples(st.integers(0, 4), DAYS, st.integers(0, 3)), min_size=1, max_size=MAX_ROWS))
def test_rows_by_stream_and_day(payments: list[tuple[int, int, int]]) -> None:
    stream, days, ties = zip(*payments, strict=True)
    rows = pl.DataFrame({"stream": stream, "booked_on": pl.Series(days, dtype=pl.Int32).cast(pl.Date), "tie": ties})
    sorted_rows = streams.sort_by_day(rows)
    ordered = zip(sorted_rows["stream"], sorted_rows["booked_on"].to_physical(), sorted_rows["tie"], strict=True)
    assert list(ordered) == sorted(payments)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1000), st.booleans(), CENTS.map(abs)), min_size=1, max_size=MAX_ROWS))
def test_sums_of_groups(rows: list[tuple[int, int, bool, int]]) -> None:
    group, points, firm, size = (np.array(column) for column in zip(*rows, strict=True))
    sums = streams.Groups(*(np.zeros(5, np.int64) for _ in streams.Groups._fields))
    streams._sum_groups(group.astype(np.uint32), points, firm, size, sums)
    for number in set(group.tolist()):
        members = [row for row in rows if row[0] == number]
        sizes = [row[3] for row in members]
        assert sums.rows[number] == len(members)
        assert sums.points[number] == sum(row[1] for row in members)
        assert sums.firm[number] == sum(row[2] for row in members)
        assert (sums.least[number], sums.most[number]) == (min(sizes), max(sizes))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), CENTS, CENTS), min_size=1, max_size=MAX_ROWS))
def test_rows_added_to_groups(rows: list[tuple[int, int, int, int]]) -> None:
    group, value_row = (np.array([row[column] for row in rows]) for column in (0, 1))
    values = np.array([row[2:] for row in rows] + [(0, 0)] * 5, np.int64)
    table = np.zeros((4, 2), np.int64)
    predictions._add(value_row.astype(np.uint32), group, values, table)
    for number in range(4):
        members = [values[at] for member, at in zip(group, value_row, strict=True) if member == number]
        assert table[number].tolist() == [sum(int(row[column]) for row in members) for column in range(2)]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.booleans(), st.integers(3, 6), CENTS),
        min_size=1,
        max_size=MAX_ROWS,
    )
)
def test_sums_by_user_tag_and_time(rows: list[tuple[int, int, int, bool, int, int]]) -> None:
    user, partner, category, savings, month, cents = (np.array(column) for column in zip(*rows, strict=True))
    times = (month.astype(np.int32), (month * 4).astype(np.int32))
    numbers = [np.empty(4 * len(rows), np.uint32) for _ in range(4)]
    arrays = statistics.CashflowSums(
        numbers[0], numbers[1], numbers[2], numbers[3], np.empty(4 * len(rows), np.bool_), np.empty(4 * len(rows), np.int64)
    )
    starts = np.r_[0, np.cumsum(np.bincount(user, minlength=3))]
    tags = (partner.astype(np.uint32), category.astype(np.uint32))
    count = statistics._add(starts, np.argsort(user, kind="stable"), tags, 3, savings, times, cents, arrays)
    expected: Counter[tuple[int, int, int, int, bool]] = Counter()
    for tree in range(2):
        for kind in range(2):
            for index in range(len(rows)):
                key = (int(user[index]), tree, int(tags[tree][index]), int(times[kind][index]), bool(savings[index]))
                expected[key] += int(cents[index])
    keys = zip(*(getattr(arrays, name)[:count].tolist() for name in ("user", "tree", "tag", "time", "savings")), strict=True)
    sums = dict(zip(keys, arrays.cents[:count].tolist(), strict=True))
    assert sums == dict(expected)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 400), st.sampled_from([30, 90])), min_size=1, max_size=MAX_ROWS))
def test_events_are_spaced(events: list[tuple[int, int, int]]) -> None:
    events.sort()
    group, day, cooldown = (np.array(column, np.int64) for column in zip(*events, strict=True))
    keep = np.zeros(len(events), np.bool_)
    guards._space(group, day, cooldown, keep)
    latest: dict[int, int] = {}
    for (item, when, days), kept in zip(events, keep, strict=True):
        is_far = item not in latest or when - latest[item] >= days
        assert kept == is_far
        if is_far:
            latest[item] = when
