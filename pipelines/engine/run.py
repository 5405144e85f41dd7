"""The engine: runs independent tasks, one per bucket, in this process, on all cores of this machine, or on a Dask cluster.

`KONTOR_ENGINE` says where; results and their order are the same everywhere. No data pass through here: a task reads from and
writes to the lake and PostgreSQL, so that its arguments and results are small.

A task is a function of one of our modules, or a `functools.partial` of one. It opens what it needs (database, models) itself, in
functions under `functools.cache`, so that every process opens it once. A task may run more than once, even after it has nearly
finished: it replaces what it wrote before. Items appear in logs and errors, so they are numbers and ids and nothing else.

This module decides what happens to tasks; `executors.py` runs them. Nothing here may load Polars: a process must set its number
of threads first.
"""

from bisect import insort
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import structlog

from pipelines.engine.executors import BROKEN, TaskExecutor, open_executor
from warehouse.errors import KontorError
from warehouse.runtime import logs
from warehouse.settings import Settings

MAX_ATTEMPTS = 3
"""Workers that may die over one task. The last attempt is made while nothing else runs, so that no other task is lost with it."""
SILENCE_SECONDS = 60.0
MAX_NAMED_FAILURES = 20
log = structlog.get_logger("engine")

Item = TypeVar("Item")
Result = TypeVar("Result")
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class TaskFailure:
    """A task without a result, with the kind and place of its error, as `warehouse.runtime.logs.describe` gives them."""

    item: Any
    error: dict[str, Any]


class TasksFailed(KontorError):
    """Some tasks gave no result; the results of all others were yielded."""

    def __init__(self, failures: Sequence[TaskFailure], tasks: int) -> None:
        names = ", ".join(f"{failure.item} ({failure.error['kind']})" for failure in failures[:MAX_NAMED_FAILURES])
        more = f" and {len(failures) - MAX_NAMED_FAILURES} more" if len(failures) > MAX_NAMED_FAILURES else ""
        super().__init__(f"{len(failures)} of {tasks} tasks failed: {names}{more}")
        self.failures = tuple(failures)


class WorkerDied(KontorError):
    """The process of a task died at every attempt."""


@dataclass(frozen=True)
class _Done(Generic[Result]):
    value: Result


@dataclass(frozen=True)
class _Failed:
    error: dict[str, Any]


@dataclass
class _Job(Generic[Item]):
    index: int
    item: Item
    losses: int = 0

    @property
    def suspect(self) -> bool:
        return self.losses >= MAX_ATTEMPTS - 1


_Outcome = _Done[Result] | _Failed


def _ignore_progress(_done: int, _tasks: int) -> None:
    """The default: progress is not reported."""


def run(
    task: Callable[[Item], Result], items: Sequence[Item], settings: Settings, on_progress: OnProgress = _ignore_progress
) -> Generator[tuple[Item, Result], None, None]:
    """Every item with its result, in the order of the items, as soon as it and those before it are ready.

    A failing task does not stop the others; at the end `TasksFailed` names it. Closing the iterator ends all processes.
    """
    log.info("engine starts", engine=settings.engine, tasks=len(items))
    level = settings.log_level if structlog.is_configured() else None
    jobs = [_Job(index, item) for index, item in enumerate(items)]
    outcomes: dict[int, _Outcome[Result]] = {}
    failures: list[TaskFailure] = []
    following = 0
    with closing(_outcomes(partial(_attempt, task, level), jobs, settings)) as finished:
        for count, (job, outcome) in enumerate(finished, 1):
            on_progress(count, len(items))
            if count * 10 // len(items) > (count - 1) * 10 // len(items):
                log.info("engine works", done=count, tasks=len(items))
            outcomes[job.index] = outcome
            while following in outcomes:
                item, ready_outcome = items[following], outcomes.pop(following)
                following += 1
                if isinstance(ready_outcome, _Failed):
                    log.error("task failed", item=str(item), error=ready_outcome.error)
                    failures.append(TaskFailure(item, ready_outcome.error))
                else:
                    yield item, ready_outcome.value
    if failures:
        raise TasksFailed(failures, len(items))


def _attempt(task: Callable[[Item], Result], log_level: str | None, item: Item) -> _Outcome[Result]:
    """The result of the task, or the kind and place of its error: the error itself may hold data that must not leave the
    process.
    """
    if log_level is not None and not structlog.is_configured():
        logs.configure(log_level)
    try:
        return _Done(task(item))
    except BaseException as error:
        # A panic of Polars is no `Exception`; nor are interruptions, which do not belong to the task.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            return _Failed(logs.describe(error))
        raise


def _outcomes(
    attempt: Callable[[Item], _Outcome[Result]], jobs: Sequence[_Job[Item]], settings: Settings
) -> Generator[tuple[_Job[Item], _Outcome[Result]], None, None]:
    """Every job with its outcome, as they finish. When an executor breaks, a new one takes the remaining jobs."""
    waiting = list(jobs)
    while waiting:
        with open_executor(settings, len(waiting)) as executor:
            yield from _run_until_broken(executor, attempt, waiting)


def _run_until_broken(
    executor: TaskExecutor, attempt: Callable[[Item], _Outcome[Result]], waiting: list[_Job[Item]]
) -> Generator[tuple[_Job[Item], _Outcome[Result]], None, None]:
    """Runs jobs until all are finished or the executor breaks. Lost tasks wait again; suspects run last and alone."""
    running: dict[Future[_Outcome[Result]], _Job[Item]] = {}
    while running or (waiting and not executor.broken):
        while waiting and not executor.broken and len(running) < executor.window and not (waiting[0].suspect and running):
            job = waiting.pop(0)
            running[_submit(executor, attempt, job.item)] = job
        finished_futures, _ = wait(running, SILENCE_SECONDS, FIRST_COMPLETED)
        if not finished_futures:
            log.info("engine waits", running=len(running), waiting=len(waiting))
            finished_futures = {future for future in running if future.cancel()} if executor.stuck() else finished_futures
        for future in finished_futures:
            job = running.pop(future)
            try:
                outcome = future.result()
            except (*BROKEN, *executor.losses) as error:
                executor.broken = executor.broken or isinstance(error, BROKEN)
                job.losses += 1
                log.warning("task lost its worker", item=str(job.item), losses=job.losses)
                if job.losses < MAX_ATTEMPTS:
                    insort(waiting, job, key=_losses)
                    continue
                outcome = _Failed(logs.describe(WorkerDied()))
            except Exception as error:  # task or result could not be sent; the cause names a worker without Kontor
                outcome = _Failed(logs.describe(error.__cause__ if isinstance(error.__cause__, ImportError) else error))
            yield job, outcome


def _submit(executor: TaskExecutor, attempt: Callable[[Item], _Outcome[Result]], item: Item) -> Future[_Outcome[Result]]:
    try:
        return executor.executor.submit(attempt, item)
    except BrokenExecutor as error:  # it broke meanwhile
        future: Future[_Outcome[Result]] = Future()
        future.set_exception(error)
        return future


def _losses(job: _Job[Any]) -> int:
    return job.losses
