"""The house that is measured: a data directory for one run, with its database, and the API and the bare route side by side.

Here belongs starting it, seeding it, and leaving nothing behind, whatever happens. Here does not belong what is asked of it.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
from sqlalchemy import make_url

from tests.bench import ending
from tests.bench.cases import HOST, Login, Seed, Server
from warehouse import embedded, hashing, logins, migrate, users
from warehouse.database import Database
from warehouse.errors import KontorError
from warehouse.provisioning import ADMIN, APP, create_tenant
from warehouse.settings import Settings
from warehouse.vault import Vault, create_ring

MODULES = {Server.API: "api", Server.BARE: "tests.bench.bare"}
TENANT, USERNAMES = "bench", ("erika", "max", "neu")
START_SECONDS, STOP_SECONDS = 60, 10


@dataclass(frozen=True)
class House:
    """Where the servers listen, and what the database was filled with."""

    ports: dict[Server, int]
    seed: Seed


@contextmanager
def running() -> Iterator[House]:
    """The house, which runs while the block does. Settings of the caller's environment are not its own."""
    for name in [name for name in os.environ if name.startswith("KONTOR_")]:
        del os.environ[name]
    opened = ExitStack()
    try:
        home = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="kontor-bench-")))
        settings = Settings(_env_file=None, home=home)
        opened.callback(_end_database, home / "postgres" / "postmaster.pid")
        with ending.waits():
            where = opened.enter_context(embedded.addresses(settings))
        create_ring(settings.keys_path)
        migrate.upgrade(where.migration, make_url(where.service).username)
        seed = _seed(settings, where.service)
        ports = dict(zip(MODULES, _free_ports(len(MODULES)), strict=True))
        for server, port in ports.items():
            opened.enter_context(_serving(server, port, home, where.service))
        yield House(ports, seed)
    finally:
        with ending.waits():
            opened.close()


def _end_database(pid_file: Path) -> None:
    """Ends a database whose start was cut short: the embedded server does not know of it yet. After an orderly stop, nothing."""
    if pid_file.exists():
        with suppress(psutil.Error):
            server = psutil.Process(int(pid_file.read_text().split()[0]))
            server.send_signal(signal.SIGQUIT)
            server.wait(STOP_SECONDS)


def _seed(settings: Settings, address: str) -> Seed:
    """A tenant with three users, and a token of its admin client."""
    passwords = {username: hashing.new_secret() for username in USERNAMES}
    with closing(Database(address, pool=1)) as database:
        with database.operating() as operator:
            new = create_tenant(operator, Vault(settings), TENANT, datetime.now(UTC), regulated=True)
            for username, password in passwords.items():
                users.create(operator.for_tenant(new.tenant.id), username, hashing.hash_password(password))
        admin, app = (Login(f"{TENANT}/{client}", new.secrets[client]) for client in (ADMIN, APP))
        _, token = logins.token_of_client(database, settings, admin.name, admin.secret, None)
    return Seed(TENANT, admin, app, Login(*next(iter(passwords.items()))), token.access_token)


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on. All are held until the last is found, so that they differ."""
    with ExitStack() as probes:
        found = [probes.enter_context(socket.socket()) for _ in range(count)]
        for probe in found:
            probe.bind((HOST, 0))
        return [probe.getsockname()[1] for probe in found]


@contextmanager
def _serving(server: Server, port: int, home: Path, database: str) -> Iterator[None]:
    """A server that listens while the block runs. It works in the data directory, so that it finds no settings file."""
    kontor = {"HOME": home, "DATABASE_URL": database, "HOST": HOST, "PORT": port, "WORKERS": 1}
    log = home / f"{server.value}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", MODULES[server]],
            env=os.environ | {f"KONTOR_{name}": str(value) for name, value in kontor.items()},
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for the load alone, which then stops the servers in order
        )
    try:
        _wait_for(process, port, log)
        yield
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        process.kill()
        process.wait()


def _wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        time.sleep(0.05)
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
    raise KontorError(f"{log.stem} ended, or did not listen within {START_SECONDS} s; its log ends with:\n{tail}")
