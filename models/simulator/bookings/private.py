"""Money between private people, and cash."""

import numpy as np
import polars as pl

from models.simulator.base.chance import hashed, lognormal, uniform
from models.simulator.bookings.single import by_month, main_account, round_to, singles, with_steady
from models.simulator.people.scene import Scene

AT_MACHINE, AT_TILL, AT_COUNTER = "CDCD", "CDCB", "CSDB"
"""Purpose codes of cash from a machine, a shop's till and a counter."""
FRIENDS_PER_USER = 7
FRIDAY_SHARE = 0.03
MACHINES_PER_USER = 4
EXACT_SHARE = 0.35
"""Share of private transfers that are not round."""


def private_money(scene: Scene) -> list[pl.DataFrame]:
    """Transfers between people, cash in and out."""
    return [*_between_people(scene), _fridays(scene), *_cash(scene)]


def _between_people(scene: Scene) -> list[pl.DataFrame]:
    young = np.where(scene.group.age < 35, 1.4, np.where(scene.group.age > 62, 0.6, 1.0))
    rows = []
    for name, mean, sign, wording, category in (
        ("to people", 1.15, -1, "private_out", "BANKFINANCE_TRANSFER"),
        ("from people", 0.75, 1, "private_in", "OTHER_INCOME"),
    ):
        frame = with_steady(scene, by_month(scene, name, mean * young), "friend", FRIENDS_PER_USER)
        key = frame["key"].to_numpy()
        euros = lognormal(key, "private amount", 8, 160)
        cents = np.where(uniform(key, "exact") < EXACT_SHARE, np.round(euros * 100).astype(np.int64), round_to(euros, 5))
        frame = frame.with_columns(cents=pl.Series(sign * cents))
        rows.append(singles(scene, frame, "friend", wording, category, account=main_account(scene, frame)))
    return rows


def _fridays(scene: Scene) -> pl.DataFrame:
    """The same amount to the same friend every Friday: regular, and still no contract."""
    who = np.flatnonzero(scene.group.chance("fridays") < FRIDAY_SHARE)
    first = scene.grid.first_day + (4 - (scene.grid.first_day + 3)) % 7
    days = np.arange(first, scene.grid.end_day, 7)
    users, day = np.repeat(who, days.size), np.tile(days, who.size)
    key = hashed(scene.group.key[users], "friday", day)
    cents = -round_to(5 + 20 * scene.group.chance("friday amount"), 5)[users]
    frame = pl.DataFrame({"who": users, "day": scene.grid.forward(day), "key": key, "cents": cents})
    frame = frame.filter(pl.Series((uniform(key, "meets") < 0.9) & (day >= scene.group.start[users]))).with_columns(
        pl.col("who").cast(pl.Int32)
    )
    frame = frame.with_columns(partner=pl.Series(hashed(scene.group.key[frame["who"].to_numpy()], "steady friend", 0)))
    return singles(scene, frame, "friend", "fridays", "BANKFINANCE_TRANSFER", account=main_account(scene, frame))


def _cash(scene: Scene) -> list[pl.DataFrame]:
    age = np.where(scene.group.age > 62, 1.35, np.where(scene.group.age < 30, 0.7, 1.0))
    machine = with_steady(scene, by_month(scene, "machine", 1.45 * age), "atm", MACHINES_PER_USER)
    till, counter = by_month(scene, "till", 0.12), by_month(scene, "counter", 0.03 * age)
    notes, desk = by_month(scene, "notes in", 0.05), by_month(scene, "desk in", 0.03)
    return [
        _withdrawals(scene, machine, "atm", "BANKFINANCE_ATMWITHDRAWAL", AT_MACHINE, 30, 220),
        _withdrawals(scene, till, "till_cash", "BANKFINANCE_CASHWITHDRAWAL", AT_TILL, 30, 150),
        _withdrawals(scene, counter, "atm", "BANKFINANCE_CASHWITHDRAWAL", AT_COUNTER, 80, 900),
        _deposits(scene, notes, "cash_in_machine", "BANKFINANCE_ATMDEPOSIT", AT_MACHINE),
        _deposits(scene, desk, "cash_in_counter", "BANKFINANCE_CASHDEPOSIT", AT_COUNTER),
    ]


def _withdrawals(
    scene: Scene,
    frame: pl.DataFrame,
    pool: str,
    category: str,
    code: str,
    low: float,
    high: float,
) -> pl.DataFrame:
    key = frame["key"].to_numpy()
    amount = round_to(lognormal(key, "cash", low, high), 10)
    town = scene.group.names["town"][frame["who"].cast(pl.UInt32)]
    minute = pl.Series((480 + 780 * uniform(key, "minute")).astype(np.int64))
    account = main_account(scene, frame)
    frame = frame.with_columns(cents=pl.Series(-amount))
    return singles(
        scene,
        frame,
        pool,
        "",
        category,
        kind="CASH",
        code=code,
        account=account,
        city=town,
        minute=minute,
        iban=None,
        bic=None,
    )


def _deposits(scene: Scene, frame: pl.DataFrame, wording: str, category: str, code: str) -> pl.DataFrame:
    amount = round_to(lognormal(frame["key"].to_numpy(), "cash", 40, 900), 10)
    frame = frame.with_columns(cents=pl.Series(amount))
    account = main_account(scene, frame)
    return singles(scene, frame, "atm", wording, category, kind="CASH", code=code, account=account, iban=None, bic=None)
