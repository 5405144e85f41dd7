"""Memory and file handles of every process, every second, and whether they stay flat."""

import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from statistics import linear_regression, median

import psutil

from tests.soak import kills
from tests.soak.house import JOB_WORKERS, House

MEBIBYTE = 1024 * 1024
WARM_UP_RATIO, WARM_UP_SECONDS = 0.25, 120
"""What is left out of the beginning of a life, a quarter and two minutes at least: caches fill, pools open, taggers load."""
LEAST_SAMPLES = 30
LIFE_RATIO, JUDGED_SECONDS = 0.5, 180
"""A process is judged that lived for half of the soak, and for some minutes after its warm-up: of less, a line says nothing."""
FLAT_MEBIBYTES, FLAT_RATIO, FLAT_HANDLES = 16.0, 0.08, 12.0
"""What a line through the samples may rise over all of them: 16 MiB or 8 % of the process, and 12 handles (one pool)."""
DATABASE = "PostgreSQL"


@dataclass(frozen=True)
class Sample:
    at: float
    mebibytes: float
    handles: int


@dataclass(frozen=True)
class Life:
    """One process from its first to its last sample, without its warm-up."""

    kind: str
    seconds: float
    mebibytes: float
    handles: float
    rise_mebibytes: float
    rise_late_mebibytes: float
    """The rise over the second half alone: what only warms up slowly rises less there, what leaks does not."""
    rise_handles: float
    judged: bool

    @property
    def flat(self) -> bool:
        most = max(FLAT_MEBIBYTES, FLAT_RATIO * self.mebibytes)
        return self.rise_mebibytes <= most and self.rise_handles <= FLAT_HANDLES


class Watch(threading.Thread):
    """Looks at all processes of the house every second."""

    def __init__(self, house: House) -> None:
        super().__init__(name="watch", daemon=True)
        self.house = house
        self.over = threading.Event()
        self.samples: dict[tuple[str, int], list[Sample]] = defaultdict(list)

    def run(self) -> None:
        while not self.over.wait(1):
            self.look(time.monotonic())

    def look(self, now: float) -> None:
        for kind, process in self._processes():
            with suppress(psutil.Error):
                held = process.memory_info().rss / MEBIBYTE
                self.samples[kind, process.pid].append(Sample(now, held, process.num_fds()))
        with suppress(psutil.Error):
            self.samples[DATABASE, 0].append(self._database(now))

    def _processes(self) -> list[tuple[str, psutil.Process]]:
        house, found = self.house, []
        for name, kind in {"api": "API master", **dict.fromkeys(JOB_WORKERS, "job worker")}.items():
            with suppress(psutil.NoSuchProcess):
                found.append((kind, psutil.Process(house.pid(name))))
        for name in ("dagster-code", "dagster-webserver", "dagster-proxy", "dagster-daemon"):
            with suppress(psutil.NoSuchProcess):
                found.append((name, psutil.Process(house.pid(name))))
        found += [("API worker", process) for process in kills.api_workers(house)]
        return found + [("dagster run", process) for process in kills.dagster_runs(house)]

    def _database(self, now: float) -> Sample:
        """The server as a whole: memory that its processes do not share, and their number in place of handles."""
        server = self.house.database_server()
        processes = [server, *server.children()]
        held = 0
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                memory = process.memory_info()
                held += memory.rss - memory.shared
        return Sample(now, held / MEBIBYTE, len(processes))

    def lives(self) -> list[Life]:
        """All processes that can be told something of, those that are judged first."""
        last = max((samples[-1].at for samples in self.samples.values()), default=0.0)
        first = min((samples[0].at for samples in self.samples.values()), default=0.0)
        found = [_life(kind, samples, LIFE_RATIO * (last - first)) for (kind, _), samples in self.samples.items()]
        return sorted((life for life in found if life), key=lambda life: (not life.judged, life.kind))


def _life(kind: str, samples: list[Sample], least_seconds: float) -> Life | None:
    lived = samples[-1].at - samples[0].at
    begin = samples[0].at + max(lived * WARM_UP_RATIO, WARM_UP_SECONDS)
    kept = [sample for sample in samples if sample.at >= begin]
    if len(kept) < LEAST_SAMPLES:
        return None
    memory, handles = [sample.mebibytes for sample in kept], [float(sample.handles) for sample in kept]
    times, late = [sample.at - kept[0].at for sample in kept], len(kept) // 2
    return Life(
        kind,
        times[-1],
        median(memory),
        median(handles),
        _rise(times, memory),
        _rise(times[late:], memory[late:]),
        _rise(times, handles),
        lived >= least_seconds and times[-1] >= JUDGED_SECONDS and kind != "dagster run",
    )


def _rise(times: list[float], values: list[float]) -> float:
    """How much a line through all values rises from the first to the last."""
    return float(linear_regression(times, values).slope * (times[-1] - times[0]))
