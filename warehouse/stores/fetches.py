"""The store of fetches of all tenants, for the operator: which are due, running, lost or failed, and whose consents end."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Select, case, func, or_, select, text

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Provider, Tenant, User
from warehouse.stores import accesses
from warehouse.stores.activity import IS_SERVED
from warehouse.stores.providers import WITHOUT_BANK

NO_JOB = "NOT EXISTS (SELECT FROM procrastinate_jobs j WHERE j.args ->> 'fetch' = accesses.fetch_id::text)"
IS_IDLE = Access.fetch_id.is_(None)
MAY_BE_FETCHED = (
    User.active,
    Tenant.active,
    IS_SERVED,
    Access.sync,
    Access.provider_id.not_in(WITHOUT_BANK),
    IS_IDLE,
    ~Access.waits_for_customer,
    or_(Access.consent_ends_at.is_(None), Access.consent_ends_at > func.now()),
)
"""The conditions under which an access may be fetched without its customer."""
NOTICE_DAYS = (30, 7, 1, 0)
"""How many days before the end of a consent its tenant is told; 0 is the end itself."""
SAME_CONSENT = timedelta(days=7)
"""Banks state the end of one consent a little differently from day to day. An end that is later by more is that of a new one."""
HAS_FAILED = accesses.HAS_FAULT


@dataclass(frozen=True)
class FailingProvider:
    """A provider at which the last fetch of some accesses has failed, with the time of their oldest successful one."""

    provider: UUID
    name: str
    accesses: int
    waiting_since: datetime | None
    last_tried: datetime | None


def due_accesses(owner: Owner, slot: datetime, limit: int) -> Sequence[Access]:
    """Accesses that the refresh of this slot should fetch and has not tried yet, locked."""
    untried = [or_(at.is_(None), at < slot) for at in (Access.slot_at, Access.attempted_at)]
    return _lock(owner, _allowed(*untried).order_by(Access.slot_at.nulls_first(), Access.id), limit)


def failed_accesses(owner: Owner, provider_id: UUID, after: UUID, limit: int) -> Sequence[Access]:
    """Accesses of a provider whose last fetch failed, locked, in the order of their ids, from after this id."""
    return _lock(owner, _allowed(HAS_FAILED, Access.provider_id == provider_id, Access.id > after).order_by(Access.id), limit)


def trial_access(owner: Owner, provider_id: UUID) -> Access | None:
    """The access of a provider whose failed fetch is the longest ago, locked; None if there is none that may be fetched."""
    oldest = _allowed(HAS_FAILED, Access.provider_id == provider_id).order_by(Access.attempted_at, Access.id)
    return next(iter(_lock(owner, oldest, 1)), None)


def failing_since_success(
    owner: Owner, provider_id: UUID, fault_codes: Collection[str], answer_codes: Collection[str], since: datetime
) -> int:
    """The number of accesses of a provider whose last fetch ended with one of these faults, after `since` and after the last
    fetch of any access that brought data, or ended with a code with which the bank has answered.
    """
    code = Access.issues[0]["code"].astext
    last_success = (
        select(func.greatest(func.max(Access.fetched_at), func.max(Access.attempted_at).filter(code.in_(answer_codes))))
        .where(Access.provider_id == provider_id)
        .scalar_subquery()
    )
    statement = select(func.count()).where(
        Access.provider_id == provider_id,
        code.in_(fault_codes),
        Access.attempted_at > since,
        Access.attempted_at > func.coalesce(last_success, since),
    )
    return owner.session.scalar(statement) or 0


def failing_providers(owner: Owner) -> list[FailingProvider]:
    """The providers with accesses whose last fetch failed, those with the most of them first."""
    count = func.count()
    rows = owner.session.execute(
        _allowed(HAS_FAILED)
        .join(Provider, Provider.id == Access.provider_id)
        .with_only_columns(Provider.id, Provider.name, count, func.min(Access.fetched_at), func.max(Access.attempted_at))
        .group_by(Provider.id)
        .order_by(count.desc(), Provider.name)
    )
    return [FailingProvider(*row) for row in rows.tuples()]


@dataclass(frozen=True)
class SlotFetches:
    """The accesses that the refresh of a slot has tried: all, those still being fetched, and those with data of the slot."""

    accesses: int
    unended: int
    fetched: int


@dataclass(frozen=True)
class DataAge:
    """How old the data of accesses are that may be fetched without their customers: their number, that of those with older data
    than allowed, and the time of the oldest data.
    """

    accesses: int
    outdated: int
    oldest_at: datetime | None


def slot_fetches(owner: Owner, slot: datetime) -> SlotFetches:
    """How far the refresh of a slot has come."""
    count = func.count()
    statement = select(
        count, count.filter(Access.fetch_id.is_not(None)), count.filter(Access.fetched_at >= slot, Access.fetch_id.is_(None))
    )
    return SlotFetches(*owner.session.execute(statement.where(Access.slot_at == slot)).one())


def count_unended(owner: Owner, slot: datetime) -> dict[str, int]:
    """The number of fetches of a slot that have not ended, by the name of the provider."""
    count = select(Provider.name, func.count()).join(Access).where(Access.fetch_id.is_not(None), Access.slot_at == slot)
    return dict(owner.session.execute(count.group_by(Provider.name)).tuples().all())


def data_age(owner: Owner, oldest_allowed: datetime) -> DataAge:
    """How old the data of accesses are that may be fetched without their customers, and were added before `oldest_allowed`."""
    is_outdated = or_(Access.fetched_at.is_(None), Access.fetched_at < oldest_allowed)
    columns = (func.count(), func.count().filter(is_outdated), func.min(Access.fetched_at))
    may_be_fetched = [condition for condition in MAY_BE_FETCHED if condition is not IS_IDLE]
    statement = (
        select(*columns)
        .select_from(Access)
        .join(User, User.id == Access.user_id)
        .join(Tenant, Tenant.id == Access.tenant_id)
        .where(*may_be_fetched, Access.created_at < oldest_allowed)
    )
    return DataAge(*owner.session.execute(statement).one())


def count_running(owner: Owner) -> dict[str, int]:
    """The number of running fetches, by the name of the provider."""
    count = select(Provider.name, func.count()).join(Access).where(Access.fetch_id.is_not(None))
    return dict(owner.session.execute(count.group_by(Provider.name)).tuples().all())


def count_first_fetches(owner: Owner, key: str) -> int:
    """The number of accesses of this name that are being fetched for the first time."""
    is_incomplete = Access.status != accesses.COMPLETE
    return owner.session.scalar(select(func.count()).where(Access.key == key, is_incomplete, Access.fetch_id.is_not(None))) or 0


def resume_lost(owner: Owner) -> int:
    """Enqueues every fetch again whose job was lost before its end; returns how many."""
    statement = select(Access).where(Access.fetch_id.is_not(None), text(NO_JOB)).with_for_update(skip_locked=True)
    lost_accesses = owner.session.scalars(statement).all()
    for access in lost_accesses:
        access.fetch_attempts += 1
        accesses.enqueue(Owner(owner.session, access.tenant_id, access.user_id), access)
    owner.session.flush()
    return len(lost_accesses)


def lock_ending_consents(owner: Owner, now: datetime, limit: int) -> Sequence[Access]:
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


def _allowed(*conditions: ColumnElement[bool]) -> Select[Access]:
    statement = select(Access).join(User, User.id == Access.user_id).join(Tenant, Tenant.id == Access.tenant_id)
    return statement.where(*MAY_BE_FETCHED, *conditions)


def _lock(owner: Owner, statement: Select[Access], limit: int) -> Sequence[Access]:
    """Up to `limit` of the accesses, locked. Those that others have locked are left out."""
    return owner.session.scalars(statement.limit(limit).with_for_update(skip_locked=True, of=Access)).all()
