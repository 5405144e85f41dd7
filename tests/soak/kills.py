"""Kills: every few seconds something dies without warning, stands still, or has no room on the disk. The oldest API worker and
the oldest job worker are spared, so that there are processes that live through the whole soak and whose memory means something.
"""

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import httpx
import psutil

from tests.soak.house import JOB_WORKERS, House
from tests.support.small_disk import SmallDisk

API_WORKER, JOB_WORKER, POSTGRES, DAGSTER_RUN = "API worker", "job worker", "PostgreSQL", "Dagster run"
STUCK_WORKER, DAEMON, CODE_SERVER, FULL_DISK = "stuck API worker", "Dagster daemon", "Dagster code server", "full disk"
BACK_SECONDS = 90
"""How long a return is waited for at most."""
FIRST_FULL_DISK_SECONDS, FULL_DISK_EVERY_SECONDS, FULL_SECONDS = 60, 300, 8


@dataclass(frozen=True)
class Kill:
    """What died when, and after how many seconds it was as before."""

    at: float
    kind: str
    back_seconds: float | None
    lasted_seconds: float = 0.0
    """For how long it went on; it is back so many seconds after that."""


class Killer(threading.Thread):
    """Kills by chance, until told to stop."""

    def __init__(self, house: House, every: float, seed: int) -> None:
        super().__init__(name="killer", daemon=True)
        self.house, self.every = house, every
        self.chance = random.Random(seed)
        self.over = threading.Event()
        self.kills: list[Kill] = []
        self.counts: Counter[str] = Counter()
        self._waiting: list[threading.Thread] = []
        self._full_at = time.monotonic() + FIRST_FULL_DISK_SECONDS
        self.kinds: dict[str, Callable[[], Callable[[], bool] | None]] = {
            API_WORKER: self._api_worker,
            JOB_WORKER: self._job_worker,
            POSTGRES: self._postgres,
            DAGSTER_RUN: self._dagster_run,
            STUCK_WORKER: self._stuck_worker,
            DAEMON: self._daemon,
            CODE_SERVER: self._code_server,
        }

    def run(self) -> None:
        due = time.monotonic() + self.every
        while not self.over.wait(max(0.0, due - time.monotonic())):
            due += self.every
            if self.house.disk is not None and time.monotonic() >= self._full_at:
                self._full_at += FULL_DISK_EVERY_SECONDS
                self._fill(self.house.disk)
            else:
                self.kill()
        for thread in self._waiting:
            thread.join()

    def kill(self) -> None:
        """Kills one thing; where there is none of a kind just now, another one. What has been spared longest comes first."""
        for kind in sorted(self.kinds, key=lambda kind: (self.counts[kind] // 2, self.chance.random())):
            at = time.monotonic()
            with suppress(psutil.NoSuchProcess):
                if is_back := self.kinds[kind]():
                    self._await(kind, is_back, at)
                    return

    def _await(self, kind: str, is_back: Callable[[], bool], at: float, lasted: float = 0.0) -> None:
        """Writes down when it is as before; meanwhile the next kill may come."""
        self.counts[kind] += 1

        def note() -> None:
            self.kills.append(Kill(at, kind, self._waited(is_back, at + lasted), lasted))

        thread = threading.Thread(target=note, daemon=True)
        thread.start()
        self._waiting = [*(waiting for waiting in self._waiting if waiting.is_alive()), thread]

    def _waited(self, is_back: Callable[[], bool], at: float) -> float | None:
        while time.monotonic() < at + BACK_SECONDS:
            with suppress(psutil.Error):  # it ended while it was looked at
                if is_back():
                    return time.monotonic() - at
            time.sleep(0.1)
        return None

    def _fill(self, disk: SmallDisk) -> None:
        """Leaves no byte on the disk for some seconds."""
        at = time.monotonic()
        try:
            disk.fill()
            full_until = time.monotonic() + FULL_SECONDS
            while time.monotonic() < full_until:
                disk.fill()
                time.sleep(0.1)
        finally:
            disk.empty()
        self._await(FULL_DISK, self._is_ready, at, time.monotonic() - at)

    def _api_worker(self) -> Callable[[], bool] | None:
        workers = api_workers(self.house)
        if len(workers) < self.house.settings.workers:
            return None
        victim = self.chance.choice(workers[1:])
        victim.kill()
        return lambda: len(api_workers(self.house)) == self.house.settings.workers

    def _job_worker(self) -> Callable[[], bool]:
        victim = self.house.children[JOB_WORKERS[-1]].process
        victim.kill()
        return lambda: self.house.children[JOB_WORKERS[-1]].process is not victim

    def _stuck_worker(self) -> Callable[[], bool] | None:
        workers = api_workers(self.house)
        if len(workers) < self.house.settings.workers:
            return None
        victim = self.chance.choice(workers[1:])
        if all(line.status != psutil.CONN_ESTABLISHED for line in victim.net_connections("tcp")):
            return None  # it may still be loading, when it gives no signs of life and has two minutes
        victim.suspend()
        return lambda: not victim.is_running() and len(api_workers(self.house)) == self.house.settings.workers

    def _postgres(self) -> Callable[[], bool]:
        victim = self.house.database_server()
        victim.send_signal(signal.SIGQUIT)  # ends all of its processes without a last checkpoint
        return lambda: not victim.is_running() and self._is_ready()

    def _daemon(self) -> Callable[[], bool]:
        victim = self.house.children["dagster-daemon"].process
        victim.kill()
        return lambda: self.house.children["dagster-daemon"].process is not victim

    def _code_server(self) -> Callable[[], bool]:
        victim = self.house.children["dagster-code"].process
        victim.kill()
        return lambda: self.house.children["dagster-code"].process is not victim

    def _dagster_run(self) -> Callable[[], bool] | None:
        found = dagster_runs(self.house)
        if not found:
            return None
        self.chance.choice(found).kill()
        return lambda: True

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.house.settings.base_url}/ready", timeout=5, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False


def api_workers(house: House) -> list[psutil.Process]:
    """The workers of the API, the oldest first."""
    return _children(house.pid("api"), spawned=True)


def dagster_runs(house: House) -> list[psutil.Process]:
    """The processes of Dagster's runs; they are children of the server of our code."""
    return _children(house.pid("dagster-code"), spawned=True)


def _children(pid: int, *, spawned: bool) -> list[psutil.Process]:
    """The children of a process, the oldest first; only those in which Python goes on with our work, if so wanted."""
    with suppress(psutil.NoSuchProcess):
        found = sorted(psutil.Process(pid).children(), key=psutil.Process.create_time)
        return [child for child in found if not spawned or "spawn_main" in " ".join(_command(child))]
    return []


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []
