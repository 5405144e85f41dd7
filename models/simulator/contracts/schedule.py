"""The payments of contracts with day and amount, also after the last booking, so that the next date is known."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.simulator.base.calendar import Grid
from models.simulator.base.chance import Floats, Ints, Keys, hashed, normal, uniform
from models.simulator.contracts.holdings import WEEKLY_PERIODS
from models.simulator.contracts.templates import templates
from models.simulator.people.incomes import child_benefit
from models.simulator.people.people import MAX_CHILDREN, YEAR_DAYS
from models.simulator.people.scene import Scene

MAX_PRICE_STEPS = 7
SALARY_TEMPLATES = ("salary", "partner_salary", "training_pay")
NOVEMBER, THIRTEENTH_SHARE = 10, 0.25


def schedule(scene: Scene, contracts: pl.DataFrame) -> pl.DataFrame:
    """Payments of these contracts from each user's start on; `contract_row` is the row of the contract."""
    position, month, day = _due(scene, contracts)
    key = contracts["number"].to_numpy()[position]
    keep = _not_skipped(scene, contracts, position, month, day, key)
    position, month, day, key = position[keep], month[keep], day[keep], key[keep]
    euros = _amounts(scene, contracts, position, month, key)
    euros = _child_benefits(scene, contracts, position, month, day, euros)
    period = contracts["period"].to_numpy()[position]
    shifted = _jittered(scene, contracts, position, month, day, key)
    first = scene.grid.first_month
    length = np.where(period < WEEKLY_PERIODS, period, 1)
    frame = pl.DataFrame(
        {
            "contract_row": position.astype(np.uint32),
            "month": month,
            "day": shifted,
            "cents": _signed(contracts, position, _rounded(contracts, position, euros)),
            "n": _numbers(contracts, position, first + month, length),
            "from_day": _month_day(first + month),
            "to_day": _month_day(first + month + length) - 1,
        }
    )
    started = scene.group.start[contracts["who"].to_numpy()[position]]
    return frame.filter(shifted >= started)


def by_template(contracts: pl.DataFrame, position: Ints, fact: str) -> NDArray[Any]:
    """A fact of the template of each position."""
    values = np.array([getattr(template, fact) for template in templates()])
    return np.asarray(values[contracts["template"].to_numpy()[position]])


def _month_day(months: Ints) -> Ints:
    """First day of months counted since year 0."""
    return (months - 1970 * 12).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _due(scene: Scene, contracts: pl.DataFrame) -> tuple[Ints, Ints, Ints]:
    """Contract, month and nominal day of every payment."""
    grid = scene.grid
    rules = contracts["rule"].unique().sort()
    dates = np.stack([grid.rule_dates(rule) for rule in rules.to_list()])
    rule = contracts["rule"].replace_strict(rules, np.arange(rules.len()), return_dtype=pl.Int64).to_numpy()
    period, phase = contracts["period"].to_numpy(), contracts["phase"].to_numpy()
    begin, end = contracts["begin"].to_numpy()[:, None], contracts["end"].to_numpy()[:, None]
    months = np.arange(dates.shape[1])
    days = dates[rule]
    monthly = (period < WEEKLY_PERIODS)[:, None]
    due = monthly & (
        (grid.first_month + months[None, :] - phase[:, None]) % np.where(period < WEEKLY_PERIODS, period, 1)[:, None] == 0
    )
    position, month = np.nonzero(due & (days >= begin) & (days < end))
    weekly = _weekly(grid, contracts)
    return (
        np.concatenate([position, weekly[0]]),
        np.concatenate([month, weekly[1]]),
        np.concatenate([days[position, month].astype(np.int64), weekly[2]]),
    )


def _weekly(grid: Grid, contracts: pl.DataFrame) -> tuple[Ints, Ints, Ints]:
    """Payments every few weeks."""
    weeks = contracts["period"].to_numpy() - WEEKLY_PERIODS
    own = np.flatnonzero(weeks > 0)
    span = int(grid.month_starts[-1]) - grid.first_day
    slots = np.arange(span // 7)
    gap = 7 * weeks[own][:, None]
    first = grid.first_day + contracts["start"].to_numpy()[own][:, None] % gap
    days = first + slots[None, :] * gap
    inside = (days >= contracts["begin"].to_numpy()[own][:, None]) & (days < contracts["end"].to_numpy()[own][:, None])
    inside &= days < int(grid.month_starts[-2])
    row, slot = np.nonzero(inside)
    day = grid.forward(days[row, slot]).astype(np.int64)
    return own[row], grid.month_of(day), day


def _not_skipped(scene: Scene, contracts: pl.DataFrame, position: Ints, month: Ints, day: Ints, key: Keys) -> NDArray[np.bool_]:
    """Without pauses and without the months that a contract leaves out."""
    pauses = by_template(contracts, position, "pauses").astype(np.float64)
    years = scene.grid.months / 12
    paused = uniform(key, "paused") < 1 - np.exp(-pauses * years)
    since = scene.grid.first_day + uniform(key, "pause day") * years * YEAR_DAYS
    paused &= (day >= since) & (day < since + 60 + 90 * uniform(key, "pause length"))
    skips = by_template(contracts, position, "skip").astype(np.float64)
    calendar = (scene.grid.first_month + month) % 12 + 1
    skipped = (skips[:, 0] == calendar) & (uniform(key, "skips") < skips[:, 1])
    return np.asarray(~(paused | skipped), np.bool_)


def _amounts(scene: Scene, contracts: pl.DataFrame, position: Ints, month: Ints, key: Keys) -> Floats:
    """Base, price steps and usage."""
    number = scene.grid.first_month + month
    euros = contracts["euros"].to_numpy()[position] * _growth(scene, contracts, position, number, key)
    noise = by_template(contracts, position, "noise").astype(np.float64)
    varies = (uniform(key, "varies") < noise[:, 2]) & (uniform(key, "usage", number) < noise[:, 0])
    spread = np.exp(noise[:, 1] * np.clip(normal(key, "usage size", number), -2.5, 2.5))
    return _with_thirteenth(contracts, position, number, key, np.where(varies, euros * spread, euros))


def _with_thirteenth(contracts: pl.DataFrame, position: Ints, number: Ints, key: Keys, euros: Floats) -> Floats:
    """Some wages of November include a thirteenth salary; others are paid it separately (see `settlements`)."""
    wage = np.isin(by_template(contracts, position, "name"), SALARY_TEMPLATES)
    extra = wage & (number % 12 == NOVEMBER) & (uniform(key, "thirteenth inside") < THIRTEENTH_SHARE)
    return np.where(extra, euros * (1.5 + 0.45 * uniform(key, "thirteenth size")), euros)


def _growth(scene: Scene, contracts: pl.DataFrame, position: Ints, number: Ints, key: Keys) -> Floats:
    """The product of all price steps since the simulation began, or since the contract did."""
    limits = by_template(contracts, position, "step_months").astype(np.int64)
    every = limits[:, 0] + (uniform(key, "step every") * (limits[:, 1] - limits[:, 0] + 1)).astype(np.int64)
    aligned = by_template(contracts, position, "step_month").astype(np.int64)
    start = contracts["start"].to_numpy()[position].astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 1970 * 12
    anchor = np.where(aligned > 0, aligned - 1, start)
    origin = np.maximum(start, scene.grid.first_month)
    passed = (number - anchor) // every - (origin - anchor) // every
    step = by_template(contracts, position, "step").astype(np.float64)
    factor = np.ones(position.size)
    for count in range(1, MAX_PRICE_STEPS):
        size = np.maximum(step[:, 0] + step[:, 1] * normal(key, "step size", (origin - anchor) // every + count), -0.06)
        factor = np.where(passed >= count, factor * (1 + size), factor)
    return factor


def _child_benefits(scene: Scene, contracts: pl.DataFrame, position: Ints, month: Ints, day: Ints, euros: Floats) -> Floats:
    """Child benefit is the rate of the month times the children of the day."""
    own = np.flatnonzero(by_template(contracts, position, "monthly_amount") == "child_benefit")
    who = contracts["who"].to_numpy()[position[own]]
    count = np.sum([scene.lives.inside(f"benefit_child{child}", who, day[own]) for child in range(MAX_CHILDREN)], axis=0)
    euros[own] = child_benefit(scene.grid.first_month + month[own]) * count
    return euros


def _rounded(contracts: pl.DataFrame, position: Ints, euros: Floats) -> Ints:
    """Cents, rounded as prices of this kind are."""
    rounding = by_template(contracts, position, "rounding")
    cents = np.round(euros * 100)
    for name in np.unique(rounding):
        own = rounding == name
        if name in ("1", "5", "10", "25", "50"):
            cents[own] = np.maximum(np.round(euros[own] / int(name)), 1) * int(name) * 100
        elif name in ("99", "90", "95"):
            cents[own] = np.maximum(np.floor(euros[own]), 0) * 100 + int(name)
    return np.maximum(cents, 1).astype(np.int64)


def _signed(contracts: pl.DataFrame, position: Ints, cents: Ints) -> Ints:
    return cents * by_template(contracts, position, "sign").astype(np.int64)


def _numbers(contracts: pl.DataFrame, position: Ints, month: Ints, length: Ints) -> Ints:
    """The running number of an instalment."""
    start = contracts["start"].to_numpy()[position].astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 1970 * 12
    terms = contracts["terms"].to_numpy()[position]
    return np.where(terms > 0, np.clip((month - start) // length + 1, 1, np.maximum(terms, 1)), 0)


def _jittered(scene: Scene, contracts: pl.DataFrame, position: Ints, month: Ints, day: Ints, key: Keys) -> Ints:
    """Some are booked a few working days late."""
    most = by_template(contracts, position, "jitter").astype(np.int64)
    late = (uniform(hashed(key, "jitter"), "days", scene.grid.first_month + month) ** 2 * (most + 1)).astype(np.int64)
    return np.where(most > 0, scene.grid.later(day, np.where(most > 0, late, 0)), day).astype(np.int64)
