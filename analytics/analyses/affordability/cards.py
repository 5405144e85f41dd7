"""Credit cards: those that are connected, and those that only their settlements tell of."""

import polars as pl

from analytics import trees
from analytics.analyses.affordability import words
from analytics.analyses.affordability.window import AffordabilityWindow
from analytics.analyses.snapshot import Snapshot
from analytics.bank_text.channels import Channel
from analytics.products import ProductCategory

LAST_DIGITS = r"x{4,}(\d{4})"


def cards(seen: Snapshot, view: AffordabilityWindow, told: pl.DataFrame) -> pl.DataFrame:
    """For each user how many cards there are (`cards`), and the settlements of those that are not connected (`ids`).

    Cards of one issuer are told apart by their last digits, where these are told.
    """
    connected = seen.products.filter(pl.col("category") == ProductCategory.CREDIT_CARD).group_by("user").agg(connected=pl.len())
    settled = _settlements(seen, view, told)
    told_apart = pl.col("digits").filter(pl.col("digits") != "").n_unique().clip(1)
    issuers = settled.group_by("who", "issuer").agg(cards=told_apart).group_by("who").agg(other=pl.sum("cards"))
    other = settled.group_by("who").agg(ids="id").join(issuers, on="who")
    both = view.users.select("user", "who").join(connected, on="user", how="left").join(other, on="who", how="left")
    count = pl.col("connected").fill_null(0) + pl.col("other").fill_null(0)
    return both.select("who", cards=count.cast(pl.UInt32), ids=pl.col("ids").fill_null(pl.lit([], pl.List(pl.String))))


def _settlements(seen: Snapshot, view: AffordabilityWindow, told: pl.DataFrame) -> pl.DataFrame:
    """Debits that settle a card and are no own transfer, with who issued it and the last digits where they are told."""
    own = pl.col("effective_category").str.starts_with("TRANSFER_")
    fee = pl.col("channel").is_in([Channel.FEE, Channel.INTEREST])
    by_way = view.rows.filter(pl.col("channel") == Channel.CARDSETTLE, pl.col("amount_cents") < 0, ~own)
    by_word = told.filter(words.says(words.CARD), pl.col("effective_category") == "BANKFINANCE_TRANSFER", ~fee)
    rows = pl.concat([by_way, by_word.select(by_way.columns)]).unique("row").sort("row")
    heard = rows.with_columns(
        said=words.said(seen, rows["row"]), key=seen.bookings["counterparty_key"][rows["row"]].fill_null("")
    )
    known = pl.col("partner") != trees.UNKNOWN
    return heard.with_columns(
        issuer=pl.when(known).then("partner").otherwise("key"), digits=pl.col("said").str.extract(LAST_DIGITS, 1).fill_null("")
    ).sort("who", "booked_on", "id")
