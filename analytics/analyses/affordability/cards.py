"""Credit cards: the connected ones, and those visible only by their settlements."""

import polars as pl

from analytics import trees
from analytics.analyses.affordability import words
from analytics.analyses.affordability.window import AffordabilityWindow
from analytics.analyses.snapshot import Snapshot
from analytics.bank_text.channels import Channel
from analytics.products import ProductCategory

LAST_DIGITS = r"x{4,}([0-9]{4})"


def cards(snapshot: Snapshot, window: AffordabilityWindow, debits: pl.DataFrame) -> pl.DataFrame:
    """By user the number of cards (`cards`), and the ids of the settlements of cards that are not connected (`ids`).

    Cards of one issuer are distinguished by their last digits, where the text has them.
    """
    connected_cards = (
        snapshot.products.filter(pl.col("category") == ProductCategory.CREDIT_CARD).group_by("user").agg(connected=pl.len())
    )
    settlements = _settlements(snapshot, window, debits)
    distinct_digits = pl.col("digits").filter(pl.col("digits") != "").n_unique().clip(1)
    issuers = (
        settlements.group_by("user_index", "issuer").agg(cards=distinct_digits).group_by("user_index").agg(other=pl.sum("cards"))
    )
    other = settlements.group_by("user_index").agg(ids="id").join(issuers, on="user_index")
    user_cards = (
        window.users.select("user", "user_index")
        .join(connected_cards, on="user", how="left")
        .join(other, on="user_index", how="left")
    )
    count = pl.col("connected").fill_null(0) + pl.col("other").fill_null(0)
    return user_cards.select(
        "user_index", cards=count.cast(pl.UInt32), ids=pl.col("ids").fill_null(pl.lit([], pl.List(pl.String)))
    )


def _settlements(snapshot: Snapshot, window: AffordabilityWindow, debits: pl.DataFrame) -> pl.DataFrame:
    """Debits that settle a card and are not own transfers, with its issuer and last digits, empty where unknown."""
    is_own_transfer = pl.col("effective_category").str.starts_with("TRANSFER_")
    is_fee = pl.col("channel").is_in([Channel.FEE, Channel.INTEREST])
    by_channel = window.rows.filter(pl.col("channel") == Channel.CARDSETTLE, pl.col("amount_cents") < 0, ~is_own_transfer)
    by_word = debits.filter(words.text_contains(words.CARD), pl.col("effective_category") == "BANKFINANCE_TRANSFER", ~is_fee)
    rows = pl.concat([by_channel, by_word.select(by_channel.columns)]).unique("row").sort("row")
    with_texts = rows.with_columns(
        text=words.booking_texts(snapshot, rows["row"]), key=snapshot.bookings["counterparty_key"][rows["row"]].fill_null("")
    )
    has_partner = pl.col("partner") != trees.UNKNOWN
    return with_texts.with_columns(
        issuer=pl.when(has_partner).then("partner").otherwise("key"),
        digits=pl.col("text").str.extract(LAST_DIGITS, 1).fill_null(""),
    ).sort("user_index", "booked_on", "id")
