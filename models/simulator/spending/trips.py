"""Trips: purchases in other countries, for some days."""

import numpy as np
import polars as pl

from models.simulator.base.chance import Ints, hashed, poisson, uniform, weighted, whole
from models.simulator.base.lists import shops, table
from models.simulator.people.scene import Scene

TRIPS_A_YEAR = 3
TRIP_SHARE = 0.42
"""The share of possible trips that a user of mean income makes."""
MEAN_PURCHASES_PER_TRIP = 17.0
SUMMER_DAY, SPREAD_DAYS = 205, 75
COUNTRY_WEIGHTS = {
    "AT": 9,
    "ES": 9,
    "IT": 9,
    "NL": 5,
    "FR": 5,
    "HR": 3,
    "GR": 3,
    "PT": 2,
    "CH": 7,
    "PL": 9,
    "CZ": 6,
    "HU": 3,
    "GB": 5,
}
COUNTRY_WEIGHTS |= {"TR": 8, "US": 5, "DK": 6, "SE": 2, "NO": 1, "TH": 2}


def trips(scene: Scene, habit: int, offset: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Purchases abroad and the shops they are made in, as `habits.occasions` has them; shops are counted from the offset."""
    who, day, key = _stays(scene)
    place = table("abroad")["country"].to_list()
    first = shops().height - len(place)
    country = weighted(uniform(key, "country"), np.array(list(COUNTRY_WEIGHTS.values()), np.float64))
    count = poisson(np.full(who.size, MEAN_PURCHASES_PER_TRIP), key, "purchases")
    row = np.repeat(np.arange(who.size), count)
    slot = np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)
    own = hashed(key[row], "abroad", slot)
    shop = np.zeros(row.size, np.int64)
    splits, weights = shops()["split"].to_numpy()[first:], shops()["weight"].to_numpy()[first:]
    for number, name in enumerate(COUNTRY_WEIGHTS):
        here = np.array([place_name == name for place_name in place])
        allowed = here & np.isin(splits, scene.lists.codes)
        choices = np.flatnonzero(allowed if allowed.any() else np.isin(splits, scene.lists.codes))
        mine = country[row] == number
        shop[mine] = first + choices[weighted(uniform(own[mine], "shop"), weights[choices])]
    when = day[row] + whole(own, "day", 0, 9)
    inside = (when >= scene.group.start[who[row]]) & (when < scene.grid.end_day)
    users, when, own, shop = who[row][inside], when[inside], own[inside], shop[inside]
    size = users.size
    purchases = {"who": users, "day": when, "key": own, "habit": np.full(size, habit), "favourite": offset + np.arange(size)}
    return pl.DataFrame({**purchases, "factor": np.ones(size)}), pl.DataFrame(
        {"who": users, "key": own, "shop": shop, "habit": np.full(size, habit)}
    )


def _stays(scene: Scene) -> tuple[Ints, Ints, "np.ndarray[tuple[int], np.dtype[np.uint64]]"]:
    """User, first day and key of each trip: mostly in summer, for those who can afford it."""
    years = np.arange(scene.grid.start.year, scene.grid.start.year + scene.grid.months // 12 + 2)
    users = np.arange(scene.group.size)
    who, year, number = (part.ravel() for part in np.meshgrid(users, years, np.arange(TRIPS_A_YEAR), indexing="ij"))
    key = hashed(scene.group.key[who], "trip", year * TRIPS_A_YEAR + number)
    goes = uniform(key, "goes") < TRIP_SHARE * np.clip(scene.group.income[who] / 3500, 0.15, 1.6)
    start = (year - 1970).astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64)
    middle = np.where(number == 0, SUMMER_DAY, 365 * uniform(key, "season"))
    day = start + (middle + SPREAD_DAYS * (uniform(key, "week") - 0.5)).astype(np.int64)
    return who[goes].astype(np.int64), day[goes], key[goes]
