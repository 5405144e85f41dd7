"""`kontor webhook`: where clients are told of new transactions."""

from typing import Annotated

import typer

from api.cli.clients import ClientName
from api.cli.desk import Json, TenantName, say, show, show_once, working_on
from warehouse.stores import clients, webhooks

commands = typer.Typer(help="Webhooks of a tenant's clients.", no_args_is_help=True)
Url = Annotated[str, typer.Argument(help="A public https address on port 443.", show_default=False)]
From = Annotated[int, typer.Option("--from", help="The first number to list.", min=1)]
Limit = Annotated[int, typer.Option(help="How many at most.", min=1)]


@commands.command("set")
def set_url(tenant: TenantName, client: ClientName, url: Url, as_json: Json = False) -> None:
    """Set where a client is told, and let a disabled webhook work again. Prints a new secret once."""
    with working_on(tenant) as (at, owner, _):
        whose = clients.find(owner, client)
        secret = webhooks.register(owner, at.vault, whose, url, at.settings)
        facts = {"url": webhooks.find(owner, whose).url, "secret": secret}
    show_once(facts, as_json, f"Client {tenant}/{client} is told of new transactions.")


@commands.command("show")
def show_webhook(tenant: TenantName, client: ClientName, as_json: Json = False) -> None:
    """Show where a client is told, and the number of its latest event."""
    with working_on(tenant) as (_, owner, _):
        webhook = webhooks.find(owner, clients.find(owner, client))
    facts = {"client": client, "url": webhook.url, "enabled": webhook.enabled, "serial": webhook.serial}
    show([facts], as_json, "Webhooks")


@commands.command()
def rotate(tenant: TenantName, client: ClientName, as_json: Json = False) -> None:
    """Make a new secret. Until the overlap ends, events are signed with the old one as well."""
    with working_on(tenant) as (at, owner, _):
        overlap_seconds = at.settings.webhook_secret_overlap_seconds
        secret = webhooks.rotate_secret(owner, at.vault, clients.find(owner, client), overlap_seconds)
    show_once({"secret": secret}, as_json, f"The webhook of {tenant}/{client} has a new secret.")


@commands.command()
def remove(tenant: TenantName, client: ClientName, as_json: Json = False) -> None:
    """End the webhook of a client, with its events and secrets."""
    with working_on(tenant) as (_, owner, _):
        webhooks.remove(owner, clients.find(owner, client))
    say(f"Client {tenant}/{client} has no webhook any more.", as_json)


@commands.command()
def events(tenant: TenantName, client: ClientName, from_serial: From = 1, limit: Limit = 100, as_json: Json = False) -> None:
    """List events and what has become of them."""
    with working_on(tenant) as (at, owner, _):
        days = at.settings.webhook_replay_days
        found = webhooks.events(owner, clients.find(owner, client), from_serial=from_serial, limit=limit, days=days)
    rows = [
        {
            "serial": event.serial,
            "state": event.state,
            "created": event.created_at,
            "user": event.user_id,
            "access": event.access_key,
        }
        for event in found
    ]
    show(rows, as_json, "Events")
