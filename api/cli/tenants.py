"""`kontor tenant`: tenants and their settings."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from api.cli import designs
from api.cli.desk import Json, TenantName, desk, say, show, show_once, working_on
from warehouse.postgres.tables import Tenant
from warehouse.stores import tenants
from warehouse.stores.provisioning import create_tenant

commands = typer.Typer(help="Tenants and their settings.", no_args_is_help=True)
commands.command("design")(designs.design)
Url = Annotated[str, typer.Argument(help="Base address, for example https://app.example.de/return.", show_default=False)]
Regulated = Annotated[
    bool, typer.Option("--regulated/--redirect", help="May handle bank credentials itself, or uses the redirect form.")
]


@commands.command()
def create(
    name: TenantName,
    regulated: Regulated = True,
    description: Annotated[str | None, typer.Option(help="Text for people.")] = None,
    callback: Annotated[list[str] | None, typer.Option(help="Address for the callback allow-list; repeat for more.")] = None,
    as_json: Json = False,
) -> None:
    """Set up a tenant with certificate, clients `admin` and `app`, and a default role. Prints the secrets once."""
    with desk() as at, at.database.operating() as owner:
        new = create_tenant(
            owner,
            at.vault,
            name,
            datetime.now(UTC),
            regulated=regulated,
            description=description,
            callback_urls=callback or (),
        )
        facts = {
            "name": new.tenant.name,
            "tenantId": str(new.tenant.id),
            "regulated": regulated,
            "clients": {client: {"username": f"{name}/{client}", "secret": secret} for client, secret in new.secrets.items()},
        }
    show_once(facts, as_json, f"Tenant {name} is ready.")


@commands.command()
def learn(
    name: TenantName,
    on: Annotated[bool, typer.Option("--on/--off", help="May be learned from, or not.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Say whether the categoriser may learn from what the tenant's users correct."""
    with working_on(name) as (_, _, tenant):
        tenant.learns = on
    say(f"What users of {name} correct {'may' if on else 'may not'} be learned from.", as_json)


@commands.command("list")
def list_tenants(as_json: Json = False) -> None:
    """List all tenants."""
    with desk() as at, at.database.operating() as owner:
        show([_row(tenant) for tenant in tenants.visible(owner)], as_json, "Tenants")


@commands.command("show")
def show_tenant(name: TenantName, as_json: Json = False) -> None:
    """Show a tenant with its callback allow-list."""
    with working_on(name) as (_, owner, tenant):
        show([_row(tenant) | {"callbacks": tenants.callbacks(owner)}], as_json, "Tenants")


@commands.command("set")
def change(name: TenantName, regulated: Regulated = True, as_json: Json = False) -> None:
    """Change whether a tenant may handle credentials itself."""
    with working_on(name) as (_, _, tenant):
        tenant.regulated = regulated
    say(f"Tenant {name} is {'regulated' if regulated else 'a redirect tenant'} now.", as_json)


@commands.command()
def disable(name: TenantName, as_json: Json = False) -> None:
    """Shut a tenant out at once: no logins, and its tokens are refused."""
    _set_active(name, False, as_json)


@commands.command()
def enable(name: TenantName, as_json: Json = False) -> None:
    """Let a tenant in again."""
    _set_active(name, True, as_json)


@commands.command("add-callback")
def add_callback(name: TenantName, url: Url, as_json: Json = False) -> None:
    """Put an address on the callback allow-list."""
    with working_on(name) as (_, owner, _):
        say(f"{tenants.add_callback(owner, url)} is on the allow-list of {name}.", as_json)


@commands.command("remove-callback")
def remove_callback(name: TenantName, url: Url, as_json: Json = False) -> None:
    """Take an address off the callback allow-list."""
    with working_on(name) as (_, owner, _):
        tenants.remove_callback(owner, url)
    say(f"{url} is no longer on the allow-list of {name}.", as_json)


def _set_active(name: str, active: bool, as_json: bool) -> None:
    with working_on(name) as (_, _, tenant):
        tenant.active = active
    say(f"Tenant {name} is {'enabled' if active else 'disabled'}.", as_json)


def _row(tenant: Tenant) -> dict[str, Any]:
    return {
        "name": tenant.name,
        "tenantId": str(tenant.id),
        "regulated": tenant.regulated,
        "active": tenant.active,
        "description": tenant.description,
    }
