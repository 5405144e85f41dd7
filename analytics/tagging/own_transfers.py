"""The pass over money between a user's own accounts, for all products of many users at once.

Evidence of an own transfer is an IBAN, the holder's name, a matching booking on another product, or the settlement of a card.
Returned bookings and refunds are in `refunds`. Only candidates are joined, so that a million rows cost little.
"""

from collections.abc import Iterable
from functools import cache

import polars as pl

from analytics.bank_text.channels import Channel
from analytics.bank_text.ibans import compared
from analytics.knowledge.files import TABLES
from analytics.products import CARDS, ProductCategory
from analytics.tagging.account_holder import own_names
from analytics.tagging.layers import OVERLAY, BookingRows, LayeredBookings, layered_bookings, per_user, user_and_product_numbers
from analytics.tagging.pairing import limit_groups, mutual_pairs
from analytics.tagging.rulebook import read_table

TRANSFER_ITEMS = {
    ProductCategory.LOAN: ("TRANSFER_LOAN", 5),
    ProductCategory.CREDIT_CARD: ("TRANSFER_CREDITCARD", 4),
    ProductCategory.OTHER_CARD: ("TRANSFER_WALLET", 4),
    ProductCategory.DEPOT: ("TRANSFER_SECURITIES", 3),
    ProductCategory.SAVINGS: ("TRANSFER_SAVINGS", 2),
    ProductCategory.CALL_MONEY: ("TRANSFER_SAVINGS", 2),
    ProductCategory.FIXED_DEPOSIT: ("TRANSFER_SAVINGS", 2),
    ProductCategory.HOME_SAVINGS: ("TRANSFER_SAVINGS", 2),
    ProductCategory.OTHER_PRODUCT: ("TRANSFER_WALLET", 1),
    ProductCategory.OTHER_ACCOUNT: ("TRANSFER_INTERNAL", 0),
    ProductCategory.CHECKING: ("TRANSFER_INTERNAL", 0),
}
"""Item and rank of each product: a transfer has the item of the product of higher rank, on both ends. Other cards are topped up,
unless a booking says that it settles one."""
TRANSFER_CHANNELS = (Channel.TRANSFER, Channel.STANDINGORDER, Channel.INTERNAL, Channel.CARDSETTLE, Channel.LOAN, Channel.UNKNOWN)
PAIRED_CHANNELS = (*TRANSFER_CHANNELS, Channel.DIRECTDEBIT)
MIN_LAG_DAYS, MAX_LAG_DAYS = -1, 4
"""Days from leaving to arrival; -1 happens where banks book differently."""
NEGATIVE_LAG_COST_DAYS = 1.5
ROUND_CENTS = 1000
"""Multiples of ten euros can be equal by chance."""
IBAN_CONFIDENCE, PAIR_CONFIDENCE, AMOUNT_CONFIDENCE, NAME_CONFIDENCE, CARD_CONFIDENCE = 0.99, 0.97, 0.9, 0.85, 0.93
OTHER, CARD, WALLET = "TRANSFER_OTHER", "TRANSFER_CREDITCARD", "TRANSFER_WALLET"
WALLET_PRODUCTS = (ProductCategory.OTHER_ACCOUNT, ProductCategory.OTHER_PRODUCT)
WALLET_SERVICES = ("PAYPAL",)
BANK_WORDS = r"bank|sparkasse"
CANDIDATE_COLUMNS = (
    "row",
    "id",
    "user",
    "product",
    "booked_on",
    "amount_cents",
    "pending",
    "counterparty_iban",
    "name_number",
    "settles",
)
ROW_COLUMNS = ("row", "id", "user", "product", "amount_cents", "counterparty_iban", "name", "channel")
FACT_DEFAULTS = {
    "via": "",
    **dict.fromkeys(("is_person", "is_company", "says_saving", "says_securities", "says_settlement"), False),
}
SIDE_COLUMNS = (
    "channel",
    "via",
    "own_name",
    "one_holder",
    "own_counter",
    "counter",
    "counter_iban",
    "own_iban",
    "kind",
    "unnamed",
    "third_party",
    "settles",
)
LEG_COLUMNS = ("id", "product", *SIDE_COLUMNS)


def own_transfers(rows: BookingRows, products: pl.DataFrame) -> pl.DataFrame:
    """The overlay of transfers between a user's own accounts.

    Rows have `row`, `id`, `user`, `product`, `booked_on`, `amount_cents`, `counterparty_iban`, `name`, `channel`, `pending` and,
    where known, the facts of `line_facts`.
    """
    accounts = products.select(user_and_product_numbers(), "category", "owner_name", compared(products["iban"]))
    settles = (pl.col("channel") == Channel.CARDSETTLE) | pl.col("says_settlement")
    bookings = layered_bookings(rows).with_line_defaults(**FACT_DEFAULTS)
    bookings = bookings.with_line_columns(name_number=pl.col("name").hash(), settles=settles)
    possible_rows = bookings.rows_where(pl.col("pairable"), pairable=pl.col("channel").is_in(_texts(PAIRED_CHANNELS)))
    candidates = bookings.select(possible_rows, *CANDIDATE_COLUMNS).with_columns(user_name=per_user(pl.col("name_number")))
    same_amounts = _same_amount_pairs(candidates)
    evident_rows = _rows_with_evidence(bookings, possible_rows, candidates, accounts, same_amounts)
    paired_rows = evident_rows.join(_pairs(evident_rows, same_amounts), on="row", how="left", maintain_order="left")
    decided_rows = _without_foreign_cards(paired_rows).with_columns(item=_item()).filter(pl.col("item").is_not_null())
    return decided_rows.select(
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
    """Banks that people use for saving only: an own transfer to them is a saving (`saved_as`)."""
    return read_table(TABLES / "saving_banks.csv").select("bank_code", saved_as="item")


def _same_amount_pairs(candidates: pl.DataFrame) -> pl.DataFrame:
    """Pairs of rows on two products of a user between which the same amount may have moved: `row`, `row_in` and `lag` in days.

    Only numbers are compared, since every candidate is.
    """
    legs = candidates.filter(~pl.col("pending")).select(
        "row", "id", "product", "booked_on", "amount_cents", same=per_user(pl.col("amount_cents").abs().hash())
    )
    out, into = legs.filter(pl.col("amount_cents") < 0), legs.filter(pl.col("amount_cents") > 0)
    out = out.join(into, on="same", how="semi")
    into = into.join(out, on="same", how="semi")
    lag = (pl.col("booked_on_in") - pl.col("booked_on")).dt.total_days()
    pairs = _per_possible_day(limit_groups(out, "same", "booked_on")).join(
        _per_possible_day(limit_groups(into, "same", "booked_on"), 0, 0), on=["same", "day"], suffix="_in"
    )
    own_pairs = pairs.with_columns(lag=lag).filter(
        pl.col("product") != pl.col("product_in"), pl.col("lag").is_between(MIN_LAG_DAYS, MAX_LAG_DAYS)
    )
    return own_pairs.select("row", "row_in", "lag")


def _rows_with_evidence(
    bookings: LayeredBookings,
    possible_rows: pl.Series,
    candidates: pl.DataFrame,
    accounts: pl.DataFrame,
    same_amounts: pl.DataFrame,
) -> pl.DataFrame:
    """The candidates with any evidence of an own transfer, and the facts of both ends."""
    own_accounts = accounts.unique(["user", "product"], keep="first", maintain_order=True)
    by_iban = own_accounts.filter(pl.col("iban") != "").unique(["user", "iban"], keep="first", maintain_order=True)
    counter = by_iban.select(account=per_user(pl.col("iban").hash()), counter="product", counter_kind="category")
    card_counts = own_accounts.group_by("user").agg(cards=pl.col("category").is_in(_texts(CARDS)).sum())
    paired_rows = pl.concat([same_amounts["row"], same_amounts["row_in"]]).unique()
    own_numbers, holder_numbers = _own_names(bookings, possible_rows, candidates["user_name"], accounts)
    evidence = candidates.select(
        "settles",
        account=per_user(pl.col("counterparty_iban").hash()),
        own_name=pl.col("user_name").is_in(own_numbers.implode()),
        one_holder=pl.col("user_name").is_in(holder_numbers.implode()),
        paired=pl.col("row").is_in(paired_rows.implode()),
    )
    own_account = pl.col("account").is_in(counter["account"].implode())
    selected = evidence.select(pl.any_horizontal("own_name", "settles", "paired", own_account)).to_series().arg_true()
    rows = bookings.select(possible_rows[selected], *ROW_COLUMNS, *FACT_DEFAULTS).hstack(
        evidence[["account", "own_name", "one_holder", "settles"]][selected]
    )
    return (
        rows.join(counter, on="account", how="left")
        .join(own_accounts.select("user", "product", kind="category", own_iban="iban"), on=["user", "product"], how="left")
        .join(card_counts, on="user", how="left")
        .with_columns(counter_iban="counterparty_iban")
        .join(saving_banks(), left_on=pl.col("counter_iban").str.slice(4, 8), right_on="bank_code", how="left")
        .with_columns(
            own_counter=(pl.col("counter") != pl.col("product")).fill_null(value=False),
            cards=pl.col("cards").fill_null(0),
            unnamed=pl.col("name") == "",
            third_party=pl.col("is_person") | (pl.col("is_company") & ~pl.col("name").str.contains(BANK_WORDS)),
        )
    )


def _own_names(
    bookings: LayeredBookings, possible_rows: pl.Series, user_names: pl.Series, accounts: pl.DataFrame
) -> tuple[pl.Series, pl.Series]:
    """The numbers of user and name (`user_name`) for which the name is the user's own, and those for which it is that of one of
    several holders.
    """
    first = user_names.arg_unique()
    names = bookings.select(possible_rows[first], "user", "name").with_columns(user_names[first])
    with_names = names.join(own_names(names, accounts), on=["user", "name"])
    own, of_one_holder = with_names.filter(~pl.col("one_of_several")), with_names.filter("one_of_several")
    return own["user_name"], of_one_holder["user_name"]


def _texts(values: Iterable[str]) -> list[str]:
    return [str(value) for value in values]


def _pairs(evident_rows: pl.DataFrame, same_amounts: pl.DataFrame) -> pl.DataFrame:
    """Both rows of every pair: `row`, `pair_of`, `pair_kind` (the other's product category), `bill`, `evident` and `wallet`.

    An evident pair has more evidence than its equal amount.
    """
    legs = evident_rows.select("row", *LEG_COLUMNS, amount=pl.col("amount_cents").abs())
    candidates = (
        same_amounts.join(legs, on="row")
        .join(legs, left_on="row_in", right_on="row", suffix="_in")
        .filter(~_elsewhere("", "_in"), ~_elsewhere("_in", ""))
        .with_columns(evident=_evident(), wallet=_wallet())
        .filter(pl.col("evident") | pl.col("wallet") | _uncommon())
    )
    cost = pl.col("lag").abs() + pl.when(pl.col("lag") < 0).then(NEGATIVE_LAG_COST_DAYS).otherwise(0.0)
    pairs = mutual_pairs(candidates, "id", "id_in", -pl.col("evident").cast(pl.Int8), cost)
    bill = pl.col("settles") | pl.col("settles_in")
    there = pairs.select("row", "evident", "wallet", pair_of="id_in", pair_kind="kind_in", bill=bill)
    back = pairs.select("evident", "wallet", row="row_in", pair_of="id", pair_kind="kind", bill=bill).select(there.columns)
    return pl.concat([there, back])


def _without_foreign_cards(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows, of which settlements of a card elsewhere no longer settle an own card.

    If every connected card has a paired settlement, a creditor that never settled one of them has issued another card.
    """
    paired_rows = rows.filter(pl.col("pair_of").is_not_null())
    on_cards = paired_rows.filter(pl.col("kind").is_in(_texts(CARDS)))
    settled_counts = on_cards.group_by("user").agg(settled_cards=pl.col("product").n_unique())
    issuers = paired_rows.filter("settles", pl.col("pair_kind").is_in(_texts(CARDS)))
    foreign = (
        rows.filter("settles", pl.col("pair_of").is_null())
        .join(settled_counts, on="user")
        .filter(pl.col("settled_cards") >= pl.col("cards"))
        .join(issuers, on=["user", "name"], how="anti")
    )
    return rows.with_columns(settles=pl.col("settles") & ~pl.col("row").is_in(foreign["row"].implode()))


def _per_possible_day(legs: pl.DataFrame, first: int = MIN_LAG_DAYS, last: int = MAX_LAG_DAYS) -> pl.DataFrame:
    """The legs once for each day on which the other leg may be booked."""
    days = (legs.with_columns(day=pl.col("booked_on") + pl.duration(days=lag)) for lag in range(first, last + 1))
    return pl.concat(days)


def _elsewhere(side: str, other: str) -> pl.Expr:
    """Whether the IBAN on one side is that of another account than the product of the other side."""
    has_iban = pl.col(f"counter_iban{side}") != ""
    wrong = pl.col(f"counter{side}").is_not_null() & (pl.col(f"counter{side}") != pl.col(f"product{other}"))
    foreign = pl.col(f"counter{side}").is_null() & (pl.col(f"own_iban{other}").fill_null("") != "")
    return has_iban & (wrong | foreign)


def _evident() -> pl.Expr:
    """Whether names, IBANs or the settlement of a card show that a pair is an own transfer."""
    names = pl.col("own_name") | pl.col("own_name_in") | pl.col("own_counter") | pl.col("own_counter_in")
    cards = pl.col("kind").is_in(_texts(CARDS)) | pl.col("kind_in").is_in(_texts(CARDS))
    holders = pl.col("one_holder") & pl.col("one_holder_in")
    return names | holders | ((pl.col("settles") | pl.col("settles_in")) & cards).fill_null(value=False)


def _wallet() -> pl.Expr:
    """Whether a payment service whose account is connected too collected the money for a purchase, or paid it out."""
    collected = pl.col("via").is_in(WALLET_SERVICES) & pl.col("kind_in").is_in(_texts(WALLET_PRODUCTS))
    paid_out = (
        pl.col("via_in").is_in(WALLET_SERVICES)
        & pl.col("kind").is_in(_texts(WALLET_PRODUCTS))
        & (pl.col("unnamed") | pl.col("own_name"))
    )
    return (collected | paid_out).fill_null(value=False)


def _uncommon() -> pl.Expr:
    """Whether the amount alone suffices: it is not round, both ends are transfers (or debits of a card), nobody else is named."""
    by_debit = pl.col("channel").is_in(_texts(TRANSFER_CHANNELS)) | pl.col("kind_in").is_in(_texts(CARDS)).fill_null(value=False)
    alike = by_debit & pl.col("channel_in").is_in(_texts(TRANSFER_CHANNELS))
    return (pl.col("amount") % ROUND_CENTS != 0) & alike & ~pl.col("third_party") & ~pl.col("third_party_in")


def _item() -> pl.Expr:
    """The item of a row, by the strongest evidence."""
    names = {str(kind): item for kind, (item, _) in TRANSFER_ITEMS.items()}
    ranks = {str(kind): rank for kind, (_, rank) in TRANSFER_ITEMS.items()}
    other = pl.coalesce(pl.when("own_counter").then("counter_kind"), "pair_kind")
    mine_first = pl.col("kind").replace_strict(ranks, default=0) > other.replace_strict(ranks, default=0)
    product = pl.when(mine_first).then("kind").otherwise(other)
    is_bill = (product == str(ProductCategory.OTHER_CARD)) & (pl.col("settles") | pl.col("bill").fill_null(value=False))
    by_products = pl.when(is_bill).then(pl.lit(CARD)).otherwise(product.replace_strict(names, default="TRANSFER_INTERNAL"))
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
        .then(by_products)
        .when(pl.col("settles") & (pl.col("cards") > 0))
        .then(pl.lit(CARD))
        .when("own_name")
        .then(saved)
        .otherwise(pl.lit(None, pl.String))
    )


def _confidence() -> pl.Expr:
    return (
        pl.when("own_counter")
        .then(IBAN_CONFIDENCE)
        .when(pl.col("evident"))
        .then(PAIR_CONFIDENCE)
        .when(pl.col("pair_of").is_not_null())
        .then(AMOUNT_CONFIDENCE)
        .when(pl.col("settles") & (pl.col("cards") > 0))
        .then(CARD_CONFIDENCE)
        .otherwise(NAME_CONFIDENCE)
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
