"""The store of tombstones: added in the transaction that erases, checked by everything that reads files again."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Tombstone

USER, ACCESS = "user", "access"
COPIES_LOCK = 7_001_003
ROWS = "rows"


def add(owner: Owner, kind: str, id_: UUID, user_id: UUID) -> None:
    """Adds a tombstone; an existing one stays unchanged."""
    values = {"id": id_, "kind": kind, "user_id": user_id, "tenant_id": owner.tenant}
    owner.session.execute(insert(Tombstone).values(values).on_conflict_do_nothing())


def all_tombstones(owner: Owner) -> Sequence[Tombstone]:
    """All tombstones, oldest first."""
    return owner.session.scalars(select(Tombstone).order_by(Tombstone.erased_at, Tombstone.id)).all()


def rows(owner: Owner) -> list[tuple[str, str, str, str]]:
    """Id, kind, user and tenant of all tombstones."""
    columns = (Tombstone.id, Tombstone.kind, Tombstone.user_id, Tombstone.tenant_id)
    return [(str(id_), kind, str(user), str(tenant)) for id_, kind, user, tenant in owner.session.execute(select(*columns))]


def lock_copies(owner: Owner) -> None:
    """Keeps others from changing the copies of tombstones until this transaction ends."""
    owner.session.execute(select(func.pg_advisory_xact_lock(COPIES_LOCK)))


def unpurged_tombstones(owner: Owner) -> Sequence[Tombstone]:
    """The tombstones whose rows were not removed from the files yet, oldest first."""
    statement = select(Tombstone).where(Tombstone.purged_at.is_(None))
    return owner.session.scalars(statement.order_by(Tombstone.erased_at, Tombstone.id)).all()


def record_rows(owner: Owner, id_: UUID, rows: dict[str, int]) -> None:
    """Records how many rows of each table were deleted, until the receipt takes their place."""
    owner.session.get_one(Tombstone, id_).receipt = {ROWS: rows}


def deleted_rows(tombstone: Tombstone) -> dict[str, int]:
    """The rows that were deleted with a tombstone, by table; empty if nobody has counted them."""
    return dict((tombstone.receipt or {}).get(ROWS, {}))


def record_receipt(owner: Owner, id_: UUID, receipt: dict[str, Any], now: datetime) -> None:
    """Records what was looked at and removed, and when."""
    tombstone = owner.session.get_one(Tombstone, id_)
    tombstone.receipt, tombstone.purged_at = receipt, now
