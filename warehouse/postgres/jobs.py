"""The store of jobs: work that a worker must do soon, put down in the transaction that makes it necessary.

`procrastinate` runs them (`pipelines/worker.py`); its tables are in our database, so that a job exists if and only if the change
that it belongs to was committed. A job's lock lets only one job of that name run at a time, over all workers. Arguments are ids.
"""

from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import text

from warehouse.postgres.database import Owner

BANKS = "banks"
AWAITED_PRIORITY = 1
ENQUEUE = text(
    "SELECT procrastinate_defer_jobs_v1(ARRAY[ROW(:queue, :task, :priority, :lock, NULL, CAST(:args AS jsonb), NULL)"
    "::procrastinate_job_to_defer_v1])"
)
RAISE_PRIORITY = text("UPDATE procrastinate_jobs SET priority = :priority WHERE status = 'todo' AND args ->> 'fetch' = :fetch")
REMOVE_WAITING = text("DELETE FROM procrastinate_jobs WHERE status = 'todo' AND args ->> 'access' = ANY(:accesses)")


def enqueue(owner: Owner, task: str, *, lock: str, args: dict[str, Any], queue: str = BANKS, priority: int = 0) -> None:
    """Puts down a job that runs once this transaction is committed."""
    values = {"queue": queue, "task": task, "priority": priority, "lock": lock, "args": orjson.dumps(args).decode()}
    owner.session.execute(ENQUEUE, values)


def raise_priority(owner: Owner, fetch_id: UUID) -> None:
    """Lets a waiting job go before those that nobody waits for."""
    owner.session.execute(RAISE_PRIORITY, {"priority": AWAITED_PRIORITY, "fetch": str(fetch_id)})


def remove_waiting(owner: Owner, accesses: list[UUID]) -> None:
    """Deletes the jobs of accesses that are no more; one that is running finds that out by itself."""
    owner.session.execute(REMOVE_WAITING, {"accesses": [str(access) for access in accesses]})
