"""API and job workers for tests, as forks of one process that has loaded them: a start costs a tenth of a real one.

The process that forks computes nothing, so that it has no thread whose locks a fork could inherit; it refuses to fork once it has
one. A fork gets the arguments, environment, output and process group of a fresh process, no other open file, and the handlers of
signals of a fresh one. What it does then, it does as `python -m MODULE` would. That processes start by themselves is seen by
`kontor up` and by the tests that break them (`tests/reliability/test_restart.py`).
"""

import atexit
import gc
import importlib
import json
import multiprocessing
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NoReturn

import psutil

ROOT = Path(__file__).parents[2]
LOADED = {"api": ("api.app", "api.http.protocol", "uvloop", "pyarrow.compute"), "pipelines.worker": ("pipelines.worker",)}
"""The modules that can be started, and what each would load at its start."""
HARMLESS_THREADS = {"python", "python3", "jemalloc_bg_thd", "polars-ooc-clea"}
"""Of allocators and BLAS, which restart theirs in a fork, and one of Polars that only looks after files of spilled data."""
MAX_MESSAGE_BYTES = 1 << 18
METRICS = "PROMETHEUS_MULTIPROC_DIR"
"""Its library looks for the variable once, when it is loaded; its values move to the folder of a fork by themselves."""


class Fork:
    """A process that was started by `start`, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, module: str, pid: int, handle: int, report: socket.socket) -> None:
        self.module, self.pid = module, pid
        self.returncode: int | None = None
        self._handle, self._report = handle, report

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._receive(0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended; raises after the time, as `Popen` does."""
        code = self._receive(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.module, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless the process has ended."""
        with suppress(ProcessLookupError):
            if self.poll() is None:
                signal.pidfd_send_signal(self._handle, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _receive(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._report], [], [], seconds)[0]:
            code = self._report.recv(MAX_MESSAGE_BYTES)
            assert code, "the process that forks has ended"
            self.returncode = int(code)
            self._report.close()
            os.close(self._handle)
        return self.returncode


def start(module: str, environment: dict[str, str], log: Path) -> Fork:
    """A process of a module, with this environment, that adds to a log."""
    report, reporting = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    request = json.dumps([module, str(Path.cwd()), environment]).encode()
    with log.open("ab") as output, reporting:
        socket.send_fds(_forge(), [request], [reporting.fileno(), output.fileno()])
    message, handles, _, _ = socket.recv_fds(report, MAX_MESSAGE_BYTES, 1)
    assert handles, f"{module} was not started: {message.decode() or 'the process that forks has ended'}"
    return Fork(module, int(message), handles[0], report)


@cache
def _forge() -> socket.socket:
    """What takes requests of this process; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_MESSAGE_BYTES)
    with theirs:
        process = subprocess.Popen(
            [*_command(), str(theirs.fileno())],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    atexit.register(_end, ours, process)
    return ours


def _command() -> list[str]:
    """The beginning of the command of what forks for this process, which its forks have too."""
    return [sys.executable, "-m", "tests.support.forge", str(os.getpid())]


def left_running() -> list[int]:
    """The ids of forks that still run, and of processes that these have forked."""
    running = [process for process in psutil.process_iter(["cmdline", "ppid"]) if process.info["ppid"] != os.getpid()]
    return [process.pid for process in running if (process.info["cmdline"] or [])[:4] == _command()]


def _end(requests: socket.socket, process: subprocess.Popen[bytes]) -> None:
    requests.close()
    process.wait(30)


class Forge:
    """Forks processes, and reports how they have ended."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._reports: dict[int, tuple[int, socket.socket]] = {}
        """By the handle of a process: its id, and where its end is reported."""

    def serve(self) -> None:
        """Serves until nobody can ask any more, and ends what still runs."""
        while True:
            ready = select.select([self._requests.fileno(), *self._reports], [], [])[0]
            for handle in self._reports.keys() & set(ready):
                self._report_end(handle)
            if self._requests.fileno() in ready and not self._answer():
                self._end_all()
                return

    def _answer(self) -> bool:
        """Starts what is asked for; whether there was a request."""
        request, files, _, _ = socket.recv_fds(self._requests, MAX_MESSAGE_BYTES, 2)
        if not request:
            return False
        module, folder, environment = json.loads(request)
        report = socket.socket(fileno=files[0])
        try:
            load(module)
            self._fork(module, folder, environment, files[1], report)
        except Exception as error:  # said to whoever asked
            report.send(f"{type(error).__name__}: {error}".encode())
            report.close()
        os.close(files[1])
        return True

    def _fork(self, module: str, folder: str, environment: dict[str, str], output: int, report: socket.socket) -> None:
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            self._close()
            report.close()
            become(module, folder, environment, output)
        handle = os.pidfd_open(pid)
        self._reports[handle] = pid, report
        socket.send_fds(report, [str(pid).encode()], [handle])

    def _report_end(self, handle: int) -> None:
        pid, report = self._reports.pop(handle)
        os.close(handle)
        _, status = os.waitpid(pid, 0)
        with report, suppress(OSError):  # whoever asked may be gone
            report.send(str(os.waitstatus_to_exitcode(status)).encode())

    def _close(self) -> None:
        """Closes, in a fork, what belongs to the process that forks."""
        self._requests.close()
        for handle, (_, report) in self._reports.items():
            os.close(handle)
            report.close()

    def _end_all(self) -> None:
        for pid, _ in self._reports.values():
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        for pid, _ in self._reports.values():
            os.waitpid(pid, 0)


def load(module: str) -> None:
    """Loads what a module loads at its start; raises if that has started a thread whose locks a fork would inherit."""
    for name in LOADED[module]:
        importlib.import_module(name)
    if module == "api":
        _prepare_tagger()
    names = {Path(f"/proc/self/task/{task}/comm").read_text().strip() for task in os.listdir("/proc/self/task")}
    if strange := names - HARMLESS_THREADS:
        raise RuntimeError(f"loading {module} starts threads: {', '.join(sorted(strange))}")
    gc.freeze()  # so that no fork looks for garbage in what all share


def _prepare_tagger() -> None:
    """Computes what each process of the API needs for its tagger and what needs no thread: a second for each of them."""
    from numba.core.registry import cpu_target

    from pipelines.results.version import code_version

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()
    code_version()


def become(module: str, folder: str, environment: dict[str, str], output: int) -> NoReturn:
    """Goes on, in a fork, as a process that was started for this module."""
    os.setsid()
    for number in (1, 2):
        os.dup2(output, number)
    os.close(output)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [module]
    if not hasattr(sys.modules[module], "__path__"):  # a package stays, since its `__main__` is run
        del sys.modules[module]  # it runs once more, as the main module; Python would warn, in the log
    code = 0
    try:
        if module == "api":
            _serve_in_forks()
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    _exit(code)


def _exit(code: int) -> NoReturn:
    """Ends a fork as Python ends, but for giving back memory."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _serve_in_forks() -> None:
    """Makes the API fork the processes that handle requests, instead of starting Python anew for each."""
    from api.http import workers

    workers.SPAWN = ForkingContext()  # type: ignore[assignment]


class ForkingContext:
    """Processes with the open files of a spawned one: their output, and what they are handed."""

    Pipe = staticmethod(multiprocessing.Pipe)

    class Process(multiprocessing.get_context("fork").Process):  # type: ignore[misc]
        def run(self) -> None:
            from api.http import metrics

            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _, sockets, signs = self._args
            _release({0, 1, 2, signs.fileno(), *(listening.fileno() for listening in sockets)})
            metrics.MODEL_STANDS_IN.collect()  # which moves all values to files of this process
            super().run()


def _release(own_files: set[int]) -> None:
    """Lets go of all open files but some. Their numbers stay taken, since objects of the parent may still close them."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for number in {int(name) for name in os.listdir("/proc/self/fd")} - own_files - {nothing}:
        with suppress(OSError):  # the folder itself
            os.fstat(number)
            os.dup2(nothing, number, inheritable=False)


def main(number: int) -> None:
    """Forks processes until nobody can ask any more, by a socket with this number."""
    metrics = tempfile.mkdtemp(prefix="kontor-forge-")
    os.environ[METRICS] = metrics
    with socket.socket(fileno=number) as requests:
        requests.set_inheritable(False)
        Forge(requests).serve()
    shutil.rmtree(metrics)


if __name__ == "__main__":
    main(int(sys.argv[2]))
