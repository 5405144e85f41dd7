"""Management routes: a tenant's admin client reads tenant, clients and roles, and manages users."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated
from uuid import UUID

from fastapi import Body, Query
from starlette.responses import Response

from api.http.authorization import TokenKind, needs
from api.http.responses import Links, created_response, empty_response, json_response, self_relation
from api.http.route import router
from api.schemas.base import Flag, Line
from api.schemas.management import ClientBody, ClientRoleBody, NewUser, TenantBody, UserBody, UserReferenceBody
from api.services import AppServices, Services
from pipelines import deactivation
from warehouse import scopes
from warehouse.errors import NotFound
from warehouse.inputs import passwords
from warehouse.postgres import audit_log
from warehouse.postgres.audit_log import AuditActor, Deed
from warehouse.postgres.console_accounts import ConsoleRole
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Client, ClientRole, Tenant, User
from warehouse.secrets import hashing
from warehouse.stores import clients, tenants, users
from warehouse.stores.callers import Caller

PREFIX = "/auth/mgmt/v1"
TENANTS = (*PREFIX.strip("/").split("/"), "tenants")
routes = router(PREFIX, "Management")

ReadsTenants = Annotated[Caller, needs(scopes.TENANTS_READ, TokenKind.CLIENT)]
ReadsClients = Annotated[Caller, needs(scopes.CLIENTS_READ, TokenKind.CLIENT)]
AssignsRoles = Annotated[Caller, needs(scopes.ROLES_ASSIGN, TokenKind.CLIENT)]
ReadsUsers = Annotated[Caller, needs(scopes.USERS_READ, TokenKind.CLIENT)]
CreatesUsers = Annotated[Caller, needs(scopes.USERS_CREATE, TokenKind.CLIENT)]


@routes.get("/tenants", response_model=list[TenantBody])
def list_tenants(caller: ReadsTenants, services: AppServices) -> Response:
    """The tenants that the token may see: its own."""
    with services.database.acting_for(caller.tenant_id) as owner:
        return json_response(services.zone, [_tenant(services.links, tenant) for tenant in tenants.visible(owner)])


@routes.get("/tenants/{tenant}", response_model=TenantBody)
def get_tenant(tenant: str, caller: ReadsTenants, services: AppServices) -> Response:
    """One tenant."""
    with services.database.acting_for(caller.tenant_id) as owner:
        return json_response(services.zone, _tenant(services.links, tenants.find(owner, tenant)))


@routes.get("/tenants/{tenant}/clients", response_model=list[ClientBody])
def list_clients(tenant: str, caller: ReadsClients, services: AppServices) -> Response:
    """The clients of the tenant with their roles."""
    with within(services, caller, tenant) as owner:
        return json_response(services.zone, [_client(services.links, tenant, client) for client in clients.visible(owner)])


@routes.get("/tenants/{tenant}/clients/{client}", response_model=ClientBody)
def get_client(tenant: str, client: str, caller: ReadsClients, services: AppServices) -> Response:
    """One client with its roles."""
    with within(services, caller, tenant) as owner:
        return json_response(services.zone, _client(services.links, tenant, clients.find(owner, client)))


@routes.get("/tenants/{tenant}/clients/{client}/roles", response_model=list[ClientRoleBody])
def list_roles(tenant: str, client: str, caller: ReadsClients, services: AppServices) -> Response:
    """The roles of a client."""
    with within(services, caller, tenant) as owner:
        return json_response(
            services.zone, [_role(services.links, tenant, client, role) for role in clients.find(owner, client).roles]
        )


@routes.get("/tenants/{tenant}/clients/{client}/roles/{role}", response_model=ClientRoleBody)
def get_role(tenant: str, client: str, role: str, caller: ReadsClients, services: AppServices) -> Response:
    """One role of a client."""
    with within(services, caller, tenant) as owner:
        return json_response(services.zone, _role(services.links, tenant, client, clients.find_role(owner, client, role)))


@routes.get("/tenants/{tenant}/clients/{client}/roles/{role}/users", response_model=list[UserReferenceBody])
def list_role_users(tenant: str, client: str, role: str, caller: ReadsClients, services: AppServices) -> Response:
    """The active users that have a role."""
    with within(services, caller, tenant) as owner:
        role_users = clients.users_of(owner, clients.find_role(owner, client, role))
        return json_response(services.zone, [UserReferenceBody(user_reference=user.id) for user in role_users])


@routes.post("/tenants/{tenant}/clients/{client}/roles/{role}/users", status_code=201, response_class=Response)
def assign_role(
    tenant: str,
    client: str,
    role: str,
    user_reference: Annotated[Line, Body(examples=["5f0c6f0e-3c52-4d3c-9a52-0d7b0a3f9c11"])],
    caller: AssignsRoles,
    services: AppServices,
) -> Response:
    """Gives a user a role. Giving it again changes nothing and answers the same."""
    with within(services, caller, tenant) as owner:
        user = users.find(owner, _reference(user_reference))
        clients.assign(owner, clients.find_role(owner, client, role), user)
        record(owner, caller, Deed("role_assign", f"{client} {role}", user_id=user.id))
    return created_response(services.links.to(*TENANTS, tenant, "clients", client, "roles", role, "users", str(user.id)))


@routes.get("/tenants/{tenant}/clients/{client}/roles/{role}/users/{user}", response_model=UserReferenceBody)
def get_role_user(tenant: str, client: str, role: str, user: str, caller: ReadsClients, services: AppServices) -> Response:
    """One user that has a role."""
    with within(services, caller, tenant) as owner:
        row = clients.user_of(owner, clients.find_role(owner, client, role), _reference(user))
        return json_response(services.zone, UserReferenceBody(user_reference=row.id))


@routes.get("/tenants/{tenant}/users", response_model=list[UserBody])
def list_users(
    tenant: str,
    caller: ReadsUsers,
    services: AppServices,
    include_inactive: Annotated[Flag, Query(alias="includeInactive", description="also those that were deactivated")] = False,
) -> Response:
    """The users of the tenant; those that were deactivated only if asked for."""
    with within(services, caller, tenant) as owner:
        return json_response(
            services.zone,
            [_user(services.links, tenant, user) for user in users.visible(owner, include_inactive=include_inactive)],
        )


@routes.get("/tenants/{tenant}/users/{user}", response_model=UserBody)
def get_user(tenant: str, user: str, caller: ReadsUsers, services: AppServices) -> Response:
    """One user, active or not."""
    with within(services, caller, tenant) as owner:
        row = users.find(owner, _reference(user), include_inactive=True)
        return json_response(services.zone, _user(services.links, tenant, row))


@routes.post("/tenants/{tenant}/users", status_code=201, response_class=Response, responses={409: {}, 429: {}})
async def create_user(tenant: str, new: NewUser, caller: CreatesUsers, services: AppServices) -> Response:
    """Creates a user. Its name must differ from all others of the tenant, also after ignoring case and Unicode form."""
    passwords.check(new.password, new.username, new.firstname, new.lastname)

    def create() -> UUID:
        password_hash = hashing.hash_password(new.password)
        with within(services, caller, tenant) as owner:
            user = users.create(owner, new.username, password_hash, firstname=new.firstname, lastname=new.lastname)
            record(owner, caller, Deed("user_create", user_id=user.id))
            return user.id

    return created_response(_user_link(services.links, tenant, await services.passwords.run(create)))


@routes.put("/tenants/{tenant}/users/{user}/deactivate", response_class=Response)
async def deactivate_user(tenant: str, user: str, caller: CreatesUsers, services: AppServices) -> Response:
    """Deactivates a user: its tokens, fetches, consents, payments and forms end at once. Deactivating again changes nothing."""

    def deactivate() -> None:
        with within(services, caller, tenant) as owner:
            user_id = _reference(user)
            deactivation.deactivate_user(owner, user_id)
            record(owner, caller, Deed("user_deactivate", user_id=user_id))

    await services.changes.insist(deactivate)
    return empty_response()


@routes.post("/tenants/{tenant}/users/{user}/reactivate", response_class=Response, responses={409: {}, 429: {}})
async def reactivate_user(tenant: str, user: str, new: NewUser, caller: CreatesUsers, services: AppServices) -> Response:
    """Makes an inactive user active again, with a new password and the name it had."""
    passwords.check(new.password, new.username, new.firstname, new.lastname)

    def reactivate() -> None:
        password_hash = hashing.hash_password(new.password)
        with within(services, caller, tenant) as owner:
            user_id = _reference(user)
            users.reactivate(owner, user_id, new.username, password_hash, firstname=new.firstname, lastname=new.lastname)
            record(owner, caller, Deed("user_reactivate", user_id=user_id))

    await services.passwords.run(reactivate)
    return empty_response()


@contextmanager
def within(services: Services, caller: Caller, tenant: str) -> Iterator[Owner]:
    """A transaction on the caller's own tenant. Any other tenant is not found, whether it exists or not."""
    if tenant != caller.tenant_name:
        raise NotFound("tenant")
    with services.database.acting_for(caller.tenant_id) as owner:
        yield owner


def record(owner: Owner, caller: Caller, deed: Deed) -> None:
    """Adds what a client has done to the audit log, in the transaction of the change."""
    actor = AuditActor(f"{caller.tenant_name}/{caller.client_name}", ConsoleRole.TENANT.value)
    audit_log.record(owner, actor, deed)


def _reference(value: str) -> UUID:
    """The id of a user; anything but a UUID names none."""
    try:
        return UUID(value)
    except ValueError as error:
        raise NotFound("user") from error


def _user_link(links: Links, tenant: str, user_id: UUID) -> str:
    return links.to(*TENANTS, tenant, "users", str(user_id))


def _tenant(links: Links, tenant: Tenant) -> TenantBody:
    href = links.to(*TENANTS, tenant.name)
    return TenantBody(name=tenant.name, description=tenant.description, relations=self_relation(href))


def _client(links: Links, tenant: str, client: Client) -> ClientBody:
    return ClientBody(
        name=client.name,
        username=f"{tenant}/{client.name}",
        description=client.description,
        granted_scopes=client.granted_scopes,
        client_roles=[_role(links, tenant, client.name, role) for role in client.roles],
        relations=self_relation(links.to(*TENANTS, tenant, "clients", client.name)),
    )


def _role(links: Links, tenant: str, client: str, role: ClientRole) -> ClientRoleBody:
    return ClientRoleBody(
        name=role.name,
        description=role.description,
        default_role=role.default_role,
        granted_scopes=role.granted_scopes,
        relations=self_relation(links.to(*TENANTS, tenant, "clients", client, "roles", role.name)),
    )


def _user(links: Links, tenant: str, user: User) -> UserBody:
    relations = self_relation(_user_link(links, tenant, user.id))
    return UserBody(user_reference=user.id, username=user.username, active=user.active, relations=relations)
