"""The store of redirect sessions, which tenants start to send their users through the redirect form.

A session has a secret name, which the tenant passes to its customer, and belongs to the first browser that shows it: from then on
a secret of that browser is required. Both have 256 random bits, and only their hashes are stored. A session ends after 20
minutes, which the customer can extend up to an hour; after 5 minutes without a request of the browser; with its outcome; or when
the tenant ends all sessions of the user. What was typed is deleted then; for another hour the browser is told whose form it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, select, text

from warehouse.postgres.async_connections import Connections
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import RedirectSession, Tenant, User
from warehouse.secrets import hashing, sealed_values
from warehouse.secrets.vault import Vault
from warehouse.stores import activity, dialogues

CREATE_ACCOUNT, AUTHENTICATE_ACCOUNT, SINGLE_TRANSFER = "CREATE_ACCOUNT", "AUTHENTICATE_ACCOUNT", "SINGLE_TRANSFER"
ORDER = "order"
MAX_IDLE_TIME = text("interval '5 minutes'")
EXTENSION = text("interval '20 minutes'")
MAX_DURATION = text("interval '60 minutes'")
REMEMBERED_TIME = text("interval '60 minutes'")
"""How long an ended session is remembered without anything that was typed in it."""
REMEMBERED_PROGRESS = ("language", "opener")
EXPIRED = "EXPIRED"
"""The outcome of a session that has ended by itself, and in which nothing is kept any more."""
READ_VIEW = """
    WITH s AS (
        SELECT * FROM redirect_sessions
        WHERE browser_hash = %s AND expires_at > now() AND seen_at > now() - interval '5 minutes'
    ), seen AS (
        UPDATE redirect_sessions r SET seen_at = clock_timestamp() FROM s
        WHERE r.id = s.id AND s.seen_at < now() - interval '10 seconds'
        RETURNING set_config('synchronous_commit', 'off', true)
    )
    SELECT s.id, s.tenant_id, s.user_id, s.use_case, s.access_key, s.return_to, s.turn, s.progress, s.outcome, s.provider_id,
           u.terms_hash, t.name, to_jsonb(f) - 'logo', f.logo IS NOT NULL,
           d.id, d.kind, d.phase, d.step, d.messages, d.ends_at <= now(), d.payment_id, p.name, p.blz, p.bic,
           extract(epoch FROM least(s.expires_at - now(), interval '290 seconds')), (SELECT count(*) FROM seen)
    FROM s
    JOIN users u ON u.id = s.user_id AND u.active
    JOIN tenants t ON t.id = s.tenant_id AND t.active
    LEFT JOIN form_designs f ON f.tenant_id = s.tenant_id
    LEFT JOIN dialogues d ON d.id = s.dialogue_id
    LEFT JOIN providers p ON p.id = s.provider_id
"""
OWN_COLUMNS = 12
"""The columns of `READ_VIEW` that belong to the session, its user and its tenant."""
READ_ENDED = """
    SELECT s.tenant_id, t.name, to_jsonb(f) - 'logo', f.logo IS NOT NULL, s.return_to, s.progress
    FROM redirect_sessions s
    JOIN tenants t ON t.id = s.tenant_id AND t.active
    JOIN users u ON u.id = s.user_id AND u.active
    LEFT JOIN form_designs f ON f.tenant_id = s.tenant_id
    WHERE s.browser_hash = %s AND (s.outcome IS NULL OR s.outcome = 'EXPIRED')
        AND (s.expires_at <= now() OR s.seen_at <= now() - interval '5 minutes')
"""


@dataclass(frozen=True)
class SessionDialogue:
    """The current dialogue of a session with the bank."""

    id: UUID
    kind: str
    phase: str
    step: dict[str, Any]
    messages: list[dict[str, Any]]
    over: bool
    """Whether the time for moves has passed."""
    payment_id: UUID | None = None


@dataclass(frozen=True)
class SessionView:
    """A session with everything that its next page depends on."""

    id: UUID
    tenant_id: UUID
    user_id: UUID
    use_case: str
    access_key: str | None
    return_to: str | None
    turn: int
    progress: Mapping[str, Any]
    outcome: str | None
    provider_id: UUID | None
    terms_hash: bytes | None
    tenant_name: str
    design: Mapping[str, Any]
    has_logo: bool
    talk: SessionDialogue | None
    bank_name: str | None = None
    bank_blz: str | None = None
    bank_bic: str | None = None
    seconds_left: int = 0
    """The seconds after which the session ends if the browser sends nothing."""


@dataclass(frozen=True)
class EndedSession:
    """What is still known of a session that has ended by itself: whose form it was, and the way back."""

    tenant_id: UUID
    tenant_name: str
    design: Mapping[str, Any]
    has_logo: bool
    return_to: str | None
    progress: Mapping[str, Any]


def begin(
    owner: Owner,
    vault: Vault,
    use_case: str,
    *,
    access_key: str | None = None,
    provider_id: UUID | None = None,
    return_to: str | None = None,
    order: bytes | None = None,
    **progress: Any,
) -> str:
    """The secret name of a new session."""
    name = hashing.new_secret()
    session = RedirectSession(
        tenant_id=owner.tenant,
        user_id=owner.user_id,
        session_hash=hashing.digest(name),
        use_case=use_case,
        access_key=access_key,
        provider_id=provider_id,
        return_to=return_to,
        progress=progress,
        client_id=owner.client_id,
        api_key_id=owner.api_key_id,
    )
    owner.session.add(session)
    owner.session.flush()
    if order is not None:
        sealed_values.put(owner, vault, subject(session.id), ORDER, order)
    return name


def enter(owner: Owner, name: str, browser: str | None) -> tuple[RedirectSession, str] | None:
    """The session of this name, locked, and the secret of its browser, which is created for the first browser. None for any
    other browser, and for a session that has ended.
    """
    session = owner.session.scalar(_alive().where(RedirectSession.session_hash == hashing.digest(name)).with_for_update())
    if session is None:
        return None
    if session.browser_hash is None:
        browser = hashing.new_secret()
        session.browser_hash = hashing.digest(browser)
    elif browser is None or not hashing.matches(browser, session.browser_hash) or not _awake(owner, session):
        return None
    session.seen_at = func.clock_timestamp()
    owner.session.flush()
    return session, browser


def lock(owner: Owner, session_id: UUID, turn: int) -> RedirectSession | None:
    """The session, locked, if it still expects the move of this turn."""
    conditions = (RedirectSession.id == session_id, RedirectSession.turn == turn, RedirectSession.outcome.is_(None))
    return owner.session.scalar(owner.rows(RedirectSession).where(*conditions).with_for_update())


async def read_view(connections: Connections, browser: str) -> SessionView | None:
    """The session of a browser; None if it has none that is still valid. Records now and then that the browser was seen, which
    is safe to repeat and need not survive a crash.
    """
    row = await connections.one(READ_VIEW, (hashing.digest(browser),))
    if row is None:
        return None
    *_, design, has_logo, talk_id, kind, phase, step, messages, over, payment, name, blz, bic, seconds_left, _ = row
    talk = None if talk_id is None else SessionDialogue(talk_id, kind, phase, step, messages, over, payment)
    values = {"design": design or {}, "has_logo": has_logo, "talk": talk, "bank_name": name, "bank_blz": blz, "bank_bic": bic}
    return SessionView(*row[:OWN_COLUMNS], **{**values, "seconds_left": int(seconds_left)})


async def read_ended(connections: Connections, browser: str) -> EndedSession | None:
    """The session of a browser that has ended by itself within the last hour."""
    row = await connections.one(READ_ENDED, (hashing.digest(browser),))
    if row is None:
        return None
    tenant_id, tenant_name, design, has_logo, return_to, progress = row
    return EndedSession(tenant_id, tenant_name, design or {}, has_logo, return_to, progress)


def extend(owner: Owner, session: RedirectSession) -> None:
    """Gives the customer more time, up to an hour after the beginning."""
    longer = func.least(func.clock_timestamp() + EXTENSION, RedirectSession.created_at + MAX_DURATION)
    session.expires_at = func.greatest(RedirectSession.expires_at, longer)
    session.seen_at = func.clock_timestamp()
    owner.session.flush()


def end_all(owner: Owner) -> None:
    """Ends all sessions of the user or tenant, or those that were begun through the client and API key of the owner, and deletes
    what was typed in them.
    """
    begun_by = activity.begun_by(owner, RedirectSession.client_id, RedirectSession.api_key_id)
    statement = owner.rows(RedirectSession).where(*begun_by).order_by(RedirectSession.id).with_for_update()
    for session in owner.session.scalars(statement).all():
        remove(owner, session)


def remove(owner: Owner, session: RedirectSession) -> None:
    """Deletes a session with everything typed and shown in it. A payment is kept, since the bank may know it."""
    if session.dialogue_id is not None:
        dialogues.discard(owner, session.dialogue_id)
    sealed_values.remove(owner, subject(session.id))
    owner.session.delete(session)
    owner.session.flush()


def purge_expired(owner: Owner) -> int:
    """Deletes what was typed in sessions that have ended, and an hour later the sessions; returns how many have ended."""
    is_idle = (RedirectSession.seen_at <= func.now() - MAX_IDLE_TIME) & RedirectSession.browser_hash.is_not(None)
    has_ended = (RedirectSession.expires_at <= func.now()) | is_idle
    is_old = func.least(RedirectSession.expires_at, RedirectSession.seen_at + MAX_IDLE_TIME) <= func.now() - REMEMBERED_TIME
    has_work = is_old | RedirectSession.outcome.is_distinct_from(EXPIRED)
    statement = select(RedirectSession, is_old).where(has_ended, has_work).with_for_update(skip_locked=True)
    rows = owner.session.execute(statement).all()
    for session, is_forgotten in rows:
        session_owner = Owner(owner.session, session.tenant_id, session.user_id)
        if is_forgotten or session.outcome is not None or session.browser_hash is None:
            remove(session_owner, session)
        else:
            _forget(session_owner, session)
    return len(rows)


def _forget(owner: Owner, session: RedirectSession) -> None:
    """Deletes everything typed and shown in a session, and keeps whose form it was and the way back."""
    if session.dialogue_id is not None:
        dialogues.discard(owner, session.dialogue_id)
        session.dialogue_id = None
    sealed_values.remove(owner, subject(session.id))
    session.outcome, session.provider_id, session.access_key = EXPIRED, None, None
    session.progress = {name: session.progress[name] for name in REMEMBERED_PROGRESS if name in session.progress}
    owner.session.flush()


def subject(session_id: UUID) -> str:
    """The subject of the sealed values of a session."""
    return f"form:{session_id}"


def _alive() -> Select[RedirectSession]:
    return (
        select(RedirectSession)
        .join(User, User.id == RedirectSession.user_id)
        .join(Tenant, Tenant.id == RedirectSession.tenant_id)
        .where(RedirectSession.expires_at > func.now(), User.active, Tenant.active)
    )


def _awake(owner: Owner, session: RedirectSession) -> bool:
    return bool(
        owner.session.scalar(select(RedirectSession.seen_at > func.now() - MAX_IDLE_TIME).where(RedirectSession.id == session.id))
    )
