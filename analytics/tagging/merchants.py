"""One category for each merchant of a user: the best evidence over all its card payments decides.

The model reads each line alone, with its amount, so that ten payments in one café can get three answers. This is for lines that
only the model decided. Debits and transfers are left alone: their purposes tell products and occasions apart.
"""

import polars as pl

from analytics.bank_text.channels import Channel
from analytics.tagging.layers import OVERLAY, LayeredBookings

SHOP_CHANNELS = (Channel.CARD, Channel.UNKNOWN)
WEIGHTS_PER_CONFIDENCE, GUESS_WEIGHT = 10_000, 2_000
"""The weight of an answer of full confidence, and of a guess. Whole numbers add up to the same in any order of bookings."""
REASON = "wie die meisten Zahlungen an diesen Händler"


def one_category(bookings: LayeredBookings) -> pl.DataFrame:
    """The overlay of bookings whose merchant has another category in most of its payments."""
    is_shop = pl.col("channel").is_in(list(map(str, SHOP_CHANNELS))) & ~pl.col("is_person")
    rows = bookings.rows_where(
        pl.col("counterparty_key").is_not_null() & pl.col("open"),
        open=is_shop & pl.col("category_source").is_in(["MODEL", "FALLBACK"]),
    )
    columns = ("row", "id", "user", "counterparty_key", "amount_cents", "category", "category_source", "category_confidence")
    payments = bookings.select(rows, *columns, "category_guess")
    merchant = ["user", "counterparty_key", "positive"]
    votes = payments.with_columns(
        positive=pl.col("amount_cents") > 0,
        answered=pl.col("category_source") == "MODEL",
        vote=pl.coalesce("category_guess", "category"),
    ).filter(pl.col("answered") | pl.col("category_guess").is_not_null())
    weight = (pl.col("category_confidence") * WEIGHTS_PER_CONFIDENCE).round().cast(pl.Int64)
    winners = (
        votes.group_by(*merchant, "vote")
        .agg(
            weight=pl.when("answered").then(weight).otherwise(GUESS_WEIGHT).sum(),
            answered=pl.col("answered").any(),
            confidence=pl.col("category_confidence").max(),
        )
        .sort(*merchant, "weight", "vote", descending=[False, False, False, True, False])
        .unique(merchant, keep="first", maintain_order=True)
        .filter("answered")
        .select(*merchant, winner="vote", confidence="confidence")
    )
    changed = votes.join(winners, on=merchant, maintain_order="left").filter(pl.col("category") != pl.col("winner"))
    return changed.select(
        "row",
        "id",
        "confidence",
        category="winner",
        reason=pl.lit(REASON),
        effective_category="winner",
        refund_of=pl.lit(None, pl.String),
        pair_of=pl.lit(None, pl.String),
    ).select(OVERLAY.names())
