"""Executors of tasks: this process, processes on this machine, or a Dask cluster.

Nothing listens on an address that other machines can reach. The local cluster listens on 127.0.0.1 and accepts only clients with
a certificate that is made for it in memory: whoever can submit a task to Dask can run any code.

A remote cluster is one that `kontor dask scheduler` and `kontor dask worker` run, with the same version of Kontor and the same
settings. All speak TLS with the cluster's own key (`cluster_key`), or with the certificates that Dask's settings name.
"""

import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from pipelines.engine import cluster_key
from warehouse.errors import KontorError
from warehouse.settings import Settings

THREAD_LIMITS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
LOCAL_CONFIGURATION: Mapping[str, object] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.nanny.pre-spawn-environ": {},  # these would change our own environment
    "distributed.deploy.lost-worker-timeout": "1 day",  # a worker that is not replaced by then is never replaced
}
CONNECT_SECONDS = 30
BROKEN: tuple[type[Exception], ...] = (BrokenExecutor, CancelledError)
"""Errors of tasks whose executor no longer works: a process of the pool died, the scheduler went away, or no worker is left."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class TaskExecutor:
    """An executor, how many tasks it takes at a time, the errors by which it reports a dead worker, whether it is stuck, and
    whether a run has seen it break.
    """

    executor: Executor
    window: int
    losses: tuple[type[Exception], ...] = ()
    stuck: Callable[[], bool] = lambda: False
    broken: bool = False


@dataclass
class Standby:
    """The executor of the last run, how many workers it has at most, and what ends it."""

    executor: TaskExecutor | None = None
    engine: str = ""
    workers: int = 0
    end: ExitStack = field(default_factory=ExitStack)


_standbys: list[Standby] = []
"""Of the contexts of `keeping_executor` that are open, the outermost one's."""


@contextmanager
def keeping_executor() -> Iterator[None]:
    """Within this context, processes and clusters stay from run to run, with all that they have loaded: to start them takes
    seconds. They see the environment of the first run.
    """
    if _standbys:
        yield
        return
    standby = Standby()
    _standbys.append(standby)
    try:
        with standby.end:
            yield
    finally:
        _standbys.clear()


@contextmanager
def open_executor(settings: Settings, tasks: int) -> Iterator[TaskExecutor]:
    """An executor for this number of tasks, as the settings say. All of its processes end with the context, or with that of
    `keeping_executor`, unless it breaks or the context ends by an error.
    """
    if not _standbys:
        with _start(settings, tasks) as executor:
            yield executor
        return
    (standby,) = _standbys
    needed = min(workers(settings), tasks)
    if standby.executor is None or standby.engine != settings.engine or standby.workers < needed:
        standby.end.close()
        standby.executor = standby.end.enter_context(_start(settings, tasks))
        standby.engine, standby.workers = settings.engine, needed
    with ExitStack() as unless_finished:
        unless_finished.push(standby.end.__exit__)
        unless_finished.callback(setattr, standby, "executor", None)
        yield standby.executor
        if not standby.executor.broken:
            unless_finished.pop_all()


def _start(settings: Settings, tasks: int) -> AbstractContextManager[TaskExecutor]:
    if settings.engine == "inline":
        return _inline()
    if settings.engine == "processes":
        return _processes(min(workers(settings), tasks))
    return _dask(settings, tasks)


def workers(settings: Settings) -> int:
    """The number of tasks that run at the same time; for a remote cluster, the number that this machine would run."""
    return 1 if settings.engine == "inline" else settings.engine_workers or cores()


class Inline(Executor):
    """Runs a task when it is submitted."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class ProcessExecutor(ProcessPoolExecutor):
    """Processes whose libraries are given their number of threads at the start: Polars reads it when it is loaded."""

    def __init__(self, workers: int, lifeline: Connection) -> None:
        # Locks that Polars' threads hold would stay locked for ever in a forked process.
        super().__init__(workers, mp_context=get_context("spawn"), initializer=_begin, initargs=(lifeline,))
        self._limits = _limits(workers)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        with _environment(self._limits):  # this is where processes are started
            return super().submit(fn, *args, **kwargs)


class Cluster(Executor):
    """Submits tasks to Dask. Dask's own executor never finishes a task whose worker dies while its result is on the way."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        ours: Future[T] = Future()
        self._client.loop.add_callback(self._hand_over, self._client.submit(fn, *args, pure=False, **kwargs), ours)
        return ours

    @staticmethod
    async def _hand_over(theirs: Awaitable[T], ours: Future[T]) -> None:
        try:
            value = await theirs
        except Exception as error:
            if ours.set_running_or_notify_cancel():
                ours.set_exception(error)
        else:
            if ours.set_running_or_notify_cancel():
                ours.set_result(value)

    def idle(self) -> bool:
        """Whether there are workers and none of them works. A cluster without workers may still be starting some."""
        try:
            tasks_by_worker = self._client.processing()
        except OSError:  # the scheduler is away; if it stays away, the tasks will be cancelled
            return False
        return bool(tasks_by_worker) and not any(tasks_by_worker.values())


@contextmanager
def _inline() -> Iterator[TaskExecutor]:
    yield TaskExecutor(Inline(), window=1)


@contextmanager
def _processes(workers: int) -> Iterator[TaskExecutor]:
    lifeline, ours = get_context("spawn").Pipe(duplex=False)
    with lifeline, ours:
        pool = ProcessExecutor(workers, lifeline)
        try:
            yield TaskExecutor(pool, window=2 * workers)  # so that workers have a next task while we handle a result
        except BaseException:
            ours.close()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(lifeline: Connection) -> None:
    """Prepares a process: it ignores Ctrl-C and ends when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent() -> None:
        lifeline.poll(None)  # nothing is ever sent: only the end of the other side wakes us
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


@contextmanager
def _dask(settings: Settings, tasks: int) -> Iterator[TaskExecutor]:
    dask = _distributed()
    scheduler = settings.dask_scheduler
    with _remote(scheduler, settings.home) if scheduler else _local(min(workers(settings), tasks)) as client:
        # All tasks at once: a cluster that scales with its work must see them.
        cluster = Cluster(client)
        yield TaskExecutor(cluster, sys.maxsize, (dask.KilledWorker,), cluster.idle)


def require_dask() -> None:
    """Fails if Dask is not installed."""
    _distributed()


def _distributed() -> Any:
    """Dask's package, loaded only where it is used; most of it has no types."""
    try:
        package = import_module("distributed")
    except ImportError as error:
        raise KontorError("Dask is missing: install requirements-dask.lock, not requirements.lock") from error
    logging.getLogger("distributed").setLevel(logging.WARNING)  # it logs every connection
    return package


@contextmanager
def _remote(scheduler: str, home: Path) -> Iterator[Any]:
    dask, options = _distributed(), {}
    if (key := cluster_key.find(home)) is not None:
        files = dict.fromkeys(("tls_ca_file", "tls_client_cert"), str(key))
        options["security"] = dask.Security(require_encryption=scheduler.startswith("tls:"), **files)
    try:
        client = dask.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False, name="kontor", **options)
    except (OSError, TypeError, ValueError) as error:  # also for wrong certificates
        raise KontorError(f"no Dask scheduler to work with at {scheduler} ({type(error).__name__}: {error})") from error
    with client:
        yield client


@contextmanager
def _local(workers: int) -> Iterator[Any]:
    dask, limits = _distributed(), _limits(workers)
    with import_module("dask").config.set(LOCAL_CONFIGURATION):
        with _environment(limits):
            cluster = dask.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host="127.0.0.1",
                protocol="tls",
                security=dask.Security.temporary(),
                dashboard_address=None,
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0", "allowed_failures": 0},
                memory_limit=0,
                env=dict(limits),  # for workers that replace a dead one
                silence_logs="CRITICAL",  # we report lost workers ourselves
            )
        with cluster, dask.Client(cluster, set_as_default=False, name="kontor") as client:
            yield client


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _limits(workers: int) -> Mapping[str, str]:
    """Threads for each worker, so that all workers together have one per core."""
    return dict.fromkeys(THREAD_LIMITS, str(max(1, cores() // workers)))


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Sets environment variables for processes that are started within the context."""
    before: dict[str, Any] = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
