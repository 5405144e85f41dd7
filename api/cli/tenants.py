"""`kontor tenant`: tenants and their settings."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer

from api.cli import designs
from api.cli.installation import Json, TenantName, open_installation, open_tenant, say, show, show_once
from warehouse.postgres.tables import Tenant
from warehouse.stores import tenants
from warehouse.stores.provisioning import create_tenant

commands = typer.Typer(help="Tenants and their settings.", no_args_is_help=True)
commands.command("design")(designs.design)
Url = Annotated[str, typer.Argument(help="Base URL, for example https://app.example.de/return.", show_default=False)]
REGULATED = typer.Option(
    "--regulated/--redirect", help="Whether the tenant handles bank credentials itself, or uses the redirect form."
)


class TokenChoice(StrEnum):
    """The form of a tenant's access tokens."""

    DEFAULT = "default"
    OPAQUE = "opaque"
    UUID = "uuid"


@commands.command()
def create(
    name: TenantName,
    regulated: Annotated[bool, REGULATED] = True,
    description: Annotated[str | None, typer.Option(help="Description for people.")] = None,
    callback: Annotated[
        list[str] | None, typer.Option(help="URL for the callback allow-list. Repeat the option for more.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Create a tenant with a certificate, the clients `admin` and `app`, and a default role. Prints the secrets once."""
    with open_installation() as installation, installation.database.operating() as owner:
        new = create_tenant(
            owner,
            installation.vault,
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
    show_once(facts, as_json, f"Tenant {name} was created.")


@commands.command()
def learn(
    name: TenantName,
    on: Annotated[bool, typer.Option("--on/--off", help="Whether corrections may be used for training.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Set whether the corrections of a tenant's users may be used to train the categoriser."""
    with open_tenant(name) as (_, _, tenant):
        tenant.learns = on
    say(f"Corrections by users of {name} {'may' if on else 'may not'} be used for training.", as_json)


@commands.command("list")
def list_tenants(as_json: Json = False) -> None:
    """List all tenants."""
    with open_installation() as installation, installation.database.operating() as owner:
        show([_row(tenant) for tenant in tenants.visible(owner)], as_json, "Tenants")


@commands.command("show")
def show_tenant(name: TenantName, as_json: Json = False) -> None:
    """Show a tenant and its callback allow-list."""
    with open_tenant(name) as (_, owner, tenant):
        show([_row(tenant) | {"callbacks": tenants.callbacks(owner)}], as_json, "Tenants")


@commands.command("set")
def change(
    name: TenantName,
    regulated: Annotated[bool | None, REGULATED] = None,
    token_form: Annotated[
        TokenChoice | None, typer.Option(help="What its access tokens look like; 'default' is KONTOR_TOKEN_FORM.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Change the settings of a tenant: those that are named."""
    with open_tenant(name) as (_, _, tenant):
        if regulated is not None:
            tenant.regulated = regulated
        if token_form is not None:
            tenant.token_form = None if token_form is TokenChoice.DEFAULT else token_form.value
        kind, form = "regulated" if tenant.regulated else "a redirect tenant", tenant.token_form or "the installation's"
    say(f"Tenant {name} is {kind}; the form of its tokens is {form}.", as_json)


@commands.command()
def disable(name: TenantName, as_json: Json = False) -> None:
    """Disable a tenant. Its logins are refused, and its tokens, fetches, dialogues with banks and form sessions end at once."""
    from pipelines import deactivation  # loads the flows, which no other command of this group needs

    with open_tenant(name) as (_, owner, _):
        deactivation.disable_tenant(owner)
    say(f"Tenant {name} is disabled.", as_json)


@commands.command()
def enable(name: TenantName, as_json: Json = False) -> None:
    """Enable a disabled tenant. What ended when it was disabled stays ended."""
    with open_tenant(name) as (_, owner, _):
        tenants.enable(owner)
    say(f"Tenant {name} is enabled.", as_json)


@commands.command("add-callback")
def add_callback(name: TenantName, url: Url, as_json: Json = False) -> None:
    """Add a URL to the callback allow-list."""
    with open_tenant(name) as (_, owner, _):
        say(f"{tenants.add_callback(owner, url)} is on the allow-list of {name}.", as_json)


@commands.command("remove-callback")
def remove_callback(name: TenantName, url: Url, as_json: Json = False) -> None:
    """Remove a URL from the callback allow-list."""
    with open_tenant(name) as (_, owner, _):
        tenants.remove_callback(owner, url)
    say(f"{url} is no longer on the allow-list of {name}.", as_json)


def _row(tenant: Tenant) -> dict[str, Any]:
    return {
        "name": tenant.name,
        "tenantId": str(tenant.id),
        "regulated": tenant.regulated,
        "active": tenant.active,
        "tokenForm": tenant.token_form,
        "description": tenant.description,
    }
