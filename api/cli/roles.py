"""`kontor role`: the roles of a client, which define the rights of its users."""

from typing import Annotated

import typer

from api.cli.clients import ClientName, Scopes
from api.cli.installation import Json, TenantName, open_tenant, say, show
from warehouse.errors import NotFound
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import User
from warehouse.stores import clients, users

commands = typer.Typer(help="Roles of a client.", no_args_is_help=True)
RoleName = Annotated[str, typer.Argument(help="Name of the role.", show_default=False)]
Username = Annotated[str, typer.Argument(help="Name of the user.", show_default=False)]


@commands.command()
def create(
    tenant: TenantName,
    client: ClientName,
    name: RoleName,
    scope: Scopes,
    default: Annotated[bool, typer.Option("--default", help="Assign the role to every new user.")] = False,
    description: Annotated[str | None, typer.Option(help="Description for people.")] = None,
    as_json: Json = False,
) -> None:
    """Create a role."""
    with open_tenant(tenant) as (_, owner, _):
        clients.create_role(owner, client, name, scope, default_role=default, description=description)
    say(f"Role {name} of {tenant}/{client} was created.", as_json)


@commands.command("list")
def list_roles(tenant: TenantName, client: ClientName, as_json: Json = False) -> None:
    """List the roles of a client."""
    with open_tenant(tenant) as (_, owner, _):
        rows = [
            {"name": role.name, "default": role.default_role, "scopes": role.granted_scopes, "description": role.description}
            for role in clients.find(owner, client).roles
        ]
    show(rows, as_json, "Roles")


@commands.command()
def assign(tenant: TenantName, client: ClientName, name: RoleName, username: Username, as_json: Json = False) -> None:
    """Assign a role to a user."""
    with open_tenant(tenant) as (_, owner, _):
        clients.assign(owner, clients.find_role(owner, client, name), find_user(owner, username))
    say(f"User {username} has the role {name} of {tenant}/{client}.", as_json)


@commands.command()
def unassign(tenant: TenantName, client: ClientName, name: RoleName, username: Username, as_json: Json = False) -> None:
    """Remove a role from a user. The user's tokens of this client stop working at once."""
    with open_tenant(tenant) as (_, owner, _):
        clients.unassign(owner, clients.find_role(owner, client, name), find_user(owner, username))
    say(f"User {username} no longer has the role {name} of {tenant}/{client}.", as_json)


def find_user(owner: Owner, username: str) -> User:
    """The user with this name; raises if there is none."""
    user = users.find_by_name(owner, username)
    if user is None:
        raise NotFound(f"user {username}")
    return user
