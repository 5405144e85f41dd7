"""The passes over money that comes back: returned bookings with their counter-bookings, refunds with their purchases.

Payments of insurers, employers and the state are neither, and a friend who pays back is no merchant.
"""

import polars as pl

from analytics.bank_text.channels import Channel
from analytics.tagging.layers import OVERLAY, BookingRows, LayeredBookings, layered_bookings, per_user
from analytics.tagging.pairing import limit_groups, mutual_pairs

REVERSAL, REFUND = "TRANSFER_REVERSAL", "TRANSFER_REFUND"
RETURN_CHANNELS = (Channel.DD_RETURN, Channel.TRANSFER_RETURN)
MAX_DAYS_BY_WORDS, MAX_DAYS_BY_CHANNEL, MAX_DAYS_OTHER_COUNTERPARTY = 10, 70, 14
"""Days between a booking and its return: if words show the return, if its channel does, and if only the channel does and the
counterparty differs."""
MAX_REFUND_DAYS = 180
NEVER_REFUND_CHANNELS = (
    Channel.SALARY,
    Channel.PUBLIC,
    Channel.VL,
    Channel.CASH,
    Channel.INTEREST,
    Channel.SECURITIES,
    Channel.LOAN,
    Channel.CARDSETTLE,
    Channel.INTERNAL,
    *RETURN_CHANNELS,
)
NEVER_REFUND_FLAGS = (
    "insurer",
    "krankenkasse",
    "authority_benefit",
    "authority_tax",
    "municipality",
    "lender",
    "broker",
    "bausparkasse",
)
OPEN_CATEGORIES = ("", REFUND, "INCOME_OTHER", "OTHER_INCOME", "OTHER_SPENDING")
"""Categories so far with which a credit may still be a refund."""
PAIRED_REVERSAL_CONFIDENCE, REVERSAL_CONFIDENCE = 0.97, 0.93
EXACT_CONFIDENCE, LARGER_CONFIDENCE, SMALLER_CONFIDENCE, NO_PURCHASE_CONFIDENCE = 0.95, 0.88, 0.78, 0.8
"""Of a refund by its purchase: of the same amount, larger, smaller, none."""
UNKNOWN = "UNKNOWN"
ROW_COLUMNS = ("row", "id", "user", "booked_on", "amount_cents", "counterparty_key", "channel")
SHOP_DEFAULTS = {"partner": UNKNOWN, "category": "", "flag_intermediary": False}


def reversals(rows: BookingRows) -> pl.DataFrame:
    """The overlay of returned bookings and of the bookings that they return.

    Rows have `row`, `id`, `user`, `product`, `booked_on`, `amount_cents`, `counterparty_key`, `channel`, `pending` and
    `says_reversal`.
    """
    bookings = layered_bookings(rows)
    returns = _returns(bookings)
    pairs = _reversal_pairs(returns, _originals(bookings, returns))
    legs = pl.concat([pairs.select("row", "id", pair_of="id_of"), pairs.select(row="row_of", id="id_of", pair_of="id")])
    alone = returns.filter("by_channel").join(legs, on="row", how="anti").select("row", "id", pair_of=pl.lit(None, pl.String))
    reversed_rows = pl.concat([legs, alone]).unique("row", keep="first", maintain_order=True)
    linked = pl.col("pair_of").is_not_null()
    return reversed_rows.select(
        "row",
        "id",
        category=pl.lit(REVERSAL),
        confidence=pl.when(linked).then(PAIRED_REVERSAL_CONFIDENCE).otherwise(REVERSAL_CONFIDENCE),
        reason=pl.when(linked).then(pl.lit("Rückgabe mit Gegenbuchung")).otherwise(pl.lit("Rückgabe (Buchungsart)")),
        effective_category=pl.lit(REVERSAL),
        refund_of=pl.lit(None, pl.String),
        pair_of="pair_of",
    ).cast(OVERLAY)


def refunds(rows: BookingRows) -> pl.DataFrame:
    """The overlay of merchants' refunds, linked to the purchase and counted in its category.

    Rows have `row`, `id`, `user`, `booked_on`, `amount_cents`, `counterparty_key`, `channel`, `pending`, `category` (after the
    passes of own transfers and wages), and, where known, `partner`, `rule_category`, `default_category` (the category that
    partner or words would give to an expense), flags, and the facts `says_refund` and `is_person`.
    """
    defaults = dict.fromkeys(("says_refund", "is_person", *(f"flag_{flag}" for flag in NEVER_REFUND_FLAGS)), False)
    bookings = (
        layered_bookings(rows)
        .with_line_defaults(rule_category="", default_category="", **SHOP_DEFAULTS, **defaults)
        .with_line_columns(shop=pl.when(_is_shop()).then(pl.col("partner").hash()))
    )
    credit = ~pl.col("pending") & (pl.col("amount_cents") > 0)
    credit_rows = bookings.rows_where(credit & pl.col("refundable"), refundable=_refundable())
    credits_so_far = bookings.select(credit_rows, *ROW_COLUMNS, "rule_category", "default_category", "shop", "category")
    open_credits = credits_so_far.filter(pl.col("category").is_in(OPEN_CATEGORIES))
    incoming = open_credits.with_columns(refund_key=_refund_key()).filter(pl.col("refund_key").is_not_null())
    purchases = _purchases(incoming, _expenses(bookings, incoming["refund_key"]))
    linked_credits = incoming.join(purchases, on="id", how="left", maintain_order="left")
    earlier = pl.col("earlier_category").is_not_null()
    evident = (pl.col("rule_category") == REFUND) | (pl.col("channel") == Channel.CARD)
    linked = pl.col("refund_of").is_not_null()
    effective = pl.coalesce(
        "earlier_category", pl.when(pl.col("default_category") != "").then("default_category"), pl.lit(REFUND)
    )
    return (
        linked_credits.filter(earlier | evident)
        .select(
            "row",
            "id",
            category=pl.lit(REFUND),
            confidence=_refund_confidence(linked, earlier),
            reason=_refund_reason(linked, earlier),
            effective_category=effective,
            refund_of="refund_of",
            pair_of=pl.lit(None, pl.String),
        )
        .cast(OVERLAY)
    )


def _is_booked() -> pl.Expr:
    return ~pl.col("pending") & (pl.col("amount_cents") != 0)


def _return_channel() -> pl.Expr:
    return pl.col("channel").is_in([str(channel) for channel in RETURN_CHANNELS])


def _by_channel() -> pl.Expr:
    return _return_channel() & (pl.col("amount_cents") > 0)


def _returns(bookings: LayeredBookings) -> pl.DataFrame:
    """The bookings that words or channel show to return another one; `opposite` is the amount of that one."""
    by_channel = pl.col("return_channel") & (pl.col("amount_cents") > 0)
    rows = bookings.rows_where(
        _is_booked() & (pl.col("says_reversal") | by_channel),
        says_reversal=pl.col("says_reversal"),
        return_channel=_return_channel(),
    )
    returns = bookings.select(rows, *ROW_COLUMNS, "product")
    return returns.with_columns(by_channel=_by_channel(), opposite=-pl.col("amount_cents"))


def _originals(bookings: LayeredBookings, returns: pl.DataFrame) -> pl.DataFrame:
    """The bookings of the same user, product and opposite amount as any return."""
    key = per_user(pl.col("product")) ^ pl.col("amount_cents").hash()
    return_keys = returns.select(per_user(pl.col("product")) ^ pl.col("opposite").hash()).to_series().unique()
    rows = bookings.rows_where(_is_booked() & key.is_in(return_keys.implode()))
    return bookings.select(rows, *ROW_COLUMNS, "product").filter(~_by_channel())


def _reversal_pairs(returns: pl.DataFrame, originals: pl.DataFrame) -> pl.DataFrame:
    """Returns with their originals (columns with `_of`), one to one: the same counterparty first, then the fewest days."""
    there, back = ["user", "product", "amount_cents"], ["user", "product", "opposite"]
    days = (pl.col("booked_on") - pl.col("booked_on_of")).dt.total_days()
    same = (pl.col("counterparty_key") == pl.col("counterparty_key_of")).fill_null(value=False)
    other = pl.col("by_channel") & (pl.col("channel_of") != Channel.CARD) & (pl.col("days") <= MAX_DAYS_OTHER_COUNTERPARTY)
    max_days = pl.when("by_channel").then(MAX_DAYS_BY_CHANNEL).otherwise(MAX_DAYS_BY_WORDS)
    candidates = (
        limit_groups(returns, *there)
        .join(limit_groups(originals, *there), left_on=back, right_on=there, suffix="_of")
        .with_columns(days=days, same=same)
        .filter(pl.col("id") != pl.col("id_of"), pl.col("days") >= 0)
        .filter(pl.col("days") <= max_days, pl.col("same") | other)
    )
    return mutual_pairs(candidates, "id", "id_of", -pl.col("same").cast(pl.Int8), pl.col("days"))


def _refundable() -> pl.Expr:
    undecided = pl.col("rule_category").is_in(["", REFUND])
    unflagged = ~pl.any_horizontal([f"flag_{flag}" for flag in NEVER_REFUND_FLAGS])
    merchant = ~pl.col("is_person") | pl.col("says_refund")
    channel = ~pl.col("channel").is_in([str(channel) for channel in NEVER_REFUND_CHANNELS])
    return undecided & unflagged & merchant & channel


def _refund_confidence(linked: pl.Expr, earlier: pl.Expr) -> pl.Expr:
    return (
        pl.when(linked & pl.col("exact"))
        .then(EXACT_CONFIDENCE)
        .when(linked)
        .then(LARGER_CONFIDENCE)
        .when(earlier)
        .then(SMALLER_CONFIDENCE)
        .otherwise(NO_PURCHASE_CONFIDENCE)
    )


def _refund_reason(linked: pl.Expr, earlier: pl.Expr) -> pl.Expr:
    return (
        pl.when(linked)
        .then(pl.lit("Erstattung eines früheren Kaufs"))
        .when(earlier)
        .then(pl.lit("Gutschrift eines Händlers, bei dem gekauft wurde"))
        .otherwise(pl.lit("Gutschrift eines Händlers"))
    )


def _is_shop() -> pl.Expr:
    return (pl.col("partner") != UNKNOWN) & (pl.col("partner") != "") & ~pl.col("flag_intermediary")


def _refund_key() -> pl.Expr:
    """A number for the user and the place of a payment: the partner, or else the counterparty."""
    return per_user(pl.coalesce("shop", "counterparty_key"))


def _expenses(bookings: LayeredBookings, refund_keys: pl.Series) -> pl.DataFrame:
    """The purchases at the places of these keys: `purchase` (the id), `booked_on`, `amount_cents` (positive), the category."""
    expense = ~pl.col("pending") & (pl.col("amount_cents") < 0)
    rows = bookings.rows_where(expense & _refund_key().is_in(refund_keys.unique().implode()), shop=pl.col("shop"))
    expenses = bookings.select(rows, "id", "user", "booked_on", "amount_cents", "counterparty_key", "shop", "category")
    return expenses.select(
        "booked_on",
        refund_key=_refund_key(),
        amount_cents=-pl.col("amount_cents"),
        purchase="id",
        purchase_category="category",
    ).filter(~pl.col("purchase_category").str.starts_with("TRANSFER_"))


def _purchases(incoming: pl.DataFrame, expenses: pl.DataFrame) -> pl.DataFrame:
    """For each refund the latest earlier purchase of the same amount at the same place, else the latest that is large enough.

    A refund with smaller purchases only gets the category of the latest, but no link.
    """
    purchases = expenses.sort("booked_on", "purchase")
    credits_by_day = incoming.select("id", "refund_key", "booked_on", "amount_cents").sort("booked_on", "id")
    columns = ("id", "purchase", "purchase_category")
    same = _latest(credits_by_day, purchases, ["refund_key", "amount_cents"]).select(*columns, exact=True, enough=True)
    enough = pl.col("purchase_cents") >= pl.col("amount_cents")
    latest = _latest(credits_by_day, purchases, ["refund_key"]).select(*columns, exact=False, enough=enough)
    linked_credits = pl.concat([same, latest.filter("enough")])
    open_credits = credits_by_day.join(linked_credits, on="id", how="anti")
    large = _large_enough(open_credits, purchases.join(open_credits, on="refund_key", how="semi"))
    larger = large.select(*columns, exact=False, enough=True)
    best = pl.concat([linked_credits, larger, latest]).unique("id", keep="first", maintain_order=True)
    return best.select("id", "exact", earlier_category="purchase_category", refund_of=pl.when("enough").then("purchase"))


def _large_enough(refund_credits: pl.DataFrame, purchases: pl.DataFrame) -> pl.DataFrame:
    """The credits with the latest earlier purchase of at least their amount, among the largest purchases of the place."""
    by_size = limit_groups(purchases.rename({"purchase": "id"}), "refund_key", order=-pl.col("amount_cents"))
    largest = by_size.rename({"id": "purchase"})
    days = (pl.col("booked_on") - pl.col("booked_on_of")).dt.total_days()
    pairs = limit_groups(refund_credits, "refund_key").join(largest, on="refund_key", suffix="_of")
    fitting = pairs.filter(days.is_between(0, MAX_REFUND_DAYS), pl.col("amount_cents_of") >= pl.col("amount_cents"))
    return fitting.sort("id", -pl.col("booked_on_of").cast(pl.Int32), "purchase").unique("id", keep="first", maintain_order=True)


def _latest(refund_credits: pl.DataFrame, purchases: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """The credits with their latest earlier purchase that is equal in these columns, if there is one."""
    priced_purchases = purchases.with_columns(purchase_cents="amount_cents")
    right = priced_purchases if "amount_cents" in by else priced_purchases.drop("amount_cents")
    pairs = refund_credits.join_asof(right, on="booked_on", by=by, tolerance=f"{MAX_REFUND_DAYS}d", check_sortedness=False)
    return pairs.filter(pl.col("purchase").is_not_null())
