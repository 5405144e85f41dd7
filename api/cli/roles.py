"""`kontor role`: what users of a client may do."""

from typing import Annotated

import typer

from api.cli.clients import ClientName, Scopes
from api.cli.desk import Json, TenantName, say, show, working_on
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
    default: Annotated[bool, typer.Option("--default", help="Give it to every new user.")] = False,
    description: Annotated[str | None, typer.Option(help="Text for people.")] = None,
    as_json: Json = False,
) -> None:
    """Make a role."""
    with working_on(tenant) as (_, owner, _):
        clients.create_role(owner, client, name, scope, default_role=default, description=description)
    say(f"Role {name} of {tenant}/{client} is ready.", as_json)


@commands.command("list")
def list_roles(tenant: TenantName, client: ClientName, as_json: Json = False) -> None:
    """List the roles of a client."""
    with working_on(tenant) as (_, owner, _):
        rows = [
            {"name": role.name, "default": role.default_role, "scopes": role.granted_scopes, "description": role.description}
            for role in clients.find(owner, client).roles
        ]
    show(rows, as_json, "Roles")


@commands.command()
def assign(tenant: TenantName, client: ClientName, name: RoleName, username: Username, as_json: Json = False) -> None:
    """Give a user a role."""
    with working_on(tenant) as (_, owner, _):
        clients.assign(owner, clients.find_role(owner, client, name), named_user(owner, username))
    say(f"{username} has the role {name} of {tenant}/{client}.", as_json)


@commands.command()
def unassign(tenant: TenantName, client: ClientName, name: RoleName, username: Username, as_json: Json = False) -> None:
    """Take a role from a user; its tokens through this client end at once."""
    with working_on(tenant) as (_, owner, _):
        clients.unassign(owner, clients.find_role(owner, client, name), named_user(owner, username))
    say(f"{username} no longer has the role {name} of {tenant}/{client}.", as_json)


def named_user(owner: Owner, username: str) -> User:
    """The user of a name."""
    user = users.find_by_name(owner, username)
    if user is None:
        raise NotFound(f"user {username}")
    return user
