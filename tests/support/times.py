"""A plugin of pytest that writes where time goes: `pytest -p no:xdist -p tests.support.times --times FILE …`.

A line of tab-separated numbers for each file of tests: seconds by the clock, in setup, in calls, and processor seconds
of the test process with all processes that it has started, also those that have left their parent, as PostgreSQL does.

It refuses to measure where Python may not keep what it has compiled: each process would compile all that it loads.
"""

import ctypes
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER


class Times(NamedTuple):
    """Seconds of one file."""

    clock: float = 0
    setup: float = 0
    call: float = 0
    processor: float = 0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", metavar="FILE", help="write seconds of each file of tests")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--times"):
        if sys.dont_write_bytecode:
            raise pytest.UsageError("unset PYTHONDONTWRITEBYTECODE: with it, each process compiles all that it loads")
        config.pluginmanager.register(Watch(Path(config.getoption("--times"))))


class Watch:
    """Notes times as tests run."""

    def __init__(self, path: Path) -> None:
        ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0)
        self._path = path
        self._phases: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self._begin = (time.monotonic(), processor_seconds())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._phases[report.nodeid.split("::")[0]][report.when] += report.duration

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        result = yield
        file = item.nodeid.split("::")[0]
        if nextitem is None or nextitem.nodeid.split("::")[0] != file:
            now, phases = (time.monotonic(), processor_seconds()), self._phases[file]
            times = Times(now[0] - self._begin[0], phases["setup"], phases["call"], now[1] - self._begin[1])
            with self._path.open("a") as lines:
                lines.write("\t".join([file, *(f"{seconds:.1f}" for seconds in times)]) + "\n")
            self._begin = now
        return result


def processor_seconds() -> float:
    """Of this process and all below it, also those that have ended and were waited for."""
    spent = sum(os.times()[:4])
    for process in psutil.Process().children(recursive=True):
        try:
            spent += sum(process.cpu_times()[:4])
        except psutil.Error:  # it has ended meanwhile
            continue
    return spent
