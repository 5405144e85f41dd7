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
from typing import IO, Any

from rich.markup import escape

from warehouse.errors import KontorError

PR_SET_PDEATHSIG = 1


@dataclass
class Child:
    """A child process with its own process group, so that we decide the order of stopping and end all descendants."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path | None
    """None if it writes to the output of this process."""

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


def start(name: str, command: list[str], environment: dict[str, str], logs: Path | None) -> Child:
    """A new process that logs to a file of its name; without a folder for it, to the output of this process."""
    if logs is None:
        return Child(name, _spawn(command, environment, None), None)
    log = logs / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return Child(name, _spawn(command, environment, output), log)


def _spawn(command: list[str], environment: dict[str, str], output: IO[bytes] | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  # nosec B603  # our own programs, in a list
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
        preexec_fn=_end_with_parent(),
    )


def _end_with_parent() -> Callable[[], None] | None:
    """On Linux: makes a process receive SIGTERM when this one dies."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)
    return lambda: library.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def finish(child: Child) -> None:
    """Waits until a process has finished; raises if it has failed."""
    if child.process.wait():
        raise KontorError(f"{child.name} failed; see {child.log or 'its output above'}")


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
            raise KontorError(f"{child.name} exited with code {child.process.returncode}. {_log_end(child.log)}")


def _log_end(log: Path | None) -> str:
    if log is None:
        return "See its output above."
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
    return f"Last lines of {log}:\n{escape(tail)}"


def stop_all(children: list[Child], seconds: float) -> None:
    """Stops processes in their order, within a time; signals no longer interrupt this one."""
    _on_signals(signal.SIG_IGN)
    deadline = time.monotonic() + seconds
    for child in children:
        child.stop(deadline)


def interrupt_on_signals() -> None:
    """From now on, SIGTERM and SIGINT raise `KeyboardInterrupt`."""
    _on_signals(_interrupt)


def _on_signals(handler: Any) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def _interrupt(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def require_free(name: str, host: str, port: int) -> None:
    """Raises, with advice, if another program listens on an address."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            setting = "KONTOR_PORT" if name == "API" else "KONTOR_DAGSTER_PORT"
            raise KontorError(f"{host}:{port} for {name} is in use: stop the program that uses it, or set {setting}") from error
