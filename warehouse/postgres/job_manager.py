"""The store of jobs as the worker uses it: tenants share workers evenly, and the end of a job is recorded even if the database
is away when it comes.

Of the jobs that customers wait for, the next is one of the tenant with the fewest running ones: a crowd of one tenant does not
keep the customers of another waiting. `procrastinate` takes the rest by priority and age, over an index: there can be many.

A job whose end is not recorded would keep its lock for as long as its worker lives: no other fetch of the same login could begin.
All workers are told of an end, since a waiting job may need the lock that it sets free: `procrastinate` announces only new jobs.
"""

import itertools
import json
from collections.abc import Awaitable, Callable, Iterable

import psycopg
import structlog
from procrastinate import exceptions, jobs, manager

from warehouse.errors import DatabaseUnavailable
from warehouse.postgres.jobs import AWAITED_PRIORITY, BANKS
from warehouse.runtime import patience

PAUSE_SECONDS = 0.5
END = (
    "SELECT procrastinate_finish_job_v1(%(job_id)s, %(status)s, %(delete_job)s), "
    "pg_notify('procrastinate_queue_v1#' || %(queue)s, %(notice)s)"
)
TAKE_AWAITED = """
WITH busy AS (
    SELECT args ->> 'tenant' AS tenant, count(*) AS jobs FROM procrastinate_jobs WHERE status = 'doing' GROUP BY 1
), next AS (
    SELECT waiting.id FROM procrastinate_jobs AS waiting LEFT JOIN busy ON busy.tenant = waiting.args ->> 'tenant'
    WHERE waiting.status = 'todo' AND waiting.priority >= %(awaited)s AND waiting.queue_name = ANY(%(queues)s)
    AND (waiting.scheduled_at IS NULL OR waiting.scheduled_at <= now())
    AND NOT EXISTS (
        SELECT FROM procrastinate_jobs AS earlier WHERE earlier.lock = waiting.lock AND (
            earlier.status = 'doing'
            OR earlier.status = 'todo' AND (-earlier.priority, earlier.id) < (-waiting.priority, waiting.id)
        )
    )
    ORDER BY coalesce(busy.jobs, 0), waiting.id LIMIT 1 FOR UPDATE OF waiting SKIP LOCKED
)
UPDATE procrastinate_jobs AS job SET status = 'doing', worker_id = %(worker_id)s FROM next WHERE job.id = next.id
RETURNING job.*
"""
log = structlog.get_logger("jobs")


class FairJobManager(manager.JobManager):
    """Takes jobs of all tenants evenly; records the end of a job as soon as the database takes it, and announces it."""

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> jobs.Job | None:
        """The next job, which is this worker's from now on; none if there is none that can run."""
        values = {"awaited": AWAITED_PRIORITY, "queues": list(queues or [BANKS]), "worker_id": worker_id}
        rows = await self.connector.execute_query_all_async(TAKE_AWAITED, **values)
        return jobs.Job.from_row(rows[0]) if rows else await super().fetch_job(queues, worker_id)

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
