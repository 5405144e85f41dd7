"""Spending without a contract: how often, where and for how much. Some habits are regular without being contracts."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl

from models.simulator.base.calendar import Grid
from models.simulator.base.chance import Floats, Ints, Keys, hashed, normal, poisson, uniform, weighted
from models.simulator.base.lists import table
from models.simulator.contracts.templates import Mix, mix
from models.simulator.people.incomes import MEAN_INCOME_EUROS
from models.simulator.people.scene import Scene
from models.simulator.spending.trips import trips

SLOTS_PER_MONTH = 64
LOYALTY_POWER = 1.9
"""The n-th favourite shop is visited in proportion to n to minus this power."""
TASTE_SIGMA = 0.4
"""Spread of the frequency between users (of its logarithm)."""
WEEKDAYS_ONLY = 9
CLOSED_ON_SUNDAY = ("LIVING_", "SHOPPING_", "HOUSING_", "HEALTH_", "SERVICES_", "EDUCATION_")
SEASON_FACTORS = {
    "SHOPPING_": (0.85, 0.85, 0.95, 1, 1, 1, 0.95, 0.95, 1, 1, 1.25, 1.45),
    "FAMILY_TOYS": (0.6, 0.7, 0.8, 0.9, 0.9, 0.9, 0.9, 0.9, 1, 1.1, 1.7, 2.0),
    "TRAVEL_": (0.9, 0.9, 0.9, 1, 1.1, 1.3, 1.4, 1.4, 1.1, 0.8, 0.6, 0.6),
    "RECREATION_GARDEN": (0.3, 0.5, 1.2, 1.9, 1.9, 1.4, 1, 0.8, 0.9, 0.9, 0.6, 0.6),
    "OTHER_DONATION": (0.6, 0.7, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.9, 1.2, 3.0),
}


@dataclass(frozen=True)
class Habit:
    """One kind of spending."""

    name: str
    category: str
    sources: Mix
    per_month: float
    every: tuple[int, int, int] | None
    scale: float
    frequency_elasticity: float
    amount_elasticity: float
    span: str
    favourites: int
    rate: float
    tilt: dict[str, float]
    weekday: int | None
    wording: str
    only: str
    match: str
    business: bool


def _habit(row: dict[str, str]) -> Habit:
    tilt = dict(mix(row["tilt"]))
    every = None
    if row["every"]:
        span, _, jitter = row["every"].partition(":")
        low, _, high = span.partition("-")
        every = (int(low), int(high), int(jitter))
    return Habit(
        name=row["habit"],
        category=row["category"],
        sources=mix(row["sources"]),
        per_month=float(row["per_month"]),
        every=every,
        scale=float(row["scale"]),
        frequency_elasticity=float(row["frequency_elasticity"]),
        amount_elasticity=float(row["amount_elasticity"]),
        span=row["who"],
        favourites=int(row["favourites"]),
        rate=tilt.pop("rate", 1.0),
        tilt=tilt,
        weekday=int(row["weekday"]) if row["weekday"] else None,
        wording=row["wording"],
        only=row["only"],
        match=row["match"],
        business=row["business"] == "1",
    )


@cache
def habits() -> tuple[Habit, ...]:
    """All kinds of spending."""
    return tuple(_habit(row) for row in table("habits").iter_rows(named=True))


def occasions(scene: Scene) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Every purchase, and the shops that its `favourite` points to."""
    purchases, favourites, offset = [], [], 0
    for number, habit in enumerate(habits()):
        who, slot, day = _times(scene, habit)
        if not who.size:
            continue
        key = hashed(scene.group.key[who], f"habit {habit.name}", slot)
        picks = weighted(uniform(key, "favourite"), (1.0 + np.arange(habit.favourites)) ** -LOYALTY_POWER)
        users, place = np.unique(who, return_inverse=True)
        favourites.append(_favourites(scene, habit, number, users))
        purchases.append(
            pl.DataFrame(
                {
                    "who": who,
                    "day": day,
                    "key": key,
                    "habit": np.full(who.size, number),
                    "favourite": place * habit.favourites + picks + offset,
                    "factor": habit.scale * (scene.group.income[who] / MEAN_INCOME_EUROS) ** habit.amount_elasticity,
                }
            )
        )
        offset += users.size * habit.favourites
    abroad = trips(scene, next(number for number, habit in enumerate(habits()) if habit.name == "abroad"), offset)
    return pl.concat([*purchases, abroad[0]]), pl.concat([*favourites, abroad[1]])


def _times(scene: Scene, habit: Habit) -> tuple[Ints, Ints, Ints]:
    """User, slot and day of every purchase."""
    has = scene.group.chance(f"has {habit.name}") < habit.rate
    start, end = scene.lives.spans[habit.span]
    has &= (start < end) & (start < scene.grid.end_day)
    who = np.flatnonzero(has)
    times = _regular(scene.grid, scene, habit, who) if habit.every else _random(scene.grid, scene, habit, who)
    who, slot, day = times
    day = _on_opening_days(habit, day)
    inside = (day >= np.maximum(scene.group.start[who] - 4, start[who])) & (day < np.minimum(scene.grid.end_day, end[who]))
    return who[inside], slot[inside], day[inside]


def _regular(grid: Grid, scene: Scene, habit: Habit, who: Ints) -> tuple[Ints, Ints, Ints]:
    """Every few days, a little early or late."""
    low, high, jitter = habit.every or (30, 30, 0)
    key = scene.group.key[who]
    gap = low + (uniform(key, f"gap {habit.name}") * (high - low + 1)).astype(np.int64)
    phase = (uniform(key, f"phase {habit.name}") * gap).astype(np.int64)
    slots = np.arange((grid.end_day - grid.first_day) // low + 1)
    number = grid.first_day // gap[:, None] + slots[None, :]
    day = number * gap[:, None] + phase[:, None]
    if jitter:
        shift = uniform(np.repeat(key, slots.size), f"shift {habit.name}", number.ravel()).reshape(number.shape)
        day = day + np.round((shift * 2 - 1) * jitter).astype(np.int64)
    row, column = np.nonzero(day < grid.end_day)
    return who[row], number[row, column], day[row, column]


def _random(grid: Grid, scene: Scene, habit: Habit, who: Ints) -> tuple[Ints, Ints, Ints]:
    """Some times a month, by chance."""
    key = scene.group.key[who]
    tilt = np.ones(who.size)
    for persona, factor in habit.tilt.items():
        tilt[scene.group.persona[who] == persona] = factor
    taste = np.exp(TASTE_SIGMA * normal(key, f"taste {habit.name}") - TASTE_SIGMA**2 / 2)
    mean = habit.per_month * tilt * taste * (scene.group.income[who] / MEAN_INCOME_EUROS) ** habit.frequency_elasticity
    months = np.arange(grid.months)
    number = grid.first_month + months
    season = next((values for name, values in SEASON_FACTORS.items() if habit.category.startswith(name)), (1.0,) * 12)
    means = mean[:, None] * np.array(season)[number % 12][None, :]
    keys, numbers = np.repeat(key, months.size), np.tile(number, who.size)
    count = np.minimum(poisson(means.ravel(), keys, f"times {habit.name}", numbers), SLOTS_PER_MONTH - 1)
    place = np.repeat(np.arange(count.size), count)
    slot = np.arange(place.size) - np.repeat(np.cumsum(count) - count, count)
    month = place % months.size
    slot = numbers[place] * SLOTS_PER_MONTH + slot
    length = np.diff(grid.month_starts)[month]
    day = grid.month_starts[month] + (uniform(keys[place], f"day {habit.name}", slot) * length).astype(np.int64)
    return who[place // months.size], slot, day.astype(np.int64)


def _on_opening_days(habit: Habit, day: Ints) -> Ints:
    """The days, moved to when the shop is open: no Sundays, lunch on working days, markets on their day."""
    weekday = (day + 3) % 7
    if habit.weekday == WEEKDAYS_ONLY:
        return np.where(weekday > 4, day - weekday + 4 - (day % 5), day)
    if habit.weekday is not None:
        return day - weekday + habit.weekday
    return np.where((weekday == 6) & habit.category.startswith(CLOSED_ON_SUNDAY), day - 1, day)


def _favourites(scene: Scene, habit: Habit, number: int, users: Ints) -> pl.DataFrame:
    """The shops that each user goes to, the favourite first."""
    who = np.repeat(users, habit.favourites)
    key = hashed(scene.group.key[who], f"shop {habit.name}", np.tile(np.arange(habit.favourites), users.size))
    source = weighted(uniform(key, "source"), np.array([weight for _, weight in habit.sources]))
    shop = np.zeros(who.size, np.int64)
    for place, (name, _) in enumerate(habit.sources):
        own = source == place
        if own.any():
            pool = scene.lists.shop(habit.category, name, habit.only, habit.match)
            shop[own] = pool.frame["position"].to_numpy()[pool.pick(uniform(key[own], "which"))]
    return pl.DataFrame({"who": who, "key": key, "shop": shop, "habit": np.full(who.size, number)})


def amounts(medians: Floats, sigmas: Floats, key: Keys) -> Floats:
    """Log-normal amounts in euros."""
    return np.asarray(medians * np.exp(sigmas * np.clip(normal(key, "amount"), -2.6, 3.2)), np.float64)
