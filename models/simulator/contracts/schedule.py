"""When contracts fall due and for how much: one row per payment, also after the last booking, so that the next date is known."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.simulator.base.calendar import Grid
from models.simulator.base.chance import Floats, Ints, Keys, hashed, normal, uniform
from models.simulator.contracts.holdings import WEEKS
from models.simulator.contracts.templates import templates
from models.simulator.people.incomes import child_benefit
from models.simulator.people.people import CHILDREN, YEAR
from models.simulator.people.scene import Scene

MAX_STEPS = 7
SALARIES = ("salary", "partner_salary", "training_pay")
NOVEMBER, THIRTEENTH_INSIDE = 10, 0.25


def schedule(scene: Scene, held: pl.DataFrame) -> pl.DataFrame:
    """Payments of these contracts from each user's start on; `held` is the row of the contract."""
    position, month, day = _due(scene, held)
    key = held["number"].to_numpy()[position]
    keep = _not_skipped(scene, held, position, month, day, key)
    position, month, day, key = position[keep], month[keep], day[keep], key[keep]
    euros = _amounts(scene, held, position, month, key)
    euros = _child_benefits(scene, held, position, month, day, euros)
    period = held["period"].to_numpy()[position]
    shifted = _jittered(scene, held, position, month, day, key)
    first = scene.grid.first_month
    length = np.where(period < WEEKS, period, 1)
    frame = pl.DataFrame(
        {
            "held": position.astype(np.uint32),
            "month": month,
            "day": shifted,
            "cents": _signed(held, position, _rounded(held, position, euros)),
            "n": _numbers(held, position, first + month, length),
            "from_day": _month_day(first + month),
            "to_day": _month_day(first + month + length) - 1,
        }
    )
    started = scene.group.start[held["who"].to_numpy()[position]]
    return frame.filter(shifted >= started)


def by_template(held: pl.DataFrame, position: Ints, fact: str) -> NDArray[Any]:
    """A fact of the template of each position."""
    values = np.array([getattr(template, fact) for template in templates()])
    return np.asarray(values[held["template"].to_numpy()[position]])


def _month_day(months: Ints) -> Ints:
    """First day of months counted since year 0."""
    return (months - 1970 * 12).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _due(scene: Scene, held: pl.DataFrame) -> tuple[Ints, Ints, Ints]:
    """Contract, month and nominal day of every payment."""
    grid = scene.grid
    rules = held["rule"].unique().sort()
    dates = np.stack([grid.rule_dates(rule) for rule in rules.to_list()])
    rule = held["rule"].replace_strict(rules, np.arange(rules.len()), return_dtype=pl.Int64).to_numpy()
    period, phase = held["period"].to_numpy(), held["phase"].to_numpy()
    begin, end = held["begin"].to_numpy()[:, None], held["end"].to_numpy()[:, None]
    months = np.arange(dates.shape[1])
    days = dates[rule]
    monthly = (period < WEEKS)[:, None]
    due = monthly & ((grid.first_month + months[None, :] - phase[:, None]) % np.where(period < WEEKS, period, 1)[:, None] == 0)
    position, month = np.nonzero(due & (days >= begin) & (days < end))
    weekly = _weekly(grid, held)
    return (
        np.concatenate([position, weekly[0]]),
        np.concatenate([month, weekly[1]]),
        np.concatenate([days[position, month].astype(np.int64), weekly[2]]),
    )


def _weekly(grid: Grid, held: pl.DataFrame) -> tuple[Ints, Ints, Ints]:
    """Payments every few weeks."""
    weeks = held["period"].to_numpy() - WEEKS
    own = np.flatnonzero(weeks > 0)
    span = int(grid.month_starts[-1]) - grid.first_day
    slots = np.arange(span // 7)
    gap = 7 * weeks[own][:, None]
    first = grid.first_day + held["start"].to_numpy()[own][:, None] % gap
    days = first + slots[None, :] * gap
    inside = (days >= held["begin"].to_numpy()[own][:, None]) & (days < held["end"].to_numpy()[own][:, None])
    inside &= days < int(grid.month_starts[-2])
    row, slot = np.nonzero(inside)
    day = grid.forward(days[row, slot]).astype(np.int64)
    return own[row], grid.month_of(day), day


def _not_skipped(scene: Scene, held: pl.DataFrame, position: Ints, month: Ints, day: Ints, key: Keys) -> NDArray[np.bool_]:
    """Without pauses and without the months that a contract leaves out."""
    pauses = by_template(held, position, "pauses").astype(np.float64)
    years = scene.grid.months / 12
    paused = uniform(key, "paused") < 1 - np.exp(-pauses * years)
    since = scene.grid.first_day + uniform(key, "pause day") * years * YEAR
    paused &= (day >= since) & (day < since + 60 + 90 * uniform(key, "pause length"))
    skips = by_template(held, position, "skip").astype(np.float64)
    calendar = (scene.grid.first_month + month) % 12 + 1
    skipped = (skips[:, 0] == calendar) & (uniform(key, "skips") < skips[:, 1])
    return np.asarray(~(paused | skipped), np.bool_)


def _amounts(scene: Scene, held: pl.DataFrame, position: Ints, month: Ints, key: Keys) -> Floats:
    """Base, price steps and usage."""
    number = scene.grid.first_month + month
    euros = held["euros"].to_numpy()[position] * _growth(scene, held, position, number, key)
    noise = by_template(held, position, "noise").astype(np.float64)
    varies = (uniform(key, "varies") < noise[:, 2]) & (uniform(key, "usage", number) < noise[:, 0])
    spread = np.exp(noise[:, 1] * np.clip(normal(key, "usage size", number), -2.5, 2.5))
    return _with_thirteenth(held, position, number, key, np.where(varies, euros * spread, euros))


def _with_thirteenth(held: pl.DataFrame, position: Ints, number: Ints, key: Keys, euros: Floats) -> Floats:
    """Some wages of November hold a thirteenth one; others are paid it apart (see `around`)."""
    wage = np.isin(by_template(held, position, "name"), SALARIES)
    extra = wage & (number % 12 == NOVEMBER) & (uniform(key, "thirteenth inside") < THIRTEENTH_INSIDE)
    return np.where(extra, euros * (1.5 + 0.45 * uniform(key, "thirteenth size")), euros)


def _growth(scene: Scene, held: pl.DataFrame, position: Ints, number: Ints, key: Keys) -> Floats:
    """The product of all price steps since the simulation began, or since the contract did."""
    limits = by_template(held, position, "step_months").astype(np.int64)
    every = limits[:, 0] + (uniform(key, "step every") * (limits[:, 1] - limits[:, 0] + 1)).astype(np.int64)
    aligned = by_template(held, position, "step_month").astype(np.int64)
    start = held["start"].to_numpy()[position].astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 1970 * 12
    anchor = np.where(aligned > 0, aligned - 1, start)
    origin = np.maximum(start, scene.grid.first_month)
    passed = (number - anchor) // every - (origin - anchor) // every
    step = by_template(held, position, "step").astype(np.float64)
    factor = np.ones(position.size)
    for count in range(1, MAX_STEPS):
        size = np.maximum(step[:, 0] + step[:, 1] * normal(key, "step size", (origin - anchor) // every + count), -0.06)
        factor = np.where(passed >= count, factor * (1 + size), factor)
    return factor


def _child_benefits(scene: Scene, held: pl.DataFrame, position: Ints, month: Ints, day: Ints, euros: Floats) -> Floats:
    """Child benefit is the rate of the month times the children of the day."""
    own = np.flatnonzero(by_template(held, position, "law") == "child_benefit")
    who = held["who"].to_numpy()[position[own]]
    count = np.sum([scene.lives.inside(f"benefit_child{child}", who, day[own]) for child in range(CHILDREN)], axis=0)
    euros[own] = child_benefit(scene.grid.first_month + month[own]) * count
    return euros


def _rounded(held: pl.DataFrame, position: Ints, euros: Floats) -> Ints:
    """Cents after the way in which such prices are made."""
    rounding = by_template(held, position, "rounding")
    cents = np.round(euros * 100)
    for name in np.unique(rounding):
        own = rounding == name
        if name in ("1", "5", "10", "25", "50"):
            cents[own] = np.maximum(np.round(euros[own] / int(name)), 1) * int(name) * 100
        elif name in ("99", "90", "95"):
            cents[own] = np.maximum(np.floor(euros[own]), 0) * 100 + int(name)
    return np.maximum(cents, 1).astype(np.int64)


def _signed(held: pl.DataFrame, position: Ints, cents: Ints) -> Ints:
    return cents * by_template(held, position, "sign").astype(np.int64)


def _numbers(held: pl.DataFrame, position: Ints, month: Ints, length: Ints) -> Ints:
    """The running number of an instalment."""
    start = held["start"].to_numpy()[position].astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 1970 * 12
    terms = held["terms"].to_numpy()[position]
    return np.where(terms > 0, np.clip((month - start) // length + 1, 1, np.maximum(terms, 1)), 0)


def _jittered(scene: Scene, held: pl.DataFrame, position: Ints, month: Ints, day: Ints, key: Keys) -> Ints:
    """Some are booked a few working days late."""
    most = by_template(held, position, "jitter").astype(np.int64)
    late = (uniform(hashed(key, "jitter"), "days", scene.grid.first_month + month) ** 2 * (most + 1)).astype(np.int64)
    return np.where(most > 0, scene.grid.later(day, np.where(most > 0, late, 0)), day).astype(np.int64)
