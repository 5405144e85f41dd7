"""The worker: runs jobs and delivers webhooks until it is told to stop.

`procrastinate` takes jobs from PostgreSQL and runs one job per lock. The lock of a fetch is the login, so that no two sessions
with the same credentials run at the same time, in whichever worker. Jobs of a dead worker run again. A job waits for a slot of
its provider as a coroutine (`banks/session_limits.py`) and then runs in a thread; bank sessions have threads of their own
(`banks/sessions.py`). The event loop itself never blocks.
"""

import asyncio
import contextlib
import errno
import itertools
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

import procrastinate
import structlog
import uvloop
from procrastinate import exceptions, jobs, retry

from pipelines import shared_models, tombstones
from pipelines.banks.session_limits import ProviderSlots
from pipelines.context import Context, ResultMaker
from pipelines.dialogues import worker
from pipelines.dialogues.worker import MoveJob
from pipelines.fetching import outages, refresh
from pipelines.fetching.store import FetchJob
from pipelines.webhooks import notify
from warehouse.errors import Busy, DatabaseUnavailable, KeysMissing
from warehouse.postgres import watched, work_state
from warehouse.postgres.job_connections import job_connector
from warehouse.postgres.job_manager import FairJobManager
from warehouse.postgres.jobs import AWAITED_PRIORITY, BANKS, TRACE
from warehouse.runtime import logs, memory, patience, traces
from warehouse.secrets import sealed_values
from warehouse.settings import Settings
from warehouse.stores import accesses, activity, fetches, redirect_sessions, results, webhooks
from warehouse.stores import dialogues as stored_dialogues

MAX_ATTEMPTS = 3
LOOK_SECONDS = 1.0
POLL_SECONDS = 2.0
"""New jobs and free locks are announced; this is for notices that were lost, and for jobs of dead workers."""
log = structlog.get_logger("worker")


class AfterInterruption(retry.BaseRetryStrategy):
    """Retries a job that was interrupted by a stop of its worker, but none that failed."""

    def get_retry_decision(self, *, exception: BaseException, job: jobs.Job) -> retry.RetryDecision | None:
        cut_short = isinstance(exception, exceptions.JobAborted | asyncio.CancelledError)
        return retry.RetryDecision(retry_in={"seconds": 0}) if cut_short and job.attempts < MAX_ATTEMPTS else None


@dataclass
class WorkerContext:
    """The context of flows, the threads, the session slots of each provider, and the ids of running fetches and dialogues."""

    context: Context
    threads: ThreadPoolExecutor
    slots: ProviderSlots
    busy_with: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, context: Context) -> "WorkerContext":
        threads = ThreadPoolExecutor(context.settings.bank_jobs_at_once, thread_name_prefix="fetch")
        return cls(context, threads, ProviderSlots(_address(context), context.settings.bank_calls_at_once))


async def run(settings: Settings) -> None:
    """Works until SIGTERM or SIGINT."""
    context = replace(Context.of(settings), results=_results_at_once(settings))
    _require_keys(context)
    _wait_for_database(lambda: tombstones.sync(context.database, context.lake, settings))
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    worker_context = WorkerContext.of(context)
    app = _app(worker_context)
    async with app.open_async():
        working = asyncio.create_task(_run_forever(stop, lambda: app.run_worker_async(**_options(settings))))
        looking = asyncio.create_task(_recover_forever(app, worker_context))
        delivering = asyncio.create_task(
            _run_forever(stop, lambda: notify.deliver_forever(context.database, context.vault, settings, stop))
        )
        log.info("working", jobs_at_once=settings.bank_jobs_at_once)
        await stop.wait()
        working.cancel()  # takes no more jobs and waits for running ones
        looking.cancel()
        await asyncio.wait([working, looking, delivering], timeout=_grace_seconds(settings) + LOOK_SECONDS)
        with contextlib.suppress(DatabaseUnavailable, Busy):
            await asyncio.to_thread(_store_tally, context)
        await worker_context.slots.close()
    log.info("stopped")


def _results_at_once(settings: Settings) -> ResultMaker | None:
    """What makes results in this worker. Its module is loaded only here: the analyses take a second and 300 MB."""
    if not settings.results_at_once:
        return None
    from pipelines.results.at_once import ResultsAtOnce

    return ResultsAtOnce(settings)


def _require_keys(context: Context) -> None:
    """Refuses to work with wrong vault keys: every access would ask its customer for the login. Waits for the database."""

    def check() -> None:
        with context.database.operating() as operator:
            sealed_values.check_keys(operator, context.vault)
            watched.note_key(operator, context.vault.ring().active)

    try:
        _wait_for_database(check)
    except KeysMissing as error:
        log.error("vault_keys_wrong", advice=str(error))  # noqa: TRY400 (the trace says nothing)
        raise


def _wait_for_database(work: Callable[[], object]) -> None:
    """Does work of the start as soon as the database takes it and there is room for it: a worker that starts beside a restart of
    PostgreSQL, or on a full disk, stays.
    """

    def attempt() -> object:
        try:
            return work()
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise Busy from error
            raise

    patience.retry(attempt, (DatabaseUnavailable, Busy), itertools.repeat(LOOK_SECONDS))


async def _run_forever(stop: asyncio.Event, work: Callable[[], Awaitable[None]]) -> None:
    """Repeats work that should never end whenever it fails, as it does while PostgreSQL restarts."""
    while not stop.is_set():
        try:
            await work()
        except Exception as error:
            log.warning("interrupted", error=logs.describe(error))
            await asyncio.sleep(LOOK_SECONDS)


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "queues": [BANKS],
        "concurrency": settings.bank_jobs_at_once,
        "fetch_job_polling_interval": POLL_SECONDS,
        "shutdown_graceful_timeout": _grace_seconds(settings),
        "delete_jobs": "always",
        "install_signal_handlers": False,
        "update_heartbeat_interval": settings.worker_lost_seconds / 3,
        "stalled_worker_timeout": settings.worker_lost_seconds,
    }


def _grace_seconds(settings: Settings) -> float:
    """How long a stop waits for running jobs: less than the time after which others consider this worker dead, since its
    heartbeat stops first.
    """
    return min(20, settings.worker_lost_seconds / 2)


def _app(worker_context: WorkerContext) -> procrastinate.App:
    """The jobs by name. Errors of jobs are logged by kind alone."""
    connector = job_connector(_address(worker_context.context), "kontor-worker")
    app = procrastinate.App(connector=connector)
    app.job_manager = FairJobManager(connector)

    @app.task(name=accesses.FETCH, queue=BANKS, retry=AfterInterruption(), pass_context=True)
    async def fetch_access(context: procrastinate.JobContext, /, **args: Any) -> None:
        is_awaited = context.job.priority >= AWAITED_PRIORITY
        with _span(accesses.FETCH, args):
            async with worker_context.slots.at(args["provider"], args["tenant"], is_awaited=is_awaited):
                await _on_thread(worker_context, _run_fetch, worker_context, _job(args))

    @app.task(name=stored_dialogues.MOVE, queue=BANKS)
    async def move_dialogue(**args: Any) -> None:
        with _span(stored_dialogues.MOVE, args):
            async with worker_context.slots.at(args["provider"], args["tenant"], is_awaited=True):
                await _on_thread(worker_context, _run_move, worker_context, _move(args))

    @app.task(name=results.MAKE, queue=BANKS)
    async def make_results(**args: Any) -> None:
        if worker_context.context.results is not None:
            ids = UUID(args["tenant"]), UUID(args["user"])
            with _span(results.MAKE, args):
                await _on_thread(worker_context, _make_results, worker_context.context, *ids)

    return app


def _span(task: str, args: dict[str, Any]) -> AbstractContextManager[object]:
    """The span of a job, below the one in which it was enqueued."""
    return traces.span("job", args.get(TRACE), kontor__job=task)


async def _on_thread(worker_context: WorkerContext, work: Callable[..., None], *args: Any) -> None:
    """Does work on a thread of the worker, below the span of its job."""
    await asyncio.get_running_loop().run_in_executor(worker_context.threads, partial(copy_context().run, work, *args))


def _make_results(context: Context, tenant: UUID, user: UUID) -> None:
    """Makes the results of a user whose data were changed by a request. If that fails, they are made when somebody asks."""
    if context.results is None:
        return
    try:
        with context.results.turn() as publish_results, context.database.acting_for(tenant, user) as owner:
            if publish_results is not None and activity.is_active(owner):
                webhooks.announce(owner, *publish_results(owner))
    except (DatabaseUnavailable, Busy):
        log.warning("database_away", user=str(user))


def _address(context: Context) -> str:
    return context.database.url.set(drivername="postgresql").render_as_string(hide_password=False)


def _job(args: Any) -> FetchJob:
    return FetchJob(*(UUID(args[name]) for name in ("tenant", "user", "access", "fetch")))


def _run_fetch(worker_context: WorkerContext, job: FetchJob) -> None:
    """Runs a fetch. If the database goes away meanwhile, the job ends, and the fetch is later found and enqueued again."""
    worker_context.busy_with.add(str(job.fetch))
    try:
        refresh.fetch_access(worker_context.context, job, datetime.now(UTC))
    except (DatabaseUnavailable, Busy):
        log.warning("database_away", access=str(job.access))
    except Exception as error:
        log.error("job_failed", access=str(job.access), error=logs.describe(error))  # noqa: TRY400 (the text may hold data)
        refresh.give_up(worker_context.context, job, datetime.now(UTC))
    finally:
        worker_context.busy_with.discard(str(job.fetch))


def _move(args: Any) -> MoveJob:
    return MoveJob(UUID(args["tenant"]), UUID(args["user"]), UUID(args["dialogue"]), args["move"])


def _run_move(worker_context: WorkerContext, job: MoveJob) -> None:
    """Runs a move of a dialogue. An error of ours ends the dialogue: a move is never repeated."""
    worker_context.busy_with.add(str(job.dialogue))
    try:
        worker.advance(worker_context.context, job, datetime.now(UTC))
    except (DatabaseUnavailable, Busy):
        log.warning("database_away", dialogue=str(job.dialogue))
    except Exception as error:
        log.error("job_failed", dialogue=str(job.dialogue), error=logs.describe(error))  # noqa: TRY400 (the text may hold data)
        worker.give_up(worker_context.context, job)
    finally:
        worker_context.busy_with.discard(str(job.dialogue))


async def _recover_forever(app: procrastinate.App, worker_context: WorkerContext) -> None:
    """Looks repeatedly for jobs of dead workers, fetches without a job, and expired accesses.

    While the database is away, no heartbeat is recorded. Afterwards all workers get time to send one.
    """
    lost_seconds = worker_context.context.settings.worker_lost_seconds
    while True:
        try:
            for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=lost_seconds):
                await _revive(app, worker_context, job)
            await asyncio.to_thread(_tidy, worker_context.context)
            await asyncio.sleep(LOOK_SECONDS)
        except Exception as error:
            log.warning("looking_after_failed", error=logs.describe(error))
            await asyncio.sleep(lost_seconds)


async def _revive(app: procrastinate.App, worker_context: WorkerContext, job: jobs.Job) -> None:
    """Runs the job of a dead worker again, or gives it up after `MAX_ATTEMPTS`: it may be the job that kills its workers."""
    if {job.task_kwargs.get("fetch"), job.task_kwargs.get("dialogue")} & worker_context.busy_with:
        return
    with contextlib.suppress(exceptions.ConnectorException):  # another worker was quicker
        if job.attempts < MAX_ATTEMPTS:
            await app.job_manager.retry_job(job)
        else:
            await asyncio.to_thread(_give_up, worker_context.context, job)
            await app.job_manager.finish_job(job, jobs.Status.FAILED, delete_job=True)
        log.warning("job_of_dead_worker", job=job.id, attempts=job.attempts)


def _give_up(context: Context, job: jobs.Job) -> None:
    if job.task_name == stored_dialogues.MOVE:
        worker.give_up(context, _move(job.task_kwargs))
    else:
        refresh.give_up(context, _job(job.task_kwargs), datetime.now(UTC))


def _tidy(context: Context) -> None:
    with context.database.operating() as operator:
        expired = accesses.remove_expired(operator) + redirect_sessions.purge_expired(operator)
        lost = fetches.resume_lost(operator)
    _store_tally(context)
    outages.try_paused(context.database, datetime.now(UTC))
    moved = worker.advance_overdue(context)
    try:
        shared_models.take_up(context.database, context.settings.home)
    except OSError as error:  # such as a full disk: everything else goes on
        log.warning("models_not_looked_at", error=logs.describe(error))
    if expired or lost or moved:
        log.info("tidied", expired=expired, lost=lost, dialogues=moved)


def _store_tally(context: Context) -> None:
    """Stores how fetches have ended since the last call, and pauses and resumes banks accordingly. A worker that is killed loses
    the counts of a second.
    """
    counts = context.tally.take()
    if not counts:
        return
    now = datetime.now(UTC)
    try:
        with context.database.operating() as operator:
            work_state.add_fetches(operator, counts, now.astimezone(context.settings.zone).date())
    except BaseException:
        context.tally.put_back(counts)
        raise
    outages.watch(context.database, counts, now)


def main(settings: Settings | None = None) -> None:
    """The process of the worker. It exits even if threads hang at a bank."""
    chosen_settings = settings or Settings()
    memory.bound_arenas()
    logs.configure(chosen_settings.log_level)
    traces.configure(chosen_settings, "worker")
    logging.getLogger("procrastinate").setLevel(logging.ERROR)  # it would log arguments of jobs
    code = 0
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run(chosen_settings))
    except Exception as error:
        log.error("worker_failed", error=logs.describe(error))  # noqa: TRY400 (the text may hold data)
        code = 1
    traces.close()
    os._exit(code)


if __name__ == "__main__":
    main()
