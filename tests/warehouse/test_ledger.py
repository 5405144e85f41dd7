"""The ledger compares a bank's bookings with the stored ones without reading them."""

from collections.abc import Callable
from datetime import date, timedelta

import polars as pl

from analytics.frames import BOOKINGS
from tests.support.stack import TenantUnderTest
from warehouse.postgres.tables import Product
from warehouse.stores import ledger

FIRST_DAY = date(2026, 11, 1)
TEXTS = ("Miete", 'mit "Zeichen", Komma\nund Zeile', "Öl & Gas €", None)


def bookings() -> pl.DataFrame:
    rows = [
        {
            "booked_on": FIRST_DAY + timedelta(days=number),
            "amount_cents": 100 * number - 250,
            "currency": "EUR",
            "purpose": text,
            "counterparty_name": text,
            "pending": number == 3,
        }
        for number, text in enumerate(TEXTS)
    ]
    return pl.DataFrame([{name: row.get(name) for name in BOOKINGS} for row in rows], schema=BOOKINGS)


def test_what_is_unchanged_is_recognised_and_everything_else_is_not(r1: TenantUnderTest) -> None:
    customer = r1.customer()
    customer.connected("test_many_3")
    r1.stack.sql("DELETE FROM transactions WHERE user_id = :user", user=customer.user_id)
    with r1.stack.database.acting_for(r1.tenant_id, customer.user_id) as owner:
        product = owner.session.scalars(owner.rows(Product)).one()
        told = bookings()
        assert ledger.unchanged_rows(owner, product, FIRST_DAY, told) == 0
        ledger.add(owner, product, told.head(3))
        assert ledger.unchanged_rows(owner, product, FIRST_DAY, told) == 3
        assert ledger.window(owner, product, FIRST_DAY).select(BOOKINGS.names()).equals(told.head(3))
        ledger.add(owner, product, told.tail(1))
        assert ledger.unchanged_rows(owner, product, FIRST_DAY, told) == 4
        assert ledger.unchanged_rows(owner, product, FIRST_DAY, told.reverse()) is None
        assert ledger.unchanged_rows(owner, product, FIRST_DAY, told.head(3)) is None
        other_text = told.with_columns(purpose=pl.col("purpose").fill_null(""))
        assert ledger.unchanged_rows(owner, product, FIRST_DAY, other_text) is None
        later = FIRST_DAY + timedelta(days=1)
        assert ledger.unchanged_rows(owner, product, later, told.tail(3)) == 3


def test_whatever_changes_bookings_forgets_the_answer_that_they_came_from(r1: TenantUnderTest) -> None:
    customer = r1.customer()
    customer.connected("test_many_3")
    with r1.stack.database.acting_for(r1.tenant_id, customer.user_id) as owner:
        product = owner.session.scalars(owner.rows(Product)).one()
        rows = ledger.window(owner, product, date(2000, 1, 1))

        def forgets(change: Callable[[], None]) -> bool:
            product.answer_digest = "digest"
            change()
            return product.answer_digest is None

        assert forgets(lambda: ledger.add(owner, product, bookings()))
        assert forgets(lambda: ledger.add(owner, product, bookings(), "batch"))
        assert forgets(lambda: ledger.change(owner, product, rows.head(1).with_columns(purpose=pl.lit("anders"))))
        assert forgets(lambda: ledger.drop(owner, product, rows["id"].to_list()[:1]))
        assert not forgets(lambda: ledger.add(owner, product, bookings().clear()))
        assert not forgets(lambda: ledger.change(owner, product, rows.clear()))
        assert not forgets(lambda: ledger.drop(owner, product, []))
