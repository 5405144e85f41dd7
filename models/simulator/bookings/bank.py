"""Bookings by the user's own bank: fees, interest, returned debits, reminders and attachments."""

import numpy as np
import polars as pl

from models.simulator.base import banks
from models.simulator.base.chance import hashed, lognormal, uniform, whole
from models.simulator.base.draft import draft
from models.simulator.bookings.single import Fact, by_month, in_span, main_account, on_rule, round_to, singles
from models.simulator.people.people import CURRENT, DEPOT, SAVINGS, Flags
from models.simulator.people.scene import Scene

RETURN_SHARE, RETURN_SHARE_IN_DEBT = 0.0001, 0.07
RETURN_FEES_CENTS = (300, 350, 400, 500, 650)
RETRY_SHARE = 0.6
QUARTER_DAYS = 90
FOREIGN_FEE_SHARE, FOREIGN_FEE_RATIO = 0.4, 0.0175


def bank_bookings(scene: Scene) -> list[pl.DataFrame]:
    """Fees, interest, trades in the depot, attachments."""
    return [
        *_fees(scene),
        *_interest(scene),
        *_depot(scene),
        *_troubles(scene),
    ]


def _own_bank(scene: Scene, frame: pl.DataFrame, wording: str, category: str, role: int = CURRENT, **facts: Fact) -> pl.DataFrame:
    """A booking of the user's own bank."""
    bank = banks.names_of(scene.group.formats[frame["who"].to_numpy(), role].astype(str))
    split = pl.Series(scene.group.split[frame["who"].to_numpy()], dtype=pl.UInt8)
    defaults: dict[str, Fact] = {
        "from_day": frame["day"] - QUARTER_DAYS,
        "to_day": frame["day"],
        "party": bank,
        "merchant_split": split,
        "iban": None,
        "bic": None,
        "number": pl.Series(hashed(scene.group.key[frame["who"].to_numpy()], "own bank")),
        **facts,
    }
    return singles(scene, frame, "own_bank", wording, category, **defaults)


def _fees(scene: Scene) -> list[pl.DataFrame]:
    months = np.arange(scene.grid.months)
    quarter = months[(scene.grid.first_month + months) % 3 == 2]
    rows = []
    yearly = months[(scene.grid.first_month + months) % 12 == 5]
    card = on_rule(scene, "card fee", scene.group.chance("card fee") < 0.3, "F15", yearly)
    rows.append(
        _fee(
            scene,
            card,
            pl.Series(-np.array([600, 1200, 2900, 3500])[whole(card["key"].to_numpy(), "price", 0, 3)]),
            "card_fee",
        )
    )
    depot = on_rule(scene, "depot fee", scene.group.roles[:, DEPOT] & (scene.group.chance("depot fee") < 0.35), "E1", quarter)
    price = pl.Series(-(300 + 900 * uniform(depot["key"].to_numpy(), "price")).astype(np.int64))
    rows.append(
        _own_bank(
            scene,
            depot.with_columns(cents=price),
            "depot_fee",
            "BANKFINANCE_OTHER",
            kind="FEE",
            freelancer="FEES_CONTRIBUTIONS_INSURANCE",
        )
    )
    return rows


def _fee(scene: Scene, frame: pl.DataFrame, cents: pl.Series, wording: str) -> pl.DataFrame:
    return _own_bank(
        scene,
        frame.with_columns(cents=cents),
        wording,
        "BANKFINANCE_OTHER",
        kind="FEE",
        freelancer="FEES_CONTRIBUTIONS_INSURANCE",
        account=main_account(scene, frame),
    )


def _interest(scene: Scene) -> list[pl.DataFrame]:
    months = np.arange(scene.grid.months)
    quarter = months[(scene.grid.first_month + months) % 3 == 2]
    year = months[(scene.grid.first_month + months) % 12 == 11]
    indebted = scene.group.has("OVERINDEBTED") | (scene.group.chance("overdraft") < 0.17)
    out = on_rule(scene, "overdraft", indebted, "E1", quarter)
    low = lognormal(out["key"].to_numpy(), "overdraft", 2, 45)
    out = out.with_columns(cents=pl.Series(-np.round(low * 100).astype(np.int64)))
    rows = [
        _own_bank(
            scene,
            out,
            "interest_out",
            "BANKFINANCE_OTHER",
            kind="INTEREST",
            freelancer="INTEREST",
            account=main_account(scene, out),
        )
    ]
    for name, who, when, role in (
        ("savings interest", scene.group.roles[:, SAVINGS] & (scene.group.chance("monthly interest") < 0.5), quarter, SAVINGS),
        ("yearly interest", scene.group.roles[:, SAVINGS] & (scene.group.chance("monthly interest") >= 0.5), year, SAVINGS),
        ("current interest", scene.group.chance("current interest") < 0.05, year, CURRENT),
    ):
        frame = on_rule(scene, name, who, "E1", when)
        amount = np.round(lognormal(frame["key"].to_numpy(), "interest", 2, 160) * (100 if role == SAVINGS else 8)).astype(
            np.int64
        )
        frame = frame.with_columns(cents=pl.Series(np.maximum(amount, 1)))
        rows.append(_own_bank(scene, frame, "interest_in", "INCOME_INVESTMENT", role, kind="INTEREST", account=role))
    return rows


def _depot(scene: Scene) -> list[pl.DataFrame]:
    """Single trades and dividends in the depot's own account, dividends of others in the current account."""
    owns = scene.group.roles[:, DEPOT]
    rows = []
    for name, mean, sign, wording, category in (
        ("buys", 0.35, -1, "security_buy", "BANKFINANCE_INVESTMENT"),
        ("sells", 0.1, 1, "security_sell", "TRANSFER_SECURITIES"),
        ("dividends", 0.5, 1, "dividend", "INCOME_INVESTMENT"),
    ):
        frame = by_month(scene, name, mean, owns)
        low, high = (4, 160) if name == "dividends" else (90, 2600)
        amount = sign * np.round(lognormal(frame["key"].to_numpy(), "trade", low, high) * 100).astype(np.int64)
        rows.append(
            _own_bank(
                scene,
                frame.with_columns(cents=pl.Series(amount)),
                wording,
                category,
                DEPOT,
                kind="SECURITIES",
                account=DEPOT,
            )
        )
    others = ~owns & (scene.group.chance("has shares") < 0.1)
    for name, mean, sign, wording, category in (
        ("own dividends", 0.35, 1, "dividend", "INCOME_INVESTMENT"),
        ("own buys", 0.12, -1, "security_buy", "BANKFINANCE_INVESTMENT"),
    ):
        frame = by_month(scene, name, mean, others)
        amount = sign * np.round(lognormal(frame["key"].to_numpy(), "trade", 5, 300) * 100).astype(np.int64)
        rows.append(_own_bank(scene, frame.with_columns(cents=pl.Series(amount)), wording, category, kind="SECURITIES"))
    return rows


def _troubles(scene: Scene) -> list[pl.DataFrame]:
    """Reminders (a few for all users), and attachments with their fees for the over-indebted."""
    debt = scene.group.has("OVERINDEBTED")
    reminder = by_month(scene, "reminder", np.where(debt, 0.35, 0.015))
    amount = -np.array([250, 300, 500, 700, 1000, 1500])[whole(reminder["key"].to_numpy(), "price", 0, 5)]
    reminders = singles(
        scene,
        reminder.with_columns(cents=pl.Series(amount)),
        "telecom",
        "reminder_fee",
        "BANKFINANCE_OTHER",
        freelancer="PRIVATE",
        account=main_account(scene, reminder),
    )
    seizure = in_span(scene, "debt", by_month(scene, "seizure", 0.22, debt))
    seized_cents = round_to(lognormal(seizure["key"].to_numpy(), "seizure", 40, 420), 1)
    seizures = singles(
        scene,
        seizure.with_columns(cents=pl.Series(-seized_cents)),
        "bailiff",
        "seizure",
        "BANKFINANCE_OTHER",
        freelancer="PRIVATE",
        account=main_account(scene, seizure),
    )
    fee = seizure.with_columns(key=pl.Series(hashed(seizure["key"].to_numpy(), "fee")))
    return [reminders, seizures, _fee(scene, fee, pl.Series(np.full(fee.height, -1500)), "seizure_fee")]


def with_returned_debits(scene: Scene, rows: pl.DataFrame) -> pl.DataFrame:
    """The bookings with some direct debits returned: both legs are reversals, a fee may follow, and most are tried again."""
    debit = (rows["kind"] == "DIRECTDEBIT").to_numpy() & (rows["cents"] < 0).to_numpy() & rows["pair"].is_null().to_numpy()
    who, key = rows["who"].to_numpy(), rows["key"].to_numpy()
    chance = np.where(scene.lives.inside("debt", who, rows["day"].to_numpy()), RETURN_SHARE_IN_DEBT, RETURN_SHARE)
    is_returned: Flags = debit & (uniform(key, "returned debit") < chance)
    if not is_returned.any():
        return rows
    returned_debits = rows.filter(pl.Series(is_returned))
    reversed_rows = rows.with_columns(
        category=pl.when(pl.Series(is_returned)).then(pl.lit("TRANSFER_REVERSAL")).otherwise("category"),
        effective=pl.when(pl.Series(is_returned)).then(pl.lit("TRANSFER_REVERSAL")).otherwise("effective"),
        insurance=pl.when(pl.Series(is_returned)).then(pl.lit("UNRELATED_OTHER")).otherwise("insurance"),
        regular=pl.when(pl.Series(is_returned) & pl.col("contract").is_not_null()).then(pl.lit(False)).otherwise("regular"),
        pair=pl.when(pl.Series(is_returned)).then(pl.Series(hashed(key, "returned pair"))).otherwise("pair"),
    )
    return pl.concat(
        [
            reversed_rows,
            _other_legs(scene, returned_debits),
            _return_fees(scene, returned_debits),
            _retries(scene, returned_debits),
        ]
    )


def _other_legs(scene: Scene, back: pl.DataFrame) -> pl.DataFrame:
    key = back["key"].to_numpy()
    day = scene.grid.later(back["day"].to_numpy(), whole(key, "returned after", 1, 4))
    pool = scene.lists.wording("dd_return")
    picks = pool.pick(uniform(key, "return wording"))
    legs = back.with_columns(
        kind=pl.lit("DD_RETURN"),
        day=pl.Series(day).cast(pl.Int32),
        value=pl.Series(day).cast(pl.Int32),
        cents=-pl.col("cents"),
        key=pl.Series(hashed(key, "returned leg")),
        pair=pl.Series(hashed(key, "returned pair")),
        category=pl.lit("TRANSFER_REVERSAL"),
        effective=pl.lit("TRANSFER_REVERSAL"),
        insurance=pl.lit("UNRELATED_OTHER"),
        regular=pl.when(pl.col("contract").is_not_null()).then(pl.lit(False)),
        via=pl.lit(None, pl.String),
        original=pl.lit(None, pl.Int64),
        currency=pl.lit(None, pl.String),
        wording=pool.frame["number"][pl.Series(picks, dtype=pl.UInt32)],
        wording_split=pl.Series(pool.splits[picks], dtype=pl.UInt8),
    )
    return legs.filter(pl.col("day") < scene.grid.end_day)


def _return_fees(scene: Scene, back: pl.DataFrame) -> pl.DataFrame:
    key = back["key"].to_numpy()
    day = scene.grid.later(back["day"].to_numpy(), whole(key, "returned after", 1, 4))
    frame = pl.DataFrame({"who": back["who"], "day": pl.Series(day).cast(pl.Int32), "key": pl.Series(hashed(key, "return fee"))})
    frame = frame.filter(pl.Series(uniform(key, "return fee") < 0.45))
    amount = pl.Series(-np.array(RETURN_FEES_CENTS)[whole(frame["key"].to_numpy(), "price", 0, len(RETURN_FEES_CENTS) - 1)])
    return _fee(scene, frame, amount, "return_fee")


def _retries(scene: Scene, back: pl.DataFrame) -> pl.DataFrame:
    key = back["key"].to_numpy()
    day = scene.grid.forward(back["day"].to_numpy() + whole(key, "again after", 7, 14))
    retries = back.with_columns(
        day=pl.Series(day).cast(pl.Int32), value=pl.Series(day).cast(pl.Int32), key=pl.Series(hashed(key, "again"))
    )
    return draft(retries.filter(pl.Series(uniform(key, "again") < RETRY_SHARE), pl.col("day") < scene.grid.end_day))


def foreign_fees(scene: Scene, rows: pl.DataFrame) -> pl.DataFrame:
    """Some banks charge for card payments in another currency, on the same day."""
    foreign_payments = rows.lazy().filter(
        pl.col("currency").is_not_null(), pl.col("cents") < 0, ~pl.col("pending"), ~pl.col("copy")
    )
    frame = foreign_payments.select("who", "day", "key", "cents", "account").collect()
    charged = scene.group.chance("charged abroad")[frame["who"].to_numpy()] < FOREIGN_FEE_SHARE
    frame = frame.filter(pl.Series(charged))
    fee = np.minimum(np.round(frame["cents"].to_numpy() * FOREIGN_FEE_RATIO), -1).astype(np.int64)
    account = frame["account"]
    frame = frame.select("who", "day").with_columns(
        key=pl.Series(hashed(frame["key"].to_numpy(), "fee abroad")), cents=pl.Series(fee)
    )
    return _own_bank(
        scene, frame, "fx_fee", "BANKFINANCE_OTHER", kind="FEE", freelancer="FEES_CONTRIBUTIONS_INSURANCE", account=account
    )
