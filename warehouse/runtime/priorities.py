"""Priorities of the system for threads: who computes for somebody who can wait leaves the processor to those who serve."""

import os
import threading
from contextlib import suppress
from pathlib import Path

YIELDING_NICENESS = 10


def yield_to_others() -> None:
    """Lowers the priority of the current thread, where the system has priorities of threads."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), YIELDING_NICENESS)


def let_polars_yield() -> None:
    """Lowers the priority of the threads on which Polars computes: who asks for what lies ready does not wait for them."""
    for thread in Path("/proc/self/task").glob("*"):
        with suppress(OSError):
            if (thread / "comm").read_text().startswith("polars"):
                os.setpriority(os.PRIO_PROCESS, int(thread.name), YIELDING_NICENESS)
