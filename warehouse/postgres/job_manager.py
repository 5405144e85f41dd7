"""The store of jobs as the worker uses it: the end of a job is recorded even if the database is away when it comes.

A job whose end is not recorded would keep its lock for as long as its worker lives: no other fetch of the same login could begin.
"""

import itertools
from collections.abc import Awaitable, Callable

import psycopg
import structlog
from procrastinate import exceptions, jobs, manager

from warehouse import patience
from warehouse.errors import DatabaseUnavailable

PAUSE_SECONDS = 0.5
log = structlog.get_logger("jobs")


class PatientJobManager(manager.JobManager):
    """Records the end of a job as soon as the database takes it."""

    async def finish_job_by_id_async(self, job_id: int, status: jobs.Status, delete_job: bool) -> None:
        """Ends a job. Waits while the database is away or has no room; raises what a database that answers refuses."""
        parent = super().finish_job_by_id_async

        async def finish() -> None:
            await _raise_if_away(lambda: parent(job_id, status, delete_job))

        await patience.retry_async(finish, DatabaseUnavailable, itertools.repeat(PAUSE_SECONDS))


async def _raise_if_away(work: Callable[[], Awaitable[None]]) -> None:
    try:
        await work()
    except exceptions.ConnectorException as error:
        if isinstance(error.__cause__, psycopg.OperationalError):
            log.warning("database_away", job_ended=True)
            raise DatabaseUnavailable from error
        raise
