"""The house that is soaked: everything that `kontor up` starts, watched over as a service manager would.

Whatever ends is started again. Here does not belong what is killed (`kills.py`) and what is asked (`customers.py` and others).
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from sqlalchemy import make_url

from api.cli import dagster, processes
from api.dagster_proxy import runs
from api.dagster_proxy.sites import READY
from pipelines.fetching.slots import SLOT_FORMAT, slot_of
from tests.support.small_disk import MountRefused, SmallDisk, small_disk
from tests.support.stack import free_port
from warehouse.postgres import embedded, migrate
from warehouse.postgres.database import Database
from warehouse.postgres.embedded import Addresses
from warehouse.secrets.vault import Vault, create_ring
from warehouse.settings import Settings

READER_SECONDS = 10
TOLD = {
    "KONTOR_BUCKETS": "4",
    "KONTOR_REQUEST_TIMEOUT_SECONDS": "60",
    "KONTOR_WORKER_LOST_SECONDS": "5",
    "KONTOR_WEBHOOK_PRIVATE_ADDRESSES": "true",
    "KONTOR_WEBHOOK_RETRY_SECONDS": "0,1,2,5,10,20",
    "KONTOR_READER_TIMEOUT_SECONDS": str(READER_SECONDS),
    "KONTOR_CACHED_LINES": "20000",
}
"""Shorter times and a smaller cache than usual, so that a soak of minutes sees what happens in hours."""
JOB_WORKERS = ("worker-1", "worker-2")
STOP_SECONDS = 40
LOOK_SECONDS = 0.2


@dataclass
class House:
    """The processes by their names, and what a soak may look into."""

    settings: Settings
    where: Addresses
    database: Database
    vault: Vault
    disk: SmallDisk | None
    """The disk of its own on which all data lie; None where none can be mounted."""
    starts: dict[str, Callable[[], processes.Child]]
    children: dict[str, processes.Child] = field(default_factory=dict)
    restarts: list[tuple[float, str, int]] = field(default_factory=list)
    """When which process was started again, and what it had ended with."""
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def home(self) -> Path:
        return self.settings.home

    @property
    def bank(self) -> Path:
        return self.home / "demo-bank"

    @property
    def dagster(self) -> runs.DagsterServer:
        return runs.server_of(self.settings)

    def pid(self, name: str) -> int:
        return self.children[name].process.pid

    def database_server(self) -> psutil.Process:
        """The process of PostgreSQL that started all others of it."""
        try:
            return psutil.Process(int((self.home / "postgres" / "postmaster.pid").read_text().split()[0]))
        except (OSError, ValueError, IndexError) as error:
            raise psutil.NoSuchProcess(-1, "PostgreSQL") from error

    def look_after(self) -> None:
        """Starts again what has ended, until the soak is over."""
        while not self.over.wait(LOOK_SECONDS):
            embedded.revive(self.settings)
            for name, child in list(self.children.items()):
                if (ended := child.process.poll()) is not None:
                    with suppress(OSError):  # as on a full disk: the next round tries again
                        self.children[name] = self.starts[name]()
                        self.restarts.append((time.monotonic(), name, ended))


@contextmanager
def running(disk_mebibytes: int) -> Iterator[House]:
    """The house, with a data directory of its own, on a disk of its own where one can be mounted; nothing of it stays."""
    for name in [name for name in os.environ if name.startswith("KONTOR_")]:
        del os.environ[name]
    with ExitStack() as opened:
        folder = Path(opened.enter_context(TemporaryDirectory(prefix="kontor-soak-")))
        folder.chmod(0o755)  # the user that runs the database passes through it
        disk = _disk(opened, folder / "disk", disk_mebibytes)
        home = (disk.folder if disk else folder) / "home"
        home.mkdir()
        (folder / "bank").mkdir()
        (home / "demo-bank").symlink_to(folder / "bank")  # a bank has a disk of its own
        os.environ |= TOLD | {"KONTOR_PORT": str(free_port()), "KONTOR_DAGSTER_PORT": str(free_port())}
        settings = Settings(_env_file=None, home=home)
        os.environ["KONTOR_FIRST_SLOT"] = slot_of(datetime.now(UTC), settings.zone).strftime(SLOT_FORMAT)
        opened.callback(_stop_database, home / "postgres")
        where = opened.enter_context(embedded.addresses(settings))
        create_ring(settings.keys_path)
        migrate.upgrade(where.migration, make_url(where.service).username)
        database = Database(where.service, pool=2)
        opened.callback(database.close)
        sockets = opened.enter_context(dagster.sockets())
        house = House(settings, where, database, Vault(settings), disk, _starts(settings, where, sockets))
        opened.callback(_stop, house)
        yield _started(house)


def _disk(opened: ExitStack, folder: Path, mebibytes: int) -> SmallDisk | None:
    """A disk that can be filled; None without a size, or where nothing can be mounted."""
    with suppress(MountRefused):
        return opened.enter_context(small_disk(folder, mebibytes)) if mebibytes else None
    return None


def _starts(settings: Settings, where: Addresses, sockets: Path) -> dict[str, Callable[[], processes.Child]]:
    """How each process is started; the same way as by `kontor up`."""
    environment, logs = dagster.environment(settings, where), settings.home / "logs"

    def of(name: str, module: str) -> Callable[[], processes.Child]:
        return lambda: processes.start(name, [sys.executable, "-m", module], environment, logs)

    return {
        "api": of("api", "api"),
        **{name: of(name, "pipelines.worker") for name in JOB_WORKERS},
        **dagster.ui_starts(settings, environment, sockets, logs),
        "dagster-daemon": lambda: dagster.daemon_start(environment, sockets, logs),
    }


def _started(house: House) -> House:
    """The house when the API and Dagster answer."""
    for name, start in house.starts.items():
        house.children[name] = start()
        if name == "dagster-proxy":  # the webserver makes Dagster's tables, which the daemon needs
            processes.wait_for(f"{house.dagster.address}{READY}", list(house.children.values()))
    processes.wait_for(f"{house.settings.base_url}/ready", list(house.children.values()))
    threading.Thread(target=house.look_after, name="look-after", daemon=True).start()
    return house


def _stop(house: House) -> None:
    house.over.set()
    time.sleep(2 * LOOK_SECONDS)
    deadline = time.monotonic() + STOP_SECONDS
    for child in house.children.values():
        child.stop(deadline)
    _end_left_over(house.home)


def _end_left_over(home: Path) -> None:
    """Ends what killed processes of Dagster have left: their servers of code have the data directory in their environment."""
    for process in psutil.process_iter():
        try:
            mine = process.environ().get("KONTOR_HOME") == str(home) and process.pid != os.getpid()
        except psutil.Error:
            continue
        if mine:
            process.kill()


def _stop_database(data: Path) -> None:
    """Stops a database that was started again by hand, which made it nobody's."""
    if (data / "postmaster.pid").exists():
        embedded.pg_ctl(data, "stop", "-m", "fast")
