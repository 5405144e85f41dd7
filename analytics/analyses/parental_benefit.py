"""How long the law grants parental benefit: for twelve months, to a parent who is alone for fourteen."""

import polars as pl

FAMILY_CATEGORY, PARENTAL_BENEFIT_WORDS = "INCOME_STATE_FAMILY", r"elterngeld|\bbeeg\b"
MAX_PARENTAL_PAYMENTS = (12, 14)
"""A parent receives the benefit for twelve months, alone for fourteen."""
MAX_HALVED_BENEFIT_CENTS = 90_000
"""Up to this amount the benefit may be halved, and is paid for twice as many months."""


def granted_until(purpose: pl.Expr) -> pl.Expr:
    """Of contracts with the purpose of a payment the day from which the law no longer grants the benefit; null for all other
    contracts, and if it was paid for longer than the law says.
    """
    text = pl.concat_str(purpose.fill_null(""), pl.col("counterparty_name").fill_null(""), separator=" ")
    is_limited = (pl.col("category") == FAMILY_CATEGORY) & (pl.col("amount_latest") > MAX_HALVED_BENEFIT_CENTS)
    limits = [pl.when(pl.col("regular_count") <= count).then(count) for count in MAX_PARENTAL_PAYMENTS]
    end = pl.col("date_first").dt.offset_by(pl.format("{}mo", pl.coalesce(limits))).dt.offset_by("-7d")
    return pl.when(is_limited & text.str.to_lowercase().str.contains(PARENTAL_BENEFIT_WORDS)).then(end)
