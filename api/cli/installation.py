"""What commands share: access to the installation that they work on, and the output of their results."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

from api.cli import audit
from warehouse.errors import Invalid
from warehouse.postgres import embedded, migrate
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.tables import Tenant
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores import tenants

console = Console()
MAX_UNFOLDED_CHARACTERS = 24
"""Values of the first column up to this length are never wrapped, so that they can be copied into other commands."""
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
TenantName = Annotated[str, typer.Argument(help="Name of the tenant.", show_default=False)]


@dataclass(frozen=True)
class Installation:
    """The settings, the database and the vault that a command works with."""

    settings: Settings
    database: Database
    vault: Vault


def read_settings() -> Settings:
    """The settings from the environment; raises with the name of an invalid one."""
    try:
        return Settings()
    except ValidationError as error:
        problems = "; ".join(f"KONTOR_{str(item['loc'][0]).upper()}: {item['msg']}" for item in error.errors())
        raise Invalid(problems) from error


@contextmanager
def open_installation() -> Iterator[Installation]:
    """The installation of the settings. If no database server is running, the embedded one runs during the command. What a
    command has changed is in the audit log when the block ends.
    """
    settings = read_settings()
    with embedded.addresses(settings) as addresses:
        migrate.require_tables(addresses.service)
        database = Database(addresses.service, pool=2, wait_seconds=settings.database_wait_seconds)
        try:
            yield Installation(settings, database, Vault(settings))
            audit.leave_entry(database)
        finally:
            database.close()


def check_keys(service_url: str, vault: Vault) -> None:
    """Raises `KeysMissing`, with what to do, if the vault keys do not belong to the database."""
    with closing(Database(service_url, pool=1)) as database, database.operating() as operator:
        sealed_values.check_keys(operator, vault)


@contextmanager
def open_tenant(tenant_name: str) -> Iterator[tuple[Installation, Owner, Tenant]]:
    """A transaction on one tenant."""
    with open_installation() as installation, installation.database.operating() as operator:
        tenant = tenants.find(operator, tenant_name)
        yield installation, operator.for_tenant(tenant.id), tenant


def show(rows: Sequence[Mapping[str, Any]], as_json: bool, title: str) -> None:
    """Prints rows as a table, or as JSON."""
    if as_json:
        print(json.dumps(list(rows), default=str, ensure_ascii=False, indent=2))
        return
    table = Table(title=f"{title} ({len(rows)})", title_justify="left")
    for name in rows[0] if rows else ():
        short = max(len(str(row[name])) for row in rows) <= MAX_UNFOLDED_CHARACTERS
        table.add_column(name, overflow="fold", no_wrap=short and not table.columns)
    for row in rows:
        table.add_row(
            *("" if value is None else ", ".join(value) if isinstance(value, list) else str(value) for value in row.values())
        )
    console.print(table if rows else f"No {title.lower()}.")


def show_once(facts: Mapping[str, Any], as_json: bool, title: str) -> None:
    """Prints a result with its fields, and a warning if it contains secrets."""
    if as_json:
        print(json.dumps(facts, default=str, ensure_ascii=False, indent=2))
        return
    console.print(f"[bold green]{title}[/]")
    lines = dict(_flat(facts))
    for name, value in lines.items():
        console.print(f"  {name}: {value}", highlight=False, soft_wrap=True, markup=False)
    if any(name.endswith(("secret", "password", "apiKey")) for name in lines):
        console.print("[yellow]Secrets are shown once. Store them now.[/]")


def _flat(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values by their names, with the names of their parents as a prefix."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", value


def say(text: str, as_json: bool = False) -> None:
    """Prints the confirmation of a change."""
    if as_json:
        print(json.dumps({"result": text}))
    else:
        console.print(text, highlight=False)
