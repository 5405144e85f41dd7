"""Processes that work on a lake and are killed: `python -m tests.warehouse.dying <what> <folder>`.

The audit hook of Python is called before every file is opened, renamed and removed. At one of these calls the process ends itself
with SIGKILL, as the kernel would: no handler runs, nothing is flushed. `steps` tries every call in turn, each in its own fork.
"""

import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet  # noqa: F401 before the forks, so that not each of them has to

from warehouse.lake import erasure, landing
from warehouse.lake.lake import Lake
from warehouse.lake.parquet import LakeTable

NUMBERS = LakeTable("numbers", pl.Schema({"user": pl.String, "number": pl.Int64, "version": pl.Int64}))
PIECES = LakeTable("pieces", NUMBERS.schema, landing=True)
SLOT = "2026-11-15T06"
STEPS = frozenset({"open", "os.rename", "os.remove", "os.mkdir"})
HEIGHT = 1000
NAMES = ("c", "a", "d", "b")


def numbers(version: int, height: int = HEIGHT) -> pl.DataFrame:
    """A frame whose rows all tell its version."""
    return pl.DataFrame(
        {"user": [f"user-{number % 10}" for number in range(height)], "number": range(height), "version": [version] * height},
        schema=NUMBERS.schema,
    )


def write(lake: Lake) -> None:
    lake.write(NUMBERS, 7, numbers(2), {"version": "2"})


def append(lake: Lake) -> None:
    landing.append(lake, PIECES, SLOT, 7, "e", numbers(9))


def compact(lake: Lake) -> None:
    landing.compact(lake, PIECES, SLOT, 7)


def erase(lake: Lake) -> None:
    erasure.rewrite_without(lake, PIECES, "user", ["user-3"])


def prepare(lake: Lake) -> None:
    """One bucket, and pieces of which two are compacted already."""
    lake.write(NUMBERS, 7, numbers(1), {"version": "1"})
    for version, name in enumerate(NAMES):
        landing.append(lake, PIECES, SLOT, 7, name, numbers(version))
        if version == 1:
            landing.compact(lake, PIECES, SLOT, 7)


def die_at(folder: Path, step: int) -> None:
    """Arms the process: it ends before the step with this number."""
    count = 0

    def listen(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event in STEPS and str(arguments[0]).startswith(str(folder)):
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(listen)


def in_fork(work: Callable[[], None]) -> bool:
    """Does the work in a fork, and says whether it came to its end; nothing but SIGKILL may have ended it before."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, -signal.SIGKILL):
        raise RuntimeError(f"the work failed by itself: {code}")
    return code == 0


def steps(what: str, folder: Path) -> None:
    """Leaves a lake for every step at which a process died, and one where it did not: `<folder>/1`, `<folder>/2`, …"""
    before, step, done = folder / "0", 0, False
    in_fork(lambda: prepare(Lake(str(before))))
    while not done:
        step += 1
        lake = Lake(shutil.copytree(before, folder / str(step)).as_posix())

        def die(lake: Lake = lake, step: int = step) -> None:
            die_at(Path(lake.storage.root), step)
            WORK[what](lake)

        done = in_fork(die)


def forever(version: int, folder: Path) -> None:
    """Writes the same bucket, and lands and compacts pieces, until somebody ends it; says so after every round."""
    lake = Lake(str(folder))
    rounds = 0
    while True:
        lake.write(NUMBERS, 7, numbers(version, HEIGHT + version), {"version": str(version)})
        landing.append(lake, PIECES, SLOT, 7, f"{version}-{rounds:06}", numbers(rounds, 10))
        if rounds % 5 == 4:
            landing.compact(lake, PIECES, SLOT, 7)
        rounds += 1
        print(rounds, flush=True)


WORK = {"write": write, "append": append, "compact": compact, "erase": erase}

if __name__ == "__main__":
    if sys.argv[1] in WORK:
        steps(sys.argv[1], Path(sys.argv[2]))
    else:
        forever(int(sys.argv[1]), Path(sys.argv[2]))
