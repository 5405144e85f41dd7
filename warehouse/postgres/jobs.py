"""The store of jobs: work for a worker, enqueued in the transaction that makes it necessary.

`procrastinate` runs them (`pipelines/worker.py`). Its tables are in our database, so that a job exists if and only if the change
that it belongs to was committed. Of all jobs with the same lock, one runs at a time over all workers. Arguments are ids, and the
span (`warehouse.runtime.traces`) in which the job was enqueued.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import text

from warehouse.postgres.database import Owner
from warehouse.runtime import traces

BANKS = "banks"
TRACE = "trace"
"""The argument with the span in which a job was enqueued."""
AWAITED_PRIORITY = 1
ENQUEUE = text(
    "SELECT procrastinate_defer_jobs_v1(ARRAY[ROW(:queue, :task, :priority, :lock, NULL, CAST(:args AS jsonb), "
    "now() + make_interval(secs => :seconds))::procrastinate_job_to_defer_v1])"
)
RAISE_PRIORITY = text("UPDATE procrastinate_jobs SET priority = :priority WHERE status = 'todo' AND args ->> 'fetch' = :fetch")
COUNT = text(
    "SELECT j.task_name, count(*) FILTER (WHERE j.status = 'todo'), count(*) FILTER (WHERE j.status = 'doing'), "
    "max(j.attempts), min(j.scheduled_at) FILTER (WHERE j.status = 'todo') "
    "FROM procrastinate_jobs j WHERE j.status IN ('todo', 'doing') GROUP BY j.task_name ORDER BY j.task_name"
)
REMOVE_WAITING = text("DELETE FROM procrastinate_jobs WHERE status = 'todo' AND args ->> 'access' = ANY(:accesses)")
REMOVE_WAITING_MOVES = text("DELETE FROM procrastinate_jobs WHERE status = 'todo' AND args ->> 'dialogue' = ANY(:dialogues)")


@dataclass(frozen=True)
class TaskJobs:
    """The jobs of one task: how many wait and run, the most attempts of one, and for when the first that waits was planned."""

    task: str
    waiting: int
    running: int
    max_attempts: int
    planned_at: datetime | None


def counts(owner: Owner) -> list[TaskJobs]:
    """The jobs by task. The owner is the operator."""
    return [TaskJobs(*row) for row in owner.session.execute(COUNT).tuples()]


def enqueue(owner: Owner, task: str, *, lock: str, args: dict[str, Any], priority: int = 0, seconds: float | None = None) -> None:
    """Enqueues a job, which runs once this transaction is committed, or these seconds later."""
    trace = traces.carried()
    args = args if trace is None else {**args, TRACE: trace}
    values = {"queue": BANKS, "task": task, "priority": priority, "lock": lock, "args": orjson.dumps(args).decode()}
    owner.session.execute(ENQUEUE, {**values, "seconds": seconds})


def raise_priority(owner: Owner, fetch_id: UUID) -> None:
    """Gives the waiting job of a fetch the priority of jobs that a customer waits for."""
    owner.session.execute(RAISE_PRIORITY, {"priority": AWAITED_PRIORITY, "fetch": str(fetch_id)})


def remove_waiting(owner: Owner, accesses: list[UUID]) -> None:
    """Deletes the waiting jobs of accesses that were removed or whose fetch ends. A running job notices that by itself."""
    owner.session.execute(REMOVE_WAITING, {"accesses": [str(access) for access in accesses]})


def remove_waiting_moves(owner: Owner, dialogues: list[UUID]) -> None:
    """Deletes the waiting jobs of dialogues that end."""
    owner.session.execute(REMOVE_WAITING_MOVES, {"dialogues": [str(dialogue) for dialogue in dialogues]})
