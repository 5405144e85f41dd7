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
from api.cli.knowledge import require_own_tables
from api.dagster_proxy import credentials, sites
from warehouse.errors import KontorError
from warehouse.postgres import embedded, migrate
from warehouse.postgres.embedded import Addresses
from warehouse.runtime import files, priorities
from warehouse.settings import Settings

commands = typer.Typer(help="Dagster: schedules, backfills, training.", no_args_is_help=True)
STOP_SECONDS = 20
DATABASE_SECRETS = ("KONTOR_DATABASE_URL", "KONTOR_MIGRATION_URL", "KONTOR_DAGSTER_DATABASE_URL", "KONTOR_VAULT_KEYS")
"""What the proxy, which faces browsers, has no use for."""
CODE, CODE_SOCKET = "dagster-code", "code"
CODE_VARIABLE = "KONTOR_DAGSTER_CODE"
"""Names the socket of the server of our code in `pipelines/workspace.yaml`."""
DEFINITIONS = "pipelines.definitions"
PROGRAM = (sys.executable, "-m", "pipelines.dagster_process")
"""Runs a program of Dagster with our logs."""
TOP = Path(__file__).resolve().parents[2]
HOME = TOP if (TOP / "dagster.yaml").exists() else TOP / "pipelines"
"""The folder of `dagster.yaml`: the root of a checkout, or the installed package."""
WORKSPACE = TOP / "pipelines" / "workspace.yaml"


@commands.command()
def webserver() -> None:
    """Serve only the Dagster UI, behind its login. 'kontor dagster password' sets the password."""
    settings, variables = _service()
    processes.interrupt_on_signals()
    children: list[processes.Child] = []
    with sockets() as folder:
        try:
            children.extend(start() for start in ui_starts(settings, variables, folder, None).values())
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
    priorities.yield_to_others()  # the runs that it starts do
    # Replaces this process, so that a supervisor watches Dagster itself.
    command = [*PROGRAM, "dagster._daemon", "run", "-m", DEFINITIONS]  # with a server of our code of its own
    os.execve(sys.executable, command, variables)  # noqa: S606  # our own program


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
def sockets() -> Iterator[Path]:
    """A new folder for the unix sockets of Dagster's processes, which only its owner can enter.

    Not in the data directory: the path of a socket has at most about a hundred characters.
    """
    with TemporaryDirectory(prefix="kontor-dagster-") as folder:
        yield Path(folder)


def ui_starts(
    settings: Settings, variables: dict[str, str], folder: Path, logs: Path | None
) -> dict[str, Callable[[], processes.Child]]:
    """How the three processes of the UI are started: the server of our code, Dagster's webserver, and the proxy with the login.

    The code has a process of its own because Dagster's webserver does not start one that has died again.
    """
    code, webserver = folder / CODE_SOCKET, folder / "webserver"
    variables = {**variables, CODE_VARIABLE: str(code)}
    own_variables = {name: value for name, value in variables.items() if name not in DATABASE_SECRETS}
    commands_by_name = {
        CODE: (code_command(code), variables),
        "dagster-webserver": ([sys.executable, "-m", "pipelines.webserver", str(webserver)], variables),
        "dagster-proxy": ([sys.executable, "-m", "api.dagster_proxy", str(webserver)], own_variables),
    }
    credentials.create_token(settings.home)

    def start_of(name: str) -> Callable[[], processes.Child]:
        return lambda: processes.start(name, *commands_by_name[name], logs, yields=name == CODE)

    return {name: start_of(name) for name in commands_by_name}


def daemon_start(variables: dict[str, str], folder: Path, logs: Path | None) -> processes.Child:
    """Dagster's daemon beside the UI, whose server of our code it shares."""
    command = [*PROGRAM, "dagster._daemon", "run", "-w", str(WORKSPACE)]
    return processes.start("dagster-daemon", command, {**variables, CODE_VARIABLE: str(folder / CODE_SOCKET)}, logs)


def code_command(socket: Path) -> list[str]:
    """The command of the server in which Dagster loads our code and starts runs."""
    return [*PROGRAM, "dagster", "api", "grpc", "-m", DEFINITIONS, "--location-name", DEFINITIONS, "-s", str(socket)]


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
    from warehouse.lake.core_tables import LANDING
    from warehouse.lake.lake import Lake

    if "first_slot" in settings.model_fields_set:
        return settings.first_slot
    now = slot_of(datetime.now(UTC), settings.zone).strftime(SLOT_FORMAT)
    return min((file.slot for file in Lake(settings.lake_path).all_files(LANDING)), default=now)


def _service() -> tuple[Settings, dict[str, str]]:
    """The settings and the environment of a service with a database of its own."""
    settings = read_settings()
    if settings.database_url is None or settings.dagster_database_url is None:
        raise KontorError("set KONTOR_DATABASE_URL and KONTOR_DAGSTER_DATABASE_URL; on one machine, 'kontor up' starts Dagster")
    require_own_tables()
    addresses = embedded.external(settings)
    migrate.require_tables(addresses.service)
    own_home = {name: value for name, value in os.environ.items() if name == "DAGSTER_HOME"}  # for a custom dagster.yaml
    return settings, environment(settings, addresses) | {"KONTOR_FIRST_SLOT": first_slot(settings)} | own_home
