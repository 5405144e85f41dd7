"""Money that comes back: returned bookings with their counter-bookings, and refunds with the purchases that they refund.

What an insurer, an employer or the state pays is neither, and a friend who pays back is no merchant.
"""

import polars as pl

from analytics.bank_text.channels import Channel
from analytics.tagging.layers import OVERLAY, LayeredBookings, Rows, bookings, of_user
from analytics.tagging.pairing import bounded, mutual

REVERSAL, REFUND = "TRANSFER_REVERSAL", "TRANSFER_REFUND"
RETURNED = (Channel.DD_RETURN, Channel.TRANSFER_RETURN)
WITHIN_WORDS, WITHIN_CHANNEL, WITHIN_STRANGE = 10, 70, 14
"""Days between a booking and its return: told by words, by the kind of booking, and by the kind of booking without the same
counterparty."""
WITHIN_REFUND = 180
NEVER_REFUNDS = (
    Channel.SALARY,
    Channel.PUBLIC,
    Channel.VL,
    Channel.CASH,
    Channel.INTEREST,
    Channel.SECURITIES,
    Channel.LOAN,
    Channel.CARDSETTLE,
    Channel.INTERNAL,
    *RETURNED,
)
NEVER_REFUND_FLAGS = ("insurer", "krankenkasse", "authority_benefit", "authority_tax", "lender", "broker", "bausparkasse")
OPEN_CATEGORIES = ("", REFUND, "INCOME_OTHER", "OTHER_INCOME", "OTHER_SPENDING")
"""What a credit may be so far and still turn out to be a refund."""
EXACT, LARGER, NONE_LARGER, NO_PURCHASE = 0.95, 0.88, 0.78, 0.8
UNKNOWN = "UNKNOWN"
ROWS = ("row", "id", "user", "booked_on", "amount_cents", "counterparty_key", "channel")
PLACE = {"partner": UNKNOWN, "category": "", "flag_intermediary": False}


def reversals(rows: Rows) -> pl.DataFrame:
    """The overlay of returned bookings and of the bookings that they return.

    Rows have `row`, `id`, `user`, `product`, `booked_on`, `amount_cents`, `counterparty_key`, `channel`, `pending` and
    `says_reversal`.
    """
    of = bookings(rows)
    booked = ~pl.col("pending") & (pl.col("amount_cents") != 0)
    way = pl.col("channel").is_in([str(channel) for channel in RETURNED])
    by_channel = way & (pl.col("amount_cents") > 0)
    said = of.where(
        booked & (pl.col("said") | (pl.col("way") & (pl.col("amount_cents") > 0))), said=pl.col("says_reversal"), way=way
    )
    returned = of.of(said, *ROWS, "product").with_columns(by_channel=by_channel, opposite=-pl.col("amount_cents"))
    there, back = ["user", "product", "amount_cents"], ["user", "product", "opposite"]
    other = of_user(pl.col("product")) ^ pl.col("amount_cents").hash()
    wanted = returned.select(of_user(pl.col("product")) ^ pl.col("opposite").hash()).to_series().unique()
    original = of.of(of.where(booked & other.is_in(wanted.implode())), *ROWS, "product").filter(~by_channel)
    days = (pl.col("booked_on") - pl.col("booked_on_of")).dt.total_days()
    same = (pl.col("counterparty_key") == pl.col("counterparty_key_of")).fill_null(value=False)
    strange = pl.col("by_channel") & (pl.col("channel_of") != Channel.CARD) & (pl.col("days") <= WITHIN_STRANGE)
    candidates = (
        bounded(returned, *there)
        .join(bounded(original, *there), left_on=back, right_on=there, suffix="_of")
        .with_columns(days=days, same=same)
        .filter(pl.col("id") != pl.col("id_of"), pl.col("days") >= 0)
        .filter(pl.col("days") <= pl.when("by_channel").then(WITHIN_CHANNEL).otherwise(WITHIN_WORDS), pl.col("same") | strange)
    )
    pairs = mutual(candidates, "id", "id_of", -pl.col("same").cast(pl.Int8), pl.col("days"))
    legs = pl.concat([pairs.select("row", "id", pair_of="id_of"), pairs.select(row="row_of", id="id_of", pair_of="id")])
    alone = returned.filter("by_channel").join(legs, on="row", how="anti").select("row", "id", pair_of=pl.lit(None, pl.String))
    found = pl.concat([legs, alone]).unique("row", keep="first", maintain_order=True)
    linked = pl.col("pair_of").is_not_null()
    return found.select(
        "row",
        "id",
        category=pl.lit(REVERSAL),
        confidence=pl.when(linked).then(0.97).otherwise(0.93),
        reason=pl.when(linked).then(pl.lit("Rückgabe mit Gegenbuchung")).otherwise(pl.lit("Rückgabe (Buchungsart)")),
        effective_category=pl.lit(REVERSAL),
        refund_of=pl.lit(None, pl.String),
        pair_of="pair_of",
    ).cast(OVERLAY)


def refunds(rows: Rows) -> pl.DataFrame:
    """The overlay of merchants' refunds, linked to the purchase and counted in its category.

    Rows have `row`, `id`, `user`, `booked_on`, `amount_cents`, `counterparty_key`, `channel`, `pending`, `category` (so far,
    after own transfers and income), and, where known, `partner`, `rule_category`, `default_category` (as what the partner or
    the words would be an expense), flags, and the facts `says_refund` and `is_person`.
    """
    said = dict.fromkeys(("says_refund", "is_person", *(f"flag_{flag}" for flag in NEVER_REFUND_FLAGS)), False)
    of = bookings(rows).filled(rule_category="", default_category="", **PLACE, **said)
    of = of.saying(shop=pl.when(_told()).then(pl.col("partner").hash()))
    received = of.where(~pl.col("pending") & (pl.col("amount_cents") > 0) & pl.col("may"), may=_refundable())
    open_ones = of.of(received, *ROWS, "rule_category", "default_category", "shop", "category").filter(
        pl.col("category").is_in(OPEN_CATEGORIES)
    )
    incoming = open_ones.with_columns(refund_key=_place()).filter(pl.col("refund_key").is_not_null())
    purchases = _purchases(incoming, _expenses(of, incoming["refund_key"]))
    found = incoming.join(purchases, on="id", how="left", maintain_order="left")
    earlier = pl.col("earlier_category").is_not_null()
    evident = (pl.col("rule_category") == REFUND) | (pl.col("channel") == Channel.CARD)
    decided = found.filter(earlier | evident)
    linked = pl.col("refund_of").is_not_null()
    effective = pl.coalesce(
        "earlier_category", pl.when(pl.col("default_category") != "").then("default_category"), pl.lit(REFUND)
    )
    return decided.select(
        "row",
        "id",
        category=pl.lit(REFUND),
        confidence=pl.when(linked & pl.col("exact"))
        .then(EXACT)
        .when(linked)
        .then(LARGER)
        .when(earlier)
        .then(NONE_LARGER)
        .otherwise(NO_PURCHASE),
        reason=pl.when(linked)
        .then(pl.lit("Erstattung eines früheren Kaufs"))
        .when(earlier)
        .then(pl.lit("Gutschrift eines Händlers, bei dem gekauft wurde"))
        .otherwise(pl.lit("Gutschrift eines Händlers")),
        effective_category=effective,
        refund_of="refund_of",
        pair_of=pl.lit(None, pl.String),
    ).cast(OVERLAY)


def _refundable() -> pl.Expr:
    undecided = pl.col("rule_category").is_in(["", REFUND])
    unflagged = ~pl.any_horizontal([f"flag_{flag}" for flag in NEVER_REFUND_FLAGS])
    merchant = ~pl.col("is_person") | pl.col("says_refund")
    way = ~pl.col("channel").is_in([str(channel) for channel in NEVER_REFUNDS])
    return undecided & unflagged & merchant & way


def _told() -> pl.Expr:
    return (pl.col("partner") != UNKNOWN) & (pl.col("partner") != "") & ~pl.col("flag_intermediary")


def _place() -> pl.Expr:
    """Where a user spent money or got it back from, as a number: the partner, or else the counterparty."""
    return of_user(pl.coalesce("shop", "counterparty_key"))


def _expenses(of: LayeredBookings, places: pl.Series) -> pl.DataFrame:
    """What was spent where money came back from."""
    spent = ~pl.col("pending") & (pl.col("amount_cents") < 0)
    there = of.where(spent & _place().is_in(places.unique().implode()), shop=pl.col("shop"))
    bought = of.of(there, "id", "user", "booked_on", "amount_cents", "counterparty_key", "shop", "category")
    return bought.select(
        "booked_on", refund_key=_place(), amount_cents=-pl.col("amount_cents"), of="id", bought="category"
    ).filter(~pl.col("bought").str.starts_with("TRANSFER_"))


def _purchases(incoming: pl.DataFrame, bought: pl.DataFrame) -> pl.DataFrame:
    """For each refund the latest earlier purchase of the same amount at the same place, else the latest one at all."""
    place = ["refund_key"]
    spent = bought.sort("booked_on", "of")
    wanted = incoming.select("id", *place, "booked_on", "amount_cents").sort("booked_on", "id")
    same = _latest(wanted, spent, [*place, "amount_cents"]).select("id", "of", "bought", exact=True, enough=True)
    other = _latest(wanted, spent, place).select(
        "id", "of", "bought", exact=False, enough=pl.col("spent") >= pl.col("amount_cents")
    )
    linked = pl.concat([same, other.filter("enough")])
    open_ones = wanted.join(linked, on="id", how="anti")
    large = _large_enough(open_ones, spent.join(open_ones, on=place, how="semi"), place)
    larger = large.select("id", "of", "bought", exact=False, enough=True)
    best = pl.concat([linked, larger, other]).unique("id", keep="first", maintain_order=True)
    return best.select("id", "exact", earlier_category="bought", refund_of=pl.when("enough").then("of"))


def _large_enough(wanted: pl.DataFrame, spent: pl.DataFrame, place: list[str]) -> pl.DataFrame:
    """The refunds with the latest earlier purchase that they can be a part of, among the largest at the place."""
    largest = bounded(spent.rename({"of": "id"}), *place, order=-pl.col("amount_cents")).rename({"id": "of"})
    days = (pl.col("booked_on") - pl.col("booked_on_of")).dt.total_days()
    pairs = bounded(wanted, *place).join(largest, on=place, suffix="_of")
    fitting = pairs.filter(days.is_between(0, WITHIN_REFUND), pl.col("amount_cents_of") >= pl.col("amount_cents"))
    return fitting.sort("id", -pl.col("booked_on_of").cast(pl.Int32), "of").unique("id", keep="first", maintain_order=True)


def _latest(wanted: pl.DataFrame, spent: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """The refunds with their latest earlier purchase that is the same in these columns."""
    asked = spent.with_columns(spent="amount_cents")
    right = asked if "amount_cents" in by else asked.drop("amount_cents")
    found = wanted.join_asof(right, on="booked_on", by=by, tolerance=f"{WITHIN_REFUND}d", check_sortedness=False)
    return found.filter(pl.col("of").is_not_null())
