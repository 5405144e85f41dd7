"""Labelled lines of statements that stand alone: each is tagged as if its user had no other booking."""

import polars as pl

from analytics.frames import CHOICES, PRODUCTS, RULES, TRANSACTIONS, checked
from analytics.tagging import tag
from analytics.tagging.tag import Tagger

NO_CORRECTIONS = (CHOICES.to_frame(), RULES.to_frame())
BOOKED_ON = pl.lit("2026-05-04").str.to_date()


def tag_single_lines(lines: pl.DataFrame, tagger: Tagger) -> pl.DataFrame:
    """The tags (`TAGGED`) of lines with `booking_text`, `gv_code`, `name`, `ultimate`, `purpose` and `amount`, in their order."""
    rows = (
        lines.with_row_index("row")
        .with_columns(pl.col("row").cast(pl.String))
        .select(
            id="row",
            user="row",
            product="row",
            booked_on=BOOKED_ON,
            value_on=BOOKED_ON,
            amount_cents=(pl.col("amount").cast(pl.Float64) * 100).round().cast(pl.Int64),
            currency=pl.lit("EUR"),
            purpose=_filled("purpose"),
            booking_text=_filled("booking_text"),
            gv_code=_filled("gv_code"),
            primanota=pl.lit(None, pl.String),
            counterparty_name=_filled("name"),
            counterparty_iban=pl.lit(None, pl.String),
            counterparty_bic=pl.lit(None, pl.String),
            ultimate_name=_filled("ultimate"),
            pending=pl.lit(value=False),
        )
    )
    return tag.tag_bookings(checked(rows, TRANSACTIONS), PRODUCTS.to_frame(), *NO_CORRECTIONS, tagger)


def _filled(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != "").then(pl.col(name))
