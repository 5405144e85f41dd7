"""Child processes: start them with their own logs, restart those that end, and stop them with all their descendants."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess  # our own programs, never a shell
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from rich.markup import escape

from warehouse.errors import KontorError
from warehouse.runtime import files, priorities

PR_SET_PDEATHSIG = 1
LOOK_SECONDS = 0.5
STEADY_SECONDS = 60
"""A process that lives longer starts anew at once when it ends, and the pauses begin small again."""
MAX_PAUSE_SECONDS = 30.0
PRIVATE_UMASK = 0o077
"""What a process writes can be read by its owner alone."""


@dataclass
class Child:
    """A child process with its own process group, so that we decide the order of stopping and end all descendants."""

    name: str
    command: list[str]
    environment: dict[str, str]
    log: Path | None
    """None if it writes to the output of this process."""
    yields: bool = False
    """Whether it leaves the processor to those who serve, with all processes that it starts."""
    process: subprocess.Popen[bytes] = field(init=False)
    started_at: float = field(init=False)
    restarts_in_a_row: int = 0

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Starts the process; its output is added to its log."""
        with self._output() as output:
            self.process = subprocess.Popen(  # noqa: S603  # our own programs, in a list
                self.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                umask=PRIVATE_UMASK,
                preexec_fn=_before_start(yields=self.yields),
            )
        self.started_at = time.monotonic()

    def _output(self) -> contextlib.AbstractContextManager[IO[bytes] | None]:
        if self.log is None:
            return contextlib.nullcontext()
        files.make_folder(self.log.parent)
        return self.log.open("ab")

    def pause_seconds(self) -> float:
        """How long to wait before the next start: nothing after a long life, then twice as long each time."""
        if time.monotonic() - self.started_at > STEADY_SECONDS:
            self.restarts_in_a_row = 0
        return min(2.0**self.restarts_in_a_row - 1, MAX_PAUSE_SECONDS)

    def stop(self, deadline: float) -> None:
        """Terminates the process, and kills its group if it is still alive at the deadline."""
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.1, deadline - time.monotonic()))
        self._signal(signal.SIGKILL)
        self.process.wait()

    def end_descendants(self) -> None:
        """Kills what a process that has ended left running."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


def start(name: str, command: list[str], environment: dict[str, str], logs: Path | None, *, yields: bool = False) -> Child:
    """A new process that logs to a file of its name; without a folder for it, to the output of this process."""
    return Child(name, command, environment, None if logs is None else logs / f"{name}.log", yields)


def _before_start(*, yields: bool) -> Callable[[], None] | None:
    """On Linux: makes a process receive SIGTERM when this one dies, and sets its priority."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None)

    def prepare() -> None:
        library.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if yields:
            priorities.yield_to_others()

    return prepare


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
            with urllib.request.urlopen(address, timeout=2):  # noqa: S310  # our own address, always http
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise KontorError(f"{address} did not answer within {seconds:.0f} s; see the logs")


def wait_for_file(path: Path, children: list[Child], seconds: float = 120) -> None:
    """Waits until a process has made a file or socket; raises if a process ends first, or after the time limit."""
    deadline = time.monotonic() + seconds
    while not path.exists():
        require_alive(children)
        if time.monotonic() > deadline:
            raise KontorError(f"{children[-1].name} was not ready within {seconds:.0f} s; see the logs")
        time.sleep(0.1)


def supervise(children: Sequence[Child], say: Callable[[str], None], revive_database: Callable[[], bool]) -> None:
    """Restarts for ever what ends: processes, and the database if it is ours. Only an interrupt ends it."""
    due: dict[str, float] = {}
    while True:
        if revive_database():
            say("PostgreSQL had ended and was started again.")
        for child in children:
            if child.process.poll() is None:
                continue
            if child.name not in due:
                pause = child.pause_seconds()
                due[child.name] = time.monotonic() + pause
                code, place = child.process.returncode, child.log or "the output above"
                say(f"{child.name} ended with code {code} and starts again in {pause:.0f} s; see {place}")
            elif time.monotonic() >= due[child.name]:
                del due[child.name]
                child.restarts_in_a_row += 1
                child.end_descendants()
                try:
                    child.start()
                except OSError as error:  # as on a full disk: the next round tries again
                    say(f"{child.name} cannot be started: {error.strerror}")
        time.sleep(LOOK_SECONDS)


def watch(children: list[Child]) -> None:
    """Watches processes for ever; raises as soon as one ends, for a supervisor of the system to start all of them again."""
    while True:
        require_alive(children)
        time.sleep(LOOK_SECONDS)


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


def free_port() -> int:
    """A port of loopback on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
