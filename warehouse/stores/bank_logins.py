"""The store of logins at banks, over all accesses and tenants: how often each was used without its customer, which ones banks
have refused, and how often each was sent since its bank has answered.

A bank may be asked at most so often a day, whoever asks, and locks a login after three wrong PINs, whoever sends them. A refused
PIN is therefore never sent again, and a login with a refused PIN, or a locked one, is not used without its customer until it is
entered anew. Attempts are counted before they are made (the rules: `pipelines/banks/login_attempts.py`). What is known of a login
outlives its accesses and belongs to no tenant: a row has nothing but keyed hashes of the login and of its secrets, the bank, and
days, times and numbers. Without the vault's keys nobody can tell which login it is about.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, LoginAttempt, Provider, RefusedLogin, UnattendedSessions
from warehouse.secrets.vault import Vault

SESSIONS, REFUSALS = "unattended sessions", "refused logins"
"""The purposes of the keyed hashes."""
COUNT_DAYS = 3
"""Counts of earlier days are deleted: only that of the current day, in the zone of the settings, matters."""
REFUSAL_DAYS = 90
ATTEMPT_DAYS = 90
TAKE_SESSION = text(
    "INSERT INTO unattended_sessions AS counted (login_hash, provider_id, day, sessions) VALUES (:login, :provider, :day, 1) "
    "ON CONFLICT (login_hash, provider_id, day) DO UPDATE SET sessions = counted.sessions + 1 WHERE counted.sessions < :limit "
    "RETURNING sessions"
)
ATTEMPTS = text(
    "SELECT now(), unanswered, sent_at, accepted_at FROM (SELECT) AS always LEFT JOIN login_attempts "
    "ON login_hash = :login AND provider_id = :provider AND secret_hash = :secret"
)
STORE_ATTEMPTS = text(
    "INSERT INTO login_attempts (login_hash, provider_id, secret_hash, unanswered, sent_at, accepted_at) "
    "VALUES (:login, :provider, :secret, :unanswered, :sent_at, :accepted_at) ON CONFLICT (login_hash, provider_id, secret_hash) "
    "DO UPDATE SET unanswered = excluded.unanswered, sent_at = excluded.sent_at, accepted_at = excluded.accepted_at"
)
ACCEPT = text(
    "UPDATE login_attempts SET unanswered = 0, accepted_at = clock_timestamp() "
    "WHERE login_hash = :login AND provider_id = :provider AND secret_hash = :secret"
)


def clock(owner: Owner) -> datetime:
    """The time by the clock of the database."""
    return owner.session.scalars(select(func.now())).one()


def day_of(now: datetime, zone: tzinfo) -> date:
    """The day to which a session counts: that of the zone, which has 23 or 25 hours when the clocks change."""
    return now.astimezone(zone).date()


def seconds_until_next_day(now: datetime, zone: tzinfo) -> int:
    """The seconds until the next day of the zone begins, at least one."""
    tomorrow = day_of(now, zone) + timedelta(days=1)
    midnight = datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=zone)
    return max(1, round(midnight.timestamp() - now.timestamp()))


def count_sessions(owner: Owner, vault: Vault, access: Access, day: date) -> int:
    """The sessions of the login of an access on a day."""
    is_row = (
        UnattendedSessions.login_hash == _counted_hash(owner, vault, access),
        UnattendedSessions.provider_id == access.provider_id,
        UnattendedSessions.day == day,
    )
    return owner.session.scalar(select(UnattendedSessions.sessions).where(*is_row)) or 0


def take_session(owner: Owner, vault: Vault, access: Access, day: date, limit: int) -> bool:
    """Counts one more session of the login of an access; False, without a change, if the limit is reached.

    One statement counts and refuses: sessions that begin at the same time wait for each other's row.
    """
    keys = {"login": _counted_hash(owner, vault, access), "provider": access.provider_id, "day": day}
    return owner.session.execute(TAKE_SESSION, {**keys, "limit": limit}).first() is not None


def purge_old_counts(owner: Owner) -> int:
    """Deletes the counts of days long past; returns how many."""
    is_old = UnattendedSessions.day < func.current_date() - COUNT_DAYS
    return len(owner.session.scalars(delete(UnattendedSessions).where(is_old).returning(UnattendedSessions.day)).all())


def _counted_hash(owner: Owner, vault: Vault, access: Access) -> bytes:
    """The keyed hash under which the login of an access is counted. A login that is published is used by many people: then the
    access counts by itself.
    """
    is_published = owner.session.get_one(Provider, access.provider_id).published_logins
    return vault.keyed_hash(SESSIONS, access.login_hash + (access.id.bytes if is_published else b""))


@dataclass(frozen=True)
class LoginTrace:
    """The keyed hashes by which a login at a bank, and its secrets, are recognised."""

    provider_id: UUID
    login_hash: bytes = field(repr=False)
    secret_hash: bytes = field(repr=False)


def trace(owner: Owner, vault: Vault, provider_id: UUID, login_hash: bytes, credentials: Mapping[str, str]) -> LoginTrace:
    """The trace of a login. One that is published is used by many people: then it counts for each user."""
    is_published = owner.session.get_one(Provider, provider_id).published_logins
    whose = owner.user_id.bytes if is_published and owner.user_id is not None else b""
    login = vault.keyed_hash(REFUSALS, login_hash + whose)
    secrets = json.dumps(sorted(credentials.items())).encode()
    return LoginTrace(provider_id, login, vault.keyed_hash(REFUSALS, login + secrets))


def refusals(owner: Owner, login: LoginTrace) -> Sequence[RefusedLogin]:
    """What the bank has refused of a login, the newest first."""
    newest_first = RefusedLogin.refused_at.desc()
    return owner.session.scalars(select(RefusedLogin).where(_is_of(login)).order_by(newest_first)).all()


def stopping_refusal(
    rows: Sequence[RefusedLogin], login: LoginTrace, entered_at: datetime | None, *, attended: bool
) -> RefusedLogin | None:
    """Which of its refusals stops a login; None if it may be used. `entered_at` is when the customer entered it, None
    for just now; `attended` says whether the customer is waiting.

    A customer who waits may use a login of which another PIN was refused, and the bank then says whether it is right. What the
    bank has locked must be entered anew.
    """
    refused_secrets = [row for row in rows if row.secret_hash == login.secret_hash and not row.locked]
    holds = [row for row in rows if row.held and entered_at is not None and row.refused_at >= entered_at]
    stopping = [row for row in holds if row.locked or not attended]
    return next(iter(refused_secrets + stopping), None)


def is_refused(owner: Owner, login: LoginTrace) -> bool:
    """Whether the bank has refused the secrets of a login."""
    return any(row.secret_hash == login.secret_hash and not row.locked for row in refusals(owner, login))


def record_refusal(owner: Owner, login: LoginTrace, *, locked: bool) -> None:
    """Records that the bank has refused a login: its secrets, or because it is locked."""
    values = {"locked": locked, "held": True, "refused_at": func.clock_timestamp()}
    statement = insert(RefusedLogin).values(
        login_hash=login.login_hash, provider_id=login.provider_id, secret_hash=login.secret_hash, **values
    )
    keys = ["login_hash", "provider_id", "secret_hash"]
    owner.session.execute(statement.on_conflict_do_update(index_elements=keys, set_=values))


def release(owner: Owner, login: LoginTrace) -> None:
    """Lets a login be used again, because the bank has accepted it. Refused secrets stay refused."""
    owner.session.execute(delete(RefusedLogin).where(_is_of(login), RefusedLogin.locked))
    owner.session.execute(update(RefusedLogin).where(_is_of(login), RefusedLogin.held).values(held=False))


def forget_refusals(owner: Owner, provider_id: UUID) -> int:
    """Deletes all refusals of a bank that has refused logins by mistake; returns how many."""
    statement = delete(RefusedLogin).where(RefusedLogin.provider_id == provider_id).returning(RefusedLogin.refused_at)
    return len(owner.session.scalars(statement).all())


def purge_old_refusals(owner: Owner) -> int:
    """Deletes refusals of long ago; returns how many. The accesses that they have stopped wait for their customers."""
    is_old = RefusedLogin.refused_at < func.now() - func.make_interval(0, 0, 0, REFUSAL_DAYS)
    return len(owner.session.scalars(delete(RefusedLogin).where(is_old).returning(RefusedLogin.refused_at)).all())


@dataclass(frozen=True)
class LoginAttempts:
    """How often the secrets of a login were sent since an answer was heard, when last, and when the bank accepted them last."""

    unanswered: int = 0
    sent_at: datetime | None = None
    accepted_at: datetime | None = None


def attempts(owner: Owner, login: LoginTrace) -> tuple[LoginAttempts, datetime]:
    """The attempts with the secrets of a login, and the time by the clock of the database. Jobs with one login run one after the
    other, so that nobody changes them meanwhile.
    """
    clock_time, unanswered, *times = owner.session.execute(ATTEMPTS, _keys_of(login)).one()._tuple()
    return LoginAttempts(unanswered or 0, *times), clock_time


def store_attempts(owner: Owner, login: LoginTrace, counts: LoginAttempts) -> None:
    """Stores the attempts with the secrets of a login."""
    if counts.sent_at is None:
        return
    values = {"unanswered": counts.unanswered, "sent_at": counts.sent_at, "accepted_at": counts.accepted_at}
    owner.session.execute(STORE_ATTEMPTS, {**_keys_of(login), **values})


def accept(owner: Owner, login: LoginTrace) -> None:
    """Notes that the bank has accepted the secrets of a login now."""
    owner.session.execute(ACCEPT, _keys_of(login))


def purge_old_attempts(owner: Owner) -> int:
    """Deletes attempts with logins that were not used for long; returns how many. A login counts as never accepted then."""
    is_old = LoginAttempt.sent_at < func.now() - func.make_interval(0, 0, 0, ATTEMPT_DAYS)
    return len(owner.session.scalars(delete(LoginAttempt).where(is_old).returning(LoginAttempt.sent_at)).all())


def _keys_of(login: LoginTrace) -> dict[str, UUID | bytes]:
    """The values of the statements about the attempts with a login."""
    return {"login": login.login_hash, "provider": login.provider_id, "secret": login.secret_hash}


def _is_of(login: LoginTrace) -> ColumnElement[bool]:
    return and_(RefusedLogin.login_hash == login.login_hash, RefusedLogin.provider_id == login.provider_id)
