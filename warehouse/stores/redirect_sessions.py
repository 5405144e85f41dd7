"""The store of redirect sessions: ways through the redirect form that tenants have begun for their users.

A session has a name, which the tenant hands to its customer, and belongs to the first browser that shows this name: from then on
a secret of that browser is what counts. Both have 256 random bits, and only hashes of them are stored. A session ends after 20
minutes, after 5 in which the browser was silent, with its outcome, or when the tenant ends all of its user's.
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
from warehouse.stores import dialogues

CREATE_ACCOUNT, AUTHENTICATE_ACCOUNT, SINGLE_TRANSFER = "CREATE_ACCOUNT", "AUTHENTICATE_ACCOUNT", "SINGLE_TRANSFER"
ORDER = "order"
MAX_IDLE_TIME = text("interval '5 minutes'")
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
           (SELECT count(*) FROM seen)
    FROM s
    JOIN users u ON u.id = s.user_id AND u.active
    JOIN tenants t ON t.id = s.tenant_id AND t.active
    LEFT JOIN form_designs f ON f.tenant_id = s.tenant_id
    LEFT JOIN dialogues d ON d.id = s.dialogue_id
    LEFT JOIN providers p ON p.id = s.provider_id
"""
OWN_COLUMNS = 12
"""Of `READ_VIEW`: those of the session, its user and its tenant."""


@dataclass(frozen=True)
class SessionDialogue:
    """The dialogue with the bank that a session is at."""

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
    """A session with all that its next page depends on, in one look."""

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
    )
    owner.session.add(session)
    owner.session.flush()
    if order is not None:
        sealed_values.put(owner, vault, subject(session.id), ORDER, order)
    return name


def enter(owner: Owner, name: str, browser: str | None) -> tuple[RedirectSession, str] | None:
    """The session of this name, locked, and the secret of its browser: a new one for the first browser that comes, later only
    for this one. None for everybody else, and for a session whose time is over.
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
    """The user's session, locked, if it still waits for the move of this turn."""
    wanted = (RedirectSession.id == session_id, RedirectSession.turn == turn, RedirectSession.outcome.is_(None))
    return owner.session.scalar(owner.rows(RedirectSession).where(*wanted).with_for_update())


async def read_view(connections: Connections, browser: str) -> SessionView | None:
    """The session of a browser; None if it has none whose time is not over. That it was seen is noted now and then, which is safe
    to do twice, and need not survive a crash.
    """
    row = await connections.one(READ_VIEW, (hashing.digest(browser),))
    if row is None:
        return None
    *_, design, has_logo, talk_id, kind, phase, step, messages, over, payment, name, blz, bic, _ = row
    talk = None if talk_id is None else SessionDialogue(talk_id, kind, phase, step, messages, over, payment)
    rest = {"design": design or {}, "has_logo": has_logo, "talk": talk, "bank_name": name, "bank_blz": blz, "bank_bic": bic}
    return SessionView(*row[:OWN_COLUMNS], **rest)


def end_all(owner: Owner) -> None:
    """Ends all sessions of the user. What was typed goes with them."""
    mine = owner.rows(RedirectSession).with_for_update()
    for session in owner.session.scalars(mine).all():
        remove(owner, session)


def remove(owner: Owner, session: RedirectSession) -> None:
    """Deletes a session with what was typed and shown. A payment stays: the bank may have heard of it."""
    if session.dialogue_id is not None:
        dialogues.discard(owner, session.dialogue_id)
    sealed_values.remove(owner, subject(session.id))
    owner.session.delete(session)
    owner.session.flush()


def purge_expired(owner: Owner) -> int:
    """Deletes sessions whose time is over; answers how many."""
    over = (RedirectSession.expires_at <= func.now()) | (
        (RedirectSession.seen_at <= func.now() - MAX_IDLE_TIME) & RedirectSession.browser_hash.is_not(None)
    )
    expired = owner.session.scalars(select(RedirectSession).where(over).with_for_update(skip_locked=True)).all()
    for session in expired:
        remove(Owner(owner.session, session.tenant_id, session.user_id), session)
    return len(expired)


def subject(session_id: UUID) -> str:
    """Under which name the sealed values of a session lie."""
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
