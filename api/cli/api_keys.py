"""`kontor api-key`: keys for the classic token endpoint."""

from typing import Annotated
from uuid import UUID

import typer

from api.cli.clients import ClientName
from api.cli.installation import Json, TenantName, open_tenant, say, show, show_once
from api.cli.roles import Username, find_user
from warehouse.stores import api_keys, clients

commands = typer.Typer(help="API keys of a tenant.", no_args_is_help=True)
KeyId = Annotated[UUID, typer.Argument(help="Id of the key, as printed by `list`.", show_default=False)]


@commands.command()
def create(
    tenant: TenantName,
    client: ClientName,
    username: Username,
    description: Annotated[str | None, typer.Option(help="Description for people.")] = None,
    as_json: Json = False,
) -> None:
    """Create a key for a user of a client. Prints it once."""
    with open_tenant(tenant) as (_, owner, _):
        key, plain = api_keys.create(owner, clients.find(owner, client), find_user(owner, username), description=description)
    show_once({"id": str(key.id), "apiKey": plain}, as_json, "The API key was created.")


@commands.command("list")
def list_keys(tenant: TenantName, as_json: Json = False) -> None:
    """List the keys of a tenant. The keys themselves are not stored, and cannot be printed again."""
    with open_tenant(tenant) as (_, owner, _):
        rows = [
            {
                "id": str(key.id),
                "client": client.name,
                "user": user.username,
                "active": key.active,
                "description": key.description,
            }
            for key, client, user in api_keys.visible(owner)
        ]
    show(rows, as_json, "API keys")


@commands.command()
def disable(tenant: TenantName, key_id: KeyId, as_json: Json = False) -> None:
    """Disable a key. Its tokens and everything begun with them end at once."""
    from pipelines import deactivation  # loads the flows, which no other command of this group needs

    with open_tenant(tenant) as (_, owner, _):
        deactivation.disable_api_key(owner, key_id)
    say(f"API key {key_id} is disabled.", as_json)


@commands.command()
def enable(tenant: TenantName, key_id: KeyId, as_json: Json = False) -> None:
    """Enable a disabled key. What ended when it was disabled stays ended."""
    with open_tenant(tenant) as (_, owner, _):
        api_keys.enable(owner, key_id)
    say(f"API key {key_id} is enabled.", as_json)
