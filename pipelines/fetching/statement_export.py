"""A user's accounts with their bookings, as statement files are written from them (`pipelines.statements.writing`)."""

from dataclasses import dataclass
from datetime import date, tzinfo

import polars as pl

from analytics.frames import BOOKINGS
from pipelines.statements.writing import ExportAccount
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Product
from warehouse.stores import accesses, ledger, products


@dataclass(frozen=True)
class ExportPeriod:
    """The first and the last day of bookings that are wanted."""

    first: date | None = None
    last: date | None = None

    def cut(self, bookings: pl.DataFrame) -> pl.DataFrame:
        """The bookings of these days."""
        days = pl.col("booked_on")
        later = pl.lit(True) if self.first is None else days >= self.first
        earlier = pl.lit(True) if self.last is None else days <= self.last
        return bookings.filter(later & earlier)


def export_accounts(owner: Owner, period: ExportPeriod, zone: tzinfo) -> list[ExportAccount]:
    """All products of a user that have bookings or a balance, in the order of the accesses. A balance only goes with the latest
    bookings.
    """
    rows = accesses.visible(owner)
    rows_by_access = products.visible(owner, rows)
    bookings = period.cut(ledger.whole(owner)).sort("booked_on", "pending", "sequence")
    bookings_by_product = {
        str(key[0]): frame.select(BOOKINGS.names())
        for key, frame in bookings.partition_by("product", as_dict=True, include_key=True).items()
    }
    accounts = [
        _account(product, bookings_by_product.get(str(product.id), BOOKINGS.to_frame()), period, zone)
        for access in rows
        for product in rows_by_access[access.id]
    ]
    return [account for account in accounts if account.bookings.height or account.balance_cents is not None]


def _account(product: Product, bookings: pl.DataFrame, period: ExportPeriod, zone: tzinfo) -> ExportAccount:
    has_balance = period.last is None and product.balance_at is not None
    return ExportAccount(
        product.key,
        product.name,
        bookings,
        product.iban,
        product.account_number,
        product.bic,
        product.currency,
        product.owner_name,
        product.balance_cents if has_balance else None,
        product.balance_at.astimezone(zone).date() if has_balance and product.balance_at is not None else None,
    )
