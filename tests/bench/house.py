"""The house that is measured: a data directory for one run, with its database, and the API and the bare route side by side.

Here belongs starting it and leaving nothing behind, whatever happens. Here does not belong what it is filled with (`seeding.py`)
and what is asked of it.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from sqlalchemy import make_url

from tests.bench import ending
from tests.bench.cases import HOST, Server
from warehouse.errors import KontorError
from warehouse.postgres import embedded, migrate
from warehouse.secrets.vault import create_ring
from warehouse.settings import Settings

MODULES = {
    Server.API: ("api",),
    Server.BARE: ("tests.bench.bare",),
    Server.CHECKED: ("tests.bench.checked",),
    Server.ALONE: ("tests.bench.checked", "alone"),
}
START_SECONDS, STOP_SECONDS = 60, 10


@dataclass(frozen=True)
class Started:
    """Where the servers listen, which processes they are, and how to reach their database."""

    ports: dict[Server, int]
    pids: dict[Server, int]
    settings: Settings
    """Those of flows in this process: with one connection, which therefore knows of all that they write."""
    owner_address: str


@contextmanager
def running() -> Iterator[Started]:
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
        ports = dict(zip(MODULES, _free_ports(len(MODULES)), strict=True))
        pids = {server: opened.enter_context(_serving(server, port, home, where.service)) for server, port in ports.items()}
        flows = settings.model_copy(update={"database_url": where.service, "database_pool": 1})
        yield Started(ports, pids, flows, where.migration)
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


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on. All are held until the last is found, so that they differ."""
    with ExitStack() as probes:
        found = [probes.enter_context(socket.socket()) for _ in range(count)]
        for probe in found:
            probe.bind((HOST, 0))
        return [probe.getsockname()[1] for probe in found]


@contextmanager
def _serving(server: Server, port: int, home: Path, database: str) -> Iterator[int]:
    """The id of a server that listens while the block runs; having one worker only, it works itself.

    It lives in the data directory, so that it finds no settings file.
    """
    kontor = {"HOME": home, "DATABASE_URL": database, "HOST": HOST, "PORT": port, "WORKERS": 1}
    kontor["BASE_URL"] = Settings(_env_file=None).base_url  # what lies ready has links, and is of this address
    log = home / f"{server.value}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *MODULES[server]],
            env=os.environ | {f"KONTOR_{name}": str(value) for name, value in kontor.items()},
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for the load alone, which then stops the servers in order
        )
    try:
        _wait_for(process, port, log)
        yield process.pid
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
