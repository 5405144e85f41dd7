"""Processes of the house: started with a log of their own, watched, and stopped so that nothing of them stays."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess  # nosec B404  # programs of the house, never a shell
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape

from warehouse.errors import KontorError

PARENT_DIED = 1  # PR_SET_PDEATHSIG of Linux


@dataclass
class Child:
    """A process of the house. It has a group of its own, so that the order of stopping is ours and nothing of it stays."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def stop(self, deadline: float) -> None:
        """Asks the process to end, and ends its group if it does not."""
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.1, deadline - time.monotonic()))
        self._signal(signal.SIGKILL)
        self.process.wait()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


def start(name: str, command: list[str], environment: dict[str, str], logs: Path) -> Child:
    """A running process that logs to a file of its name."""
    log = logs / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603  # nosec B603  # our own programs, in a list
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=_end_with_parent(),
        )
    return Child(name, process, log)


def _end_with_parent() -> Callable[[], None] | None:
    """On Linux: lets a process get SIGTERM when this one dies without having stopped it."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return lambda: library.prctl(PARENT_DIED, signal.SIGTERM)


def finish(child: Child) -> None:
    """Returns when a process has done its work; raises if it has failed."""
    if child.process.wait():
        raise KontorError(f"{child.name} failed; see {child.log}")


def wait_for(address: str, children: list[Child], seconds: float = 120) -> None:
    """Returns as soon as an address answers well; fails if a process ends first, or if it takes too long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        require_alive(children)
        try:
            with urllib.request.urlopen(address, timeout=2):  # noqa: S310  # nosec B310  # our own address, always http
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise KontorError(f"{address} did not answer within {seconds:.0f} s; see the logs")


def watch(children: list[Child]) -> None:
    """Never returns; fails as soon as a process ends."""
    while True:
        require_alive(children)
        time.sleep(0.5)


def require_alive(children: list[Child]) -> None:
    """Fails, with the end of its log, if a process has ended."""
    for child in children:
        if child.process.poll() is not None:
            tail = "\n".join(child.log.read_text(errors="replace").splitlines()[-15:])
            raise KontorError(f"{child.name} ended with {child.process.returncode}; {child.log} ends with:\n{escape(tail)}")


def require_free(name: str, host: str, port: int) -> None:
    """Fails, with what to do, if somebody else listens on an address."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            setting = "KONTOR_PORT" if name == "API" else "KONTOR_DAGSTER_PORT"
            raise KontorError(f"{host}:{port} for {name} is in use: stop the program there, or set {setting}") from error
