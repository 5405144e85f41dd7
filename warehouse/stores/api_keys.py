"""The store of API keys: each stands for one user of one client at the classic token endpoint."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import delete, select

from warehouse.errors import LoginFailed, NotFound
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import ApiKey, Client, Tenant, Token, User
from warehouse.secrets import hashing


def create(owner: Owner, client: Client, user: User, *, description: str | None = None) -> tuple[ApiKey, str]:
    """A new key and its text, which cannot be shown again."""
    secret = hashing.new_secret()
    key = ApiKey(
        tenant_id=owner.tenant, client_id=client.id, user_id=user.id, key_hash=hashing.digest(secret), description=description
    )
    owner.session.add(key)
    owner.session.flush()
    return key, secret


def visible(owner: Owner) -> Sequence[tuple[ApiKey, Client, User]]:
    """All keys of the tenant with their client and user."""
    statement = owner.rows(ApiKey).join(Client, Client.id == ApiKey.client_id).join(User, User.id == ApiKey.user_id)
    return [row._tuple() for row in owner.session.execute(statement.add_columns(Client, User).order_by(ApiKey.created_at))]


def page(owner: Owner, *, offset: int, limit: int) -> Sequence[tuple[ApiKey, str]]:
    """Keys of the tenant, newest first, each with the name of its client."""
    statement = owner.rows(ApiKey).join(Client, Client.id == ApiKey.client_id).add_columns(Client.name)
    ordered = statement.order_by(ApiKey.created_at.desc(), ApiKey.id).offset(offset).limit(limit)
    return [row._tuple() for row in owner.session.execute(ordered)]


def find(owner: Owner, key_id: UUID) -> tuple[ApiKey, Client, User]:
    """A key with its client and user."""
    statement = owner.rows(ApiKey).join(Client, Client.id == ApiKey.client_id).join(User, User.id == ApiKey.user_id)
    row = owner.session.execute(statement.where(ApiKey.id == key_id).add_columns(Client, User)).one_or_none()
    if row is None:
        raise NotFound("API key")
    return row._tuple()


def disable(owner: Owner, key_id: UUID) -> None:
    """Disables a key and deletes its tokens, so that enabling it revives none."""
    key = _lock(owner, key_id)
    key.active = False
    owner.session.execute(delete(Token).where(Token.tenant_id == owner.tenant, Token.api_key_id == key.id))


def enable(owner: Owner, key_id: UUID) -> None:
    """Enables a disabled key."""
    _lock(owner, key_id).active = True


def authenticate(owner: Owner, secret: str) -> tuple[Tenant, Client, ApiKey]:
    """An active key, with its tenant and client."""
    row = owner.session.execute(
        select(Tenant, Client, ApiKey)
        .join(Client, Client.tenant_id == Tenant.id)
        .join(ApiKey, ApiKey.client_id == Client.id)
        .where(ApiKey.key_hash == hashing.digest(secret), ApiKey.active, Client.active, Tenant.active)
    ).one_or_none()
    if row is None:
        raise LoginFailed
    return row._tuple()


def _lock(owner: Owner, key_id: UUID) -> ApiKey:
    """The key, locked so that no token is issued until this transaction ends."""
    key = owner.session.scalar(owner.rows(ApiKey).where(ApiKey.id == key_id).with_for_update())
    if key is None:
        raise NotFound("API key")
    return key
