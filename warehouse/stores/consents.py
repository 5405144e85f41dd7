"""The store of ends of consents: the accesses whose tenants are to be told that their consent ends."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import case, or_, select

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Tenant, User

NOTICE_DAYS = (30, 7, 1, 0)
"""How many days before the end of a consent its tenant is told; 0 is the end itself."""
SAME_CONSENT = timedelta(days=7)
"""Banks state the end of one consent a little differently from day to day. An end that is later by more is that of a new one."""


def lock_due(owner: Owner, now: datetime, limit: int) -> Sequence[Access]:
    """Accesses of active users whose consent has come to a notice that was not sent, locked. Those that others have locked are
    left out.
    """
    ends_at = Access.consent_ends_at
    nearest_days = case(*((ends_at <= now + timedelta(days), days) for days in sorted(NOTICE_DAYS)))
    is_untold = or_(
        Access.consent_told_end.is_(None),
        ends_at > Access.consent_told_end + SAME_CONSENT,
        nearest_days < Access.consent_told_days,
    )
    statement = (
        select(Access)
        .join(User, User.id == Access.user_id)
        .join(Tenant, Tenant.id == Access.tenant_id)
        .where(ends_at <= now + timedelta(max(NOTICE_DAYS)), is_untold, User.active, Tenant.active)
        .where(or_(Access.expires_at.is_(None), Access.expires_at > now))
        .order_by(Access.id)
        .limit(limit)
    )
    return owner.session.scalars(statement.with_for_update(skip_locked=True, of=Access)).all()
