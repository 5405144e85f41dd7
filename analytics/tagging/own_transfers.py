"""Money that moves between a user's own accounts, over all products of many users at once.

Here belong transfers that an IBAN, the holder's name or a matching booking on another product shows, and the settlement of
cards. Returned bookings and refunds are in `returns`. Only candidates are joined, so that a million rows cost little.
"""

from collections.abc import Iterable
from functools import cache

import polars as pl

from analytics.bank_text.channels import Channel
from analytics.bank_text.ibans import compared
from analytics.knowledge.files import TABLES
from analytics.products import CARDS, ProductCategory
from analytics.tagging.account_holder import own_names
from analytics.tagging.layers import OVERLAY, LayeredBookings, Rows, bookings, numbered, of_user
from analytics.tagging.pairing import bounded, mutual
from analytics.tagging.refunds import refunds, reversals
from analytics.tagging.rulebook import read

__all__ = ["own_transfers", "refunds", "reversals"]

KINDS = {
    ProductCategory.LOAN: ("TRANSFER_LOAN", 5),
    ProductCategory.CREDIT_CARD: ("TRANSFER_CREDITCARD", 4),
    ProductCategory.OTHER_CARD: ("TRANSFER_CREDITCARD", 4),
    ProductCategory.DEPOT: ("TRANSFER_SECURITIES", 3),
    ProductCategory.SAVINGS: ("TRANSFER_SAVINGS", 2),
    ProductCategory.CALL_MONEY: ("TRANSFER_SAVINGS", 2),
    ProductCategory.FIXED_DEPOSIT: ("TRANSFER_SAVINGS", 2),
    ProductCategory.HOME_SAVINGS: ("TRANSFER_SAVINGS", 2),
    ProductCategory.OTHER_PRODUCT: ("TRANSFER_WALLET", 1),
    ProductCategory.OTHER_ACCOUNT: ("TRANSFER_INTERNAL", 0),
    ProductCategory.CHECKING: ("TRANSFER_INTERNAL", 0),
}
"""What a transfer is by the products on its two ends: that of the higher rank says it, seen from both."""
TRANSFER_LIKE = (Channel.TRANSFER, Channel.STANDINGORDER, Channel.INTERNAL, Channel.CARDSETTLE, Channel.LOAN, Channel.UNKNOWN)
PAIRED = (*TRANSFER_LIKE, Channel.DIRECTDEBIT)
EARLIEST, LATEST = -1, 4
"""Days that money may arrive after it left; a day before happens where banks book differently."""
BACKWARDS = 1.5
ROUND = 1000
"""Amounts of whole ten euros meet by chance."""
BY_IBAN, BY_PAIR, BY_AMOUNT, BY_NAME, BY_CARD = 0.99, 0.97, 0.9, 0.85, 0.93
OTHER, CARD, WALLET = "TRANSFER_OTHER", "TRANSFER_CREDITCARD", "TRANSFER_WALLET"
OTHERS = (ProductCategory.OTHER_ACCOUNT, ProductCategory.OTHER_PRODUCT)
WALLETS = ("PAYPAL",)
BANKS = r"bank|sparkasse"
LEGS = ("row", "id", "user", "product", "booked_on", "amount_cents", "pending", "counterparty_iban", "name_number", "settles")
ROWS = ("row", "id", "user", "product", "amount_cents", "counterparty_iban", "name", "channel")
SAID = {"via": "", **dict.fromkeys(("is_person", "is_company", "says_saving", "says_securities", "says_settlement"), False)}
SIDES = (
    "channel",
    "via",
    "own_name",
    "own_counter",
    "counter",
    "counter_iban",
    "own_iban",
    "kind",
    "nobody",
    "somebody",
    "settles",
)
LEG = ("id", "product", *SIDES)


def own_transfers(rows: Rows, products: pl.DataFrame) -> pl.DataFrame:
    """The overlay of the rows that stay within a user's own money.

    Rows have `row`, `id`, `user`, `product`, `booked_on`, `amount_cents`, `counterparty_iban`, `name`, `channel`, `pending` and,
    where known, the columns of `analytics.tagging.line_facts`.
    """
    known = products.select(numbered(), "category", "owner_name", compared(products["iban"]))
    booked = bookings(rows).filled(**SAID)
    booked = booked.saying(
        name_number=pl.col("name").hash(), settles=(pl.col("channel") == Channel.CARDSETTLE) | pl.col("says_settlement")
    )
    possible = booked.where(pl.col("may"), may=pl.col("channel").is_in(_texts(PAIRED)))
    legs = booked.of(possible, *LEGS).with_columns(own=of_user(pl.col("name_number")))
    meeting = _meeting(legs)
    facing = _facing(booked, possible, legs, known, meeting)
    pairs = _pairs(facing, meeting)
    decided = _settled(facing.join(pairs, on="row", how="left", maintain_order="left"))
    found = decided.with_columns(item=_item()).filter(pl.col("item").is_not_null())
    return found.select(
        "row",
        "id",
        category="item",
        confidence=_confidence(),
        reason=_reason(),
        effective_category="item",
        refund_of=pl.lit(None, pl.String),
        pair_of="pair_of",
    ).cast(OVERLAY)


@cache
def saving_banks() -> pl.DataFrame:
    """Banks that people have for saving only: who sends money to himself there saves."""
    return read(TABLES / "saving_banks.csv").select("bank_code", saved_as="item")


def _meeting(rows: pl.DataFrame) -> pl.DataFrame:
    """Pairs of rows on two products of a user between which the same amount may have moved: `row`, `row_in` and the days between.

    Only numbers are compared, since all rows are.
    """
    legs = rows.filter(~pl.col("pending")).select(
        "row", "id", "product", "booked_on", "amount_cents", same=of_user(pl.col("amount_cents").abs().hash())
    )
    out, into = legs.filter(pl.col("amount_cents") < 0), legs.filter(pl.col("amount_cents") > 0)
    out = out.join(into, on="same", how="semi")
    into = into.join(out, on="same", how="semi")
    lag = (pl.col("booked_on_in") - pl.col("booked_on")).dt.total_days()
    met = _days(bounded(out, "same", "booked_on")).join(
        _days(bounded(into, "same", "booked_on"), 0, 0), on=["same", "day"], suffix="_in"
    )
    apart = met.with_columns(lag=lag).filter(
        pl.col("product") != pl.col("product_in"), pl.col("lag").is_between(EARLIEST, LATEST)
    )
    return apart.select("row", "row_in", "lag")


def _facing(
    booked: LayeredBookings, possible: pl.Series, legs: pl.DataFrame, known: pl.DataFrame, meeting: pl.DataFrame
) -> pl.DataFrame:
    """The rows that anything speaks for, with what is known of both ends."""
    held = known.unique(["user", "product"], keep="first", maintain_order=True)
    counter = held.filter(pl.col("iban") != "").unique(["user", "iban"], keep="first", maintain_order=True)
    counter = counter.select(account=of_user(pl.col("iban").hash()), counter="product", counter_kind="category")
    holders = held.group_by("user").agg(cards=pl.col("category").is_in(_texts(CARDS)).sum())
    met = pl.concat([meeting["row"], meeting["row_in"]]).unique()
    told = legs.select(
        "own",
        "settles",
        account=of_user(pl.col("counterparty_iban").hash()),
        own_name=pl.col("own").is_in(_own_names(booked, possible, legs["own"], known).implode()),
        met=pl.col("row").is_in(met.implode()),
    )
    spoken = told.select(pl.any_horizontal("own_name", "settles", "met", pl.col("account").is_in(counter["account"].implode())))
    places = spoken.to_series().arg_true()
    facing = booked.of(possible[places], *ROWS, *SAID).hstack(told[["account", "own_name", "settles"]][places])
    return (
        facing.join(counter, on="account", how="left")
        .join(held.select("user", "product", kind="category", own_iban="iban"), on=["user", "product"], how="left")
        .join(holders, on="user", how="left")
        .with_columns(counter_iban="counterparty_iban")
        .join(saving_banks(), left_on=pl.col("counter_iban").str.slice(4, 8), right_on="bank_code", how="left")
        .with_columns(
            own_counter=(pl.col("counter") != pl.col("product")).fill_null(value=False),
            cards=pl.col("cards").fill_null(0),
            nobody=pl.col("name") == "",
            somebody=pl.col("is_person") | (pl.col("is_company") & ~pl.col("name").str.contains(BANKS)),
        )
    )


def _own_names(booked: LayeredBookings, possible: pl.Series, own: pl.Series, known: pl.DataFrame) -> pl.Series:
    """The users' own names, as numbers of user and name."""
    first = own.arg_unique()
    names = booked.of(possible[first], "user", "name").with_columns(own[first])
    return names.join(own_names(names, known), on=["user", "name"], how="semi")["own"]


def _texts(values: Iterable[str]) -> list[str]:
    return [str(value) for value in values]


def _pairs(facing: pl.DataFrame, meeting: pl.DataFrame) -> pl.DataFrame:
    """Both rows of every pair: `row`, `pair_of`, the other's product category, and whether more than the amount speaks for it."""
    legs = facing.select("row", *LEG, amount=pl.col("amount_cents").abs())
    candidates = (
        meeting.join(legs, on="row")
        .join(legs, left_on="row_in", right_on="row", suffix="_in")
        .filter(~_elsewhere("", "_in"), ~_elsewhere("_in", ""))
        .with_columns(sure=_evident(), wallet=_wallet())
        .filter(pl.col("sure") | pl.col("wallet") | _uncommon())
    )
    cost = pl.col("lag").abs() + pl.when(pl.col("lag") < 0).then(BACKWARDS).otherwise(0.0)
    pairs = mutual(candidates, "id", "id_in", -pl.col("sure").cast(pl.Int8), cost)
    there = pairs.select("row", "sure", "wallet", pair_of="id_in", pair_kind="kind_in")
    back = pairs.select("sure", "wallet", row="row_in", pair_of="id", pair_kind="kind").select(there.columns)
    return pl.concat([there, back])


def _settled(decided: pl.DataFrame) -> pl.DataFrame:
    """The rows, of which those no longer settle an own card that are for a card elsewhere.

    Where all connected cards show that they were settled, whoever has never settled one of them has issued another card.
    """
    paired = decided.filter(pl.col("pair_of").is_not_null())
    shown = paired.filter(pl.col("kind").is_in(_texts(CARDS))).group_by("user").agg(shown=pl.col("product").n_unique())
    issuers = paired.filter("settles", pl.col("pair_kind").is_in(_texts(CARDS)))
    elsewhere = (
        decided.filter("settles", pl.col("pair_of").is_null())
        .join(shown, on="user")
        .filter(pl.col("shown") >= pl.col("cards"))
        .join(issuers, on=["user", "name"], how="anti")
    )
    return decided.with_columns(settles=pl.col("settles") & ~pl.col("row").is_in(elsewhere["row"].implode()))


def _days(legs: pl.DataFrame, first: int = EARLIEST, last: int = LATEST) -> pl.DataFrame:
    """The legs once for each day on which their other leg may be booked."""
    days = (legs.with_columns(day=pl.col("booked_on") + pl.duration(days=lag)) for lag in range(first, last + 1))
    return pl.concat(days)


def _elsewhere(side: str, other: str) -> pl.Expr:
    """Whether the IBAN on one side says that the money went or came somewhere else than the product of the other side."""
    given = pl.col(f"counter_iban{side}") != ""
    wrong = pl.col(f"counter{side}").is_not_null() & (pl.col(f"counter{side}") != pl.col(f"product{other}"))
    foreign = pl.col(f"counter{side}").is_null() & (pl.col(f"own_iban{other}").fill_null("") != "")
    return given & (wrong | foreign)


def _evident() -> pl.Expr:
    names = pl.col("own_name") | pl.col("own_name_in") | pl.col("own_counter") | pl.col("own_counter_in")
    cards = pl.col("kind").is_in(_texts(CARDS)) | pl.col("kind_in").is_in(_texts(CARDS))
    return names | ((pl.col("settles") | pl.col("settles_in")) & cards).fill_null(value=False)


def _wallet() -> pl.Expr:
    """Whether a payment service took the money for a purchase that its own account, connected too, shows, or paid it out."""
    taken = pl.col("via").is_in(WALLETS) & pl.col("kind_in").is_in(_texts(OTHERS))
    given = pl.col("via_in").is_in(WALLETS) & pl.col("kind").is_in(_texts(OTHERS)) & (pl.col("nobody") | pl.col("own_name"))
    return (taken | given).fill_null(value=False)


def _uncommon() -> pl.Expr:
    """Whether the amount alone may say it: not a round one, both ways of transfer (cards by debit too), nobody else named."""
    debited = pl.col("channel").is_in(_texts(TRANSFER_LIKE)) | pl.col("kind_in").is_in(_texts(CARDS)).fill_null(value=False)
    alike = debited & pl.col("channel_in").is_in(_texts(TRANSFER_LIKE))
    return (pl.col("amount") % ROUND != 0) & alike & ~pl.col("somebody") & ~pl.col("somebody_in")


def _item() -> pl.Expr:
    """What the row is, the surest evidence first."""
    names = {str(kind): item for kind, (item, _) in KINDS.items()}
    ranks = {str(kind): rank for kind, (_, rank) in KINDS.items()}
    other = pl.coalesce(pl.when("own_counter").then("counter_kind"), "pair_kind")
    mine_first = pl.col("kind").replace_strict(ranks, default=0) > other.replace_strict(ranks, default=0)
    facing = pl.when(mine_first).then("kind").otherwise(other).replace_strict(names, default="TRANSFER_INTERNAL")
    out = pl.col("amount_cents") < 0
    saved = (
        pl.when(out & pl.col("saved_as").is_not_null())
        .then("saved_as")
        .when(out & pl.col("says_securities"))
        .then(pl.lit("SAVINGS_SECURITIES"))
        .when(out & pl.col("says_saving"))
        .then(pl.lit("SAVINGS_ACCOUNT"))
        .otherwise(pl.lit(OTHER))
    )
    return (
        pl.when("wallet")
        .then(pl.lit(WALLET))
        .when(other.is_not_null())
        .then(facing)
        .when(pl.col("settles") & (pl.col("cards") > 0))
        .then(pl.lit(CARD))
        .when("own_name")
        .then(saved)
        .otherwise(pl.lit(None, pl.String))
    )


def _confidence() -> pl.Expr:
    return (
        pl.when("own_counter")
        .then(BY_IBAN)
        .when(pl.col("sure"))
        .then(BY_PAIR)
        .when(pl.col("pair_of").is_not_null())
        .then(BY_AMOUNT)
        .when(pl.col("settles") & (pl.col("cards") > 0))
        .then(BY_CARD)
        .otherwise(BY_NAME)
    )


def _reason() -> pl.Expr:
    return (
        pl.when("own_counter")
        .then(pl.lit("IBAN eines eigenen Kontos"))
        .when(pl.col("pair_of").is_not_null())
        .then(pl.lit("Gegenbuchung auf einem anderen eigenen Konto"))
        .when(pl.col("settles") & (pl.col("cards") > 0))
        .then(pl.lit("Abrechnung der eigenen Kreditkarte"))
        .otherwise(pl.lit("Name des Kontoinhabers"))
    )
