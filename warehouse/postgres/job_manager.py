"""The store of jobs as the worker uses it: the end of a job is recorded even if the database is away when it comes.

A job whose end is not recorded would keep its lock for as long as its worker lives: no other fetch of the same login could begin.
All workers are told of an end, since a waiting job may need the lock that it sets free: `procrastinate` announces only new jobs.
"""

import itertools
import json
from collections.abc import Awaitable, Callable

import psycopg
import structlog
from procrastinate import exceptions, jobs, manager

from warehouse import patience
from warehouse.errors import DatabaseUnavailable
from warehouse.postgres.jobs import BANKS

PAUSE_SECONDS = 0.5
END = (
    "SELECT procrastinate_finish_job_v1(%(job_id)s, %(status)s, %(delete_job)s), "
    "pg_notify('procrastinate_queue_v1#' || %(queue)s, %(notice)s)"
)
log = structlog.get_logger("jobs")


class PatientJobManager(manager.JobManager):
    """Records the end of a job as soon as the database takes it, and announces it."""

    async def finish_job_by_id_async(self, job_id: int, status: jobs.Status, delete_job: bool) -> None:
        """Ends a job. Waits while the database is away or has no room; raises what a database that answers refuses."""
        notice = json.dumps({"type": "job_inserted", "job_id": job_id})  # makes workers look for jobs that can run
        values = {"job_id": job_id, "status": status.value, "delete_job": delete_job, "queue": BANKS, "notice": notice}

        async def finish() -> None:
            await _raise_if_away(lambda: self.connector.execute_query_async(END, **values))

        await patience.retry_async(finish, DatabaseUnavailable, itertools.repeat(PAUSE_SECONDS))


async def _raise_if_away(work: Callable[[], Awaitable[None]]) -> None:
    try:
        await work()
    except exceptions.ConnectorException as error:
        if isinstance(error.__cause__, psycopg.OperationalError):
            log.warning("database_away", job_ended=True)
            raise DatabaseUnavailable from error
        raise
