"""Money between private people, and cash."""

import numpy as np
import polars as pl

from models.corpus.chance import lognormal, uniform
from models.corpus.people import People, World
from models.corpus.single import by_month, main_account, round_to, singles
from models.corpus.timeline import Timeline

AT_MACHINE, AT_TILL, AT_COUNTER = "CDCD", "CDCB", "CSDB"
"""Purpose codes by which cash from a machine, a shop's till and a counter are told apart."""
FRIENDS = 7


def private_money(world: World, group: People, lives: Timeline) -> list[pl.DataFrame]:
    """Transfers between people, cash in and out."""
    return [*_between_people(world, group, lives), *_cash(world, group, lives)]


def _between_people(world: World, group: People, lives: Timeline) -> list[pl.DataFrame]:
    young = np.where(group.age < 35, 1.4, np.where(group.age > 62, 0.6, 1.0))
    out = by_month(world, group, "to people", 1.15 * young)
    key = out["key"].to_numpy()
    euros = lognormal(key, "private amount", 8, 160)
    exact = uniform(key, "exact") < 0.35
    out = out.with_columns(cents=pl.Series(-np.where(exact, np.round(euros * 100).astype(np.int64), round_to(euros, 5))))
    into = by_month(world, group, "from people", 0.75 * young)
    euros = lognormal(into["key"].to_numpy(), "private amount", 8, 150)
    exact = uniform(into["key"].to_numpy(), "exact") < 0.35
    into = into.with_columns(cents=pl.Series(np.where(exact, np.round(euros * 100).astype(np.int64), round_to(euros, 5))))
    return [
        singles(world, group, out, "friend", "private_out", "BANKFINANCE_TRANSFER", friends=FRIENDS, account=main_account(group, lives, out)),
        singles(world, group, into, "friend", "private_in", "OTHER_INCOME", friends=FRIENDS, account=main_account(group, lives, into)),
    ]


def _cash(world: World, group: People, lives: Timeline) -> list[pl.DataFrame]:
    age = np.where(group.age > 62, 1.35, np.where(group.age < 30, 0.7, 1.0))
    machine = by_month(world, group, "machine", 1.45 * age)
    till, counter = by_month(world, group, "till", 0.12), by_month(world, group, "counter", 0.03 * age)
    notes, desk = by_month(world, group, "notes in", 0.05), by_month(world, group, "desk in", 0.03)
    return [
        _drawn(world, group, lives, machine, "atm", "BANKFINANCE_ATMWITHDRAWAL", AT_MACHINE, 30, 220),
        _drawn(world, group, lives, till, "till_cash", "BANKFINANCE_CASHWITHDRAWAL", AT_TILL, 30, 150),
        _drawn(world, group, lives, counter, "atm", "BANKFINANCE_CASHWITHDRAWAL", AT_COUNTER, 80, 900),
        _paid_in(world, group, lives, notes, "BANKFINANCE_ATMDEPOSIT", AT_MACHINE),
        _paid_in(world, group, lives, desk, "BANKFINANCE_CASHDEPOSIT", AT_COUNTER),
    ]


def _drawn(
    world: World, group: People, lives: Timeline, frame: pl.DataFrame, pool: str, category: str, code: str, low: float, high: float
) -> pl.DataFrame:
    key = frame["key"].to_numpy()
    amount = round_to(lognormal(key, "cash", low, high), 10)
    town = group.names["town"].gather(frame["who"].cast(pl.UInt32))
    minute = pl.Series((480 + 780 * uniform(key, "minute")).astype(np.int64))
    account = main_account(group, lives, frame)
    frame = frame.with_columns(cents=pl.Series(-amount))
    return singles(
        world, group, frame, pool, "", category, kind="CASH", code=code, account=account, city=town, minute=minute, iban=None, bic=None
    )


def _paid_in(world: World, group: People, lives: Timeline, frame: pl.DataFrame, category: str, code: str) -> pl.DataFrame:
    amount = round_to(lognormal(frame["key"].to_numpy(), "cash", 40, 900), 10)
    frame = frame.with_columns(cents=pl.Series(amount))
    account = main_account(group, lives, frame)
    return singles(world, group, frame, "atm", "cash_in", category, kind="CASH", code=code, account=account, iban=None, bic=None)
