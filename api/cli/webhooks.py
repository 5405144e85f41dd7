"""`kontor webhook`: notifications of clients."""

from typing import Annotated

import typer

from api.cli.clients import ClientName
from api.cli.installation import Json, TenantName, open_tenant, say, show, show_once
from warehouse.stores import clients, webhooks
from warehouse.webhook_types import TYPES, EventType

TYPE_LIST = " ".join(f"{name}: {row.description}" for name, row in TYPES.items())
commands = typer.Typer(help="Webhooks of a tenant's clients.", no_args_is_help=True)
Url = Annotated[str, typer.Argument(help="Public https address on port 443.", show_default=False)]
Types = Annotated[
    list[EventType] | None,
    typer.Option(
        "--type",
        help="A type of events to send; can be repeated. Without it, a webhook keeps its types, and a new one gets "
        f"NEW_TRANSACTIONS. {TYPE_LIST}",
        show_default=False,
    ),
]
From = Annotated[int, typer.Option("--from", help="Number of the first event to list.", min=1)]
Limit = Annotated[int, typer.Option(help="Maximum number of events.", min=1)]


@commands.command("set")
def set_url(tenant: TenantName, client: ClientName, url: Url, types: Types = None, as_json: Json = False) -> None:
    """Set the address of a client's webhook and the types of events it receives, and enable it if it was disabled. Prints a new
    secret once.
    """
    with open_tenant(tenant) as (installation, owner, _):
        row = clients.find(owner, client)
        secret = webhooks.register(owner, installation.vault, row, url, installation.settings, types or None)
        webhook = webhooks.find(owner, row)
        facts = {"url": webhook.url, "types": " ".join(webhook.types), "secret": secret}
    show_once(facts, as_json, f"Client {tenant}/{client} will be notified.")


@commands.command("show")
def show_webhook(tenant: TenantName, client: ClientName, as_json: Json = False) -> None:
    """Show the webhook of a client, with its types of events and the number of the latest one."""
    with open_tenant(tenant) as (_, owner, _):
        webhook = webhooks.find(owner, clients.find(owner, client))
    facts = {
        "client": client,
        "url": webhook.url,
        "types": " ".join(webhook.types),
        "enabled": webhook.enabled,
        "serial": webhook.serial,
    }
    show([facts], as_json, "Webhooks")


@commands.command()
def rotate(tenant: TenantName, client: ClientName, as_json: Json = False) -> None:
    """Create a new secret. During the overlap, events are signed with both secrets. Prints the new one once."""
    with open_tenant(tenant) as (installation, owner, _):
        overlap_seconds = installation.settings.webhook_secret_overlap_seconds
        secret = webhooks.rotate_secret(owner, installation.vault, clients.find(owner, client), overlap_seconds)
    show_once({"secret": secret}, as_json, f"The webhook of {tenant}/{client} has a new secret.")


@commands.command()
def remove(tenant: TenantName, client: ClientName, as_json: Json = False) -> None:
    """Remove the webhook of a client, with its events and secrets."""
    with open_tenant(tenant) as (_, owner, _):
        webhooks.remove(owner, clients.find(owner, client))
    say(f"The webhook of client {tenant}/{client} was removed.", as_json)


@commands.command()
def events(tenant: TenantName, client: ClientName, from_serial: From = 1, limit: Limit = 100, as_json: Json = False) -> None:
    """List the events of a webhook and their states."""
    with open_tenant(tenant) as (installation, owner, _):
        days = installation.settings.webhook_replay_days
        stored_events = webhooks.events(owner, clients.find(owner, client), from_serial=from_serial, limit=limit, days=days)
    rows = [
        {
            "serial": event.serial,
            "type": event.type,
            "state": event.state,
            "created": event.created_at,
            "user": event.user_id,
            "access": event.access_key,
            "payment": event.payment_id,
        }
        for event in stored_events
    ]
    show(rows, as_json, "Events")
