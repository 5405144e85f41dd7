"""The store of categories that users choose for single bookings. Every change raises the revision of the user."""

from collections.abc import Sequence
from uuid import UUID

import polars as pl
from psycopg import sql
from sqlalchemy import delete, text

from analytics.frames import CHOICES
from warehouse.postgres import frames
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import CategoryChoice
from warehouse.stores import accesses

PUT = text(
    "INSERT INTO category_choices (transaction_id, tenant_id, user_id, item) "
    "SELECT id, :tenant, :user, :item FROM unnest(CAST(:ids AS uuid[])) AS chosen (id) "
    "ON CONFLICT (transaction_id) DO UPDATE SET item = excluded.item, chosen_at = clock_timestamp() "
    "WHERE category_choices.item <> excluded.item RETURNING transaction_id"
)
ALL = sql.SQL(
    "SELECT transaction_id, item FROM category_choices "
    "WHERE tenant_id = %(tenant)s AND user_id = %(user)s ORDER BY transaction_id"
)
OF_USERS = sql.SQL(
    "SELECT user_id, transaction_id, item FROM category_choices WHERE user_id = ANY(%(users)s) ORDER BY user_id, transaction_id"
)
CHOICES_OF_USERS = pl.Schema([("user", pl.String), *CHOICES.items()])
OF_CONSENTING_TENANTS = sql.SQL(
    "SELECT c.user_id, p.access_id, c.item, t.purpose, t.booking_text, t.counterparty_name, t.ultimate_name, t.gv_code, "
    "t.counterparty_iban, t.amount_cents FROM category_choices c JOIN tenants o ON o.id = c.tenant_id "
    "JOIN transactions t ON t.id = c.transaction_id JOIN products p ON p.id = t.product_id JOIN accesses a ON a.id = p.access_id "
    "WHERE o.learns AND o.active AND (a.expires_at IS NULL OR a.expires_at > now()) "
    "AND (%(tenant)s::uuid IS NULL OR o.id = %(tenant)s::uuid) ORDER BY c.user_id, t.sequence"
)
CORRECTED_BOOKINGS = pl.Schema(
    {
        "user": pl.String,
        "access": pl.String,
        "category": pl.String,
        "purpose": pl.String,
        "booking_text": pl.String,
        "counterparty_name": pl.String,
        "ultimate_name": pl.String,
        "gv_code": pl.String,
        "counterparty_iban": pl.String,
        "amount_cents": pl.Int64,
    }
)
"""The category that a user chose for a booking, and what can be read in the booking."""


def put(owner: Owner, bookings: Sequence[UUID], item: str) -> int:
    """Stores an item as the choice for bookings of the user; returns how many of them changed."""
    values = {"tenant": owner.tenant, "user": owner.user_id, "item": item, "ids": list(bookings)}
    return _touch_if_any(owner, len(owner.session.execute(PUT, values).all()))


def remove(owner: Owner, bookings: Sequence[UUID]) -> int:
    """Deletes choices; returns how many existed."""
    is_owner = (CategoryChoice.tenant_id == owner.tenant, CategoryChoice.user_id == owner.user_id)
    statement = delete(CategoryChoice).where(*is_owner, CategoryChoice.transaction_id.in_(bookings))
    return _touch_if_any(owner, len(owner.session.scalars(statement.returning(CategoryChoice.transaction_id)).all()))


def whole(owner: Owner) -> pl.DataFrame:
    """All choices of a user (frame `CHOICES`)."""
    return frames.read_frame(owner, ALL, {"tenant": owner.tenant, "user": owner.user_id}, CHOICES)


def of_users(owner: Owner, users: Sequence[UUID]) -> pl.DataFrame:
    """All choices of many users (frame `CHOICES_OF_USERS`)."""
    return frames.read_frame(owner, OF_USERS, {"users": list(users)}, CHOICES_OF_USERS)


def _touch_if_any(owner: Owner, changes: int) -> int:
    if changes:
        accesses.touch(owner)
    return changes


def of_consenting_tenants(owner: Owner, tenant: UUID | None = None) -> pl.DataFrame:
    """The corrections of all users of active tenants that consent to learning, or of one of them (`CORRECTED_BOOKINGS`)."""
    return frames.read_frame(owner, OF_CONSENTING_TENANTS, {"tenant": tenant}, CORRECTED_BOOKINGS)
