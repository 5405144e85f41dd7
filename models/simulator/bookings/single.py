"""Single bookings: each with a counterparty from a pool, a wording of a kind, and the truth about it."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.simulator.base import banks
from models.simulator.base.chance import Floats, Ints, Keys, hashed, poisson, uniform, whole
from models.simulator.base.draft import draft
from models.simulator.base.lists import fill_names, wordings
from models.simulator.people.people import CURRENT, SECOND, town_names
from models.simulator.people.scene import Scene

Fact = pl.Series | str | int | None
"""A column, or one value for all rows."""
USUAL_WORDING_SHARE, WORDINGS_PER_PARTNER = 0.6, 3
MAX_PER_MONTH = 32
"""The most bookings of one kind that a user can have in a month."""


def singles(
    scene: Scene,
    frame: pl.DataFrame,
    pool: str,
    wording: str,
    category: str,
    **facts: Fact,
) -> pl.DataFrame:
    """Drafts from `who`, `day`, `key`, `cents`, each with a counterparty of the pool (by its `partner` number, if there is one).

    A wording with a category of its own overrides `category` for outgoing money.
    """
    if frame.is_empty():
        return draft(frame.with_columns(category=pl.lit(category)))
    who, key = frame["who"].to_numpy(), frame["key"].to_numpy()
    partner = frame["partner"].to_numpy() if "partner" in frame.columns else key
    columns: dict[str, Fact] = {"category": category, **_parties(scene, who, partner, pool).to_dict()}
    if wording:
        cents = frame["cents"].to_numpy()
        columns |= _wordings(scene, _wording_chances(key, partner), wording, category, cents).to_dict()
    columns |= facts
    return draft(
        frame.with_columns(**{name: value if isinstance(value, pl.Series) else pl.lit(value) for name, value in columns.items()})
    )


def with_steady(scene: Scene, frame: pl.DataFrame, name: str, count: int) -> pl.DataFrame:
    """The frame with the number of one of the user's `count` steady partners, the first ones more often."""
    place = (uniform(frame["key"].to_numpy(), "which friend") ** 2.2 * count).astype(np.int64)
    return frame.with_columns(partner=pl.Series(hashed(scene.group.key[frame["who"].to_numpy()], f"steady {name}", place)))


def _parties(scene: Scene, who: Ints, keys: Keys, name: str) -> pl.DataFrame:
    pool = scene.lists.party(name)
    picks = pool.pick(uniform(keys, "party"))
    entry = pool.frame[pl.Series(picks, dtype=pl.UInt32)]
    split = pool.splits[picks]
    town = scene.group.towns_by_split[who, split]
    local = pool.is_pattern[picks]
    private = (entry["scope"] == "own").to_numpy() | (entry["scope"] == "bank").to_numpy()
    base = pool.frame["number"].to_numpy()[picks]
    number = np.where(
        private, hashed(keys, "own party"), np.where(local, hashed(base, "branch", town * 4 + whole(keys, "branch", 0, 2)), base)
    )
    party = fill_names(scene.lists, entry["name"], number, split, town_names(town), entry["words"])
    iban, bic = banks.accounts(banks.anywhere(number), number)
    return pl.DataFrame(
        {"party": party, "brand": entry["brand"], "iban": iban, "bic": bic, "number": number, "merchant_split": split}
    ).with_columns(pl.col("brand").fill_null(""))


def _wording_chances(key: Keys, partner: Keys) -> Floats:
    """The draw for a wording: between the same two people, some wordings come again and again."""
    usual_chance = uniform(partner, "usual wording", whole(key, "which usual", 0, WORDINGS_PER_PARTNER - 1))
    return np.where((key != partner) & (uniform(key, "as usual") < USUAL_WORDING_SHARE), usual_chance, uniform(key, "wording"))


def _wordings(scene: Scene, chances: Floats, kind: str, category: str, cents: Ints) -> pl.DataFrame:
    pool = scene.lists.wording(kind)
    picks = pool.pick(chances)
    own_category = wordings()["category"][pool.frame["number"][pl.Series(picks, dtype=pl.UInt32)] - 1]
    frame = pl.DataFrame(
        {
            "wording": pool.frame["number"][pl.Series(picks, dtype=pl.UInt32)],
            "wording_split": pool.splits[picks],
            "said": own_category,
            "out": cents < 0,
        }
    )
    final_category = pl.when((pl.col("said") != "") & pl.col("out")).then("said").otherwise(pl.lit(category))
    return frame.select("wording", "wording_split", category=final_category)


def by_month(scene: Scene, name: str, means: Floats | float, who: NDArray[np.bool_] | None = None) -> pl.DataFrame:
    """`who`, `day`, `key` and `month` of bookings that occur `means` times a month on average, on working days."""
    users = np.flatnonzero(who if who is not None else np.ones(scene.group.size, bool))
    mean = np.broadcast_to(np.asarray(means, np.float64), scene.group.size)[users]
    months = np.arange(scene.grid.months)
    number = np.tile(scene.grid.first_month + months, users.size)
    keys = np.repeat(scene.group.key[users], months.size)
    count = np.minimum(poisson(np.repeat(mean, months.size), keys, f"count {name}", number), MAX_PER_MONTH - 1)
    place = np.repeat(np.arange(count.size), count)
    slot = number[place] * MAX_PER_MONTH + np.arange(place.size) - np.repeat(np.cumsum(count) - count, count)
    key = hashed(keys[place], f"single {name}", slot)
    month = place % max(months.size, 1)
    day = scene.grid.month_starts[month] + (uniform(key, "day of month") * np.diff(scene.grid.month_starts)[month]).astype(
        np.int64
    )
    return _inside(scene, users[place // max(months.size, 1)], scene.grid.forward(day), key, month)


def on_rule(scene: Scene, name: str, who: NDArray[np.bool_], rule: str, months: NDArray[np.integer]) -> pl.DataFrame:
    """The same columns for bookings on a day rule, in these months of the grid."""
    users = np.flatnonzero(who)
    row, column = np.repeat(np.arange(users.size), months.size), np.tile(months, users.size)
    key = hashed(scene.group.key[users[row]], f"single {name}", scene.grid.first_month + column)
    return _inside(scene, users[row], scene.grid.rule_dates(rule)[column], key, column)


def on_days(scene: Scene, name: str, days: NDArray[np.integer], slot: int = 0) -> pl.DataFrame:
    """The same columns for at most one day per user."""
    users = np.flatnonzero(days < scene.grid.end_day)
    key = hashed(scene.group.key[users], f"single {name}", slot)
    day = scene.grid.forward(days[users])
    return _inside(scene, users, day, key, scene.grid.month_of(day))


def _inside(
    scene: Scene, who: NDArray[np.integer], day: NDArray[np.integer], key: Keys, month: NDArray[np.integer]
) -> pl.DataFrame:
    """The frame of these columns, without days outside the users' histories."""
    rows = (day >= scene.group.start[who]) & (day < scene.grid.end_day)
    return pl.DataFrame(
        {"who": who[rows].astype(np.int32), "day": day[rows].astype(np.int32), "key": key[rows], "month": month[rows]}
    )


def in_span(scene: Scene, span: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows whose day is in a span of their user."""
    return frame.filter(pl.Series(scene.lives.inside(span, frame["who"].to_numpy(), frame["day"].to_numpy())))


def main_account(scene: Scene, frame: pl.DataFrame) -> pl.Series:
    """The current account, after a switch the new one."""
    who = frame["who"].to_numpy()
    switched = scene.group.roles[who, SECOND] & (frame["day"].to_numpy() >= scene.lives.days["account_switch"][who])
    return pl.Series(np.where(switched, SECOND, CURRENT), dtype=pl.UInt8)


def business_account(scene: Scene, frame: pl.DataFrame) -> pl.Series:
    """The second account of those who work on their own, if they have one."""
    who = frame["who"].to_numpy()
    return pl.Series(
        np.where(scene.group.roles[who, SECOND] & scene.group.has("FREELANCER")[who], SECOND, CURRENT), dtype=pl.UInt8
    )


def round_to(euros: Floats, step: float) -> Ints:
    """Cents, rounded to a multiple of `step` euros, at least one step."""
    return (np.maximum(np.round(euros / step), 1) * step * 100).astype(np.int64)
