"""Child processes: start them with their own logs, watch them, and stop them with all their descendants."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess  # nosec B404  # our own programs, never a shell
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape

from warehouse import files
from warehouse.errors import KontorError

PR_SET_PDEATHSIG = 1
PRIVATE_UMASK = 0o077
"""What a process writes can be read by its owner alone."""


@dataclass
class Child:
    """A child process with its own process group, so that we decide the order of stopping and end all descendants."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def stop(self, deadline: float) -> None:
        """Terminates the process, and kills its group if it is still alive at the deadline."""
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.1, deadline - time.monotonic()))
        self._signal(signal.SIGKILL)
        self.process.wait()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


def start(name: str, command: list[str], environment: dict[str, str], logs: Path) -> Child:
    """A new process that logs to a file of its name."""
    log = logs / f"{name}.log"
    files.make_folder(log.parent)
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603  # nosec B603  # our own programs, in a list
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            umask=PRIVATE_UMASK,
            preexec_fn=_end_with_parent(),
        )
    return Child(name, process, log)


def _end_with_parent() -> Callable[[], None] | None:
    """On Linux: makes a process receive SIGTERM when this one dies."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return lambda: library.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def finish(child: Child) -> None:
    """Waits until a process has finished; raises if it has failed."""
    if child.process.wait():
        raise KontorError(f"{child.name} failed; see {child.log}")


def wait_for(address: str, children: list[Child], seconds: float = 120) -> None:
    """Waits until an address responds with success; raises if a process ends first, or after the time limit."""
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
    """Watches processes for ever; raises as soon as one ends."""
    while True:
        require_alive(children)
        time.sleep(0.5)


def require_alive(children: list[Child]) -> None:
    """Raises, with the end of its log, if a process has ended."""
    for child in children:
        if child.process.poll() is not None:
            tail = "\n".join(child.log.read_text(errors="replace").splitlines()[-15:])
            raise KontorError(
                f"{child.name} exited with code {child.process.returncode}. Last lines of {child.log}:\n{escape(tail)}"
            )


def require_free(name: str, host: str, port: int) -> None:
    """Raises, with advice, if another program listens on an address."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            setting = "KONTOR_PORT" if name == "API" else "KONTOR_DAGSTER_PORT"
            raise KontorError(f"{host}:{port} for {name} is in use: stop the program that uses it, or set {setting}") from error
