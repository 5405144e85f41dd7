"""Memory that the C library keeps."""

import subprocess
import sys

import pytest

FILL = """
import re, sys, threading
from pathlib import Path

from warehouse.runtime import memory

if sys.argv[1] == "bound":
    memory.bound_arenas()
barrier = threading.Barrier(6)

def fill():
    barrier.wait()
    parts = [bytes(1_000) for _ in range(20_000)]
    barrier.wait()
    return parts

threads = [threading.Thread(target=fill) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
areas = re.findall(r"^[0-9a-f]+000000-[0-9a-f]+ rw-p 0+ 00:00 0 *$", Path("/proc/self/maps").read_text(), re.MULTILINE)
print(sum(int(line.split("-")[0], 16) % (64 * 1024 * 1024) == 0 for line in areas))
"""


def count_areas(mode: str) -> int:
    """How many areas for threads a process has that let six threads fill memory; the main one is not counted."""
    return int(subprocess.run([sys.executable, "-c", FILL, mode], capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the map of a process")
def test_threads_share_the_areas_of_memory() -> None:
    assert count_areas("free") > 1
    assert count_areas("bound") <= 1
