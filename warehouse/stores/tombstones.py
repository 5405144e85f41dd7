"""The store of tombstones: added in the transaction that erases, checked by everything that reads files again.

It also knows in which tables rows of a person are: every table is either in `COLUMNS` or in `KEPT_TABLES`.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Column, func, select
from sqlalchemy.dialects.postgresql import insert

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Base, Tombstone, User

USER, ACCESS = "user", "access"
COPIES_LOCK = 7_001_003
ROWS = "rows"
COLUMNS: dict[str, dict[str, Column[UUID]]] = {
    kind: {
        table.name: table.columns["id" if table is owner_table else f"{kind}_id"]
        for table in Base.metadata.sorted_tables
        if (table is owner_table or f"{kind}_id" in table.columns) and table is not Tombstone.__table__
    }
    for kind, owner_table in ((USER, User.__table__), (ACCESS, Access.__table__))
}
"""By kind of tombstone and name of a table: the column that says whose a row is."""
KEPT_TABLES = {
    **dict.fromkeys(
        ("tenants", "callback_urls", "clients", "client_roles", "certificates", "form_designs", "webhooks", "providers"),
        "settings of tenants and banks",
    ),
    **dict.fromkeys(("console_accounts", "console_sessions"), "people who work with the console, and their logins"),
    "throttles": "counts of failed logins by a hash, deleted within the hour",
    "unattended_sessions": "counts by a keyed hash, deleted after three days",
    "refused_logins": "keyed hashes of logins that banks have refused, deleted after ninety days",
    "login_attempts": "keyed hashes of logins that were sent to banks, deleted ninety days after their last use",
    "models_in_use": "trained models, which have sums over the letters of many lines",
    "vault_keys": "ids of vault keys, and when each was first used",
    "tag_states": "numbers of bookings by bucket",
    "fetch_counts": "numbers of fetches by bank and outcome",
    "fetch_days": "numbers and durations of fetches by bank, day and outcome, deleted after ninety days",
    "tombstones": "ids of what was erased, so that no backup brings it back",
    "alembic_version": "the version of the tables",
    **dict.fromkeys(
        ("procrastinate_jobs", "procrastinate_events", "procrastinate_periodic_defers", "procrastinate_workers"),
        "jobs with ids, deleted when they end",
    ),
}
"""The tables that have no rows of a person, each with what it has instead."""


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


def count_rows(owner: Owner, kind: str, id_: UUID) -> dict[str, int]:
    """The rows of a user or an access by table, tables without any included."""
    return {name: owner.session.scalar(select(func.count()).where(column == id_)) or 0 for name, column in COLUMNS[kind].items()}
