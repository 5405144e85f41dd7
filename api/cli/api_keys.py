"""`kontor api-key`: keys for the classic token endpoint."""

from typing import Annotated
from uuid import UUID

import typer

from api.cli.clients import ClientName
from api.cli.desk import Json, TenantName, say, show, show_once, working_on
from api.cli.roles import Username, named_user
from warehouse.stores import api_keys, clients

commands = typer.Typer(help="API keys of a tenant.", no_args_is_help=True)
KeyId = Annotated[UUID, typer.Argument(help="Id of the key, as `list` shows it.", show_default=False)]


@commands.command()
def create(
    tenant: TenantName,
    client: ClientName,
    username: Username,
    description: Annotated[str | None, typer.Option(help="Text for people.")] = None,
    as_json: Json = False,
) -> None:
    """Make a key that stands for a user of a client. Prints it once."""
    with working_on(tenant) as (_, owner, _):
        key, plain = api_keys.create(owner, clients.find(owner, client), named_user(owner, username), description=description)
    show_once({"id": str(key.id), "apiKey": plain}, as_json, "The API key is ready.")


@commands.command("list")
def list_keys(tenant: TenantName, as_json: Json = False) -> None:
    """List the keys of a tenant; the keys themselves are not known any more."""
    with working_on(tenant) as (_, owner, _):
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
    """Refuse a key from now on."""
    _set_active(tenant, key_id, False, as_json)


@commands.command()
def enable(tenant: TenantName, key_id: KeyId, as_json: Json = False) -> None:
    """Accept a key again."""
    _set_active(tenant, key_id, True, as_json)


def _set_active(tenant: str, key_id: UUID, active: bool, as_json: bool) -> None:
    with working_on(tenant) as (_, owner, _):
        api_keys.find(owner, key_id).active = active
    say(f"API key {key_id} is {'enabled' if active else 'disabled'}.", as_json)
