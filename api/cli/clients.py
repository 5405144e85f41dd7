"""`kontor client`: programs that can obtain tokens."""

import sys
from typing import Annotated

import typer

from api.cli.installation import Json, TenantName, open_tenant, say, show, show_once
from warehouse.stores import clients

commands = typer.Typer(help="Clients of a tenant.", no_args_is_help=True)
ClientName = Annotated[str, typer.Argument(help="Name of the client.", show_default=False)]
Scopes = Annotated[
    list[str],
    typer.Option("--scope", help="Scope that tokens of the client may have. Repeat the option for more.", show_default=False),
]
SecretStdin = Annotated[
    bool, typer.Option("--secret-stdin", help="Read the secret from standard input instead of generating one.")
]


@commands.command()
def create(
    tenant: TenantName,
    name: ClientName,
    scope: Scopes,
    description: Annotated[str | None, typer.Option(help="Description for people.")] = None,
    secret_stdin: SecretStdin = False,
    as_json: Json = False,
) -> None:
    """Create a client. Prints its secret once."""
    with open_tenant(tenant) as (_, owner, _):
        client, secret = clients.create(owner, name, scope, description=description, secret=_read(secret_stdin))
    show_once({"username": f"{tenant}/{client.name}", "secret": secret}, as_json, f"Client {name} was created.")


@commands.command("list")
def list_clients(tenant: TenantName, as_json: Json = False) -> None:
    """List the clients of a tenant."""
    with open_tenant(tenant) as (_, owner, _):
        rows = [
            {
                "name": client.name,
                "username": f"{tenant}/{client.name}",
                "active": client.active,
                "scopes": client.granted_scopes,
                "roles": [role.name for role in client.roles],
            }
            for client in clients.visible(owner)
        ]
    show(rows, as_json, "Clients")


@commands.command("rotate-secret")
def rotate_secret(
    tenant: TenantName,
    name: ClientName,
    overlap_hours: Annotated[
        int, typer.Option(help="Hours for which the old secret and its tokens stay valid.", min=0, max=24 * 30)
    ] = 0,
    secret_stdin: SecretStdin = False,
    as_json: Json = False,
) -> None:
    """Replace the secret of a client. Without an overlap, the old secret and its tokens stop working at once."""
    with open_tenant(tenant) as (_, owner, _):
        secret = clients.rotate_secret(owner, name, _read(secret_stdin), overlap_seconds=3600 * overlap_hours)
    show_once({"username": f"{tenant}/{name}", "secret": secret}, as_json, f"Client {name} has a new secret.")


@commands.command()
def disable(tenant: TenantName, name: ClientName, as_json: Json = False) -> None:
    """Disable a client. Its logins are refused, and its tokens and everything begun through it end at once."""
    from pipelines import deactivation  # loads the flows, which no other command of this group needs

    with open_tenant(tenant) as (_, owner, _):
        deactivation.disable_client(owner, name)
    say(f"Client {tenant}/{name} is disabled.", as_json)


@commands.command()
def enable(tenant: TenantName, name: ClientName, as_json: Json = False) -> None:
    """Enable a disabled client. What ended when it was disabled stays ended."""
    with open_tenant(tenant) as (_, owner, _):
        clients.enable(owner, name)
    say(f"Client {tenant}/{name} is enabled.", as_json)


def _read(from_stdin: bool) -> str | None:
    return sys.stdin.readline().rstrip("\n") if from_stdin else None
