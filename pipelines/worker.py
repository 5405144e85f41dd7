"""The worker: runs jobs and delivers webhooks until it is told to stop.

`procrastinate` takes the jobs from PostgreSQL and lets one job per lock run: the lock of a fetch is the login, so that nobody
talks to a bank twice at a time with one set of credentials, whichever worker or access it is. Jobs of a worker that died run
again. A job waits for its provider's turn as a coroutine (`banks/turns.py`) and then runs in a thread; bank sessions have
threads of their own (`banks/lines.py`). The event loop only waits.
"""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import procrastinate
import structlog
from procrastinate import exceptions, jobs, retry

from pipelines.banks.session_limits import ProviderSlots
from pipelines.context import Context
from pipelines.dialogues import worker
from pipelines.dialogues.worker import MoveJob
from pipelines.fetching import refresh
from pipelines.fetching.store import FetchJob
from pipelines.webhooks import notify
from warehouse import logs
from warehouse.errors import Busy, DatabaseUnavailable
from warehouse.postgres.jobs import AWAITED_PRIORITY, BANKS
from warehouse.settings import Settings
from warehouse.stores import accesses, fetches, redirect_sessions
from warehouse.stores import dialogues as stored_dialogues

ATTEMPTS = 3
LOOK_SECONDS = 1.0
POLL_SECONDS = 0.25  # a job whose lock became free is not announced
log = structlog.get_logger("worker")


class AfterInterruption(retry.BaseRetryStrategy):
    """A job that was cut short by a stop runs again elsewhere; one that failed by itself does not."""

    def get_retry_decision(self, *, exception: BaseException, job: jobs.Job) -> retry.RetryDecision | None:
        cut_short = isinstance(exception, exceptions.JobAborted | asyncio.CancelledError)
        return retry.RetryDecision(retry_in={"seconds": 0}) if cut_short and job.attempts < ATTEMPTS else None


@dataclass
class WorkerContext:
    """What a worker has at hand: the house, threads, the turns of each provider, and the fetches that it is busy with."""

    house: Context
    threads: ThreadPoolExecutor
    turns: ProviderSlots
    busy_with: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, house: Context) -> "WorkerContext":
        threads = ThreadPoolExecutor(house.settings.bank_jobs_at_once, thread_name_prefix="fetch")
        return cls(house, threads, ProviderSlots(_address(house), house.settings.bank_calls_at_once))


async def run(settings: Settings) -> None:
    """Works until SIGTERM or SIGINT."""
    house = Context.of(settings)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    shift = WorkerContext.of(house)
    app = _app(shift)
    async with app.open_async():
        working = asyncio.create_task(_again_and_again(stop, lambda: app.run_worker_async(**_options(settings))))
        looking = asyncio.create_task(_look_after(app, shift))
        delivering = asyncio.create_task(
            _again_and_again(stop, lambda: notify.deliver_forever(house.database, house.vault, settings, stop))
        )
        log.info("working", jobs_at_once=settings.bank_jobs_at_once)
        await stop.wait()
        working.cancel()  # takes no more jobs, and waits for those that are running
        looking.cancel()
        await asyncio.wait([working, looking, delivering], timeout=_grace_seconds(settings) + LOOK_SECONDS)
        await shift.turns.close()
    log.info("stopped")


async def _again_and_again(stop: asyncio.Event, work: Callable[[], Awaitable[None]]) -> None:
    """Does work that should never end; begins anew when it fails, as it does while PostgreSQL restarts."""
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
    """How long a stop waits for running jobs: less than others take to believe this worker dead, since its heart stops first."""
    return min(20, settings.worker_lost_seconds / 2)


def _app(shift: WorkerContext) -> procrastinate.App:
    """The jobs by name. What fails in one is told in the log by its kind alone."""
    connector = procrastinate.PsycopgConnector(
        conninfo=_address(shift.house), kwargs={"application_name": "kontor-worker"}, max_size=5
    )
    app = procrastinate.App(connector=connector)

    @app.task(name=accesses.FETCH, queue=BANKS, retry=AfterInterruption(), pass_context=True)
    async def fetch_access(context: procrastinate.JobContext, /, **args: Any) -> None:
        is_awaited = context.job.priority >= AWAITED_PRIORITY
        async with shift.turns.at(args["provider"], is_awaited=is_awaited):
            await asyncio.get_running_loop().run_in_executor(shift.threads, _guarded, shift, _job(args))

    @app.task(name=stored_dialogues.MOVE, queue=BANKS)
    async def move_dialogue(**args: Any) -> None:
        async with shift.turns.at(args["provider"], is_awaited=True):
            await asyncio.get_running_loop().run_in_executor(shift.threads, _moved, shift, _move(args))

    return app


def _address(house: Context) -> str:
    return house.database.url.set(drivername="postgresql").render_as_string(hide_password=False)


def _job(args: Any) -> FetchJob:
    return FetchJob(*(UUID(args[name]) for name in ("tenant", "user", "access", "fetch")))


def _guarded(shift: WorkerContext, job: FetchJob) -> None:
    """Runs a fetch. When the database goes away in its course, the job ends; the fetch is found and put down again."""
    shift.busy_with.add(str(job.fetch))
    try:
        refresh.fetch_access(shift.house, job, datetime.now(UTC))
    except (DatabaseUnavailable, Busy):
        log.warning("database_away", access=str(job.access))
    except Exception as error:
        log.error("job_failed", access=str(job.access), error=logs.describe(error))  # noqa: TRY400 (the text may hold data)
        refresh.give_up(shift.house, job, datetime.now(UTC))
    finally:
        shift.busy_with.discard(str(job.fetch))


def _move(args: Any) -> MoveJob:
    return MoveJob(UUID(args["tenant"]), UUID(args["user"]), UUID(args["dialogue"]), args["move"])


def _moved(shift: WorkerContext, job: MoveJob) -> None:
    """Carries out a move of a dialogue. What goes wrong on our side ends it: it is never carried out a second time."""
    shift.busy_with.add(str(job.dialogue))
    try:
        worker.advance(shift.house, job, datetime.now(UTC))
    except (DatabaseUnavailable, Busy):
        log.warning("database_away", dialogue=str(job.dialogue))
    except Exception as error:
        log.error("job_failed", dialogue=str(job.dialogue), error=logs.describe(error))  # noqa: TRY400 (the text may hold data)
        worker.give_up(shift.house, job)
    finally:
        shift.busy_with.discard(str(job.dialogue))


async def _look_after(app: procrastinate.App, shift: WorkerContext) -> None:
    """Finds jobs of dead workers, fetches without a job, and accesses whose time is over; again and again.

    After the database was away, no worker's heart was seen to beat: all get the time to show that they live.
    """
    lost_seconds = shift.house.settings.worker_lost_seconds
    while True:
        try:
            for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=lost_seconds):
                await _revive(app, shift, job)
            await asyncio.to_thread(_tidy, shift.house)
            await asyncio.sleep(LOOK_SECONDS)
        except Exception as error:
            log.warning("looking_after_failed", error=logs.describe(error))
            await asyncio.sleep(lost_seconds)


async def _revive(app: procrastinate.App, shift: WorkerContext, job: jobs.Job) -> None:
    """Lets a dead worker's job run again, but not for ever: a job that kills its workers is given up."""
    if {job.task_kwargs.get("fetch"), job.task_kwargs.get("dialogue")} & shift.busy_with:
        return
    with contextlib.suppress(exceptions.ConnectorException):  # another worker was quicker
        if job.attempts < ATTEMPTS:
            await app.job_manager.retry_job(job)
        else:
            await asyncio.to_thread(_give_up, shift.house, job)
            await app.job_manager.finish_job(job, jobs.Status.FAILED, delete_job=True)
        log.warning("job_of_dead_worker", job=job.id, attempts=job.attempts)


def _give_up(house: Context, job: jobs.Job) -> None:
    if job.task_name == stored_dialogues.MOVE:
        worker.give_up(house, _move(job.task_kwargs))
    else:
        refresh.give_up(house, _job(job.task_kwargs), datetime.now(UTC))


def _tidy(house: Context) -> None:
    with house.database.operating() as operator:
        expired = accesses.remove_expired(operator) + redirect_sessions.purge_expired(operator)
        lost = fetches.resume_lost(operator)
    moved = worker.look_after(house)
    if expired or lost or moved:
        log.info("tidied", expired=expired, lost=lost, dialogues=moved)


def main(settings: Settings | None = None) -> None:
    """The worker's process. Threads that hang at a bank must not keep it from ending."""
    found = settings or Settings()
    logs.configure(found.log_level)
    logging.getLogger("procrastinate").setLevel(logging.ERROR)  # it would log arguments of jobs
    code = 0
    try:
        asyncio.run(run(found))
    except Exception as error:
        log.error("worker_failed", error=logs.describe(error))  # noqa: TRY400 (the text may hold data)
        code = 1
    os._exit(code)


if __name__ == "__main__":
    main()
