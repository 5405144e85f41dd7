"""The engine: independent tasks, one per bucket, in this process, on all cores of this machine, or on a Dask cluster.

`KONTOR_ENGINE` says where; the results and their order are the same everywhere. Data do not pass through here: a task reads
from and writes to the lake and PostgreSQL, so that what it takes and gives back is small.

A task is a function of a module of ours, or a `functools.partial` of one. What it needs (database, models) it opens itself, in
functions under `functools.cache`, so that every process opens it once and none is sent anywhere. A task may run more than once,
also when it had nearly finished: it replaces what it wrote before. Items stand in logs and errors: numbers and ids, nothing else.

Here is what happens to tasks; `crews.py` knows who carries them out. Nothing here may load Polars: a process has to set the
number of its threads first.
"""

from bisect import insort
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import structlog

from pipelines.engine.executors import BROKEN, TaskExecutor, open_executor
from warehouse import logs
from warehouse.errors import KontorError
from warehouse.settings import Settings

ATTEMPTS = 3
"""So many workers may die over a task. The last attempt is made while nothing else runs, so that no task pays for another."""
SILENCE_SECONDS = 60.0
NAMED_AT_MOST = 20
log = structlog.get_logger("engine")

Item = TypeVar("Item")
Result = TypeVar("Result")
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class TaskFailure:
    """A task that gave no result, with the kind and place of its error, as `warehouse.logs.describe` has them."""

    item: Any
    error: dict[str, Any]


class TasksFailed(KontorError):
    """Some tasks gave no result; those of all others were handed out."""

    def __init__(self, failures: Sequence[TaskFailure], tasks: int) -> None:
        named = ", ".join(f"{failure.item} ({failure.error['kind']})" for failure in failures[:NAMED_AT_MOST])
        more = f" and {len(failures) - NAMED_AT_MOST} more" if len(failures) > NAMED_AT_MOST else ""
        super().__init__(f"{len(failures)} of {tasks} tasks failed: {named}{more}")
        self.failures = tuple(failures)


class WorkerDied(KontorError):
    """The process that ran a task died, at every attempt."""


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
        return self.losses >= ATTEMPTS - 1


_Outcome = _Done[Result] | _Failed


def _unheard(_done: int, _tasks: int) -> None:
    """Nobody wants to know."""


def run(
    task: Callable[[Item], Result], items: Sequence[Item], settings: Settings, on_progress: OnProgress = _unheard
) -> Iterator[tuple[Item, Result]]:
    """Every item with its result, in the order of the items, each as soon as it and those before it are there.

    A task that fails keeps no other from running; at the end `TasksFailed` names it. Closing the iterator ends all processes.
    """
    log.info("engine starts", engine=settings.engine, tasks=len(items))
    level = settings.log_level if structlog.is_configured() else None
    jobs = [_Job(index, item) for index, item in enumerate(items)]
    outcomes: dict[int, _Outcome[Result]] = {}
    failures: list[TaskFailure] = []
    following = 0
    with closing(_outcomes(partial(_attempt, task, level), jobs, settings)) as finished:
        for done, (job, outcome) in enumerate(finished, 1):
            on_progress(done, len(items))
            if done * 10 // len(items) > (done - 1) * 10 // len(items):
                log.info("engine works", done=done, tasks=len(items))
            outcomes[job.index] = outcome
            while following in outcomes:
                item, reached = items[following], outcomes.pop(following)
                following += 1
                if isinstance(reached, _Failed):
                    log.error("task failed", item=str(item), error=reached.error)
                    failures.append(TaskFailure(item, reached.error))
                else:
                    yield item, reached.value
    if failures:
        raise TasksFailed(failures, len(items))


def _attempt(task: Callable[[Item], Result], log_level: str | None, item: Item) -> _Outcome[Result]:
    """What the task gives, or the kind and place of its error: the error itself may hold what must not leave the process."""
    if log_level is not None and not structlog.is_configured():
        logs.configure(log_level)
    try:
        return _Done(task(item))
    except BaseException as error:
        # What Polars says when it panics is no `Exception`; nor are interruptions, which do not belong to the task.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            return _Failed(logs.describe(error))
        raise


def _outcomes(
    attempt: Callable[[Item], _Outcome[Result]], jobs: Sequence[_Job[Item]], settings: Settings
) -> Generator[tuple[_Job[Item], _Outcome[Result]], None, None]:
    """Every job with its outcome, as they finish. Where a crew breaks, a new one takes what is left."""
    waiting = list(jobs)
    while waiting:
        with open_executor(settings, len(waiting)) as crew:
            yield from _shift(crew, attempt, waiting)


def _shift(
    crew: TaskExecutor, attempt: Callable[[Item], _Outcome[Result]], waiting: list[_Job[Item]]
) -> Generator[tuple[_Job[Item], _Outcome[Result]], None, None]:
    """Lets a crew work until all is done, or until it breaks. Tasks that were lost wait again, the suspects last and alone."""
    running: dict[Future[_Outcome[Result]], _Job[Item]] = {}
    broken = False
    while running or (waiting and not broken):
        while waiting and not broken and len(running) < crew.window and not (waiting[0].suspect and running):
            job = waiting.pop(0)
            running[_submit(crew, attempt, job.item)] = job
        done, _ = wait(running, SILENCE_SECONDS, FIRST_COMPLETED)
        if not done:
            log.info("engine waits", running=len(running), waiting=len(waiting))
            done = {future for future in running if future.cancel()} if crew.stuck() else done
        for future in done:
            job = running.pop(future)
            try:
                outcome = future.result()
            except (*BROKEN, *crew.losses) as error:
                broken = broken or isinstance(error, BROKEN)
                job.losses += 1
                log.warning("task lost its worker", item=str(job.item), losses=job.losses)
                if job.losses < ATTEMPTS:
                    insort(waiting, job, key=_losses)
                    continue
                outcome = _Failed(logs.describe(WorkerDied()))
            except Exception as error:  # it could not be sent, there or back; a worker without Kontor says so in the cause
                outcome = _Failed(logs.describe(error.__cause__ if isinstance(error.__cause__, ImportError) else error))
            yield job, outcome


def _submit(crew: TaskExecutor, attempt: Callable[[Item], _Outcome[Result]], item: Item) -> Future[_Outcome[Result]]:
    try:
        return crew.executor.submit(attempt, item)
    except BrokenExecutor as error:  # it broke since we looked
        future: Future[_Outcome[Result]] = Future()
        future.set_exception(error)
        return future


def _losses(job: _Job[Any]) -> int:
    return job.losses
