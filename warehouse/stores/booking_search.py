"""The search for bookings over all accounts of a user. It is one statement, from which a page is read as of an account's list.

Each product is walked in the order that is asked for, and ends as soon as it has filled the page; the pages are merged. Texts are
compared in the folded form that is stored with each booking (`search_text`); words are values and never patterns.
"""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any
from uuid import UUID

from psycopg import sql

from warehouse.errors import Invalid
from warehouse.stores.transactions import COLUMNS

ACCESS_KEY, PRODUCT_KEY = len(COLUMNS), len(COLUMNS) + 1
"""The columns of a row after those of the booking: the keys of its access and its product."""
CURSOR = re.compile(rb"(date|amount)\.(asc|desc)\.(-?\d{1,18})\.(\d{1,18})")
SEARCH_TEXT = sql.SQL(
    "coalesce(t.search_text, search_text_of(t.purpose, t.counterparty_name, t.ultimate_name, t.counterparty_iban))"
)
SEARCH = sql.SQL(
    "SELECT {columns}, a.key, p.key FROM products p JOIN accesses a ON a.id = p.access_id CROSS JOIN LATERAL ("
    "SELECT {columns} FROM transactions t WHERE t.product_id = p.id{conditions} ORDER BY {order} LIMIT %(limit)s) t "
    "WHERE p.tenant_id = %(tenant)s AND p.user_id = %(user)s AND (a.expires_at IS NULL OR a.expires_at > now()){places} "
    "ORDER BY {order} LIMIT %(limit)s"
)
BOOKING_COLUMNS = sql.SQL(", ").join(sql.SQL("t.{}").format(sql.Identifier(name)) for name in COLUMNS)
CONDITIONS = {
    "first": "t.booked_on >= %(first)s",
    "last": "t.booked_on <= %(last)s",
    "least_cents": "t.amount_cents >= %(least_cents)s",
    "most_cents": "t.amount_cents <= %(most_cents)s",
    "ids": "t.id IN (SELECT unnest(%(ids)s::uuid[]))",
}
PLACES = {"access": "a.key = %(access)s", "product": "p.key = %(product)s"}
INCOMING = {True: "t.amount_cents > 0", False: "t.amount_cents < 0"}


class Sort(StrEnum):
    """What bookings are sorted by."""

    DATE = "date"
    AMOUNT = "amount"


class SortOrder(StrEnum):
    """The direction of a sort."""

    ASCENDING = "asc"
    DESCENDING = "desc"


SORT_COLUMNS = {Sort.DATE: "booked_on", Sort.AMOUNT: "amount_cents"}


@dataclass(frozen=True)
class SearchCursor:
    """A position in the result of a search: after the booking with this day (as its ordinal) or amount, and this sequence."""

    sort: Sort
    order: SortOrder
    value: int
    sequence: int

    def __str__(self) -> str:
        text = f"{self.sort}.{self.order}.{self.value}.{self.sequence}"
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> "SearchCursor":
        try:
            content = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except ValueError as error:
            raise Invalid("cursor") from error
        match = CURSOR.fullmatch(content)
        if match is None:
            raise Invalid("cursor")
        sort, order, value, sequence = (part.decode() for part in match.groups())
        cursor = cls(Sort(sort), SortOrder(order), int(value), int(sequence))
        if cursor.sort is Sort.DATE and not date.min.toordinal() <= cursor.value <= date.max.toordinal():
            raise Invalid("cursor")
        return cursor

    @classmethod
    def after(cls, row: tuple[Any, ...], sort: Sort, order: SortOrder) -> "SearchCursor":
        """The position after a row of `COLUMNS`."""
        value = row[COLUMNS.index(SORT_COLUMNS[sort])]
        return cls(sort, order, value.toordinal() if isinstance(value, date) else value, row[COLUMNS.index("sequence")])

    @property
    def sort_value(self) -> date | int:
        return date.fromordinal(self.value) if self.sort is Sort.DATE else self.value


@dataclass(frozen=True)
class BookingSearch:
    """Which bookings are searched, in which order. All words must occur; limits are inclusive."""

    words: tuple[str, ...] = ()
    first: date | None = None
    last: date | None = None
    least_cents: int | None = None
    most_cents: int | None = None
    incoming: bool | None = None
    access: str | None = None
    product: str | None = None
    sort: Sort = Sort.DATE
    order: SortOrder = SortOrder.DESCENDING
    after: SearchCursor | None = None


def search_query(
    tenant_id: UUID, user_id: UUID | None, search: BookingSearch, limit: int, ids: list[str] | None = None
) -> tuple[sql.Composed, dict[str, Any]]:
    """The statement of a search and its values: rows of `COLUMNS` with the keys of access and product, at most so many.

    With `ids`, only these bookings.
    """
    values = {**vars(search), "ids": ids, "tenant": tenant_id, "user": user_id, "limit": limit}
    values |= {f"word{number}": word for number, word in enumerate(search.words)}
    conditions: list[sql.Composable] = [sql.SQL(text) for name, text in CONDITIONS.items() if values[name] is not None]
    conditions += [sql.SQL(INCOMING[search.incoming])] if search.incoming is not None else []
    conditions += [
        sql.SQL("strpos({text}, (SELECT folded_text(%({word})s))) > 0").format(text=SEARCH_TEXT, word=sql.SQL(f"word{number}"))
        for number in range(len(search.words))
    ]
    column, direction = sql.Identifier(SORT_COLUMNS[search.sort]), sql.SQL(search.order.upper())
    if search.after is not None:
        values |= {"value": search.after.sort_value, "sequence": search.after.sequence}
        sign = sql.SQL(">" if search.order is SortOrder.ASCENDING else "<")
        conditions.append(sql.SQL("(t.{}, t.sequence) {} (%(value)s, %(sequence)s)").format(column, sign))
    query = SEARCH.format(
        columns=BOOKING_COLUMNS,
        conditions=_and(conditions),
        places=_and([sql.SQL(text) for name, text in PLACES.items() if values[name] is not None]),
        order=sql.SQL("t.{} {direction}, t.sequence {direction}").format(column, direction=direction),
    )
    return query, {name: value for name, value in values.items() if name not in ("after", "sort", "order", "words", "incoming")}


def _and(conditions: Sequence[sql.Composable]) -> sql.Composed:
    return sql.Composed([part for condition in conditions for part in (sql.SQL(" AND "), condition)])
