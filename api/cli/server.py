"""`kontor up`, `serve`, `worker`, `migrate`, `ready` and `inventory`: operating the service."""

import os
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from api.cli import processes
from api.cli.installation import Json, check_keys, console, open_installation, read_settings, say, show
from api.cli.knowledge import require_own_tables
from warehouse.errors import KeysMissing
from warehouse.postgres import embedded, migrate
from warehouse.secrets.vault import Vault


def register(app: typer.Typer) -> None:
    """Adds the commands to the command line."""
    app.command("up")(run_all)
    app.command("serve")(serve)
    app.command("worker")(work)
    app.command("migrate")(migrate_database)
    app.command("ready")(wait_until_ready)
    app.command("inventory")(take_inventory)


def run_all(
    dagster: Annotated[bool, typer.Option(help="Also start the Dagster webserver and daemon.")] = True,
    demo: Annotated[bool, typer.Option(help="Also create the demo tenants.")] = True,
) -> None:
    """Run everything on this machine: database, demo tenants, API, worker and Dagster. Ctrl-C stops all."""
    from api.cli import up  # loads the lake, which the other commands do not need

    settings = read_settings()
    require_own_tables()
    with embedded.addresses(settings) as addresses:
        up.run(settings, addresses, with_dagster=dagster, with_demo=demo)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    workers: Annotated[int | None, typer.Option(help="Number of processes.")] = None,
) -> None:
    """Serve only the API. Requires an up-to-date database and vault keys."""
    from api.http import server  # loads the web framework, which no other command needs

    for name, value in {"HOST": host, "PORT": port, "WORKERS": workers}.items():
        if value is not None:
            os.environ[f"KONTOR_{name}"] = str(value)
    settings = read_settings()
    require_own_tables()
    with embedded.addresses(settings) as addresses:
        vault = Vault(settings)
        vault.ring()
        migrate.require_tables(addresses.service)
        try:
            check_keys(addresses.service, vault)
        except KeysMissing as error:
            Console(stderr=True).print(f"[red]The API starts but is not ready (/ready answers 503): {error}[/]", soft_wrap=True)
        os.environ["KONTOR_HOME"] = str(settings.home)
        os.environ["KONTOR_DATABASE_URL"] = addresses.service
        server.run(settings)


def work() -> None:
    """Run only a worker, which talks to banks and delivers webhooks. Several workers can run in parallel."""
    from pipelines import worker  # loads libraries that no other command needs

    settings = read_settings()
    require_own_tables()
    with embedded.addresses(settings) as addresses:
        migrate.require_tables(addresses.service)
        check_keys(addresses.service, Vault(settings))
        os.environ["KONTOR_HOME"] = str(settings.home)
        os.environ["KONTOR_DATABASE_URL"] = addresses.service
        worker.main(read_settings())


def migrate_database(as_json: Json = False) -> None:
    """Migrate the database to the schema of this version. Safe to run at any time, even twice in parallel."""
    settings = read_settings()
    with embedded.addresses(settings) as addresses:
        before, after = migrate.upgrade(addresses.migration, addresses.service_role)
        if migrate.bypasses_row_security(addresses.service):
            console.print("[yellow]The database role of the service bypasses row-level security. Use a role that does not.[/]")
    say(f"The database schema is at {after} (before: {before or 'none'}).", as_json)


def wait_until_ready(
    port: Annotated[int | None, typer.Option(help="Port of the API. Default: KONTOR_PORT.")] = None,
    seconds: Annotated[float, typer.Option(help="Seconds to wait at most.")] = 120,
) -> None:
    """Wait until the API on this machine accepts requests. Fails after the time limit."""
    settings = read_settings()
    loopback = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104  # an address to call, not to listen on
    host = loopback.get(settings.host, settings.host)
    processes.wait_for(f"http://{host}:{port or settings.port}/ready", [], seconds)


def take_inventory(as_json: Json = False) -> None:
    """Count all rows and files, with checksums. An intact restored installation has the same inventory as the original."""
    from warehouse.lake.lake import Lake  # loads the lake, which few commands need
    from warehouse.stores import inventory

    with open_installation() as installation:
        with installation.database.surveying() as operator:
            rows = list(inventory.database_tables(operator))
        rows += inventory.lake_tables(Lake(installation.settings.lake_path))
    show([asdict(row) for row in rows], as_json, "Tables")
