"""Templates of contracts, read from the data file: holders, amounts, periods and days."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from models.simulator.base.chance import Floats
from models.simulator.base.lists import table

Mix = tuple[tuple[str, float], ...]
"""Alternatives with their weights."""


@dataclass(frozen=True)
class Template:
    """One kind of contract."""

    index: int
    name: str
    category: str
    insurance: str
    freelancer: str
    pool: str
    kinds: Mix
    code: str
    wording: str
    words: tuple[str, ...]
    spans: tuple[str, ...]
    rates: Floats
    monthly_amount: str
    low: float
    high: float
    basis: int
    elasticity: float
    periods: Mix
    phases: tuple[int, ...]
    rules: Mix
    jitter: int
    step_months: tuple[int, int]
    step: tuple[float, float]
    step_month: int
    noise: tuple[float, float, float]
    settle: str
    begins: float
    ends: float
    switches: float
    pauses: float
    skip: tuple[int, float]
    term: tuple[int, int] | None
    paypal: float
    rounding: str
    event_start: str
    event_end: str
    sign: int


def mix(text: str) -> Mix:
    """`F1:.5|B28:.5` as pairs; a part without a weight weighs 1."""
    parts = [part.partition(":") for part in text.split("|") if part]
    return tuple((name, float(weight or 1)) for name, _, weight in parts)


def numbers(text: str, count: int, default: float = 0.0) -> tuple[float, ...]:
    """`a:b` as numbers, filled up with the default."""
    values = [float(part) for part in text.split(":") if part]
    return tuple(values + [default] * (count - len(values)))[:count]


def _rates(text: str) -> Floats:
    """One rate for all, or five by income class."""
    rates = np.array([float(part) for part in text.split("/")])
    return np.full(5, rates[0]) if rates.size == 1 else rates


def _range(text: str, default: str) -> tuple[int, int]:
    low, _, high = (text or default).partition("-")
    return int(low), int(high or low)


def _template(index: int, row: dict[str, str]) -> Template:
    months, _, rest = row["step"].partition(":")
    months, _, aligned = months.partition("@")
    skip = numbers(row["skip"], 2)
    noise = numbers(row["noise"], 3, 1.0) if row["noise"] else (0.0, 0.0, 0.0)
    step = numbers(rest, 2)
    return Template(
        index=index,
        name=row["template"],
        category=row["category"],
        insurance=row["insurance"],
        freelancer=row["freelancer"],
        pool=row["pool"],
        kinds=mix(row["kind"]),
        code=row["code"],
        wording=row["wording"],
        words=tuple(word for word in row["words"].split("|") if word),
        spans=tuple(row["who"].split("|")),
        rates=_rates(row["rate"]),
        monthly_amount=row["law"],
        low=float(row["low"] or 1),
        high=float(row["high"] or 1),
        basis=int(row["basis"] or 1),
        elasticity=float(row["elasticity"] or 0),
        periods=mix(row["periods"]),
        phases=tuple(int(part) for part in row["phase"].split("|") if part),
        rules=mix(row["rules"]),
        jitter=int(row["jitter"] or 0),
        step_months=_range(months, "12"),
        step=(step[0], step[1]),
        step_month=int(aligned or 0),
        noise=(noise[0], noise[1], noise[2]),
        settle=row["settle"],
        begins=float(row["begins"] or 0),
        ends=float(row["ends"] or 0),
        switches=float(row["switches"] or 0),
        pauses=float(row["pauses"] or 0),
        skip=(int(skip[0]), skip[1]),
        term=_range(row["term"], "") if row["term"] else None,
        paypal=float(row["paypal"] or 0),
        rounding=row["rounding"],
        event_start=row["event_start"],
        event_end=row["event_end"],
        sign=1
        if row["category"].startswith("INCOME_") or row["category"] in ("OTHER_INCOME", "BANKFINANCE_CREDITINCOME")
        else -1,
    )


@cache
def templates() -> tuple[Template, ...]:
    """All kinds of contracts."""
    return tuple(_template(index, row) for index, row in enumerate(table("contracts").iter_rows(named=True)))
