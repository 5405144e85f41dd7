"""Memory: the most that a process held while something happened.

Linux keeps that itself and can be told to begin anew. Where it refuses, the process is looked at again and again, which misses
what comes and goes between two looks.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

MEBIBYTE = 1024 * 1024
BEGIN_ANEW = "5"  # of /proc/<pid>/clear_refs
LOOK_SECONDS = 0.005


@dataclass
class Peak:
    """The most that a process held; known when the block is over."""

    mebibytes: float = 0.0


@contextmanager
def peak(pid: int) -> Iterator[Peak]:
    """The most that a process holds while the block runs."""
    found = Peak()
    proc = Path("/proc") / str(pid)
    try:
        (proc / "clear_refs").write_text(BEGIN_ANEW)
    except OSError:
        with _looking(pid, found):
            yield found
        return
    yield found
    lines = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    found.mebibytes = int(lines["VmHWM"].split()[0]) * 1024 / MEBIBYTE


def held(pid: int) -> float:
    """What a process holds now, in mebibytes."""
    return float(psutil.Process(pid).memory_info().rss / MEBIBYTE)


@contextmanager
def _looking(pid: int, found: Peak) -> Iterator[None]:
    over = threading.Event()

    def look() -> None:
        while True:
            found.mebibytes = max(found.mebibytes, held(pid))
            if over.wait(LOOK_SECONDS):
                return

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
