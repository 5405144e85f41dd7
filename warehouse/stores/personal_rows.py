"""The rows of a person in PostgreSQL, counted for the receipt of an erasure. Every table is either here or in `KEPT_TABLES`."""

from uuid import UUID

from sqlalchemy import Column, func, select

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Base, Tombstone, User
from warehouse.stores.tombstones import ACCESS, USER

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
    "throttles": "counts of failed logins by a hash, deleted within the hour",
    "unattended_sessions": "counts by a keyed hash, deleted after three days",
    "tombstones": "ids of what was erased, so that no backup brings it back",
    "alembic_version": "the version of the tables",
    **dict.fromkeys(
        ("procrastinate_jobs", "procrastinate_events", "procrastinate_periodic_defers", "procrastinate_workers"),
        "jobs with ids, deleted when they end",
    ),
}
"""The tables that have no rows of a person, each with what it has instead."""


def count(owner: Owner, kind: str, id_: UUID) -> dict[str, int]:
    """The rows of a user or an access by table, tables without any included."""
    return {name: owner.session.scalar(select(func.count()).where(column == id_)) or 0 for name, column in COLUMNS[kind].items()}
