"""The store of tombstones: put down in the transaction that erases, looked at by everything that reads files again."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Tombstone

USER, ACCESS = "user", "access"


def add(owner: Owner, kind: str, id_: UUID, user_id: UUID) -> None:
    """Puts down a tombstone; one that stands there stays as it is."""
    values = {"id": id_, "kind": kind, "user_id": user_id, "tenant_id": owner.tenant}
    owner.session.execute(insert(Tombstone).values(values).on_conflict_do_nothing())


def all_tombstones(owner: Owner) -> Sequence[Tombstone]:
    """All tombstones, the oldest first."""
    return owner.session.scalars(select(Tombstone).order_by(Tombstone.erased_at, Tombstone.id)).all()


def unpurged_tombstones(owner: Owner) -> Sequence[Tombstone]:
    """Those whose files were not looked through yet, the oldest first."""
    open_ones = select(Tombstone).where(Tombstone.purged_at.is_(None))
    return owner.session.scalars(open_ones.order_by(Tombstone.erased_at, Tombstone.id)).all()


def record_receipt(owner: Owner, id_: UUID, receipt: dict[str, Any], now: datetime) -> None:
    """Writes down what was removed from files."""
    found = owner.session.get_one(Tombstone, id_)
    found.receipt, found.purged_at = {**(found.receipt or {}), **receipt}, now
