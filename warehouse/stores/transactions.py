"""The store of bookings for tenants' lists, read in batches so that a long list needs little memory."""

import base64
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

import polars as pl
from psycopg import AsyncConnection, sql

from warehouse.errors import Invalid

BATCH_ROWS = 100
"""Rows that are read and written at once: some milliseconds of the event loop, for which all other requests wait."""
CURSOR = re.compile(rb"(\d{4}-\d{2}-\d{2})\.(\d{1,18})")
COLUMNS = (
    "id",
    "sequence",
    "booked_on",
    "value_on",
    "amount_cents",
    "currency",
    "purpose",
    "booking_text",
    "gv_code",
    "primanota",
    "counterparty_name",
    "counterparty_iban",
    "counterparty_bic",
    "ultimate_name",
    "pending",
    "batch",
)
SELECT = sql.SQL("SELECT {columns} FROM transactions WHERE product_id = %(product)s").format(
    columns=sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
)
CONDITIONS = {
    "first": sql.SQL(" AND booked_on >= %(first)s"),
    "last": sql.SQL(" AND booked_on <= %(last)s"),
    "before": sql.SQL(" AND (booked_on, sequence) < (%(day)s, %(sequence)s)"),
    "limit": sql.SQL(" LIMIT %(limit)s"),
}
ORDER = sql.SQL(" ORDER BY booked_on DESC, sequence DESC")
PRODUCT = """
    SELECT p.id, u.revision FROM products p JOIN accesses a ON a.id = p.access_id JOIN users u ON u.id = p.user_id
    WHERE p.user_id = %s AND a.key = %s AND p.key = %s AND (a.expires_at IS NULL OR a.expires_at > now())
"""


@dataclass(frozen=True)
class Cursor:
    """A position in a list of bookings: after this booking."""

    day: date
    sequence: int

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(f"{self.day.isoformat()}.{self.sequence}".encode()).decode().rstrip("=")

    @classmethod
    def read(cls, value: str) -> "Cursor":
        try:
            match = CURSOR.fullmatch(base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True))
            day = date.fromisoformat(match[1].decode()) if match else None
        except ValueError as error:
            raise Invalid("cursor") from error
        if match is None or day is None:
            raise Invalid("cursor")
        return cls(day, int(match[2]))


@dataclass(frozen=True)
class TransactionWindow:
    """Which bookings of a product to list, newest first."""

    first: date | None = None
    last: date | None = None
    limit: int | None = None
    after: Cursor | None = None


async def find_product(connection: AsyncConnection[Any], user_id: UUID, access: str, product: str) -> tuple[UUID, int] | None:
    """The id of a product of the user, and the revision of the user."""
    cursor = await connection.execute(PRODUCT, (user_id, access, product))
    return await cursor.fetchone()


def list_query(product_id: UUID, window: TransactionWindow) -> tuple[sql.Composed, dict[str, Any]]:
    """The statement that reads the bookings of a product in a window, as rows of `COLUMNS`, and its values."""
    limits = {"first": window.first, "last": window.last, "before": window.after}
    parts = [CONDITIONS[name] for name, value in limits.items() if value is not None]
    query = sql.Composed([SELECT, *parts, ORDER, *([CONDITIONS["limit"]] if window.limit is not None else [])])
    values = {"product": product_id, "first": window.first, "last": window.last, "limit": window.limit}
    if window.after is not None:
        values |= {"day": window.after.day, "sequence": window.after.sequence}
    return query, values


async def row_batches(
    connection: AsyncConnection[Any], query: sql.Composed, values: dict[str, Any], limit: int | None
) -> AsyncGenerator[list[tuple[Any, ...]]]:
    """The rows of a query, a batch at a time; `limit` is the number of rows that the query ends at."""
    if limit is not None and limit <= BATCH_ROWS:
        yield await (await connection.execute(query, values)).fetchall()
        return
    async with connection.cursor(name="bookings") as cursor:
        await cursor.execute(query, values)
        while rows := await cursor.fetchmany(BATCH_ROWS):
            yield rows
            if len(rows) < BATCH_ROWS:
                return


def cut_window(bookings: pl.DataFrame, product_id: UUID, window: TransactionWindow) -> pl.DataFrame:
    """The same bookings in the same order, cut from all bookings of a user (`warehouse.stores.ledger.whole`)."""
    conditions = [pl.col("product") == str(product_id)]
    if window.first is not None:
        conditions.append(pl.col("booked_on") >= window.first)
    if window.last is not None:
        conditions.append(pl.col("booked_on") <= window.last)
    if window.after is not None:
        day, sequence = pl.col("booked_on"), pl.col("sequence")
        conditions.append((day < window.after.day) | ((day == window.after.day) & (sequence < window.after.sequence)))
    rows = bookings.filter(*conditions).sort("booked_on", "sequence", descending=True)
    return rows if window.limit is None else rows.head(window.limit)
