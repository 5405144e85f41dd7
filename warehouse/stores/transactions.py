"""Reading bookings for tenants: many at once, a piece at a time, so that a long list needs little memory."""

import base64
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

import polars as pl
from psycopg import AsyncConnection, sql

from warehouse.errors import Invalid

BATCH_ROWS = 1000
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
    """A place in the list: what comes after this booking."""

    day: date
    sequence: int

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(f"{self.day.isoformat()}.{self.sequence}".encode()).decode().rstrip("=")

    @classmethod
    def read(cls, value: str) -> "Cursor":
        try:
            place = CURSOR.fullmatch(base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True))
            day = date.fromisoformat(place[1].decode()) if place else None
        except ValueError as error:
            raise Invalid("cursor") from error
        if place is None or day is None:
            raise Invalid("cursor")
        return cls(day, int(place[2]))


@dataclass(frozen=True)
class TransactionWindow:
    """Which bookings of a product are wanted, the newest first."""

    first: date | None = None
    last: date | None = None
    limit: int | None = None
    after: Cursor | None = None


async def find_product(connection: AsyncConnection[Any], user_id: UUID, access: str, product: str) -> tuple[UUID, int] | None:
    """The id of a user's product, and the user's revision."""
    cursor = await connection.execute(PRODUCT, (user_id, access, product))
    return await cursor.fetchone()


async def row_batches(
    connection: AsyncConnection[Any], product_id: UUID, wish: TransactionWindow
) -> AsyncIterator[list[tuple[Any, ...]]]:
    """The rows of the columns above, a piece at a time."""
    given = {"first": wish.first, "last": wish.last, "before": wish.after, "limit": wish.limit}
    parts = [CONDITIONS[name] for name, value in given.items() if value is not None and name != "limit"]
    query = sql.Composed([SELECT, *parts, ORDER, *([CONDITIONS["limit"]] if wish.limit is not None else [])])
    values = {"product": product_id, "first": wish.first, "last": wish.last, "limit": wish.limit}
    if wish.after is not None:
        values |= {"day": wish.after.day, "sequence": wish.after.sequence}
    if wish.limit is not None and wish.limit <= BATCH_ROWS:
        yield await (await connection.execute(query, values)).fetchall()
        return
    async with connection.cursor(name="bookings") as cursor:
        await cursor.execute(query, values)
        while piece := await cursor.fetchmany(BATCH_ROWS):
            yield piece
            if len(piece) < BATCH_ROWS:
                return


def cut_window(bookings: pl.DataFrame, product_id: UUID, wish: TransactionWindow) -> pl.DataFrame:
    """The same rows in the same order, out of all bookings of a user (`warehouse.stores.ledger.whole`) that were read already."""
    wanted = [pl.col("product") == str(product_id)]
    if wish.first is not None:
        wanted.append(pl.col("booked_on") >= wish.first)
    if wish.last is not None:
        wanted.append(pl.col("booked_on") <= wish.last)
    if wish.after is not None:
        day, sequence = pl.col("booked_on"), pl.col("sequence")
        wanted.append((day < wish.after.day) | ((day == wish.after.day) & (sequence < wish.after.sequence)))
    rows = bookings.filter(*wanted).sort("booked_on", "sequence", descending=True)
    return rows if wish.limit is None else rows.head(wish.limit)
