"""The whole tagger finds the category of every example, booked as a bank would tell it to Klara Winter."""

from datetime import date
from functools import cache
from pathlib import Path

import polars as pl

from analytics import trees
from analytics.bank_text.channels import Channel
from analytics.frames import CHOICES, PRODUCTS, RULES, TRANSACTIONS, checked
from analytics.products import ProductCategory
from analytics.tagging import tag
from analytics.tagging.rulebook import read_table
from analytics.tagging.tag import Tagger
from models import registry

HOLDER = "Klara Winter"
DAY = date(2026, 5, 4)
OWN, OTHER = "DE02500105170137075030", "DE02100500000054540402"
CODES = {
    Channel.CARD: "106",
    Channel.DIRECTDEBIT: "105",
    Channel.DD_RETURN: "181",
    Channel.STANDINGORDER: "117",
    Channel.TRANSFER: "177",
    Channel.SALARY: "153",
    Channel.VL: "154",
    Channel.PUBLIC: "156",
    Channel.TRANSFER_RETURN: "159",
    Channel.CASH: "083",
    Channel.FEE: "808",
    Channel.INTEREST: "814",
    Channel.SECURITIES: "301",
    Channel.LOAN: "813",
    Channel.CARDSETTLE: "006",
    Channel.INTERNAL: "820",
    Channel.UNKNOWN: None,
}
"""A transaction code of each channel; money that comes has its own."""
COMING = {Channel.TRANSFER: "166", Channel.STANDINGORDER: "152"}
OTHER_ENDS = {
    "TRANSFER_INTERNAL": ProductCategory.CHECKING,
    "TRANSFER_SAVINGS": ProductCategory.CALL_MONEY,
    "TRANSFER_SECURITIES": ProductCategory.DEPOT,
    "TRANSFER_CREDITCARD": ProductCategory.CREDIT_CARD,
    "TRANSFER_LOAN": ProductCategory.LOAN,
}
"""The holder's other product, where only that tells what a transfer is."""
DECIDED_OTHERWISE = {("Revolut", "TRANSFER_WALLET", "BANKFINANCE_TRANSFER")}
"""Examples of words and rules that do not have the last word: name, category of the example, category of the tagger. What stands
behind a merchant on a card line is not read."""


def examples() -> pl.DataFrame:
    """The examples; each is the only booking of its user, so that none says anything about another."""
    return (
        read_table(Path(__file__).parents[1] / "analytics" / "examples.csv")
        .with_row_index("user")
        .with_columns(pl.col("user").cast(pl.String))
    )


def transactions(rows: pl.DataFrame) -> pl.DataFrame:
    """The examples as a bank books them."""
    going = pl.col("amount").str.starts_with("-")
    codes = {
        way: pl.col("channel").replace_strict(known, return_dtype=pl.String, default=None)
        for way, known in (("out", CODES), ("in", COMING))
    }
    facing = (pl.col("by") == "rows") & pl.col("category").is_in(list(OTHER_ENDS))
    booked = {name: pl.lit(None, kind) for name, kind in TRANSACTIONS.items()} | {
        "id": pl.col("user"),
        "user": pl.col("user"),
        "product": pl.lit("own"),
        "booked_on": pl.lit(DAY),
        "value_on": pl.lit(DAY),
        "amount_cents": pl.col("amount").str.replace(".", "", literal=True).cast(pl.Int64),
        "currency": pl.lit("EUR"),
        "purpose": pl.when(pl.col("code") != "").then(pl.format("PURP+{}SVWZ+{}", "code", "purpose")).otherwise("purpose"),
        "gv_code": pl.when(going).then(codes["out"]).otherwise(pl.coalesce(codes["in"], codes["out"])),
        "counterparty_name": pl.col("name"),
        "counterparty_iban": pl.when(facing).then(pl.lit(OTHER)),
        "pending": pl.lit(value=False),
    }
    return checked(rows.select(**booked), TRANSACTIONS)


def products(rows: pl.DataFrame) -> pl.DataFrame:
    """The product of every booking, and the other end of transfers between own products. A card is settled on its own account."""
    held = {"owner_name": pl.lit(HOLDER), "user": pl.col("user"), "balance_cents": pl.lit(None, pl.Int64)}
    settled = (pl.col("category") == "TRANSFER_CREDITCARD") & ~pl.col("amount").str.starts_with("-")
    kind = pl.when(settled).then(pl.lit(ProductCategory.CREDIT_CARD.value)).otherwise(pl.lit(ProductCategory.CHECKING.value))
    own = rows.select(product=pl.lit("own"), category=kind, iban=pl.lit(OWN), **held)
    ends = rows.filter(pl.col("by") == "rows", pl.col("category").is_in(list(OTHER_ENDS)))
    kinds = {name: kind.value for name, kind in OTHER_ENDS.items()}
    other = ends.select(product=pl.lit("other"), category=pl.col("category").replace(kinds), iban=pl.lit(OTHER), **held)
    return checked(pl.concat([own, other]), PRODUCTS)


@cache
def tagged() -> pl.DataFrame:
    """The examples with what the tagger found."""
    rows = examples()
    tags = tag.tag_bookings(transactions(rows), products(rows), CHOICES.to_frame(), RULES.to_frame(), Tagger(registry.shipped()))
    return rows.with_columns(found=tags["category"], reason=tags["category_reason"], found_channel=tags["channel"])


def test_the_tagger_finds_the_category_of_every_example() -> None:
    wrong = tagged().filter(pl.col("found") != pl.col("category"))
    assert set(wrong.select("name", "category", "found").rows()) == DECIDED_OTHERWISE, wrong.select(
        "name", "purpose", "reason"
    ).rows()
    assert wrong.height == len(DECIDED_OTHERWISE)


def test_every_category_has_an_example_by_which_it_is_found() -> None:
    assignable = {item.system_name for item in trees.tree("CATEGORIES").assignable}
    right = tagged().filter(pl.col("found") == pl.col("category"))
    assert set(right["category"]) == assignable


def test_examples_are_booked_through_their_channel() -> None:
    surer = {(Channel.CARD, Channel.CASH), (Channel.TRANSFER, Channel.SALARY), (Channel.UNKNOWN, Channel.DD_RETURN)}
    other = tagged().filter(pl.col("channel") != pl.col("found_channel"))
    assert set(other.select("channel", "found_channel").rows()) <= surer
    assert other.height < 10
