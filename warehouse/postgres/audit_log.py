"""The store of the audit log: who did what in the console, to which object, and when. Entries are added and never changed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func
from sqlalchemy.dialects.postgresql import insert

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import AuditEntry, Tenant

COMMAND_LINE = "kontor"
"""The actor of what is done on the command line."""


@dataclass(frozen=True)
class AuditActor:
    """Who does something: an account of the console, or the command line, and the id of the request."""

    name: str = COMMAND_LINE
    role: str = "operator"
    account_id: UUID | None = None
    correlation_id: str | None = None


@dataclass(frozen=True)
class Deed:
    """What is done: an action, and the object that it is done to. `details` are numbers and names of ours, no personal data."""

    action: str
    object_id: str | None = None
    tenant_id: UUID | None = None
    user_id: UUID | None = None
    details: dict[str, Any] = field(default_factory=dict)


def record(owner: Owner, actor: AuditActor, deed: Deed) -> None:
    """Adds an entry, in the transaction of what it tells."""
    values = {
        "account_id": actor.account_id,
        "actor": actor.name,
        "role": actor.role,
        "correlation_id": actor.correlation_id,
        "action": deed.action,
        "object_id": deed.object_id,
        "tenant_id": deed.tenant_id or owner.tenant_id,
        "user_id": deed.user_id,
        "details": deed.details,
    }
    owner.session.execute(insert(AuditEntry).values(values))


def page(owner: Owner, *, offset: int, limit: int) -> Sequence[tuple[AuditEntry, str | None]]:
    """The entries that the owner may see, newest first, each with the name of its tenant."""
    statement = owner.rows(AuditEntry).add_columns(Tenant.name).join(Tenant, Tenant.id == AuditEntry.tenant_id, isouter=True)
    ordered = statement.order_by(AuditEntry.id.desc()).offset(offset).limit(limit)
    return [(row[0], row[1]) for row in owner.session.execute(ordered)]


def purge_old(owner: Owner, days: int) -> int:
    """Deletes entries that are older than `days`; returns how many."""
    is_old = AuditEntry.at <= func.now() - timedelta(days)
    return len(owner.session.scalars(delete(AuditEntry).where(is_old).returning(AuditEntry.id)).all())
