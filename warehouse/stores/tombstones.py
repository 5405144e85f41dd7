"""The store of tombstones: added in the transaction that erases, checked by everything that reads files again."""

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
    """Adds a tombstone; an existing one stays unchanged."""
    values = {"id": id_, "kind": kind, "user_id": user_id, "tenant_id": owner.tenant}
    owner.session.execute(insert(Tombstone).values(values).on_conflict_do_nothing())


def all_tombstones(owner: Owner) -> Sequence[Tombstone]:
    """All tombstones, oldest first."""
    return owner.session.scalars(select(Tombstone).order_by(Tombstone.erased_at, Tombstone.id)).all()


def unpurged_tombstones(owner: Owner) -> Sequence[Tombstone]:
    """The tombstones whose rows were not removed from the files yet, oldest first."""
    statement = select(Tombstone).where(Tombstone.purged_at.is_(None))
    return owner.session.scalars(statement.order_by(Tombstone.erased_at, Tombstone.id)).all()


def record_receipt(owner: Owner, id_: UUID, receipt: dict[str, Any], now: datetime) -> None:
    """Records what was removed from files, and when."""
    tombstone = owner.session.get_one(Tombstone, id_)
    tombstone.receipt, tombstone.purged_at = {**(tombstone.receipt or {}), **receipt}, now
