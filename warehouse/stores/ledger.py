"""The store of bookings as frames, for fetching and analyses. Lists for tenants are read by `warehouse.stores.transactions`.

Whatever changes the bookings of a product forgets the digest of the bank's answer that they came from.

Rows are written as arrays in one statement: single rows take ten times as long, and COPY ignores row-level security. The
statements number the changes themselves (`next_serial`); a trigger for each row would take as long as the rows.
"""

import hashlib
from collections.abc import Sequence
from datetime import date
from typing import Any
from uuid import UUID, uuid4

import polars as pl
from psycopg import sql
from sqlalchemy import delete, text

from analytics.frames import BOOKINGS, LEDGER, STORED_BOOKINGS
from warehouse.errors import NotFound
from warehouse.postgres import frames
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Product, Transaction

TYPES = {"Date": "date", "Int64": "bigint", "String": "text", "Boolean": "boolean"}
PARTS = {
    "columns": sql.SQL(", ").join(sql.Identifier(name) for name in BOOKINGS),
    "arrays": sql.SQL(", ").join(sql.SQL(f"CAST(:{name} AS {TYPES[str(kind)]}[])") for name, kind in BOOKINGS.items()),
    "search_text": sql.SQL("search_text_of(new.purpose, new.counterparty_name, new.ultimate_name, new.counterparty_iban)"),
    "changes": sql.SQL(", ").join(sql.SQL("{0} = new.{0}").format(sql.Identifier(name)) for name in BOOKINGS),
}
ADD = text(
    sql.SQL(
        "INSERT INTO transactions (id, tenant_id, user_id, product_id, batch, serial, added_serial, search_text, {columns}) "
        "SELECT id, :tenant, :user, :product, :batch, :serial, :serial, {search_text}, {columns} "
        "FROM unnest(CAST(:id AS uuid[]), {arrays}) WITH ORDINALITY AS new (id, {columns}, ordinal) ORDER BY ordinal"
    )
    .format(**PARTS)
    .as_string()
)
CHANGE = text(
    sql.SQL(
        "UPDATE transactions SET serial = :serial, search_text = {search_text}, {changes} "
        "FROM unnest(CAST(:id AS uuid[]), {arrays}) AS new (id, {columns}) "
        "WHERE transactions.tenant_id = :tenant AND transactions.product_id = :product AND transactions.id = new.id"
    )
    .format(**PARTS)
    .as_string()
)
NEXT_SERIAL = text("SELECT next_serial(:user)")
BATCH_ROWS = 10_000
NULL, BETWEEN_VALUES, BETWEEN_ROWS = chr(1), chr(31), chr(30)
"""What no text has, since bookings are checked for control characters."""
COLUMNS = sql.SQL(", ").join(
    sql.SQL("t.{}::text" if kind == pl.Boolean else "t.{}").format(sql.Identifier(name)) for name, kind in BOOKINGS.items()
)
STORED = sql.SQL("SELECT t.tenant_id, t.id, t.user_id, t.product_id, {columns}, t.sequence, t.batch FROM ").format(
    columns=COLUMNS
)
VISIBLE = STORED + sql.SQL(
    "transactions t JOIN products p ON p.id = t.product_id JOIN accesses a ON a.id = p.access_id "
    "WHERE (a.expires_at IS NULL OR a.expires_at > now())"
)
SINCE = sql.SQL("unnest(%(users)s::uuid[], %(serials)s::bigint[]) AS since (user_id, serial)")
"""Users, each with a serial of an earlier moment. Each OFFSET makes PostgreSQL look up one user after the other; as a join, it
read all bookings of all users.
"""
OF_PRODUCT = sql.SQL(
    "SELECT t.id, {columns} FROM transactions t "
    "WHERE t.tenant_id = %(tenant)s AND t.user_id = %(user)s AND t.product_id = %(product)s AND {condition} ORDER BY t.sequence"
)
IN_WINDOW = OF_PRODUCT.format(columns=COLUMNS, condition=sql.SQL("t.batch IS NULL AND (t.booked_on >= %(since)s OR t.pending)"))
WINDOW_PRINT = text(
    sql.SQL(
        "SELECT count(*), "
        "encode(sha256(convert_to(coalesce(string_agg({row}, chr(30) ORDER BY t.sequence), ''), 'UTF8')), 'hex') "
        "FROM transactions t WHERE t.tenant_id = :tenant AND t.user_id = :user AND t.product_id = :product "
        "AND t.batch IS NULL AND (t.booked_on >= :since OR t.pending)"
    )
    .format(
        row=sql.SQL(" || chr(31) || ").join(
            sql.SQL("coalesce(CAST(t.{} AS text), chr(1))").format(sql.Identifier(name)) for name in BOOKINGS
        )
    )
    .as_string()
)
IN_BATCH = OF_PRODUCT.format(columns=COLUMNS, condition=sql.SQL("t.batch = %(batch)s"))
OF_USER = VISIBLE + sql.SQL(
    " AND t.tenant_id = %(tenant)s AND p.user_id = %(user)s AND (%(booking)s::uuid IS NULL OR t.id = %(booking)s)"
    " ORDER BY t.sequence"
)
OF_USERS = VISIBLE + sql.SQL(" AND p.user_id = ANY(%(users)s) ORDER BY p.user_id, t.sequence")
CHANGED_SINCE = STORED + sql.SQL(
    "{since}, LATERAL ("
    "SELECT * FROM transactions WHERE user_id = since.user_id AND serial > 0 AND serial > since.serial OFFSET 0) t "
    "ORDER BY t.user_id, t.sequence"
).format(since=SINCE)
REMOVED_SINCE = sql.SQL(
    "SELECT r.object_id FROM {since}, LATERAL ("
    "SELECT object_id FROM removals WHERE user_id = since.user_id AND serial > since.serial AND kind = 'booking' OFFSET 0) r"
).format(since=SINCE)
REMEMBERED = sql.SQL(
    "SELECT since.user_id, since.serial FROM {since}, LATERAL ("
    "SELECT FROM users WHERE id = since.user_id AND serial = since.serial "
    "UNION ALL SELECT FROM sync_points WHERE user_id = since.user_id AND serial = since.serial LIMIT 1) point"
).format(since=SINCE)
SERIALS = pl.Schema({"user": pl.String, "serial": pl.Int64})


def window(owner: Owner, product: Product, since: date) -> pl.DataFrame:
    """The bank's bookings of a product since a day, and all pending ones, in the order in which they arrived."""
    return _read(owner, product, IN_WINDOW, since=since)


def unchanged_rows(owner: Owner, product: Product, since: date, bookings: pl.DataFrame) -> int | None:
    """How many bookings the window has, if the frame begins with just these, unchanged and in order; None if it does not.

    The database compares: after most refreshes nothing or little is new, and no stored booking need be read.
    """
    values = {"tenant": owner.tenant, "user": product.user_id, "product": product.id, "since": since}
    count, stored_print = owner.session.execute(WINDOW_PRINT, values).one()._tuple()
    return int(count) if count <= bookings.height and fingerprint(bookings.head(count)) == stored_print else None


def fingerprint(bookings: pl.DataFrame) -> str:
    """A hash of bookings in their order, which `WINDOW_PRINT` computes of stored ones."""
    columns = [pl.col(name).cast(pl.String).fill_null(NULL) for name in BOOKINGS]
    rows = bookings.select(pl.concat_str(columns, separator=BETWEEN_VALUES)).to_series()
    return hashlib.sha256(BETWEEN_ROWS.join(rows).encode()).hexdigest()


def whole(owner: Owner, booking: UUID | None = None) -> pl.DataFrame:
    """All bookings of a user, or only one of them, in the order in which they arrived, including pending and pushed ones."""
    return frames.read_frame(owner, OF_USER, {"tenant": owner.tenant, "user": owner.user_id, "booking": booking}, LEDGER)


def of_users(owner: Owner, users: Sequence[UUID]) -> pl.DataFrame:
    """The same for many users, sorted by user."""
    return frames.read_frame(owner, OF_USERS, {"users": list(users)}, LEDGER)


def with_remembered_changes(owner: Owner, serials: pl.DataFrame) -> pl.DataFrame:
    """Of users with earlier serials (frame `SERIALS`), those of whom all changes since then are remembered: their changes had
    reached this serial in this database, at most as long ago as removals are kept.
    """
    return frames.read_frame(owner, REMEMBERED, _since(serials), SERIALS)


def changed_since(owner: Owner, serials: pl.DataFrame) -> pl.DataFrame:
    """The bookings that were added or changed since a serial of each user (frame `SERIALS`), as `of_users` has them, and those of
    expired accesses.
    """
    return frames.read_frame(owner, CHANGED_SINCE, _since(serials), LEDGER)


def removed_since(owner: Owner, serials: pl.DataFrame) -> pl.DataFrame:
    """The ids of bookings that were removed since a serial of each user, but for those that went with their product."""
    return frames.read_frame(owner, REMOVED_SINCE, _since(serials), pl.Schema({"id": pl.String}))


def batch(owner: Owner, product: Product, name: str) -> pl.DataFrame:
    """The bookings of a product that were pushed in a batch."""
    return _read(owner, product, IN_BATCH, batch=name)


def add(owner: Owner, product: Product, bookings: pl.DataFrame, batch: str | None = None) -> None:
    """Stores new bookings in the order of the frame."""
    if bookings.height:
        product.answer_digest = None
    for part in bookings.iter_slices(BATCH_ROWS):
        ids = [uuid4() for _ in range(part.height)]
        values = {"tenant": owner.tenant, "user": product.user_id, "product": product.id, "batch": batch, "id": ids}
        owner.session.execute(ADD, {**values, "serial": _next_serial(owner, product), **_arrays(part)})


def change(owner: Owner, product: Product, bookings: pl.DataFrame) -> None:
    """Replaces the content of stored bookings (frame `STORED_BOOKINGS`)."""
    if bookings.height:
        product.answer_digest = None
    for part in bookings.iter_slices(BATCH_ROWS):
        ids = [UUID(value) for value in part["id"]]
        values = {"tenant": owner.tenant, "product": product.id, "serial": _next_serial(owner, product)}
        owner.session.execute(CHANGE, {**values, "id": ids, **_arrays(part)})


def drop(owner: Owner, product: Product, ids: Sequence[str]) -> None:
    """Deletes bookings."""
    if ids:
        product.answer_digest = None
        of_product = (Transaction.tenant_id == owner.tenant, Transaction.product_id == product.id)
        owner.session.execute(delete(Transaction).where(*of_product, Transaction.id.in_([UUID(value) for value in ids])))


def find_batch(owner: Owner, product: Product, booking: UUID) -> str | None:
    """The batch that a booking of a product was pushed in; None for one of the bank. Raises `NotFound` if there is none."""
    statement = owner.rows(Transaction).with_only_columns(Transaction.batch)
    row = owner.session.execute(statement.where(Transaction.product_id == product.id, Transaction.id == booking)).one_or_none()
    if row is None:
        raise NotFound("transaction")
    return row[0]


def _next_serial(owner: Owner, product: Product) -> int:
    """The number of the changes of this transaction."""
    return int(owner.session.execute(NEXT_SERIAL, {"user": product.user_id}).scalar_one())


def _since(serials: pl.DataFrame) -> dict[str, list[Any]]:
    return {"users": [UUID(user) for user in serials["user"]], "serials": serials["serial"].to_list()}


def _arrays(part: pl.DataFrame) -> dict[str, list[Any]]:
    return {name: part[name].to_list() for name in BOOKINGS}


def _read(owner: Owner, product: Product, query: sql.Composed, **values: Any) -> pl.DataFrame:
    owner.session.flush()
    whose = {"tenant": owner.tenant, "user": product.user_id, "product": product.id}
    return frames.read_frame(owner, query, whose | values, STORED_BOOKINGS)
