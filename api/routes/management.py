"""Management: a tenant's admin client reads tenant, clients and roles, and manages users."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated
from uuid import UUID

from fastapi import Body, Query
from starlette.responses import Response

from api.http.authorization import TokenKind, needs
from api.http.responses import answer, created, done, link, self_relation
from api.http.route import router
from api.schemas.base import Flag, Line
from api.schemas.management import ClientBody, ClientRoleBody, NewUser, TenantBody, UserBody, UserReferenceBody
from api.services import Held, Services
from warehouse import scopes
from warehouse.errors import NotFound
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Client, ClientRole, Tenant, User
from warehouse.secrets import hashing
from warehouse.stores import clients, tenants, users
from warehouse.stores.callers import Caller

PREFIX = "/auth/mgmt/v1"
routes = router(PREFIX, "Management")

ReadsTenants = Annotated[Caller, needs(scopes.TENANTS_READ, TokenKind.CLIENT)]
ReadsClients = Annotated[Caller, needs(scopes.CLIENTS_READ, TokenKind.CLIENT)]
AssignsRoles = Annotated[Caller, needs(scopes.ROLES_ASSIGN, TokenKind.CLIENT)]
ReadsUsers = Annotated[Caller, needs(scopes.USERS_READ, TokenKind.CLIENT)]
CreatesUsers = Annotated[Caller, needs(scopes.USERS_CREATE, TokenKind.CLIENT)]


@routes.get("/tenants", response_model=list[TenantBody])
def list_tenants(caller: ReadsTenants, held: Held) -> Response:
    """The tenants that the token may see: its own."""
    with held.database.acting_for(caller.tenant_id) as owner:
        return answer(held, [_tenant(held, tenant) for tenant in tenants.visible(owner)])


@routes.get("/tenants/{tenant}", response_model=TenantBody)
def get_tenant(tenant: str, caller: ReadsTenants, held: Held) -> Response:
    """One tenant."""
    with held.database.acting_for(caller.tenant_id) as owner:
        return answer(held, _tenant(held, tenants.find(owner, tenant)))


@routes.get("/tenants/{tenant}/clients", response_model=list[ClientBody])
def list_clients(tenant: str, caller: ReadsClients, held: Held) -> Response:
    """The clients of the tenant with their roles."""
    with within(held, caller, tenant) as owner:
        return answer(held, [_client(held, tenant, client) for client in clients.visible(owner)])


@routes.get("/tenants/{tenant}/clients/{client}", response_model=ClientBody)
def get_client(tenant: str, client: str, caller: ReadsClients, held: Held) -> Response:
    """One client with its roles."""
    with within(held, caller, tenant) as owner:
        return answer(held, _client(held, tenant, clients.find(owner, client)))


@routes.get("/tenants/{tenant}/clients/{client}/roles", response_model=list[ClientRoleBody])
def list_roles(tenant: str, client: str, caller: ReadsClients, held: Held) -> Response:
    """The roles of a client."""
    with within(held, caller, tenant) as owner:
        return answer(held, [_role(held, tenant, client, role) for role in clients.find(owner, client).roles])


@routes.get("/tenants/{tenant}/clients/{client}/roles/{role}", response_model=ClientRoleBody)
def get_role(tenant: str, client: str, role: str, caller: ReadsClients, held: Held) -> Response:
    """One role of a client."""
    with within(held, caller, tenant) as owner:
        return answer(held, _role(held, tenant, client, clients.find_role(owner, client, role)))


@routes.get("/tenants/{tenant}/clients/{client}/roles/{role}/users", response_model=list[UserReferenceBody])
def list_role_users(tenant: str, client: str, role: str, caller: ReadsClients, held: Held) -> Response:
    """The active users that have a role."""
    with within(held, caller, tenant) as owner:
        found = clients.users_of(owner, clients.find_role(owner, client, role))
        return answer(held, [UserReferenceBody(user_reference=user.id) for user in found])


@routes.post("/tenants/{tenant}/clients/{client}/roles/{role}/users", status_code=201, response_class=Response)
def assign_role(
    tenant: str,
    client: str,
    role: str,
    user_reference: Annotated[Line, Body(examples=["5f0c6f0e-3c52-4d3c-9a52-0d7b0a3f9c11"])],
    caller: AssignsRoles,
    held: Held,
) -> Response:
    """Gives a user a role. Giving it again changes nothing and answers the same."""
    with within(held, caller, tenant) as owner:
        user = users.find(owner, _reference(user_reference))
        clients.assign(owner, clients.find_role(owner, client, role), user)
    return created(link(held, *_ROOT, tenant, "clients", client, "roles", role, "users", str(user.id)))


@routes.get("/tenants/{tenant}/clients/{client}/roles/{role}/users/{user}", response_model=UserReferenceBody)
def get_role_user(tenant: str, client: str, role: str, user: str, caller: ReadsClients, held: Held) -> Response:
    """One user that has a role."""
    with within(held, caller, tenant) as owner:
        found = clients.user_of(owner, clients.find_role(owner, client, role), _reference(user))
        return answer(held, UserReferenceBody(user_reference=found.id))


@routes.get("/tenants/{tenant}/users", response_model=list[UserBody])
def list_users(
    tenant: str,
    caller: ReadsUsers,
    held: Held,
    include_inactive: Annotated[Flag, Query(alias="includeInactive", description="also those that were deactivated")] = False,
) -> Response:
    """The users of the tenant; those that were deactivated only if asked for."""
    with within(held, caller, tenant) as owner:
        return answer(held, [_user(held, tenant, user) for user in users.visible(owner, include_inactive=include_inactive)])


@routes.get("/tenants/{tenant}/users/{user}", response_model=UserBody)
def get_user(tenant: str, user: str, caller: ReadsUsers, held: Held) -> Response:
    """One active user."""
    with within(held, caller, tenant) as owner:
        return answer(held, _user(held, tenant, users.find(owner, _reference(user))))


@routes.post("/tenants/{tenant}/users", status_code=201, response_class=Response, responses={409: {}, 429: {}})
async def create_user(tenant: str, new: NewUser, caller: CreatesUsers, held: Held) -> Response:
    """Creates a user. Its name must differ from all others of the tenant, also after ignoring case and Unicode form."""

    def create() -> UUID:
        password_hash = hashing.hash_password(new.password)
        with within(held, caller, tenant) as owner:
            return users.create(owner, new.username, password_hash, firstname=new.firstname, lastname=new.lastname).id

    return created(_user_link(held, tenant, await held.passwords.run(create)))


@routes.put("/tenants/{tenant}/users/{user}/deactivate", response_class=Response)
def deactivate_user(tenant: str, user: str, caller: CreatesUsers, held: Held) -> Response:
    """Deactivates a user: its tokens are dead at once. Deactivating again changes nothing."""
    with within(held, caller, tenant) as owner:
        users.deactivate(owner, _reference(user))
    return done()


@routes.post("/tenants/{tenant}/users/{user}/reactivate", response_class=Response, responses={409: {}, 429: {}})
async def reactivate_user(tenant: str, user: str, new: NewUser, caller: CreatesUsers, held: Held) -> Response:
    """Makes an inactive user active again, with a new password and the name it had."""

    def reactivate() -> None:
        password_hash = hashing.hash_password(new.password)
        with within(held, caller, tenant) as owner:
            users.reactivate(owner, _reference(user), new.username, password_hash, firstname=new.firstname, lastname=new.lastname)

    await held.passwords.run(reactivate)
    return done()


_ROOT = (*PREFIX.strip("/").split("/"), "tenants")


@contextmanager
def within(held: Services, caller: Caller, tenant: str) -> Iterator[Owner]:
    """A transaction on the caller's own tenant. Another one is no object of this caller's, whether it exists or not."""
    if tenant != caller.tenant_name:
        raise NotFound("tenant")
    with held.database.acting_for(caller.tenant_id) as owner:
        yield owner


def _reference(value: str) -> UUID:
    """A user reference; one that is not even a UUID names no user."""
    try:
        return UUID(value)
    except ValueError as error:
        raise NotFound("user") from error


def _user_link(held: Services, tenant: str, user_id: UUID) -> str:
    return link(held, *_ROOT, tenant, "users", str(user_id))


def _tenant(held: Services, tenant: Tenant) -> TenantBody:
    href = link(held, *_ROOT, tenant.name)
    return TenantBody(name=tenant.name, description=tenant.description, relations=self_relation(href))


def _client(held: Services, tenant: str, client: Client) -> ClientBody:
    return ClientBody(
        name=client.name,
        username=f"{tenant}/{client.name}",
        description=client.description,
        granted_scopes=client.granted_scopes,
        client_roles=[_role(held, tenant, client.name, role) for role in client.roles],
        relations=self_relation(link(held, *_ROOT, tenant, "clients", client.name)),
    )


def _role(held: Services, tenant: str, client: str, role: ClientRole) -> ClientRoleBody:
    return ClientRoleBody(
        name=role.name,
        description=role.description,
        default_role=role.default_role,
        granted_scopes=role.granted_scopes,
        relations=self_relation(link(held, *_ROOT, tenant, "clients", client, "roles", role.name)),
    )


def _user(held: Services, tenant: str, user: User) -> UserBody:
    return UserBody(user_reference=user.id, username=user.username, relations=self_relation(_user_link(held, tenant, user.id)))
