"""`kontor dagster`: the webserver and the daemon of Dagster as services, and what their processes are told.

Dagster itself is loaded only by the processes that are started here.
"""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import typer

from api.cli.desk import read_settings
from warehouse.errors import KontorError
from warehouse.postgres import embedded, migrate
from warehouse.postgres.embedded import Addresses
from warehouse.settings import Settings

commands = typer.Typer(help="Dagster: schedules, backfills, training.", no_args_is_help=True)
MODULES = {"webserver": "dagster_webserver", "daemon": "dagster._daemon"}
TOP = Path(__file__).resolve().parents[2]
HOME = TOP if (TOP / "dagster.yaml").exists() else TOP / "pipelines"
"""The folder of `dagster.yaml`: the top of a checkout, or the package where it was installed."""


@commands.command()
def webserver() -> None:
    """Serve the Dagster UI alone. It has no login of its own: keep it on loopback, or behind a proxy that has one."""
    _become("webserver")


@commands.command()
def daemon() -> None:
    """Run schedules, the sensor and queued runs. One daemon for the whole installation."""
    _become("daemon")


def command(part: str, settings: Settings) -> list[str]:
    """How a process of Dagster is started."""
    listening = ["-h", settings.dagster_host, "-p", str(settings.dagster_port)]
    arguments = {"webserver": listening, "daemon": ["run"]}[part]
    return [sys.executable, "-m", MODULES[part], *arguments, "-m", "pipelines.definitions"]


def environment(settings: Settings, where: Addresses) -> dict[str, str]:
    """What all processes of the house are told."""
    folder = settings.home / "dagster"
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        "KONTOR_HOME": str(settings.home),
        "KONTOR_DATABASE_URL": where.service,
        "KONTOR_DAGSTER_DATABASE_URL": where.dagster_storage,
        "KONTOR_DAGSTER_DIR": str(folder),
        "KONTOR_DAGSTER_LOGS": str(logs),
        "DAGSTER_HOME": str(HOME),
        "DAGSTER_EVENT_BATCH_SIZE": "64",  # the partitions of a run are told of in one go
        "PYTHONUNBUFFERED": "1",
    }


def first_slot(settings: Settings) -> str:
    """The first slot that has brought something: partitions before it would be missing for ever."""
    from pipelines.fetching.slots import SLOT_FORMAT, slot_of  # these load the lake, which no other command of Dagster needs
    from warehouse.lake.lake import Lake
    from warehouse.lake.tables import LANDING

    if "first_slot" in settings.model_fields_set:
        return settings.first_slot
    now = slot_of(datetime.now(UTC), settings.zone).strftime(SLOT_FORMAT)
    return min((file.slot for file in Lake(settings.lake_path).all_files(LANDING)), default=now)


def _become(part: str) -> None:
    """Replaces this process, so that who watches it watches Dagster itself."""
    settings = read_settings()
    if settings.database_url is None or settings.dagster_database_url is None:
        raise KontorError("set KONTOR_DATABASE_URL and KONTOR_DAGSTER_DATABASE_URL; on one machine, 'kontor up' starts Dagster")
    where = embedded.external(settings)
    migrate.require_tables(where.service)
    own_home = {name: value for name, value in os.environ.items() if name == "DAGSTER_HOME"}  # for a dagster.yaml of your own
    told = environment(settings, where) | {"KONTOR_FIRST_SLOT": first_slot(settings)} | own_home
    os.execve(sys.executable, command(part, settings), told)  # noqa: S606  # nosec B606  # our own program
