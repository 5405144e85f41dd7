"""An account that is connected twice counts once."""

from datetime import date

import polars as pl
import pytest

from analytics.analyses.suite import analyse
from analytics.frames import PRODUCTS
from tests.analytics.lives import TAGGED_BOOKINGS, TODAY, book, everyday, months, rent, take_snapshot, wage

IBAN = "DE02120300000000202051"


def life() -> pl.DataFrame:
    return pl.concat(
        [
            everyday(),
            wage(months("2024-01", "2026-06", 28), 2800.0, "Werk AG"),
            rent(months("2024-01", "2026-06"), -900.0, "Hausverwaltung"),
            book("LIVING_GROCERIES", [date(2026, 5, 5)] * 2, -12.5, "Bäcker", channel="CARD"),  # twice on one day
        ]
    )


def under(product: str, bookings: pl.DataFrame) -> pl.DataFrame:
    """The same bookings as another access shows them: with ids of its own, and in the words of its interface."""
    return bookings.with_columns(
        product=pl.lit(product), id=pl.col("id") + f" {product}", purpose=pl.col("purpose") + f" {product}"
    )


def accounts(*ibans: str | None, category: str = "CHECKING") -> pl.DataFrame:
    rows = [("anna", f"p{place}", category, iban, "Anna Muster", None) for place, iban in enumerate(ibans)]
    return pl.DataFrame(rows, PRODUCTS, orient="row")


def test_what_both_accesses_show_counts_once() -> None:
    once, twice = under("p0", life()), pl.concat([under("p1", life()), under("p0", life())])
    alone, both = (take_snapshot(bookings, products=accounts(IBAN, IBAN)) for bookings in (once, twice))
    assert both.bookings.sort("id").equals(alone.bookings.sort("id"))
    assert both.contracts.sort("id").equals(alone.contracts.sort("id"))


def test_all_analyses_say_the_same() -> None:
    as_of = pl.DataFrame({"user": ["anna"], "as_of": [TODAY]})
    once, twice = under("p0", life()), pl.concat([under("p0", life()), under("p1", life())])
    alone, both = (analyse(bookings, accounts(IBAN, IBAN), as_of) for bookings in (once, twice))
    for name, frame in alone.items():
        assert both[name].equals(frame), name


def test_what_only_one_of_them_reaches_counts_too() -> None:
    """The first access has ended, the second begins later: together they have it all, as one account."""
    day = pl.col("booked_on")
    older, newer = (
        under("p0", life().filter(day < date(2026, 3, 1))),
        under("p1", life().filter(day >= date(2025, 9, 1))),
    )
    both = take_snapshot(older, newer, products=accounts(IBAN, IBAN))
    assert both.bookings.height == life().height
    assert both.bookings["product"].unique().to_list() == ["p0"]
    whole = take_snapshot(under("p0", life()), products=accounts(IBAN, IBAN))
    assert both.contracts["category"].to_list() == whole.contracts["category"].to_list()


def test_other_accounts_count_each() -> None:
    twice = pl.concat([under("p0", life()), under("p1", life())])
    assert take_snapshot(twice, products=accounts(IBAN, "DE02500105170137075030")).bookings.height == twice.height


@pytest.mark.parametrize("silence", [None, ""])
def test_cards_without_a_number_are_one_if_they_show_the_same(silence: str | None) -> None:
    """The first has ended, the second begins later; in between, the bank tells the newer access one booking more."""
    day = pl.col("booked_on")
    older, newer = life().filter(day < date(2026, 3, 1)), life().filter(day >= date(2025, 9, 1))
    extra = book("LIVING_GROCERIES", [date(2025, 12, 24)], -77.7, "Metzger", channel="CARD")
    both = take_snapshot(
        under("p0", older), under("p1", pl.concat([newer, extra])), products=accounts(silence, silence, category="CREDIT_CARD")
    )
    assert both.bookings.height == life().height + 1
    assert both.bookings["product"].unique().to_list() == ["p0"]


def test_two_cards_that_are_used_alike_stay_two() -> None:
    """Two cards for the same subscriptions, and each for purchases of its own."""
    payments = book("MEDIA_STREAMING", months("2025-01", "2026-06"), -9.99, "Stream", channel="CARD")
    other = everyday().with_columns(booked_on=pl.col("booked_on").dt.offset_by("1d"), id=pl.col("id") + " other")
    first, second = pl.concat([payments, everyday(last=date(2026, 6, 1))]), pl.concat([payments, other.head(-9)])
    both = take_snapshot(under("p0", first), under("p1", second), products=accounts(None, None, category="CREDIT_CARD"))
    assert both.bookings.height == first.height + second.height


def test_a_card_that_was_hardly_used_stays() -> None:
    few = life().head(4)
    both = take_snapshot(under("p0", few), under("p1", few), products=accounts(None, None, category="CREDIT_CARD"))
    assert both.bookings.height == 8


def test_a_depot_with_the_same_number_is_no_account_again() -> None:
    columns = pl.concat([accounts(IBAN), accounts(None, IBAN, category="DEPOT").tail(1)])
    twice = pl.concat([under("p0", life()), under("p1", life())])
    assert take_snapshot(twice, products=columns).bookings.height == twice.height


def test_accounts_of_other_users_stay() -> None:
    """A couple's joint account, which each of them has connected."""
    both = pl.concat([life(), life().with_columns(user=pl.lit("bert"), id=pl.col("id") + " b")])
    owners = pl.DataFrame([(user, "giro", "CHECKING", IBAN, "Muster", None) for user in ("anna", "bert")], PRODUCTS, orient="row")
    assert take_snapshot(both, products=owners).bookings.height == both.height


def test_nothing_to_look_at() -> None:
    assert take_snapshot(TAGGED_BOOKINGS.to_frame(), products=accounts(IBAN, IBAN)).bookings.is_empty()
