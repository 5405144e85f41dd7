"""Money that stays the user's own: transfers between connected accounts with both legs, card settlements, wallets, and accounts elsewhere."""

import numpy as np
import polars as pl

from models.corpus import banks
from models.corpus.chance import Floats, hashed, lognormal, uniform, whole
from models.corpus.draft import draft
from models.corpus.people import CARD, CURRENT, DEPOT, LOAN, SAVINGS, SECOND, WALLET, Flags, People, World
from models.corpus.single import by_month, on_rule, round_to, singles
from models.corpus.timeline import Timeline

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


def own_transfers(world: World, group: People, lives: Timeline) -> list[pl.DataFrame]:
    """All transfers between a user's accounts, except card settlements."""
    roles, income = group.roles, group.income
    saver = roles[:, SAVINGS] & (group.chance("saves monthly") < 0.7)
    budget = roles[:, SECOND] & ~group.has("FREELANCER") & (group.chance("budget") < 0.6)
    owner = roles[:, SECOND] & group.has("FREELANCER")
    invests = roles[:, DEPOT] & (group.chance("feeds depot") < 0.8)
    return [
        *_monthly(world, group, "savings", saver, CURRENT, SAVINGS, "to_savings", income * 0.07, "STANDINGORDER"),
        *_sometimes(world, group, "more savings", roles[:, SAVINGS], 0.3, CURRENT, SAVINGS, "to_savings", 60, 900),
        *_sometimes(world, group, "from savings", roles[:, SAVINGS], 0.32, SAVINGS, CURRENT, "from_savings", 80, 1200),
        *_monthly(world, group, "budget", budget, CURRENT, SECOND, "to_second", income * 0.2, "STANDINGORDER"),
        *_sometimes(world, group, "between", roles[:, SECOND], 0.3, SECOND, CURRENT, "to_second", 20, 300),
        *_monthly(world, group, "drawings", owner, SECOND, CURRENT, "to_second", income * 0.75, "STANDINGORDER"),
        *_monthly(world, group, "depot", invests, CURRENT, DEPOT, "to_depot", income * 0.06, "STANDINGORDER"),
        *_sometimes(world, group, "more depot", roles[:, DEPOT], 0.15, CURRENT, DEPOT, "to_depot", 150, 3000),
        *_monthly(world, group, "loan", roles[:, LOAN], CURRENT, LOAN, "to_loan", np.full(group.size, 240.0), "STANDINGORDER"),
        *_sometimes(world, group, "top up", roles[:, WALLET], 1.2, CURRENT, WALLET, "wallet_topup", 20, 150),
        *_sometimes(world, group, "pay out", roles[:, WALLET], 0.15, WALLET, CURRENT, "wallet_out", 10, 120),
        *_elsewhere(world, group),
    ]


def _monthly(
    world: World, group: People, name: str, who: Flags, source: int, target: int, wording: str, euros: Floats, kind: str
) -> list[pl.DataFrame]:
    rule = whole(group.key, f"rule {name}", 0, len(MONTHLY_RULES) - 1)
    months = np.arange(world.grid.months)
    frame = pl.concat([on_rule(world, group, name, who & (rule == place), text, months) for place, text in enumerate(MONTHLY_RULES)])
    amount = round_to(np.maximum(euros * (0.4 + 1.2 * group.chance(f"size {name}")), 10), 10 if kind == "STANDINGORDER" else 5)
    return _legs(world, group, frame, amount[frame["who"].to_numpy()], source, target, wording, kind)


def _sometimes(
    world: World, group: People, name: str, who: Flags, mean: float, source: int, target: int, wording: str, low: float, high: float
) -> list[pl.DataFrame]:
    frame = by_month(world, group, name, mean, who)
    euros = lognormal(frame["key"].to_numpy(), "own amount", low, high)
    exact = uniform(frame["key"].to_numpy(), "exact") < 0.12
    amount = np.where(exact, np.round(euros * 100).astype(np.int64), round_to(euros, 10))
    return _legs(world, group, frame, amount, source, target, wording, "TRANSFER")


def _legs(
    world: World, group: People, frame: pl.DataFrame, amount: "np.ndarray[tuple[int], np.dtype[np.int64]]", source: int, target: int, wording: str, kind: str
) -> list[pl.DataFrame]:
    """Both sides of transfers: the money leaves one account and arrives in the other the same or the next working day."""
    who, key = frame["who"].to_numpy(), frame["key"].to_numpy()
    place = pl.Series(who, dtype=pl.UInt32)
    item = ITEM_BY_ROLE[target if source in (CURRENT, SECOND) else source]
    same_bank = group.formats[who, source] == group.formats[who, target]
    later = world.grid.later(frame["day"].to_numpy(), np.where(same_bank, 0, (uniform(key, "next day") < 0.5).astype(np.int64)))
    pool = world.shelf.wording(wording)
    chosen = pool.pick(uniform(key, "wording"))
    wallet = WALLET in (source, target)
    facts = {
        "number": pl.Series(hashed(group.key[who], f"own {source}-{target}")),
        "wording": pool.frame["number"].gather(pl.Series(chosen, dtype=pl.UInt32)),
        "wording_split": pl.Series(pool.splits[chosen], dtype=pl.UInt8),
        "merchant_split": pl.Series(group.split[who], dtype=pl.UInt8),
        "pair": pl.Series(hashed(key, "pair")),
        "category": pl.lit(item),
        "party": group.names["full"].gather(place),
    }
    out = frame.with_columns(
        **facts,
        cents=pl.Series(-amount),
        account=pl.lit(source, pl.UInt8),
        kind=pl.lit("INTERNAL" if source == WALLET else kind if not wallet else "DIRECTDEBIT"),
        iban=group.ibans[f"iban{target}"].gather(place),
        bic=group.ibans[f"bic{target}"].gather(place),
    )
    into = frame.with_columns(
        **facts,
        cents=pl.Series(amount),
        account=pl.lit(target, pl.UInt8),
        day=pl.Series(later).cast(pl.Int32),
        key=pl.Series(hashed(key, "other leg")),
        kind=pl.lit("INTERNAL" if target == WALLET else "TRANSFER" if source == WALLET else kind if kind == "STANDINGORDER" else "TRANSFER"),
        iban=group.ibans[f"iban{source}"].gather(place),
        bic=group.ibans[f"bic{source}"].gather(place),
    )
    inside = pl.Series(later < world.grid.end_day)
    out, into = out.filter(inside), into.filter(inside)
    if wallet:
        named = {"party": pl.lit(WALLET_NAME), "brand": pl.lit("PayPal")}
        out, into = (out.with_columns(**named), into) if target == WALLET else (out, into.with_columns(**named))
    return [draft(out), draft(into)]


def _elsewhere(world: World, group: People) -> list[pl.DataFrame]:
    """To and from an own account that is not connected."""
    who = group.chance("account elsewhere") < 0.16
    legs = []
    for name, mean, sign in (("to elsewhere", 0.35, -1), ("from elsewhere", 0.2, 1)):
        frame = by_month(world, group, name, mean, who)
        amount = round_to(lognormal(frame["key"].to_numpy(), "own amount", 30, 700), 10)
        users = frame["who"].to_numpy()
        owner = group.names["full"].gather(frame["who"].cast(pl.UInt32))
        key = hashed(group.key[users], "elsewhere")
        iban, bic = banks.accounts(banks.of_format(np.full(users.size, "commerzbank"), key), key)
        facts = {"party": owner, "iban": iban, "bic": bic, "merchant_split": pl.Series(group.split[users], dtype=pl.UInt8)}
        rows = singles(world, group, frame.with_columns(cents=pl.Series(sign * amount)), "friend", "to_other", "TRANSFER_OTHER", **facts)
        legs.append(rows.with_columns(brand=pl.lit("")))
    return legs


def settlements_of_cards(world: World, group: People, rows: pl.DataFrame) -> list[pl.DataFrame]:
    """What was spent with a card in a month is settled early in the next one."""
    spent = rows.lazy().filter(pl.col("account") == CARD, ~pl.col("pending"), ~pl.col("copy")).select("who", "day", "cents").collect()
    spent = spent.filter(pl.Series(spent["day"].to_numpy() >= group.start[spent["who"].to_numpy()]))
    if spent.is_empty():
        return []
    month = world.grid.month_of(spent["day"].to_numpy())
    sums = spent.with_columns(month=pl.Series(month)).group_by("who", "month", maintain_order=True).agg(pl.col("cents").sum()).filter(pl.col("cents") < 0)
    who = sums["who"].to_numpy()
    day = world.grid.rule_dates("S4")[sums["month"].to_numpy() + 1]
    frame = sums.with_columns(day=pl.Series(day), key=pl.Series(hashed(group.key[who], "card settlement", world.grid.first_month + sums["month"].to_numpy())))
    frame = frame.filter(pl.col("day") < world.grid.end_day)
    who, key = frame["who"].to_numpy(), frame["key"].to_numpy()
    pool = world.shelf.wording("card_settle")
    chosen = pool.pick(uniform(group.key[who], "card wording"))
    facts = {
        "number": pl.Series(hashed(group.key[who], "card")),
        "wording": pool.frame["number"].gather(pl.Series(chosen, dtype=pl.UInt32)),
        "wording_split": pl.Series(pool.splits[chosen], dtype=pl.UInt8),
        "merchant_split": pl.Series(group.split[who], dtype=pl.UInt8),
        "pair": pl.Series(hashed(key, "pair")),
        "category": pl.lit("TRANSFER_CREDITCARD"),
        "kind": pl.lit("CARDSETTLE"),
        "party": banks.names_of(group.formats[who, CURRENT].astype(str)),
    }
    out = frame.with_columns(**facts, account=pl.lit(CURRENT, pl.UInt8))
    into = frame.with_columns(
        **{**facts, "party": group.names["full"].gather(pl.Series(who, dtype=pl.UInt32))},
        account=pl.lit(CARD, pl.UInt8),
    ).with_columns(cents=-pl.col("cents"), key=pl.Series(hashed(key, "other leg")))
    return [draft(out.drop("month")), draft(into.drop("month"))]
