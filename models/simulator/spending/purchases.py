"""Purchases as bookings: day, amount and account of each, and refunds of some of them."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.simulator.base.chance import Floats, Ints, Keys, hashed, uniform, weighted, whole
from models.simulator.base.draft import draft
from models.simulator.base.lists import wordings
from models.simulator.people.people import CARD, CURRENT, SECOND, WALLET, Flags
from models.simulator.people.scene import Scene
from models.simulator.spending.habits import amounts, habits, occasions
from models.simulator.spending.shops import FOREIGN_RATES, favourite_shops, kinds_of_wordings

LAG_SHARES = np.array([0.2, 0.45, 0.22, 0.09, 0.04])
"""Share of card payments that are booked after 0 to 4 days."""
DUPLICATE_SHARE = 0.005
PENDING_DAYS, PENDING_SHARE = 7, 0.55
EVEN_INVOICE_SHARE = 0.35
REFUND_SHARES = {
    "SHOPPING_CLOTHINGACCESSORIES": (0.05, 0.24),
    "SHOPPING_ELECTRONICS": (0.03, 0.08),
    "SHOPPING_OTHER": (0.02, 0.06),
    "SHOPPING_BEAUTY": (0.005, 0.04),
    "HOUSING_FURNISHING": (0.04, 0.09),
    "RECREATION_SPORTS": (0.01, 0.1),
    "FAMILY_CHILDNECESSITIES": (0.02, 0.1),
    "FAMILY_TOYS": (0.02, 0.05),
    "TRAVEL_ACCOMMODATION": (0.02, 0.05),
    "TRAVEL_TRANSPORT": (0.01, 0.04),
    "MOBILITY_PUBLICTRANSPORT": (0.0, 0.02),
    "MOBILITY_BIKEACQUISITION": (0.02, 0.07),
}
"""Share of purchases at the till and online that are given back."""
DEFAULT_REFUND_SHARE = 0.003
FULL_REFUND_SHARE, LARGER_REFUND_SHARE = 0.66, 0.01


def purchases(scene: Scene) -> pl.DataFrame:
    """A draft of all purchases and refunds."""
    purchase_rows, favourites = occasions(scene)
    rows = favourite_shops(scene, favourites)[purchase_rows["favourite"].cast(pl.UInt32)]
    who, key = purchase_rows["who"].to_numpy(), purchase_rows["key"].to_numpy()
    card, debit = rows["card"].to_numpy(), rows["debit"].to_numpy()
    euros = amounts(rows["median"].to_numpy(), rows["sigma"].to_numpy(), key) * purchase_rows["factor"].to_numpy()
    spent_cents = np.maximum(np.round(_rounded(rows, key, euros) * 100), 10).astype(np.int64)
    booking_days = _booking_days(scene, purchase_rows["day"].to_numpy(), card, debit, key)
    business = np.array([each.business for each in habits()])[purchase_rows["habit"].to_numpy()]
    account = _accounts(scene, rows, who, key, booking_days, business)
    on_wallet = account == WALLET
    silent = "median", "sigma", "card", "debit", "till", "paypal", "words", "even", "fives", "exact", "online", "key"
    frame = rows.drop(silent).with_columns(
        purchase_rows["who"],
        purchase_rows["key"],
        number=rows["key"],
        kind=pl.when(pl.Series(on_wallet)).then(pl.lit("CARD")).otherwise("kind"),
        via=pl.when(pl.Series(~on_wallet)).then("via"),
        account=pl.Series(account),
        day=pl.Series(booking_days),
        value=pl.Series(np.where(card, purchase_rows["day"].to_numpy(), booking_days)),
        cents=pl.Series(-spent_cents),
        minute=pl.Series(_minutes(rows["till"].to_numpy(), key)),
        wording=_wordings(scene, np.where(on_wallet, -1, rows["words"].to_numpy()), key),
        original=_foreign(rows["currency"], spent_cents),
        pending=_pending(scene, card | on_wallet, booking_days, key),
        end_to_end=pl.when(pl.Series(debit)).then(pl.Series(hashed(key, "end to end") % np.uint64(10**11)).cast(pl.String)),
    )
    drafts = draft(_with_wording_splits(frame))
    return pl.concat([drafts, refunds(scene, drafts), copies(drafts)])


def _with_wording_splits(frame: pl.DataFrame) -> pl.DataFrame:
    splits = np.zeros(wordings().height + 1, np.uint8)
    splits[wordings()["number"].to_numpy()] = wordings()["split"].to_numpy()
    return frame.with_columns(wording_split=pl.Series(splits[frame["wording"].to_numpy()], dtype=pl.UInt8))


def _rounded(rows: pl.DataFrame, key: Keys, euros: Floats) -> Floats:
    """Services are paid in full or half euros, donations in fives, goods to the cent with a liking for nines."""
    even = rows["even"].to_numpy() | ~rows["exact"].to_numpy() & (uniform(key, "even") < EVEN_INVOICE_SHARE)
    fives = rows["fives"].to_numpy()
    draw = uniform(key, "nines")
    nines = rows["online"].to_numpy() & ~fives & (draw < 0.5)
    euros = np.where(nines, np.floor(euros) + np.where(draw < 0.3, 0.99, 0.95), euros)
    euros = np.where(even, np.maximum(np.round(euros * 2), 1) / 2, euros)
    return np.where(fives, np.maximum(np.round(euros / 5), 1) * 5, euros)


def _booking_days(scene: Scene, day: Ints, card: Flags, debit: Flags, key: Keys) -> Ints:
    """The day of the booking."""
    draw = uniform(key, "lag")
    lag = np.where(card, weighted(draw, LAG_SHARES), np.where(debit, 1 + (draw * 3).astype(np.int64), 0))
    return scene.grid.forward(day + lag).astype(np.int64)


def _accounts(scene: Scene, rows: pl.DataFrame, who: Ints, key: Keys, day: Ints, business: Flags) -> NDArray[np.uint8]:
    card = rows["card"].to_numpy() & scene.group.roles[who, CARD]
    card &= uniform(key, "which card") < 0.15 + 0.5 * scene.group.chance("likes credit card")[who]
    wallet = rows["paypal"].to_numpy() & scene.group.roles[who, WALLET]
    second = scene.group.roles[who, SECOND] & (
        (business & scene.group.has("FREELANCER")[who]) | (day >= scene.lives.days["account_switch"][who])
    )
    second |= scene.group.roles[who, SECOND] & (uniform(key, "second account") < 0.12)
    return np.select([wallet, card, second], [WALLET, CARD, SECOND], CURRENT).astype(np.uint8)


def _minutes(till: Flags, key: Keys) -> Ints:
    """Shops are open from seven to eight, the rest of the world goes on until midnight."""
    draw = uniform(key, "minute")
    return np.where(till, 425 + draw * 770, 1 + draw * 1437).astype(np.int64)


def _wordings(scene: Scene, kinds: Ints, key: Keys) -> pl.Series:
    out = np.zeros(key.size, np.int64)
    names = kinds_of_wordings()
    with_wording = np.flatnonzero(kinds >= 0)
    chances = uniform(key[with_wording], "wording")
    for code in np.unique(kinds[with_wording]):
        own = kinds[with_wording] == code
        pool = scene.lists.wording(names[code])
        out[with_wording[own]] = pool.frame["number"].to_numpy()[pool.pick(chances[own])]
    return pl.Series(out, dtype=pl.UInt16)


def _foreign(currency: pl.Series, spent_cents: Ints) -> pl.Series:
    rates = currency.replace_strict(FOREIGN_RATES, default=None, return_dtype=pl.Float64)
    return (-(rates * pl.Series(spent_cents)).round()).cast(pl.Int64)


def _pending(scene: Scene, card: Flags, day: Ints, key: Keys) -> pl.Series:
    """The newest card payments are often announced only."""
    recent = (day <= scene.grid.as_of) & (day > scene.grid.as_of - PENDING_DAYS)
    return pl.Series(card & recent & (uniform(key, "pending") < PENDING_SHARE))


def refunds(scene: Scene, rows: pl.DataFrame) -> pl.DataFrame:
    """Money that comes back for purchases, mostly all of it, some weeks later."""
    at_till, online = ({name: pair[place] for name, pair in REFUND_SHARES.items()} for place in (0, 1))
    till_chance = pl.col("category").replace_strict(at_till, default=DEFAULT_REFUND_SHARE, return_dtype=pl.Float64)
    chance = (
        pl.when(pl.col("city").is_null())
        .then(pl.col("category").replace_strict(online, default=DEFAULT_REFUND_SHARE, return_dtype=pl.Float64))
        .otherwise(till_chance)
    )
    chances = pl.Series(uniform(rows["key"].to_numpy(), "returned"))
    refunded = rows.filter(chances < rows.select(chance).to_series(), ~pl.col("pending"))
    key = refunded["key"].to_numpy()
    day = scene.grid.forward(refunded["day"].to_numpy() + whole(key, "refund after", 4, 24))
    draw = uniform(key, "refund size")
    ratio = np.select(
        [draw < FULL_REFUND_SHARE, draw > 1 - LARGER_REFUND_SHARE], [1.0, 1.03], 0.15 + 0.8 * uniform(key, "refund part")
    )
    amount = np.maximum(np.round(-refunded["cents"].to_numpy() * ratio), 1).astype(np.int64)
    pool = scene.lists.wording("refund")
    picks = pool.pick(uniform(key, "refund wording"))
    spoken = (refunded["kind"] != "CARD").to_numpy()
    return refunded.with_columns(
        kind=pl.when(pl.col("kind") == "CARD").then(pl.lit("CARD")).otherwise(pl.lit("TRANSFER")),
        day=pl.Series(day).cast(pl.Int32),
        value=pl.Series(day).cast(pl.Int32),
        cents=pl.Series(amount),
        effective="category",
        category=pl.lit("TRANSFER_REFUND"),
        refund="key",
        key=pl.Series(hashed(key, "refund")),
        creditor=pl.lit(None, pl.String),
        mandate=pl.lit(None, pl.String),
        original=(-pl.col("original") * pl.Series(ratio)).round().cast(pl.Int64),
        wording=pl.Series(np.where(spoken, pool.frame["number"].to_numpy()[picks], 0), dtype=pl.UInt16),
        wording_split=pl.Series(np.where(spoken, pool.splits[picks], 0), dtype=pl.UInt8),
    )


def copies(rows: pl.DataFrame) -> pl.DataFrame:
    """Some card payments come twice from the bank, word for word."""
    chances = pl.Series(uniform(rows["key"].to_numpy(), "copied"))
    return rows.filter(pl.col("kind") == "CARD", chances < DUPLICATE_SHARE, ~pl.col("pending")).with_columns(copy=pl.lit(True))
