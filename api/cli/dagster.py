"""`kontor dagster`: the webserver and the daemon of Dagster as services, and the environment of their processes.

Only the processes that are started here load Dagster itself.
"""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from api.cli.installation import Json, read_settings, show_once
from api.dagster_proxy import credentials, sites
from warehouse.errors import KontorError
from warehouse.postgres import embedded, migrate
from warehouse.postgres.embedded import Addresses
from warehouse.settings import Settings

commands = typer.Typer(help="Dagster: schedules, backfills, training.", no_args_is_help=True)
MODULES = {"webserver": "dagster_webserver", "daemon": "dagster._daemon"}
TOP = Path(__file__).resolve().parents[2]
HOME = TOP if (TOP / "dagster.yaml").exists() else TOP / "pipelines"
"""The folder of `dagster.yaml`: the root of a checkout, or the installed package."""


@commands.command()
def webserver() -> None:
    """Serve only the Dagster UI. It has no login: bind it to loopback, or put it behind a proxy with authentication."""
    _exec("webserver")


@commands.command()
def daemon() -> None:
    """Run schedules, the sensor and queued runs. Start exactly one daemon per installation."""
    _exec("daemon")


@commands.command()
def password(
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input instead of generating one.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Set a new password for the Dagster UI and log everybody out. Prints the password once."""
    settings = read_settings()
    own_password = sys.stdin.readline().rstrip("\n") if password_stdin else None
    facts = {"address": sites.local_address(settings), "password": credentials.change_password(settings.home, own_password)}
    show_once(facts, as_json, "The Dagster UI has a new password.")


def command(part: str, settings: Settings) -> list[str]:
    """The command of a Dagster process."""
    address = ["-h", settings.dagster_host, "-p", str(settings.dagster_port)]
    arguments = {"webserver": address, "daemon": ["run"]}[part]
    return [sys.executable, "-m", MODULES[part], *arguments, "-m", "pipelines.definitions"]


def environment(settings: Settings, addresses: Addresses) -> dict[str, str]:
    """The environment of all processes of the installation."""
    folder = settings.home / "dagster"
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        "KONTOR_HOME": str(settings.home),
        "KONTOR_DATABASE_URL": addresses.service,
        "KONTOR_DAGSTER_DATABASE_URL": addresses.dagster_storage,
        "KONTOR_DAGSTER_DIR": str(folder),
        "KONTOR_DAGSTER_LOGS": str(logs),
        "DAGSTER_HOME": str(HOME),
        "DAGSTER_EVENT_BATCH_SIZE": "64",  # writes the events of a run's partitions in batches
        "PYTHONUNBUFFERED": "1",
    }


def first_slot(settings: Settings) -> str:
    """The first slot with data: partitions before it would stay missing for ever."""
    from pipelines.fetching.slots import SLOT_FORMAT, slot_of  # loads the lake, which no other command of this group needs
    from warehouse.lake.lake import Lake
    from warehouse.lake.tables import LANDING

    if "first_slot" in settings.model_fields_set:
        return settings.first_slot
    now = slot_of(datetime.now(UTC), settings.zone).strftime(SLOT_FORMAT)
    return min((file.slot for file in Lake(settings.lake_path).all_files(LANDING)), default=now)


def _exec(part: str) -> None:
    """Replaces this process by Dagster, so that a supervisor watches Dagster itself."""
    settings = read_settings()
    if settings.database_url is None or settings.dagster_database_url is None:
        raise KontorError("set KONTOR_DATABASE_URL and KONTOR_DAGSTER_DATABASE_URL; on one machine, 'kontor up' starts Dagster")
    addresses = embedded.external(settings)
    migrate.require_tables(addresses.service)
    own_home = {name: value for name, value in os.environ.items() if name == "DAGSTER_HOME"}  # for a custom dagster.yaml
    variables = environment(settings, addresses) | {"KONTOR_FIRST_SLOT": first_slot(settings)} | own_home
    os.execve(sys.executable, command(part, settings), variables)  # noqa: S606  # nosec B606  # our own program
