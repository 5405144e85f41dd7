"""The store of accesses: they are added, fetched and removed here. What a bank reports is stored by `warehouse.stores.products`;
`warehouse.stores.fetches` looks after the fetches of all tenants.

An access has one fetch at a time, identified by `fetch_id`; only a worker that knows this id can end it. Deleting the access, or
starting another fetch, makes the id void, and with it every late answer.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import polars as pl
from sqlalchemy import Select, delete, func, or_, select, text

from warehouse.errors import Busy, NameTaken, NotFound, SealBroken
from warehouse.postgres import jobs
from warehouse.postgres.database import Owner
from warehouse.postgres.notifications import CHANNEL
from warehouse.postgres.tables import Access, Provider
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import Vault
from warehouse.stores import activity, tombstones, webhooks

STARTED, HEADER, COMPLETE = "STARTED", "HEADER", "COMPLETE"
FETCH = "fetch_access"
MEMORY = "memory"
TOUCH = text("UPDATE users SET revision = revision + :by WHERE tenant_id = :tenant AND id = :user")
RECORD_REFRESH_DAY = text(
    "UPDATE users SET refreshed_on = :day "
    "WHERE tenant_id = :tenant AND id = :user AND (refreshed_on IS NULL OR refreshed_on < :day)"
)
NOTIFY = text("SELECT pg_notify(:channel, :message)")
OPEN_SESSION = text(
    "WITH old AS (DELETE FROM bank_sessions "
    "WHERE tenant_id = :tenant AND access_id = :access AND created_at < now() - interval '24 hours') "
    "INSERT INTO bank_sessions (id, tenant_id, user_id, access_id, attended) VALUES (:id, :tenant, :user, :access, :attended)"
)
SECONDS_UNTIL_ALLOWED = text(
    "SELECT count(*), ceil(extract(epoch FROM min(created_at) + interval '24 hours' - now())) FROM ("
    "SELECT created_at FROM bank_sessions WHERE tenant_id = :tenant AND access_id = :access AND NOT attended "
    "AND created_at > now() - interval '24 hours' ORDER BY created_at DESC LIMIT :limit) AS recent"
)
HAS_FAULT = func.jsonb_array_length(Access.issues) > 0
NEVER_FETCHED = datetime(1970, 1, 1, tzinfo=UTC)


def visible(owner: Owner) -> Sequence[Access]:
    """The accesses of the user in the order of their creation, without those that have expired and are not deleted yet."""
    return owner.session.scalars(_alive(owner).order_by(Access.created_at, Access.id)).all()


def complete_users(owner: Owner, key: str, users: Collection[UUID]) -> set[UUID]:
    """Those of these users whose access of this name was fetched completely at least once."""
    statement = _alive(owner).with_only_columns(Access.user_id)
    is_complete = (Access.key == key, Access.status == COMPLETE, Access.user_id.in_(users))
    return set(owner.session.scalars(statement.where(*is_complete)))


@dataclass(frozen=True)
class AccessSummary:
    """The numbers of accesses in states that somebody should look at."""

    accesses: int
    fetching: int
    failing: int
    """Accesses whose last fetch had a fault."""
    waiting: int
    """Accesses whose customer has to do something."""
    ending: int
    """Accesses whose consent has ended, or ends within the days that were asked for."""


def summary(owner: Owner, ending_days: int) -> AccessSummary:
    """The accesses of the owner in numbers."""
    count = func.count()
    columns = (
        count,
        count.filter(Access.fetch_id.is_not(None)),
        count.filter(HAS_FAULT),
        count.filter(Access.waits_for_customer),
        count.filter(Access.consent_ends_at <= func.now() + timedelta(ending_days)),
    )
    return AccessSummary(*owner.session.execute(_alive(owner).with_only_columns(*columns)).one())


def page(
    owner: Owner, *, offset: int, limit: int, user_id: UUID | None = None, failing_only: bool = False
) -> Sequence[tuple[Access, str]]:
    """Accesses of the tenant, newest first, each with the name of its bank; those of one user, or with a fault, if asked for."""
    statement = _alive(owner).join(Provider, Provider.id == Access.provider_id).add_columns(Provider.name)
    if user_id is not None:
        statement = statement.where(Access.user_id == user_id)
    if failing_only:
        statement = statement.where(HAS_FAULT)
    rows = owner.session.execute(statement.order_by(Access.created_at.desc(), Access.id).offset(offset).limit(limit))
    return [row._tuple() for row in rows]


def lock_all(owner: Owner) -> Sequence[Access]:
    """All accesses of the user, locked in the order of their names. Whoever locks several must do it in this order."""
    return owner.session.scalars(owner.rows(Access).order_by(Access.key).with_for_update()).all()


def find(owner: Owner, key: str, *, lock: bool = False) -> Access:
    """The access of this name, locked if it is to be changed."""
    statement = _alive(owner).where(Access.key == key)
    access = owner.session.scalar(statement.with_for_update() if lock else statement)
    if access is None:
        raise NotFound("access")
    return access


def hold(owner: Owner, key: str) -> Access:
    """The access of this name, which cannot be deleted until this transaction ends."""
    access = owner.session.scalar(_alive(owner).where(Access.key == key).with_for_update(read=True, key_share=True))
    if access is None:
        raise NotFound("access")
    return access


def lock(owner: Owner, access_id: UUID) -> Access | None:
    """The access of this id, locked; None if it is gone."""
    return owner.session.scalar(_alive(owner).where(Access.id == access_id).with_for_update())


def fetch_times(owner: Owner, ids: Sequence[UUID]) -> pl.DataFrame:
    """The accesses of these ids that exist (`access`), with the time of their last fetch (`known_at`)."""
    times = owner.session.execute(select(Access.id, Access.fetched_at).where(Access.id.in_(ids)))
    rows = [(str(id_), at or NEVER_FETCHED) for id_, at in times]
    return pl.DataFrame(rows, {"access": pl.String, "known_at": pl.Datetime("us", "UTC")}, orient="row")


def add(owner: Owner, key: str, provider_id: UUID, login_hash: bytes, *, sync: bool, **values: Any) -> Access:
    """A new access, before its first fetch. Replaces one of this name that has expired; raises `Busy` if one was just added."""
    has_expired = owner.rows(Access).where(Access.key == key, Access.expires_at <= func.now()).with_for_update()
    remove(owner, owner.session.scalars(has_expired).all())
    access = Access(
        tenant_id=owner.tenant,
        user_id=owner.user_id,
        key=key,
        provider_id=provider_id,
        login_hash=login_hash,
        sync=sync,
        status=STARTED,
        **values,
    )
    try:
        return owner.add(access, "access")
    except NameTaken as error:  # another request has just added it: a retry finds it
        raise Busy from error


def remove(owner: Owner, accesses: Iterable[Access]) -> None:
    """Deletes accesses that the caller has locked, with their products, bookings, credentials and jobs."""
    accesses = list(accesses)
    ids = [access.id for access in accesses]
    if not ids:
        return
    for access_id in ids:
        sealed_values.remove(owner, subject(access_id))
        sealed_values.remove(owner, memory_subject(access_id))
    jobs.remove_waiting(owner, ids)
    webhooks.forget(owner, ids)
    for access in accesses:
        tombstones.add(owner, tombstones.ACCESS, access.id, access.user_id)
    owner.session.execute(delete(Access).where(Access.tenant_id == owner.tenant, Access.id.in_(ids)))
    if owner.user_id is not None:
        touch(owner, len(ids))  # each expired access counts in the revision until it is deleted
    for access_id in ids:
        notify(owner, access_id)


def remove_expired(owner: Owner) -> int:
    """Deletes the expired accesses of all tenants; returns how many."""
    statement = select(Access).where(Access.expires_at <= func.now()).with_for_update(skip_locked=True)
    expired_accesses = owner.session.scalars(statement).all()
    for access in expired_accesses:
        remove(Owner(owner.session, access.tenant_id, access.user_id), [access])
    return len(expired_accesses)


def end_after(seconds: int) -> Any:
    """The time this many seconds from now, by the clock of the database, which also decides when it is reached."""
    return func.now() + func.make_interval(0, 0, 0, 0, 0, 0, seconds)


def subject(access_id: UUID) -> str:
    """The subject of the sealed values of an access."""
    return f"access:{access_id}"


def seal_credentials(owner: Owner, vault: Vault, access: Access, credentials: dict[str, str]) -> None:
    """Stores credentials in place of older ones, each field as a sealed value."""
    sealed_values.remove(owner, subject(access.id))
    access.login_entered_at = func.clock_timestamp()
    for field, value in credentials.items():
        sealed_values.put(owner, vault, subject(access.id), field, value.encode())


def credentials(owner: Owner, vault: Vault, access: Access) -> dict[str, str]:
    """The credentials of an access."""
    return {field: value.decode() for field, value in sealed_values.get_all(owner, vault, subject(access.id)).items()}


def readable_credentials(owner: Owner, vault: Vault, access: Access) -> dict[str, str] | None:
    """The credentials of an access; None if a seal is broken: then the customer has to enter them again."""
    try:
        return credentials(owner, vault, access)
    except SealBroken:
        return None


def memory_subject(access_id: UUID) -> str:
    """The subject of what a connector remembers of an access. It outlives a change of the PIN."""
    return f"memory:{access_id}"


def memory(owner: Owner, vault: Vault, access: Access) -> bytes:
    """What the connector remembers of an access; empty if it is nothing, or its seal is broken."""
    try:
        return sealed_values.get_all(owner, vault, memory_subject(access.id)).get(MEMORY, b"")
    except SealBroken:
        return b""


def remember(owner: Owner, vault: Vault, access: Access, content: bytes) -> None:
    """Stores what the connector remembers of an access in place of what it remembered before."""
    sealed_values.put(owner, vault, memory_subject(access.id), MEMORY, content)


def forget_memory(owner: Owner, access: Access) -> None:
    """Deletes what the connector remembers of an access, because the access belongs to another login now."""
    sealed_values.remove(owner, memory_subject(access.id))


def begin_fetch(owner: Owner, access: Access, *, is_awaited: bool, attended_from: str | None = None) -> UUID:
    """Starts a fetch, or joins the running one; returns its id. `is_awaited`: a customer waits for it.

    A fetch of the schedule that a customer joins gets the priority of awaited ones. A fetch belongs to the client and API key
    that asked for it last.
    """
    is_running = access.fetch_id is not None
    if is_awaited or not is_running:
        access.fetch_client_id, access.fetch_api_key_id = owner.client_id, owner.api_key_id
    access.fetch_id = access.fetch_id or uuid4()
    access.fetch_attempts = access.fetch_attempts if is_running else 0
    if is_awaited and access.fetch_phase is None:
        access.fetch_phase = STARTED
    if attended_from is not None:
        access.fetch_from = attended_from
    if not is_running:
        enqueue(owner, access)
    elif is_awaited:
        jobs.raise_priority(owner, access.fetch_id)
    owner.session.flush()
    return access.fetch_id


def void_fetch(owner: Owner, access: Access) -> None:
    """Ends a fetch without a result, because the login of the access has changed, or somebody for whom it runs is inactive."""
    if access.fetch_id is not None:
        void_fetches(owner, [access])


def void_fetches(owner: Owner, accesses: Sequence[Access]) -> None:
    """Ends the fetches of accesses that the caller has locked, without a result; data, messages and issues stay."""
    if accesses:
        jobs.remove_waiting(owner, [access.id for access in accesses])
    for access in accesses:
        _forget_fetch(access)
        notify(owner, access.id)
    owner.session.flush()


def lock_with_fetch(owner: Owner) -> Sequence[Access]:
    """The accesses with a fetch that was begun through the client and API key of the owner (all, if it has neither), locked."""
    begun_by = activity.begun_by(owner, Access.fetch_client_id, Access.fetch_api_key_id)
    statement = owner.rows(Access).where(Access.fetch_id.is_not(None), *begun_by)
    return owner.session.scalars(statement.order_by(Access.key, Access.id).with_for_update()).all()


def is_fetching(owner: Owner, access_id: UUID, fetch_id: UUID) -> bool:
    """Whether this is still the fetch of the access, and those for whom it runs are active."""
    access = owner.session.scalar(owner.rows(Access).where(Access.id == access_id, Access.fetch_id == fetch_id))
    return access is not None and may_fetch(owner, access)


def may_fetch(owner: Owner, access: Access) -> bool:
    """Whether those for whom the current fetch of an access runs are active."""
    return activity.is_active(owner.through(access.fetch_client_id, access.fetch_api_key_id))


def enqueue(owner: Owner, access: Access) -> None:
    """Enqueues the job of the current fetch."""
    ids = {"tenant": owner.tenant, "user": access.user_id, "access": access.id, "fetch": access.fetch_id}
    jobs.enqueue(
        owner,
        FETCH,
        lock=access.login_hash.hex(),
        priority=0 if access.fetch_phase is None else jobs.AWAITED_PRIORITY,
        args={**{name: str(value) for name, value in ids.items()}, "provider": str(access.provider_id)},
    )


def lock_fetching(owner: Owner, access_id: UUID, fetch_id: UUID) -> Access | None:
    """The access, locked, if it still exists and this is still its fetch."""
    return owner.session.scalar(_fetching(owner, access_id, fetch_id).with_for_update())


def hold_fetching(owner: Owner, access_id: UUID, fetch_id: UUID) -> bool:
    """Whether the access still exists and this is still its fetch. If so, nobody deletes it before this transaction ends."""
    held_id = _fetching(owner, access_id, fetch_id).with_only_columns(Access.id).with_for_update(read=True, key_share=True)
    return owner.session.scalar(held_id) is not None


def _fetching(owner: Owner, access_id: UUID, fetch_id: UUID) -> Select[Access]:
    is_alive = or_(Access.expires_at.is_(None), Access.expires_at > func.now())
    return owner.rows(Access).where(Access.id == access_id, Access.fetch_id == fetch_id, is_alive)


def end_fetch(owner: Owner, access: Access, issues: list[dict[str, Any]], now: datetime) -> None:
    """Ends a fetch, successful or not. The caller changes all other columns."""
    _forget_fetch(access)
    access.attempted_at = now
    access.issues = issues
    owner.session.flush()
    notify(owner, access.id)


def notify(owner: Owner, access_id: UUID) -> None:
    """Notifies the requests that wait for this access when the transaction is committed."""
    owner.session.execute(NOTIFY, {"channel": CHANNEL, "message": str(access_id)})


def open_session(owner: Owner, access: Access, *, attended: bool) -> None:
    """Records a session at the bank; deletes records that are too old for the limit."""
    values = {"id": uuid4(), "tenant": owner.tenant, "user": access.user_id, "access": access.id, "attended": attended}
    owner.session.execute(OPEN_SESSION, values)


def seconds_until_allowed(owner: Owner, access: Access, limit: int) -> int:
    """The seconds until an unattended session is allowed: 0 if fewer than the limit began within the last 24 hours."""
    values = {"tenant": owner.tenant, "access": access.id, "limit": limit}
    count, seconds = owner.session.execute(SECONDS_UNTIL_ALLOWED, values).one()._tuple()
    return max(1, int(seconds)) if count >= limit else 0


def count_expired(owner: Owner) -> int:
    """How many accesses of the user have expired and are not deleted yet: nobody sees their bookings any more."""
    expired = owner.rows(Access).with_only_columns(func.count()).where(Access.expires_at <= func.now())
    return owner.session.scalar(expired) or 0


def touch(owner: Owner, by: int = 1) -> None:
    """Raises the revision of the user: earlier results become stale."""
    owner.session.execute(TOUCH, {"tenant": owner.tenant, "user": owner.user_id, "by": by})


def record_refresh_day(owner: Owner, day: date) -> None:
    """Records that the data of the user are those of this day, unless a later day is stored. Does not change the revision."""
    owner.session.execute(RECORD_REFRESH_DAY, {"tenant": owner.tenant, "user": owner.user_id, "day": day})


def _forget_fetch(access: Access) -> None:
    access.fetch_id = access.fetch_phase = access.fetch_from = None
    access.fetch_client_id = access.fetch_api_key_id = None


def _alive(owner: Owner) -> Select[Access]:
    return owner.rows(Access).where(or_(Access.expires_at.is_(None), Access.expires_at > func.now()))
