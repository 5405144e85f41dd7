"""`kontor dagster`: the UI and the daemon of Dagster as services, the password of the UI, and the environment of their processes.

Only the processes that are started here load Dagster itself.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from api.cli import processes
from api.cli.installation import Json, read_settings, show_once
from api.dagster_proxy import credentials, sites
from warehouse import files
from warehouse.errors import KontorError
from warehouse.postgres import embedded, migrate
from warehouse.postgres.embedded import Addresses
from warehouse.settings import Settings

commands = typer.Typer(help="Dagster: schedules, backfills, training.", no_args_is_help=True)
STOP_SECONDS = 20
DATABASE_SECRETS = ("KONTOR_DATABASE_URL", "KONTOR_MIGRATION_URL", "KONTOR_DAGSTER_DATABASE_URL", "KONTOR_VAULT_KEYS")
"""What the proxy, which faces browsers, has no use for."""
TOP = Path(__file__).resolve().parents[2]
HOME = TOP if (TOP / "dagster.yaml").exists() else TOP / "pipelines"
"""The folder of `dagster.yaml`: the root of a checkout, or the installed package."""


@commands.command()
def webserver() -> None:
    """Serve only the Dagster UI, behind its login. 'kontor dagster password' sets the password."""
    settings, variables = _service()
    processes.interrupt_on_signals()
    children: list[processes.Child] = []
    with socket_path() as socket:
        try:
            children.extend(start() for start in ui_starts(settings, variables, socket, None).values())
            processes.watch(children)
        except KeyboardInterrupt:
            pass
        finally:
            processes.stop_all(children, STOP_SECONDS)


@commands.command()
def daemon() -> None:
    """Run schedules, the sensor and queued runs. Start exactly one daemon per installation."""
    _, variables = _service()
    os.umask(processes.PRIVATE_UMASK)
    # Replaces this process, so that a supervisor watches Dagster itself.
    os.execve(sys.executable, daemon_command(), variables)  # noqa: S606  # our own program


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


@contextmanager
def socket_path() -> Iterator[Path]:
    """The path of a unix socket for Dagster's webserver, in a new folder that only its owner can enter.

    Not in the data directory: the path of a socket has at most about a hundred characters.
    """
    with TemporaryDirectory(prefix="kontor-dagster-") as folder:
        yield Path(folder) / "webserver"


def ui_starts(
    settings: Settings, variables: dict[str, str], socket: Path, logs: Path | None
) -> dict[str, Callable[[], processes.Child]]:
    """How the two processes of the UI are started: Dagster's webserver, and the proxy with the login in front of it."""
    own_variables = {name: value for name, value in variables.items() if name not in DATABASE_SECRETS}
    webserver_command = [sys.executable, "-m", "pipelines.webserver", str(socket)]
    proxy_command = [sys.executable, "-m", "api.dagster_proxy", str(socket)]
    credentials.create_token(settings.home)
    return {
        "dagster-webserver": lambda: processes.start("dagster-webserver", webserver_command, variables, logs),
        "dagster-proxy": lambda: processes.start("dagster-proxy", proxy_command, own_variables, logs),
    }


def daemon_command() -> list[str]:
    """The command of Dagster's daemon."""
    return [sys.executable, "-m", "dagster._daemon", "run", "-m", "pipelines.definitions"]


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


def _service() -> tuple[Settings, dict[str, str]]:
    """The settings and the environment of a service with a database of its own."""
    settings = read_settings()
    if settings.database_url is None or settings.dagster_database_url is None:
        raise KontorError("set KONTOR_DATABASE_URL and KONTOR_DAGSTER_DATABASE_URL; on one machine, 'kontor up' starts Dagster")
    addresses = embedded.external(settings)
    migrate.require_tables(addresses.service)
    own_home = {name: value for name, value in os.environ.items() if name == "DAGSTER_HOME"}  # for a custom dagster.yaml
    return settings, environment(settings, addresses) | {"KONTOR_FIRST_SLOT": first_slot(settings)} | own_home
