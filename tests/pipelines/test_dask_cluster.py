"""A Dask cluster as `deploy/` runs it: a scheduler and the workers of two machines, each started again when it ends."""

import os
import signal
import ssl
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import psutil
import pytest

from pipelines.engine import cluster_key
from pipelines.engine import run as engine
from tests.support.engine_tasks import PATIENCE_SECONDS, fatal_once, square, wait_for, waiting
from tests.support.stack import free_port
from warehouse.errors import KontorError
from warehouse.settings import Settings

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 19, tzinfo=UTC)
ITEMS = range(12)
KONTOR = (sys.executable, "-c", "from api.cli import main; main()")
SQUARES = [(number, number * number) for number in ITEMS]


class Machine:
    """A program that a supervisor looks after."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._command, self._environment = command, environment
        self._over = threading.Event()
        self.process = self._start()
        threading.Thread(target=self._look_after, daemon=True).start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*KONTOR, *self._command], cwd=ROOT, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def _look_after(self) -> None:
        while not self._over.wait(0.1):
            if self.process.poll() is not None:
                self.process = self._start()

    def stop(self) -> None:
        self._over.set()
        children = psutil.Process(self.process.pid).children(recursive=True) if self.process.poll() is None else []
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)
        for child in psutil.wait_procs(children, timeout=PATIENCE_SECONDS)[1]:
            child.kill()


@contextmanager
def cluster(home: Path, port: int) -> Iterator[tuple[Machine, list[Machine]]]:
    """The scheduler and two machines with a worker each, all with one data directory."""
    variables = os.environ | {"KONTOR_HOME": str(home), "KONTOR_DASK_SCHEDULER": f"tls://127.0.0.1:{port}"}
    machines = [Machine(["dask", "scheduler", "--port", str(port)], variables)]
    try:
        wait_for((home / cluster_key.FILE).exists)
        machines += [Machine(["dask", "worker", "--workers", "1"], variables) for _ in range(2)]
        yield machines[0], machines[1:]
    finally:
        for machine in machines:
            machine.stop()


@pytest.mark.thorough
def test_killed_workers_and_a_killed_scheduler_lose_nothing(tmp_path: Path) -> None:
    home, strangers = tmp_path / "home", tmp_path / "strangers"
    home.mkdir()
    strangers.mkdir()
    with cluster(home, port := free_port()) as (scheduler, workers):
        settings = Settings(_env_file=None, home=home, engine="dask", dask_scheduler=f"tls://127.0.0.1:{port}")
        assert list(engine.run(square, ITEMS, settings)) == SQUARES

        cluster_key.create(strangers, NOW)
        for folder in (strangers, tmp_path):
            stranger = settings.model_copy(update={"home": folder})
            with pytest.raises(KontorError, match="no Dask scheduler to work with"):
                next(engine.run(square, ITEMS, stranger))

        assert list(engine.run(partial(fatal_once, tmp_path), ITEMS, settings)) == SQUARES
        assert (tmp_path / "died").exists()

        results = engine.run(partial(waiting, tmp_path), ITEMS, settings)
        assert next(results) == (0, 0)
        wait_for(lambda: len([*tmp_path.glob("started-*")]) >= 3)  # item 0, and one on each machine
        started = psutil.Process(scheduler.process.pid).create_time()
        scheduler.process.send_signal(signal.SIGKILL)
        (tmp_path / "go").touch()
        assert [(0, 0), *results] == SQUARES
        assert psutil.Process(scheduler.process.pid).create_time() > started
        assert all(worker.process.poll() is None for worker in workers)


class TestClusterKey:
    def test_it_is_made_once_and_only_its_owner_can_read_it(self, tmp_path: Path) -> None:
        path = cluster_key.create(tmp_path, NOW)
        content = path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert (cluster_key.create(tmp_path, NOW), path.read_bytes()) == (path, content)
        assert cluster_key.find(tmp_path) == path

    def test_it_is_valid_for_scheduler_worker_and_client(self, tmp_path: Path) -> None:
        path = cluster_key.create(tmp_path, datetime.now(UTC))
        to_worker, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        sides = []
        for purpose, incoming, outgoing in (
            (ssl.Purpose.SERVER_AUTH, to_client, to_worker),
            (ssl.Purpose.CLIENT_AUTH, to_worker, to_client),
        ):
            context = ssl.create_default_context(purpose, cafile=path)
            context.load_cert_chain(path)
            context.check_hostname, context.verify_mode = False, ssl.CERT_REQUIRED
            sides.append(context.wrap_bio(incoming, outgoing, server_side=purpose is ssl.Purpose.CLIENT_AUTH))
        for _ in range(4):
            for side in sides:
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    continue
        assert [side.getpeercert() != {} for side in sides] == [True, True]

    def test_a_missing_one_says_who_makes_it(self, tmp_path: Path) -> None:
        assert cluster_key.find(tmp_path) is None
        with pytest.raises(KontorError, match="`kontor dask scheduler` makes it"):
            cluster_key.require(tmp_path)

    def test_a_damaged_one_says_what_to_do(self, tmp_path: Path) -> None:
        (tmp_path / cluster_key.FILE).write_text("damaged")
        with pytest.raises(KontorError, match="remove it, and start the cluster again"):
            cluster_key.find(tmp_path)
