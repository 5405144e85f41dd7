"""After a bank was away: how many accesses wait for it, and fetching them again before the next slot does.

Each counts as an unattended session like any other: a bank is not asked more often than it may be, and logins that only their
customer can mend are left alone. A bank's answer reaches back over the time that it was away, so nothing is asked for twice.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, or_, select

from warehouse import accesses
from warehouse.database import Database, Owner
from warehouse.tables import Access, Provider, Tenant, User

AT_ONCE = 500
FAILED = (
    User.active,
    Tenant.active,
    Access.sync,
    Access.fetch_id.is_(None),
    ~Access.waits_for_customer,
    func.jsonb_array_length(Access.issues) > 0,
    or_(Access.consent_ends_at.is_(None), Access.consent_ends_at > func.now()),
)


@dataclass(frozen=True)
class Failing:
    """A provider at which the last fetch of some accesses has failed, and since when the longest of them waits."""

    provider: UUID
    name: str
    accesses: int
    waiting_since: datetime | None
    last_tried: datetime | None


def failing(operator: Owner) -> list[Failing]:
    """The providers with accesses whose last fetch failed, those with most of them first."""
    asked = select(Provider.id, Provider.name, func.count(), func.min(Access.fetched_at), func.max(Access.attempted_at))
    rows = operator.session.execute(
        asked.select_from(Access)
        .join(Provider, Provider.id == Access.provider_id)
        .join(User, User.id == Access.user_id)
        .join(Tenant, Tenant.id == Access.tenant_id)
        .where(*FAILED)
        .group_by(Provider.id)
        .order_by(func.count().desc(), Provider.name)
    )
    return [Failing(*row) for row in rows.tuples()]


def fetch_again(database: Database, provider_id: UUID) -> int:
    """Puts down a fetch for every access of a provider whose last one failed; answers how many."""
    total, last = 0, UUID(int=0)
    while True:
        with database.operating() as operator:
            found = operator.session.scalars(
                select(Access)
                .join(User, User.id == Access.user_id)
                .join(Tenant, Tenant.id == Access.tenant_id)
                .where(*FAILED, Access.provider_id == provider_id, Access.id > last)
                .order_by(Access.id)
                .limit(AT_ONCE)
                .with_for_update(skip_locked=True, of=Access)
            ).all()
            ids = [access.id for access in found]
            for access in found:
                accesses.begin_fetch(Owner(operator.session, access.tenant_id, access.user_id), access, awaited=False)
        total += len(found)
        if len(found) < AT_ONCE:
            return total
        last = ids[-1]
