"""The store of access tokens: issue, revoke, purge. `callers.py` checks them at each request."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, func, select, text
from sqlalchemy.dialects.postgresql import insert

from warehouse.errors import LoginFailed, ScopeNotGranted
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Client, ClientRole, RoleUser, Token, User
from warehouse.secrets import hashing
from warehouse.secrets.hashing import TokenFormat
from warehouse.stores import activity


@dataclass(frozen=True)
class TokenTerms:
    """How long a token lasts, and what it looks like."""

    lifetime_seconds: int
    form: TokenFormat = TokenFormat.OPAQUE


@dataclass(frozen=True)
class IssuedToken:
    """A new token. Its text is not stored."""

    access_token: str
    scopes: list[str]
    user_id: UUID | None
    username: str | None
    issued_at: datetime
    expires_at: datetime


def issue_to_client(owner: Owner, client: Client, requested_scopes: set[str] | None, terms: TokenTerms) -> IssuedToken:
    """A token of the client itself."""
    return _issue(owner, client, None, _grant(client.granted_scopes, requested_scopes), terms)


def issue_to_user(
    owner: Owner,
    client: Client,
    user_id: UUID,
    requested_scopes: set[str] | None,
    terms: TokenTerms,
    password_hash: str | None = None,
    api_key_id: UUID | None = None,
) -> IssuedToken:
    """A token of a user through a client, with the scopes that the request, the client and the roles of the user all have.

    The row of the user is locked until the token is stored, and must still be active and have the password that was checked, if
    any: otherwise a token could outlive a deactivation that runs at the same time.
    """
    user = owner.session.scalar(
        owner.rows(User).where(User.id == user_id, User.active).with_for_update(read=True, key_share=True)
    )
    if user is None or (password_hash is not None and user.password_hash != password_hash):
        raise LoginFailed
    statement = select(ClientRole.granted_scopes).join(RoleUser, RoleUser.role_id == ClientRole.id)
    roles = owner.session.scalars(statement.where(ClientRole.client_id == client.id, RoleUser.user_id == user.id))
    role_scopes = {scope for scopes in roles for scope in scopes}
    scopes = _grant([scope for scope in client.granted_scopes if scope in role_scopes], requested_scopes)
    return _issue(owner, client, user, scopes, terms, api_key_id)


def revoke(owner: Owner, client: Client, token: str) -> None:
    """Deletes a token if it belongs to this client; otherwise does nothing."""
    owner.session.execute(
        delete(Token).where(
            Token.tenant_id == owner.tenant, Token.client_id == client.id, Token.token_hash == hashing.digest(token)
        )
    )


def purge_expired(owner: Owner) -> int:
    """Deletes expired tokens; returns how many."""
    return len(owner.session.scalars(delete(Token).where(Token.expires_at <= func.now()).returning(Token.token_hash)).all())


def _grant(allowed_scopes: list[str], requested_scopes: set[str] | None) -> list[str]:
    """The scopes of a token: those that are allowed and, if the request names any, requested."""
    scopes = [scope for scope in allowed_scopes if requested_scopes is None or scope in requested_scopes]
    if not scopes:
        raise ScopeNotGranted
    return scopes


def _issue(
    owner: Owner, client: Client, user: User | None, scopes: list[str], terms: TokenTerms, api_key_id: UUID | None = None
) -> IssuedToken:
    """Stores a token. Both times are taken from the clock of the database, which also decides when the token ends.

    Tenant, client and API key must still be active, and are locked like the user: no token outlives their end.
    """
    if not activity.lock_active(owner.through(client.id, api_key_id)):
        raise LoginFailed
    token = hashing.new_token(terms.form)
    now = func.date_trunc("second", func.now())
    row = insert(Token).values(
        token_hash=hashing.digest(token),
        tenant_id=owner.tenant,
        client_id=client.id,
        user_id=user.id if user else None,
        api_key_id=api_key_id,
        scopes=scopes,
        issued_at=now,
        expires_at=now + text("make_interval(secs => :lifetime)").bindparams(lifetime=terms.lifetime_seconds),
    )
    issued_at, expires_at = owner.session.execute(row.returning(Token.issued_at, Token.expires_at)).one()
    return IssuedToken(token, scopes, user.id if user else None, user.username if user else None, issued_at, expires_at)
