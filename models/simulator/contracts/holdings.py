"""The contracts of each user: one row per contract, with its time, provider and wording."""

import numpy as np
import polars as pl

from models.simulator.base.chance import Floats, Ints, Keys, hashed, lognormal, uniform, weighted, whole
from models.simulator.base.lists import WeightedList
from models.simulator.base.splits import split_of_families
from models.simulator.contracts.templates import Mix, Template, templates
from models.simulator.people.incomes import MEAN_INCOME_EUROS
from models.simulator.people.people import FAR, YEAR_DAYS, Flags
from models.simulator.people.scene import Scene

CONTRACTS_PER_USER = 2048
CONTRACTS_PER_TEMPLATE = 8
LOYAL_SHARE = 0.45
WEEKLY_PERIODS = 100
"""Periods in weeks are stored as this plus the number of weeks."""


def holdings(scene: Scene) -> pl.DataFrame:
    """All contracts of these users."""
    frames = [_of_template(scene, template) for template in templates()]
    return pl.concat([frame for frame in frames if frame.height], how="vertical")


def _of_template(scene: Scene, template: Template) -> pl.DataFrame:
    parts = []
    holds = scene.group.chance(f"holds {template.name}") < _full_rate(scene, template)[scene.group.income_class]
    for number, span in enumerate(template.spans):
        start, end = scene.lives.spans[span]
        who = np.flatnonzero(holds & (start < end) & (start < scene.grid.end_day))
        if who.size:
            parts.append(_of_span(scene, template, number, who, start[who].astype(np.int64), end[who].astype(np.int64)))
    return pl.concat(parts) if parts else pl.DataFrame()


def _full_rate(scene: Scene, template: Template) -> Floats:
    """The share of users who ever hold it, such that the share of the file is true on an average day."""
    years = scene.grid.months / 12
    absent = 1 - np.exp(-template.begins * years) + 1 - np.exp(-template.ends * years)
    return np.asarray(np.minimum(template.rates / (1 - min(absent / 2, 0.6)), 1), np.float64)


def _of_span(scene: Scene, template: Template, number: int, who: Ints, start: Ints, end: Ints) -> pl.DataFrame:
    key = hashed(scene.group.key[who], f"contract {template.name}", number)
    start, end = _turnover(scene, template, key, start, end)
    change = _within(scene, key, "switch", template.switches)
    switched = (change > start) & (change < end)
    frames = [_contracts(scene, template, who, key, start, np.where(switched, change, end), number * 2)]
    if switched.any():
        later = hashed(key, "after the switch")
        frames.append(
            _contracts(scene, template, who[switched], later[switched], change[switched], end[switched], number * 2 + 1)
        )
    return pl.concat(frames).filter(pl.col("begin") < pl.col("end"))


def _turnover(scene: Scene, template: Template, key: Keys, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """New contracts and cancellations inside the simulated time."""
    opened = _within(scene, key, "opened", template.begins)
    start = np.where((opened < FAR) & (opened > start), opened, start)
    closed = _within(scene, key, "closed", template.ends)
    return start, np.where((closed < end) & (closed > start + 60), closed, end)


def _within(scene: Scene, key: Keys, name: str, yearly: float) -> Ints:
    """A day in the simulated time for those to whom it happens, else `FAR`."""
    if not yearly:
        return np.full(key.size, FAR, np.int64)
    years = (scene.grid.end_day - scene.grid.first_day) / YEAR_DAYS
    happens = uniform(key, f"{name} happens") < 1 - np.exp(-yearly * years)
    day = scene.grid.first_day + uniform(key, f"{name} day") * (scene.grid.end_day - scene.grid.first_day)
    return np.where(happens, day, FAR).astype(np.int64)


def _contracts(
    scene: Scene,
    template: Template,
    who: Ints,
    key: Keys,
    begin: Ints,
    end: Ints,
    number: int,
) -> pl.DataFrame:
    """The contracts with all properties that stay the same over their life."""
    is_old = begin < scene.grid.first_day - 1000
    age = 40 + uniform(key, "age") * (2400 if template.term is None else template.term[0] * 15)
    period = _periods(template.periods, uniform(key, "period"))
    begin = np.where(~is_old & (period > 1) & (period < WEEKLY_PERIODS), _next_month(begin), begin)
    start = np.where(is_old, scene.grid.first_day - age, begin).astype(np.int64)
    party = scene.lists.party(template.pool)
    picks = party.pick(_party_chances(scene, template, who, key))
    entry = party.frame[pl.Series(picks, dtype=pl.UInt32)]
    wording, word, wording_split = _wording(scene, template, key)
    terms = whole(key, "term", *template.term) if template.term else np.zeros(who.size, np.int64)
    via_paypal = uniform(key, "paypal") < template.paypal
    kinds = np.array([kind for kind, _ in template.kinds])[
        weighted(uniform(key, "kind"), np.array([w for _, w in template.kinds]))
    ]
    return pl.DataFrame(
        {
            "who": who,
            "template": np.full(who.size, template.index),
            "contract": (scene.group.number[who] * CONTRACTS_PER_USER + template.index * CONTRACTS_PER_TEMPLATE + number).astype(
                np.uint32
            ),
            "number": key,
            "start": start,
            "begin": begin,
            "end": _last_rate(end, start, period, terms),
            "period": period,
            "phase": _phases(template, key, period, start, is_old),
            "rule": _choice(template.rules, uniform(key, "rule")),
            "euros": _euros(template, scene, who, key, period, entry, number),
            "terms": terms,
            "party": entry["name"],
            "brand": entry["brand"],
            "line": entry["line"],
            "party_words": entry["words"],
            "party_freelancer": entry["freelancer"],
            "party_number": _party_numbers(party, picks, scene, who, key, entry),
            "merchant_split": entry["split"],
            "kind": np.where(via_paypal, "DIRECTDEBIT", kinds),
            "via": pl.Series(np.where(via_paypal, "PAYPAL", ""), dtype=pl.String),
            "wording": wording,
            "word": word,
            "wording_split": wording_split,
        }
    )


def _party_chances(scene: Scene, template: Template, who: Ints, key: Keys) -> Floats:
    """The chances for counterparties. Many users have several policies with one insurer: they share a chance within a pool."""
    draw = uniform(key, "party")
    if not template.insurance:
        return draw
    return np.where(uniform(key, "loyal") < LOYAL_SHARE, uniform(scene.group.key[who], f"house {template.pool}"), draw)


def _next_month(day: Ints) -> Ints:
    """The first day of the next month. Payments for several months begin with a month, so that the first one is not missed."""
    months = np.clip(day, -20_000, 90_000).astype("datetime64[D]").astype("datetime64[M]") + 1
    return months.astype("datetime64[D]").astype(np.int64)


def _last_rate(end: Ints, start: Ints, period: Ints, terms: Ints) -> Ints:
    """The end of each contract; with instalments, the day after the last one."""
    return np.where(terms > 0, np.minimum(end, start + ((terms * period - 0.5) * YEAR_DAYS / 12).astype(np.int64)), end)


def _choice(alternatives: Mix, chances: Floats) -> pl.Series:
    names = np.array([name for name, _ in alternatives])
    return pl.Series(names[weighted(chances, np.array([weight for _, weight in alternatives]))], dtype=pl.String)


def _periods(alternatives: Mix, chances: Floats) -> Ints:
    lengths = np.array([WEEKLY_PERIODS + int(name[1:]) if name[0] == "w" else int(name) for name, _ in alternatives])
    return lengths[weighted(chances, np.array([weight for _, weight in alternatives]))]


def _phases(template: Template, key: Keys, period: Ints, start: Ints, old: Flags) -> Ints:
    """The months in which it falls due: those of the template (counted from 0), or from the start month on."""
    months = start.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 1970 * 12
    if template.phases:
        months = np.where(old, np.array(template.phases)[whole(key, "phase", 0, len(template.phases) - 1)], months)
    return months % np.where(period < WEEKLY_PERIODS, period, 1)


def _wording(scene: Scene, template: Template, key: Keys) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Purpose and word of each contract, and the later of their splits."""
    if not template.wording:
        zero = np.zeros(key.size)
        return pl.Series(zero, dtype=pl.UInt16), pl.Series([""] * key.size, dtype=pl.String), pl.Series(zero, dtype=pl.UInt8)
    pool = scene.lists.wording(template.wording)
    picks = pool.pick(uniform(key, "wording"))
    split = pool.splits[picks]
    word = pl.Series([""] * key.size, dtype=pl.String)
    if template.words:
        words = WeightedList(
            pl.DataFrame(
                {
                    "text": template.words,
                    "weight": [1.0] * len(template.words),
                    "split": split_of_families([template.name] * len(template.words), list(template.words)),
                }
            )
        ).limited(scene.lists.codes)
        word_picks = words.pick(uniform(key, "word"))
        word = words.frame["text"][pl.Series(word_picks, dtype=pl.UInt32)]
        split = np.maximum(split, words.splits[word_picks])
    return pool.frame["number"][pl.Series(picks, dtype=pl.UInt32)], word, pl.Series(split, dtype=pl.UInt8)


def _party_numbers(party: WeightedList, picks: Ints, scene: Scene, who: Ints, key: Keys, entry: pl.DataFrame) -> Keys:
    """A number for each counterparty: one per brand, one per town for local businesses, one per contract for private people."""
    base = party.frame["number"].to_numpy()[picks]
    local = party.is_pattern[picks]
    private = entry["scope"].to_numpy() == "own"
    place = scene.group.towns_by_split[who, party.splits[picks]]
    of_town = hashed(base, "branch of town", place * 4 + whole(scene.group.key[who], "which of town", 0, 2))
    return np.where(private, hashed(key, "own party"), np.where(local, of_town, base))


def _euros(
    template: Template,
    scene: Scene,
    who: Ints,
    key: Keys,
    period: Ints,
    entry: pl.DataFrame,
    number: int,
) -> Floats:
    """The amount per payment at the start."""
    if template.monthly_amount:
        second = f"{template.monthly_amount}2" if number >= 2 else template.monthly_amount
        amount = scene.amounts.get(second, scene.amounts[template.monthly_amount])[who] * template.low
    else:
        amount = lognormal(key, "amount", template.low, template.high)
    amount = amount * (scene.group.income[who] / MEAN_INCOME_EUROS) ** template.elasticity
    months = np.where(period < WEEKLY_PERIODS, period, (period - WEEKLY_PERIODS) * 12 / 52)
    surcharge = np.where(template.basis == 12, 1 + 0.05 * (1 - np.minimum(months, 12) / 12), 1.0)
    amount = amount * months / template.basis * surcharge
    return _with_price_lists(entry["prices"], key, amount)


def _with_price_lists(prices: pl.Series, key: Keys, amount: Floats) -> Floats:
    """The amounts, from the provider's price list where it has one."""
    price_lists = {text: np.array([float(part) for part in text.split("|")]) for text in set(prices) if text}
    if not price_lists:
        return amount
    chances = uniform(key, "price")
    for text, values in price_lists.items():
        mask = (prices == text).to_numpy()
        amount = np.where(mask, values[np.minimum((chances * values.size).astype(np.int64), values.size - 1)], amount)
    return amount
