"""Whether the process of a Dagster run is still alive.

Dagster ends a run whose process has died only if the server of our code that started it is alive, and reaches the database when
it looks at its processes. Without either, the run counts as started until `max_runtime_seconds`: it is not tried again, and the
next one does not begin. Therefore the process of a run holds a lock that ends with it, whatever ends it, and Dagster's daemon
looks at the lock.
"""

import fcntl
import os
import time
from pathlib import Path
from uuid import UUID

import dagster as dg
from dagster._core.launcher import CheckRunHealthResult, DefaultRunLauncher, WorkerStatus

from warehouse.runtime import files
from warehouse.settings import Settings

START_SECONDS = 60.0
"""How long a run that has started may take until it holds its lock."""
_descriptors: dict[Path, int] = {}
"""Files of locks that this process has opened. To close one would end its locks, so they stay open."""


class RunProcesses:
    """The locks of the runs of a data directory: one file, in which each run locks a byte of its own.

    Locks of this kind (POSIX) are not inherited by the processes that a run starts, and leave nothing behind.
    """

    def __init__(self, home: Path) -> None:
        self.path = home / "dagster" / "runs.lock"

    def hold(self, run_id: str) -> None:
        """Locks the byte of a run until this process ends."""
        if self.path not in _descriptors:
            _descriptors[self.path] = self._open()
        fcntl.lockf(_descriptors[self.path], fcntl.LOCK_EX, 1, _byte(run_id))

    def is_held(self, run_id: str) -> bool:
        """Whether another process holds the byte of a run."""
        descriptor = self._open()
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(run_id))
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _open(self) -> int:
        files.make_folder(self.path.parent)
        return os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)


def _byte(run_id: str) -> int:
    """The place of a run in the file, as far as an offset can be: two runs never meet in practice."""
    return UUID(run_id).int & 0x3FFF_FFFF_FFFF_FFFF


class WatchedRunLauncher(DefaultRunLauncher):
    """Dagster's own launcher, which also tells whether the process of a run is alive. `dagster.yaml` names it."""

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        if RunProcesses(Settings().home).is_held(run.run_id) or self._seconds_since_start(run) < START_SECONDS:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, "the process of the run has ended")

    def _seconds_since_start(self, run: dg.DagsterRun) -> float:
        record = self._instance.get_run_record_by_id(run.run_id)
        return time.time() - (record.start_time or 0.0) if record else 0.0
