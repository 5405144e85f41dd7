"""The store of clients and client roles."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import selectinload

from warehouse.errors import Invalid, NotFound
from warehouse.inputs import naming
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Client, ClientRole, RoleUser, Tenant, Token, User
from warehouse.secrets import hashing

MIN_SECRET_LENGTH = 32


def create(
    owner: Owner, name: str, scopes: Iterable[str], *, description: str | None = None, secret: str | None = None
) -> tuple[Client, str]:
    """A new client and its secret, which is not stored and cannot be shown again."""
    new_secret = _secret(secret)
    client = Client(
        tenant_id=owner.tenant,
        name=naming.segment(name),
        description=description,
        secret_hash=hashing.digest(new_secret),
        granted_scopes=naming.scope_list(scopes),
    )
    return owner.add(client, f"client {name}"), new_secret


def rotate_secret(owner: Owner, name: str, secret: str | None = None, *, overlap_seconds: int = 0) -> str:
    """A new secret. The old one stays valid for the overlap; without an overlap, all tokens of the client end at once."""
    client = find(owner, name)
    new_secret = _secret(secret)
    client.previous_secret_hash, client.previous_secret_until = None, None
    if overlap_seconds:
        client.previous_secret_hash = client.secret_hash
        client.previous_secret_until = owner.session.scalar(select(func.now() + timedelta(seconds=overlap_seconds)))
    else:
        owner.session.execute(delete(Token).where(Token.tenant_id == owner.tenant, Token.client_id == client.id))
    client.secret_hash = hashing.digest(new_secret)
    return new_secret


def disable(owner: Owner, name: str) -> Client:
    """Disables a client and deletes its tokens, so that enabling it revives none."""
    client = _lock(owner, name)
    client.active = False
    owner.session.execute(delete(Token).where(Token.tenant_id == owner.tenant, Token.client_id == client.id))
    return client


def enable(owner: Owner, name: str) -> None:
    """Enables a disabled client."""
    _lock(owner, name).active = True


def has_secret(owner: Owner, client: Client, secret: str) -> bool:
    """Whether a secret is the current one of the client, or the previous one during the overlap."""
    if hashing.matches(secret, client.secret_hash):
        return True
    before, until = client.previous_secret_hash, client.previous_secret_until
    if before is None or until is None or not hashing.matches(secret, before):
        return False
    return bool(owner.session.scalar(select(func.now() < until)))


def visible(owner: Owner) -> Sequence[Client]:
    """All clients of the tenant with their roles."""
    return owner.session.scalars(owner.rows(Client).options(selectinload(Client.roles)).order_by(Client.name)).all()


def find(owner: Owner, name: str) -> Client:
    """The client of this name with its roles."""
    client = owner.session.scalar(owner.rows(Client).where(Client.name == name).options(selectinload(Client.roles)))
    if client is None:
        raise NotFound(f"client {name}")
    return client


def find_for_login(owner: Owner, username: str) -> tuple[Client, Tenant] | None:
    """The active client `<tenant>/<client>` and its tenant, or None. The caller checks the secret."""
    tenant_name, _, name = username.partition("/")
    row = owner.session.execute(
        select(Client, Tenant)
        .join(Tenant, Tenant.id == Client.tenant_id)
        .where(Tenant.name == tenant_name, Client.name == name, Tenant.active, Client.active)
    ).one_or_none()
    return (row[0], row[1]) if row else None


def create_role(
    owner: Owner, client_name: str, name: str, scopes: Iterable[str], *, default_role: bool, description: str | None = None
) -> ClientRole:
    """A new role of a client."""
    role = ClientRole(
        tenant_id=owner.tenant,
        client_id=find(owner, client_name).id,
        name=naming.segment(name),
        description=description,
        default_role=default_role,
        granted_scopes=naming.scope_list(scopes),
    )
    return owner.add(role, f"role {name}")


def find_role(owner: Owner, client_name: str, name: str) -> ClientRole:
    """The role of this name of this client."""
    statement = owner.rows(ClientRole).join(Client, Client.id == ClientRole.client_id)
    role = owner.session.scalar(statement.where(Client.name == client_name, ClientRole.name == name))
    if role is None:
        raise NotFound(f"role {name} of client {client_name}")
    return role


def assign(owner: Owner, role: ClientRole, user: User) -> None:
    """Assigns a role to a user; repeating it changes nothing."""
    row = insert(RoleUser).values(tenant_id=owner.tenant, role_id=role.id, user_id=user.id)
    owner.session.execute(row.on_conflict_do_nothing())


def assign_defaults(owner: Owner, user: User) -> None:
    """Assigns the default roles of all clients of the tenant to a new user."""
    for role in owner.session.scalars(owner.rows(ClientRole).where(ClientRole.default_role)):
        assign(owner, role, user)


def unassign(owner: Owner, role: ClientRole, user: User) -> None:
    """Removes a role from a user, and ends the tokens of the user at that client."""
    is_owner = RoleUser.tenant_id == owner.tenant
    owner.session.execute(delete(RoleUser).where(is_owner, RoleUser.role_id == role.id, RoleUser.user_id == user.id))
    owner.session.execute(
        delete(Token).where(Token.tenant_id == owner.tenant, Token.client_id == role.client_id, Token.user_id == user.id)
    )


def users_of(owner: Owner, role: ClientRole) -> Sequence[User]:
    """The active users that have a role."""
    statement = owner.rows(User).join(RoleUser, RoleUser.user_id == User.id).where(RoleUser.role_id == role.id, User.active)
    return owner.session.scalars(statement.order_by(User.created_at, User.id)).all()


def user_of(owner: Owner, role: ClientRole, user_id: UUID) -> User:
    """One active user that has a role."""
    statement = owner.rows(User).join(RoleUser, RoleUser.user_id == User.id)
    user = owner.session.scalar(statement.where(RoleUser.role_id == role.id, User.active, User.id == user_id))
    if user is None:
        raise NotFound("user of this role")
    return user


def _lock(owner: Owner, name: str) -> Client:
    """The client, locked so that no token is issued until this transaction ends."""
    client = owner.session.scalar(owner.rows(Client).where(Client.name == name).with_for_update())
    if client is None:
        raise NotFound(f"client {name}")
    return client


def _secret(given_secret: str | None) -> str:
    """A new secret, or the given one if it is long enough to be a generated one."""
    if given_secret is not None and len(given_secret) < MIN_SECRET_LENGTH:
        raise Invalid(f"a chosen client secret has at least {MIN_SECRET_LENGTH} characters; take one that a machine made")
    return given_secret or hashing.new_secret()
