"""One category for each merchant of a user, if only the model reads its lines."""

from datetime import date, timedelta

import polars as pl

from analytics.frames import PRODUCTS, TRANSACTIONS
from analytics.tagging.tag import Tagger, tag_bookings
from models.evaluation.single_lines import NO_CORRECTIONS

SMALL_CENTS = 1_000


class AmountScorer:
    """A model that takes small payments for food and large ones for clothes."""

    version = "by-amount"

    def score(self, lines: pl.DataFrame, priors: pl.DataFrame | None = None) -> pl.DataFrame:
        small = pl.col("amount_bin") < lines["amount_bin"].max()
        return lines.select(
            "key",
            category=pl.when(small)
            .then(pl.lit("RECREATION_ENTERTAINMENTFOOD"))
            .otherwise(pl.lit("SHOPPING_CLOTHINGACCESSORIES")),
            confidence=pl.lit(0.6),
            words=pl.lit(""),
        )


def categories(names: list[str], cents: list[int], users: list[str], text: str = "Kartenzahlung") -> list[str]:
    """The categories of card payments."""
    count = len(names)
    rows = pl.DataFrame(
        {
            "id": [f"b{number}" for number in range(count)],
            "user": users,
            "product": users,
            "booked_on": [date(2026, 1, 5) + timedelta(number) for number in range(count)],
            "amount_cents": cents,
            "counterparty_name": names,
            "booking_text": [text] * count,
        }
    )
    missing = [pl.lit(None, kind).alias(name) for name, kind in TRANSACTIONS.items() if name not in rows.columns]
    transactions = (
        rows.with_columns(missing)
        .with_columns(value_on="booked_on", currency=pl.lit("EUR"), pending=pl.lit(value=False))
        .select(TRANSACTIONS.names())
        .cast(dict(TRANSACTIONS))  # type: ignore[arg-type]
    )
    return tag_bookings(transactions, PRODUCTS.to_frame(), *NO_CORRECTIONS, Tagger(AmountScorer()))["category"].to_list()


def test_most_payments_decide_for_all() -> None:
    found = categories(["Xylor Quint"] * 4, [-SMALL_CENTS, -SMALL_CENTS, -SMALL_CENTS, -90_000], ["u"] * 4)
    assert found == ["RECREATION_ENTERTAINMENTFOOD"] * 4


def test_users_and_merchants_do_not_decide_for_each_other() -> None:
    found = categories(["Xylor Quint", "Xylor Quint", "Wembo Trask"], [-SMALL_CENTS, -90_000, -90_000], ["u", "v", "u"])
    assert found == ["RECREATION_ENTERTAINMENTFOOD", "SHOPPING_CLOTHINGACCESSORIES", "SHOPPING_CLOTHINGACCESSORIES"]


def test_debits_are_left_alone() -> None:
    found = categories(["Xylor Quint"] * 3, [-SMALL_CENTS, -SMALL_CENTS, -90_000], ["u"] * 3, "Lastschrift")
    assert found[-1] == "SHOPPING_CLOTHINGACCESSORIES"
