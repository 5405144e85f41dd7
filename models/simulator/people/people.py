"""The simulated people: persona, household, income, home, names and bank products. Their life events are in `timeline`."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.simulator.base import banks
from models.simulator.base.calendar import Days, Grid
from models.simulator.base.chance import (
    Floats,
    Ints,
    Keys,
    hashed,
    normal,
    poisson,
    uniform,
    user_keys,
    weighted,
    whole,
)
from models.simulator.base.lists import AllowedLists, table, towns
from models.simulator.base.splits import SHARES

Flags = NDArray[np.bool_]

FAR = 1_000_000
"""A day after every simulation: the event does not happen."""
YEAR_DAYS = 365.25
INCOME_CLASS_EUROS = (1100, 1700, 2600, 4000)
MAX_CHILDREN = 3

CURRENT, SAVINGS, CARD, DEPOT, SECOND, WALLET, LOAN = range(7)
"""Roles of accounts; `account` of an act is one of these."""
PRODUCTS_BY_ROLE = ("CHECKING", "CALL_MONEY", "CREDIT_CARD", "DEPOT", "CHECKING", "OTHER_ACCOUNT", "LOAN")
MAX_PRODUCTS = 4


@dataclass(frozen=True)
class Setting:
    """The settings of one simulation: seed, calendar, lists and formats of accounts."""

    seed: int
    grid: Grid
    lists: AllowedLists
    formats: tuple[str, ...]


@dataclass(frozen=True)
class People:
    """Arrays with one entry per user."""

    number: Ints
    key: Keys
    persona: NDArray[np.object_]
    income: Floats
    income_class: Ints
    age: Floats
    couple: Flags
    births: Days
    owner: Flags
    with_family: Flags
    start: Days
    split: NDArray[np.uint8]
    town: Ints
    towns_by_split: Ints
    names: pl.DataFrame
    roles: Flags
    formats: NDArray[np.object_]
    ibans: pl.DataFrame

    @property
    def size(self) -> int:
        return self.number.size

    def has(self, *personas: str) -> Flags:
        """Whether each user is of one of these personas."""
        return np.isin(self.persona.astype(str), personas)

    def chance(self, name: str, slot: NDArray[np.integer] | int = 0) -> Floats:
        """A number in [0, 1) per user."""
        return uniform(self.key, name, slot)


def people(setting: Setting, first: int, count: int) -> People:
    """The users from `first` on."""
    number = np.arange(first, first + count, dtype=np.int64)
    key = user_keys(setting.seed, number)
    kinds = table("personas")
    facts = {name: kinds[name].cast(pl.Float64).to_numpy() for name in kinds.columns[1:]}
    kind = weighted(uniform(key, "persona"), facts["share"])
    income = facts["income"][kind] * np.exp(facts["sigma"][kind] * np.clip(normal(key, "income"), -2.3, 2.6))
    age = facts["age_low"][kind] + uniform(key, "age") * (facts["age_high"] - facts["age_low"])[kind]
    split = setting.lists.some_split(uniform(key, "name split"))
    near = np.stack(
        [setting.lists.town(hashed(key, f"town {code}"), np.full(count, code, np.uint8)) for code in range(len(SHARES))], 1
    )
    with_family = uniform(key, "with family") < facts["family_home"][kind]
    roles = _roles(setting, key, income, kinds["persona"].to_numpy()[kind])
    formats = _formats(setting, key)
    return People(
        number=number,
        key=key,
        persona=kinds["persona"].to_numpy()[kind],
        income=income,
        income_class=np.searchsorted(INCOME_CLASS_EUROS, income, side="right"),
        age=age,
        couple=uniform(key, "couple") < facts["couple"][kind],
        births=_births(setting, key, age, facts["kids"][kind]),
        owner=~with_family & (uniform(key, "owner") < _owning(facts["owner"][kind], income)),
        with_family=with_family,
        start=_starts(setting, key),
        split=split,
        town=near[np.arange(count), split],
        towns_by_split=near,
        names=_names(setting, key, split).with_columns(
            town=town_names(near[np.arange(count), split]), bank=banks.names_of(formats[:, CURRENT].astype(str))
        ),
        roles=roles,
        formats=formats,
        ibans=_ibans(key, formats),
    )


def _owning(rate: Floats, income: Floats) -> Floats:
    """Those who earn more own more often; the mean stays near the persona's rate."""
    return np.clip(rate * np.clip(income / 3800, 0.55, 1.4), 0, 0.9)


def _births(setting: Setting, key: Keys, age: Floats, kids: Floats) -> Days:
    """Birthdays of the children at home before the simulation starts, the eldest first."""
    count = np.where(kids > 1, 1 + poisson(kids - 1, key, "kids"), poisson(kids, key, "kids"))
    out = np.full((key.size, MAX_CHILDREN), FAR, np.int32)
    eldest = np.minimum(age - 22, 17.5)
    for child in range(MAX_CHILDREN):
        years = eldest * (0.1 + 0.9 * uniform(key, "child age", child)) if child == 0 else None
        if years is None:
            gap = 1.6 + 2.6 * uniform(key, "child gap", child)
            previous = (setting.grid.first_day - out[:, child - 1]) / YEAR_DAYS
            years = previous - gap
        lives = (count > child) & (years > 0.2) & (out[:, child - 1] < FAR if child else True)
        out[lives, child] = (setting.grid.first_day - years[lives] * YEAR_DAYS).astype(np.int32)
    return out


def _starts(setting: Setting, key: Keys) -> Days:
    """First day of each user's history: the longest begin with the grid, the shortest have seven tenths of it."""
    spare = setting.grid.months - int(np.ceil(setting.grid.months * 27 / 39))
    return setting.grid.month_starts[whole(key, "history", 0, spare)]


def _names(setting: Setting, key: Keys, split: NDArray[np.uint8]) -> pl.DataFrame:
    lists = setting.lists
    female = pl.Series(uniform(key, "female") < 0.5)
    women, men = lists.name("female", key, split), lists.name("male", key, split)
    frame = pl.DataFrame(
        {
            "first": women.zip_with(female, men),
            "last": lists.name("surname", key, split),
            "partner_first": men.zip_with(female, women),
            "partner_own": lists.name("surname", hashed(key, "partner"), split),
            "street": lists.name("street", key, split),
            "house": pl.Series(whole(key, "house", 1, 120)).cast(pl.String),
            "same_name": pl.Series(uniform(key, "same name") < 0.7),
            **{f"child{n}": _child_names(lists, hashed(key, "child", n), split) for n in range(MAX_CHILDREN)},
        }
    )
    return frame.with_columns(partner_last=pl.when("same_name").then("last").otherwise("partner_own")).with_columns(
        full=pl.concat_str("first", pl.lit(" "), "last"), partner=pl.concat_str("partner_first", pl.lit(" "), "partner_last")
    )


def _child_names(lists: AllowedLists, key: Keys, split: NDArray[np.uint8]) -> pl.Series:
    return lists.name("girl", key, split).zip_with(pl.Series(uniform(key, "girl") < 0.5), lists.name("boy", key, split))


def _roles(setting: Setting, key: Keys, income: Floats, persona: NDArray[np.object_]) -> Flags:
    """Which products a user has connected, at most four."""
    wealth = np.clip(income / 3500, 0.3, 1.6)
    rates: dict[int, Floats | float] = {
        SAVINGS: 0.42 * wealth,
        CARD: 0.26 * wealth,
        DEPOT: 0.11 * wealth,
        WALLET: 0.07,
        LOAN: 0.03,
    }
    rates[SECOND] = np.where(persona == "FREELANCER", 0.35, 0.16)
    roles = np.zeros((key.size, len(PRODUCTS_BY_ROLE)), bool)
    roles[:, CURRENT] = True
    for role, rate in rates.items():
        roles[:, role] = uniform(key, "role", role) < np.asarray(rate)
    roles[:, CARD] &= "card_statement" in setting.formats
    roles[:, WALLET] &= "paypal_wallet" in setting.formats
    return roles & (np.cumsum(roles, axis=1) <= MAX_PRODUCTS)


def _formats(setting: Setting, key: Keys) -> NDArray[np.object_]:
    """The format of each role's account."""
    usual = banks.formats(setting.formats)
    main = usual.pick(uniform(key, "bank"))
    other = usual.pick(uniform(key, "other bank"))
    names = usual.frame["format"].to_numpy()
    out = np.empty((key.size, len(PRODUCTS_BY_ROLE)), object)
    out[:, CURRENT] = out[:, LOAN] = names[main]
    out[:, SAVINGS] = np.where(uniform(key, "savings elsewhere") < 0.4, names[other], names[main])
    out[:, DEPOT] = np.where(uniform(key, "depot elsewhere") < 0.4, names[other], names[main])
    out[:, SECOND] = names[other]
    out[:, CARD], out[:, WALLET] = "card_statement", "paypal_wallet"
    return out


def _ibans(key: Keys, formats: NDArray[np.object_]) -> pl.DataFrame:
    """IBAN and BIC of each role's account; cards and wallets have none."""
    columns: dict[str, pl.Series] = {}
    for role in range(len(PRODUCTS_BY_ROLE)):
        bank = banks.of_format(formats[:, role].astype(str), hashed(key, "branch", 0))
        columns[f"iban{role}"], columns[f"bic{role}"] = banks.accounts(bank, hashed(key, "account", role))
    nothing = pl.Series([None] * key.size, dtype=pl.String)
    for role in (CARD, WALLET):
        columns[f"iban{role}"] = columns[f"bic{role}"] = nothing
    return pl.DataFrame(columns)


def town_names(positions: Ints) -> pl.Series:
    """Names of towns by position."""
    return towns()["town"][pl.Series(positions, dtype=pl.UInt32)]
