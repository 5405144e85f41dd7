"""Own transfers: both legs between a user's accounts, card settlements, and accounts that are not connected."""

import numpy as np
import polars as pl

from models.simulator.base import banks
from models.simulator.base.chance import Floats, hashed, lognormal, uniform, whole
from models.simulator.base.draft import draft
from models.simulator.bookings.single import by_month, on_rule, round_to, singles
from models.simulator.people.people import CARD, CURRENT, DEPOT, LOAN, SAVINGS, SECOND, WALLET, Flags
from models.simulator.people.scene import Scene

ITEM_BY_ROLE = {
    CURRENT: "TRANSFER_INTERNAL",
    SECOND: "TRANSFER_INTERNAL",
    SAVINGS: "TRANSFER_SAVINGS",
    DEPOT: "TRANSFER_SECURITIES",
    CARD: "TRANSFER_CREDITCARD",
    LOAN: "TRANSFER_LOAN",
    WALLET: "TRANSFER_WALLET",
}
"""The item of a transfer between a current account and an account of each role, on both sides."""
MONTHLY_RULES = ("F1", "F2", "F3", "F15", "B28")
WALLET_NAME = "PayPal (Europe) S.à r.l. et Cie, S.C.A."


def own_transfers(scene: Scene) -> list[pl.DataFrame]:
    """All transfers between a user's accounts, except card settlements."""
    roles, income = scene.group.roles, scene.group.income
    saver = roles[:, SAVINGS] & (scene.group.chance("saves monthly") < 0.7)
    budget = roles[:, SECOND] & ~scene.group.has("FREELANCER") & (scene.group.chance("budget") < 0.6)
    owner = roles[:, SECOND] & scene.group.has("FREELANCER")
    invests = roles[:, DEPOT] & (scene.group.chance("feeds depot") < 0.8)
    return [
        *_monthly(scene, "savings", saver, CURRENT, SAVINGS, "to_savings", income * 0.07, "STANDINGORDER"),
        *_sometimes(scene, "more savings", roles[:, SAVINGS], 0.3, CURRENT, SAVINGS, "to_savings", 60, 900),
        *_sometimes(scene, "from savings", roles[:, SAVINGS], 0.32, SAVINGS, CURRENT, "from_savings", 80, 1200),
        *_monthly(scene, "budget", budget, CURRENT, SECOND, "to_second", income * 0.2, "STANDINGORDER"),
        *_sometimes(scene, "between", roles[:, SECOND], 0.3, SECOND, CURRENT, "to_second", 20, 300),
        *_monthly(scene, "drawings", owner, SECOND, CURRENT, "to_second", income * 0.75, "STANDINGORDER"),
        *_monthly(scene, "depot", invests, CURRENT, DEPOT, "to_depot", income * 0.06, "STANDINGORDER"),
        *_sometimes(scene, "more depot", roles[:, DEPOT], 0.15, CURRENT, DEPOT, "to_depot", 150, 3000),
        *_monthly(scene, "loan", roles[:, LOAN], CURRENT, LOAN, "to_loan", np.full(scene.group.size, 240.0), "STANDINGORDER"),
        *_sometimes(scene, "top up", roles[:, WALLET], 1.2, CURRENT, WALLET, "wallet_topup", 20, 150),
        *_sometimes(scene, "pay out", roles[:, WALLET], 0.15, WALLET, CURRENT, "wallet_out", 10, 120),
        *_elsewhere(scene),
    ]


def _monthly(
    scene: Scene, name: str, who: Flags, source: int, target: int, wording: str, euros: Floats, kind: str
) -> list[pl.DataFrame]:
    rule = whole(scene.group.key, f"rule {name}", 0, len(MONTHLY_RULES) - 1)
    months = np.arange(scene.grid.months)
    frame = pl.concat([on_rule(scene, name, who & (rule == place), text, months) for place, text in enumerate(MONTHLY_RULES)])
    amount = round_to(
        np.maximum(euros * (0.4 + 1.2 * scene.group.chance(f"size {name}")), 10), 10 if kind == "STANDINGORDER" else 5
    )
    return _legs(scene, frame, amount[frame["who"].to_numpy()], source, target, wording, kind)


def _sometimes(
    scene: Scene,
    name: str,
    who: Flags,
    mean: float,
    source: int,
    target: int,
    wording: str,
    low: float,
    high: float,
) -> list[pl.DataFrame]:
    frame = by_month(scene, name, mean, who)
    euros = lognormal(frame["key"].to_numpy(), "own amount", low, high)
    exact = uniform(frame["key"].to_numpy(), "exact") < 0.12
    amount = np.where(exact, np.round(euros * 100).astype(np.int64), round_to(euros, 10))
    return _legs(scene, frame, amount, source, target, wording, "TRANSFER")


def _legs(
    scene: Scene,
    frame: pl.DataFrame,
    amount: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    source: int,
    target: int,
    wording: str,
    kind: str,
) -> list[pl.DataFrame]:
    """Both sides of transfers: the money leaves one account and arrives in the other the same or the next working day."""
    who, key = frame["who"].to_numpy(), frame["key"].to_numpy()
    user_rows = pl.Series(who, dtype=pl.UInt32)
    item = ITEM_BY_ROLE[target if source in (CURRENT, SECOND) else source]
    same_bank = scene.group.formats[who, source] == scene.group.formats[who, target]
    later = scene.grid.later(frame["day"].to_numpy(), np.where(same_bank, 0, (uniform(key, "next day") < 0.5).astype(np.int64)))
    pool = scene.lists.wording(wording)
    steady = kind == "STANDINGORDER"
    picks = pool.pick(uniform(scene.group.key[who], f"words {source}-{target}") if steady else uniform(key, "wording"))
    wallet = WALLET in (source, target)
    facts = {
        "number": pl.Series(hashed(scene.group.key[who], f"own {source}-{target}")),
        "wording": pool.frame["number"][pl.Series(picks, dtype=pl.UInt32)],
        "wording_split": pl.Series(pool.splits[picks], dtype=pl.UInt8),
        "merchant_split": pl.Series(scene.group.split[who], dtype=pl.UInt8),
        "pair": pl.Series(hashed(key, "pair")),
        "category": pl.Series([item]).new_from_index(0, who.size),
        "party": scene.group.names["full"][user_rows],
    }
    out = frame.with_columns(
        **facts,
        cents=pl.Series(-amount),
        account=pl.lit(source, pl.UInt8),
        kind=pl.lit("INTERNAL" if source == WALLET else kind if not wallet else "DIRECTDEBIT"),
        iban=scene.group.ibans[f"iban{target}"][user_rows],
        bic=scene.group.ibans[f"bic{target}"][user_rows],
    )
    into = frame.with_columns(
        **facts,
        cents=pl.Series(amount),
        account=pl.lit(target, pl.UInt8),
        day=pl.Series(later).cast(pl.Int32),
        key=pl.Series(hashed(key, "other leg")),
        kind=pl.lit(
            "INTERNAL"
            if target == WALLET
            else "TRANSFER"
            if source == WALLET
            else kind
            if kind == "STANDINGORDER"
            else "TRANSFER"
        ),
        iban=scene.group.ibans[f"iban{source}"][user_rows],
        bic=scene.group.ibans[f"bic{source}"][user_rows],
    )
    if target == LOAN:  # a payment of a loan leaves the household
        out = out.with_columns(effective=pl.lit("BANKFINANCE_CREDITPAYMENT"))
    inside = pl.Series(later < scene.grid.end_day)
    out, into = out.filter(inside), into.filter(inside)
    if wallet:
        wallet_facts = {"party": pl.lit(WALLET_NAME), "brand": pl.lit("PayPal")}
        out, into = (out.with_columns(**wallet_facts), into) if target == WALLET else (out, into.with_columns(**wallet_facts))
    return [draft(out), draft(into)]


def _elsewhere(scene: Scene) -> list[pl.DataFrame]:
    """To and from an own account that is not connected."""
    who = scene.group.chance("account elsewhere") < 0.16
    legs = []
    for name, mean, sign in (("to elsewhere", 0.35, -1), ("from elsewhere", 0.2, 1)):
        frame = by_month(scene, name, mean, who)
        amount = round_to(lognormal(frame["key"].to_numpy(), "own amount", 30, 700), 10)
        users = frame["who"].to_numpy()
        owner = scene.group.names["full"][frame["who"].cast(pl.UInt32)]
        key = hashed(scene.group.key[users], "elsewhere")
        iban, bic = banks.accounts(banks.of_format(np.full(users.size, "commerzbank"), key), key)
        facts = {"party": owner, "iban": iban, "bic": bic, "merchant_split": pl.Series(scene.group.split[users], dtype=pl.UInt8)}
        rows = singles(scene, frame.with_columns(cents=pl.Series(sign * amount)), "friend", "to_other", "TRANSFER_OTHER", **facts)
        legs.append(rows.with_columns(brand=pl.lit("")))
    return legs


def settlements_of_cards(scene: Scene, rows: pl.DataFrame) -> list[pl.DataFrame]:
    """The card payments of each month, settled early in the next one: both legs."""
    card_payments = (
        rows.lazy().filter(pl.col("account") == CARD, ~pl.col("pending"), ~pl.col("copy")).select("who", "day", "cents").collect()
    )
    card_payments = card_payments.filter(
        pl.Series(card_payments["day"].to_numpy() >= scene.group.start[card_payments["who"].to_numpy()])
    )
    if card_payments.is_empty():
        return []
    month = scene.grid.month_of(card_payments["day"].to_numpy())
    sums = (
        card_payments.with_columns(month=pl.Series(month))
        .group_by("who", "month", maintain_order=True)
        .agg(pl.col("cents").sum())
        .filter(pl.col("cents") < 0)
    )
    who = sums["who"].to_numpy()
    day = scene.grid.rule_dates("S4")[sums["month"].to_numpy() + 1]
    frame = sums.with_columns(
        day=pl.Series(day),
        key=pl.Series(hashed(scene.group.key[who], "card settlement", scene.grid.first_month + sums["month"].to_numpy())),
    )
    frame = frame.filter(pl.col("day") < scene.grid.end_day)
    who, key = frame["who"].to_numpy(), frame["key"].to_numpy()
    pool = scene.lists.wording("card_settle")
    picks = pool.pick(uniform(scene.group.key[who], "card wording"))
    facts = {
        "number": pl.Series(hashed(scene.group.key[who], "card")),
        "wording": pool.frame["number"][pl.Series(picks, dtype=pl.UInt32)],
        "wording_split": pl.Series(pool.splits[picks], dtype=pl.UInt8),
        "merchant_split": pl.Series(scene.group.split[who], dtype=pl.UInt8),
        "pair": pl.Series(hashed(key, "pair")),
        "category": pl.Series(["TRANSFER_CREDITCARD"]).new_from_index(0, who.size),
        "kind": pl.Series(["CARDSETTLE"]).new_from_index(0, who.size),
        "party": banks.names_of(scene.group.formats[who, CURRENT].astype(str)),
    }
    out = frame.with_columns(**facts, account=pl.lit(CURRENT, pl.UInt8))
    into = frame.with_columns(
        **{**facts, "party": scene.group.names["full"][pl.Series(who, dtype=pl.UInt32)]},
        account=pl.lit(CARD, pl.UInt8),
    ).with_columns(cents=-pl.col("cents"), key=pl.Series(hashed(key, "other leg")))
    return [draft(out.drop("month")), draft(into.drop("month"))]
