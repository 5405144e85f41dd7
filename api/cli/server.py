"""`kontor up`, `kontor serve`, `kontor worker`, `kontor migrate`, `kontor ready`: running the service."""

import os
from typing import Annotated

import typer

from api.cli import processes
from api.cli.desk import Json, console, read_settings, say
from warehouse.postgres import embedded, migrate
from warehouse.secrets.vault import Vault


def register(app: typer.Typer) -> None:
    """Adds the commands to the command line."""
    app.command("up")(run_all)
    app.command("serve")(serve)
    app.command("worker")(work)
    app.command("migrate")(migrate_database)
    app.command("ready")(wait_until_ready)


def run_all(
    dagster: Annotated[bool, typer.Option(help="Also start the Dagster webserver and daemon.")] = True,
    demo: Annotated[bool, typer.Option(help="Also make the demo tenants.")] = True,
) -> None:
    """Run everything: database, tables, demo tenants, API, Dagster. Ctrl-C stops it all."""
    from api.cli import up  # loads the lake, which the other commands do not need

    settings = read_settings()
    with embedded.addresses(settings) as where:
        up.run(settings, where, with_dagster=dagster, with_demo=demo)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    workers: Annotated[int | None, typer.Option(help="Number of processes.")] = None,
) -> None:
    """Serve the API alone, with the tables and keys that are there."""
    from api.http import server  # loads the web framework, which no other command needs

    for name, value in {"HOST": host, "PORT": port, "WORKERS": workers}.items():
        if value is not None:
            os.environ[f"KONTOR_{name}"] = str(value)
    settings = read_settings()
    with embedded.addresses(settings) as where:
        Vault(settings).ring()
        migrate.require_tables(where.service)
        os.environ["KONTOR_HOME"] = str(settings.home)
        os.environ["KONTOR_DATABASE_URL"] = where.service
        server.run(settings)


def work() -> None:
    """Run a worker alone: it talks to banks and delivers webhooks. Several may run beside each other."""
    from pipelines import worker  # loads what no other command needs

    settings = read_settings()
    with embedded.addresses(settings) as where:
        Vault(settings).ring()
        migrate.require_tables(where.service)
        os.environ["KONTOR_HOME"] = str(settings.home)
        os.environ["KONTOR_DATABASE_URL"] = where.service
        worker.main(read_settings())


def migrate_database(as_json: Json = False) -> None:
    """Bring the database to the tables that this version needs. Safe to run at any time, also twice at once."""
    settings = read_settings()
    with embedded.addresses(settings) as where:
        before, after = migrate.upgrade(where.migration, where.service_role)
        if migrate.bypasses_row_security(where.service):
            console.print("[yellow]The service's database role bypasses row-level security. Give it a role that does not.[/]")
    say(f"The tables are at {after} (before: {before or 'none'}).", as_json)


def wait_until_ready(
    port: Annotated[int | None, typer.Option(help="Port of the API; default: KONTOR_PORT.")] = None,
    seconds: Annotated[float, typer.Option(help="How long to wait.")] = 120,
) -> None:
    """Return as soon as the API on this machine takes requests; fail if it does not in time."""
    settings = read_settings()
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104  # nosec B104  # whom to call, not where to listen
    host = everywhere.get(settings.host, settings.host)
    processes.wait_for(f"http://{host}:{port or settings.port}/ready", [], seconds)
