"""`kontor dagster`: the webserver and the daemon of Dagster as services, and the environment of their processes.

Only the processes that are started here load Dagster itself.
"""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import typer

from api.cli.installation import read_settings
from api.cli.processes import PRIVATE_UMASK
from warehouse import files
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


def command(part: str, settings: Settings) -> list[str]:
    """The command of a Dagster process."""
    address = ["-h", settings.dagster_host, "-p", str(settings.dagster_port)]
    arguments = {"webserver": address, "daemon": ["run"]}[part]
    return [sys.executable, "-m", MODULES[part], *arguments, "-m", "pipelines.definitions"]


def environment(settings: Settings, addresses: Addresses) -> dict[str, str]:
    """The environment of all processes of the installation."""
    folder = settings.home / "dagster"
    logs = folder / "logs"
    files.make_folder(logs)
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
    os.umask(PRIVATE_UMASK)
    os.execve(sys.executable, command(part, settings), variables)  # noqa: S606  # nosec B606  # our own program
