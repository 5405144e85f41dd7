"""The operator's desk: what commands share to reach the house and to show what they find."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

from warehouse.errors import Invalid
from warehouse.postgres import embedded, migrate
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.tables import Tenant
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores import tenants

console = Console()
COPIED = 24
"""Characters of what people copy from the first column into other commands, as a model's version; ids are longer and fold."""
Json = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
TenantName = Annotated[str, typer.Argument(help="Name of the tenant.", show_default=False)]


@dataclass(frozen=True)
class Desk:
    settings: Settings
    database: Database
    vault: Vault


def read_settings() -> Settings:
    """The settings, or a sentence that says which one is wrong."""
    try:
        return Settings()
    except ValidationError as error:
        wrong = "; ".join(f"KONTOR_{str(item['loc'][0]).upper()}: {item['msg']}" for item in error.errors())
        raise Invalid(wrong) from error


@contextmanager
def desk() -> Iterator[Desk]:
    """Database and vault, ready to work on. Starts the embedded server for the time of the command if nobody else runs it."""
    settings = read_settings()
    with embedded.addresses(settings) as where:
        migrate.require_tables(where.service)
        database = Database(where.service, pool=2, wait_seconds=settings.database_wait_seconds)
        try:
            yield Desk(settings, database, Vault(settings))
        finally:
            database.close()


@contextmanager
def working_on(tenant_name: str) -> Iterator[tuple[Desk, Owner, Tenant]]:
    """A transaction on one tenant."""
    with desk() as at, at.database.operating() as operator:
        tenant = tenants.find(operator, tenant_name)
        yield at, operator.for_tenant(tenant.id), tenant


def show(rows: Sequence[Mapping[str, Any]], as_json: bool, title: str) -> None:
    """Prints rows as a table, or as JSON."""
    if as_json:
        print(json.dumps(list(rows), default=str, ensure_ascii=False, indent=2))
        return
    table = Table(title=f"{title} ({len(rows)})", title_justify="left")
    for name in rows[0] if rows else ():
        short = max(len(str(row[name])) for row in rows) <= COPIED
        table.add_column(name, overflow="fold", no_wrap=short and not table.columns)
    for row in rows:
        table.add_row(
            *("" if value is None else ", ".join(value) if isinstance(value, list) else str(value) for value in row.values())
        )
    console.print(table if rows else f"No {title.lower()}.")


def show_once(facts: Mapping[str, Any], as_json: bool, title: str) -> None:
    """Prints what was made, with secrets that will not be shown again."""
    if as_json:
        print(json.dumps(facts, default=str, ensure_ascii=False, indent=2))
        return
    console.print(f"[bold green]{title}[/]")
    lines = dict(_flat(facts))
    for name, value in lines.items():
        console.print(f"  {name}: {value}", highlight=False, soft_wrap=True, markup=False)
    if any(name.endswith(("secret", "password", "apiKey")) for name in lines):
        console.print("[yellow]Secrets are shown once. Keep them now.[/]")


def _flat(facts: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The facts as lines: the names of what they stand in come before theirs."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name} ")
        else:
            yield f"{before}{name}", value


def say(text: str, as_json: bool = False) -> None:
    """Confirms a change."""
    if as_json:
        print(json.dumps({"result": text}))
    else:
        console.print(text, highlight=False)
