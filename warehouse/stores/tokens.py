"""The store of access tokens: issue, revoke, purge. Their check at each request is `callers.py`."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, func, select, text
from sqlalchemy.dialects.postgresql import insert

from warehouse.errors import LoginFailed, ScopeNotGranted
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Client, ClientRole, RoleUser, Token, User
from warehouse.secrets import hashing


@dataclass(frozen=True)
class IssuedToken:
    """A token that was just issued; the only moment at which its text is known."""

    access_token: str
    scopes: list[str]
    user_id: UUID | None
    username: str | None
    issued_at: datetime
    expires_at: datetime


def issue_to_client(owner: Owner, client: Client, wanted: set[str] | None, lifetime_seconds: int) -> IssuedToken:
    """A token of the client itself."""
    return _issue(owner, client, None, _granted(client.granted_scopes, wanted), lifetime_seconds)


def issue_to_user(
    owner: Owner, client: Client, user_id: UUID, wanted: set[str] | None, lifetime_seconds: int, password_hash: str | None = None
) -> IssuedToken:
    """A token of a user through a client, with what request, client and the user's roles all allow.

    The user row is locked against deactivation until the token is stored, and must still be active and (where a password was
    checked) have the password that was checked: otherwise a token could outlive a deactivation that ran at the same time.
    """
    user = owner.session.scalar(
        owner.rows(User).where(User.id == user_id, User.active).with_for_update(read=True, key_share=True)
    )
    if user is None or (password_hash is not None and user.password_hash != password_hash):
        raise LoginFailed
    roles = select(ClientRole.granted_scopes).join(RoleUser, RoleUser.role_id == ClientRole.id)
    of_roles = owner.session.scalars(roles.where(ClientRole.client_id == client.id, RoleUser.user_id == user.id))
    allowed = {scope for granted in of_roles for scope in granted}
    return _issue(owner, client, user, _granted([s for s in client.granted_scopes if s in allowed], wanted), lifetime_seconds)


def revoke(owner: Owner, client: Client, token: str) -> None:
    """Ends a token if it is one of this client's; anything else is left alone."""
    owner.session.execute(
        delete(Token).where(
            Token.tenant_id == owner.tenant, Token.client_id == client.id, Token.token_hash == hashing.digest(token)
        )
    )


def purge_expired(owner: Owner) -> int:
    """Deletes tokens that have expired; answers how many."""
    return len(owner.session.scalars(delete(Token).where(Token.expires_at <= func.now()).returning(Token.token_hash)).all())


def _granted(allowed: list[str], wanted: set[str] | None) -> list[str]:
    """The scopes that a token gets: all that are allowed, or those of them that were wanted."""
    scopes = allowed if wanted is None else [scope for scope in allowed if scope in wanted]
    if not scopes:
        raise ScopeNotGranted
    return scopes


def _issue(owner: Owner, client: Client, user: User | None, scopes: list[str], lifetime_seconds: int) -> IssuedToken:
    """Stores a token. Both times are the database's, since that clock also decides when the token ends."""
    token = hashing.new_secret()
    now = func.date_trunc("second", func.now())
    row = insert(Token).values(
        token_hash=hashing.digest(token),
        tenant_id=owner.tenant,
        client_id=client.id,
        user_id=user.id if user else None,
        scopes=scopes,
        issued_at=now,
        expires_at=now + text("make_interval(secs => :lifetime)").bindparams(lifetime=lifetime_seconds),
    )
    issued_at, expires_at = owner.session.execute(row.returning(Token.issued_at, Token.expires_at)).one()
    return IssuedToken(token, scopes, user.id if user else None, user.username if user else None, issued_at, expires_at)
