"""The state of the work of workers, for people on call: who is alive, what waits and for how long, how fetches ended.

Workers give signs of life and jobs tell when they were added; `procrastinate` keeps both. How fetches ended is counted in
`fetch_counts` (ever) and `fetch_days` (by day, with their durations) by the workers themselves, a second's worth at a time, so
that no fetch waits for the row of its provider.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert

from warehouse.postgres.database import Owner
from warehouse.postgres.jobs import AWAITED_PRIORITY
from warehouse.postgres.tables import FetchCount, FetchDay, Provider

AWAITED, SCHEDULED, WEBHOOKS = "awaited", "scheduled", "webhooks"
QUEUES = (AWAITED, SCHEDULED, WEBHOOKS)
"""Jobs that a customer waits for, jobs of the schedule, and events for webhooks."""
WORKERS = text(
    "SELECT count(*) FILTER (WHERE last_heartbeat > now() - make_interval(secs => :lost_seconds)), count(*), "
    "extract(epoch FROM now() - max(last_heartbeat)) FROM procrastinate_workers"
)
JOBS = text(
    "WITH jobs AS (SELECT priority >= :awaited AS is_awaited, count(*) FILTER (WHERE status = 'todo') AS waiting, "
    "count(*) FILTER (WHERE status = 'doing') AS running, min(id) FILTER (WHERE status = 'todo') AS oldest "
    "FROM procrastinate_jobs WHERE status IN ('todo', 'doing') GROUP BY 1) "
    "SELECT is_awaited, waiting, running, "
    "(SELECT extract(epoch FROM now() - min(e.at)) FROM procrastinate_events e WHERE e.job_id = oldest) FROM jobs"
)
EVENTS = text(
    "SELECT count(*), extract(epoch FROM now() - min(coalesce(replayed_at, created_at))) FROM webhook_events "
    "WHERE state = 'PENDING'"
)
FETCHES = text(
    "SELECT p.name, c.outcome, sum(c.fetches), max(c.last_at) FROM fetch_counts c JOIN providers p ON p.id = c.provider_id "
    "GROUP BY p.name, c.outcome ORDER BY p.name, c.outcome"
)
PAUSED = text("SELECT name, pause_code, paused_at, retry_at FROM providers WHERE paused_at IS NOT NULL ORDER BY name")
LAST_FETCH = text("SELECT max(last_at) FROM fetch_counts")


@dataclass(frozen=True)
class QueueState:
    """What waits in a queue, what of it is running, and how long the oldest that waits has waited."""

    queue: str
    waiting: int = 0
    running: int = 0
    oldest_seconds: float = 0.0


@dataclass(frozen=True)
class FetchTotal:
    """How often fetches at a provider have ended in one way, ever, and when last."""

    provider: str
    outcome: str
    fetches: int
    last_at: datetime


@dataclass(frozen=True)
class FetchSum:
    """The number of fetches that have ended in one way, and the seconds that their sessions took together."""

    fetches: int = 0
    seconds: float = 0.0

    def __add__(self, other: "FetchSum") -> "FetchSum":
        return FetchSum(self.fetches + other.fetches, self.seconds + other.seconds)


@dataclass(frozen=True)
class PausedBank:
    """A bank that is paused because it fails for everybody: by which fault, since when, and when it is tried again."""

    provider: str
    code: str
    paused_at: datetime
    retry_at: datetime


@dataclass(frozen=True)
class WorkState:
    """The state of all workers and queues at one moment. `lost_workers` have died without a word."""

    workers: int
    lost_workers: int
    heartbeat_seconds: float | None
    """The time since the latest sign of life of any worker; None if none is registered."""
    queues: Mapping[str, QueueState]
    fetches: tuple[FetchTotal, ...]
    paused_banks: tuple[PausedBank, ...] = ()

    @property
    def last_fetch_at(self) -> datetime | None:
        """When a fetch has last ended, in whichever way."""
        return max((total.last_at for total in self.fetches), default=None)


def read(owner: Owner, lost_seconds: float) -> WorkState:
    """The state of the work now. A worker without a sign of life for `lost_seconds` is lost. The owner is the operator."""
    alive, registered, heartbeat_seconds = owner.session.execute(WORKERS, {"lost_seconds": lost_seconds}).one()
    queues = {queue: QueueState(queue) for queue in QUEUES}
    for is_awaited, waiting, running, oldest_seconds in owner.session.execute(JOBS, {"awaited": AWAITED_PRIORITY}):
        queue = AWAITED if is_awaited else SCHEDULED
        queues[queue] = QueueState(queue, waiting, running, float(oldest_seconds or 0))
    waiting_events, oldest_event_seconds = owner.session.execute(EVENTS).one()
    queues[WEBHOOKS] = QueueState(WEBHOOKS, waiting_events, 0, float(oldest_event_seconds or 0))
    totals = [FetchTotal(name, outcome, int(count), at) for name, outcome, count, at in owner.session.execute(FETCHES)]
    age = None if heartbeat_seconds is None else float(heartbeat_seconds)
    paused_banks = tuple(PausedBank(*row) for row in owner.session.execute(PAUSED).tuples())
    return WorkState(alive, registered - alive, age, queues, tuple(totals), paused_banks)


def count_live_workers(owner: Owner, lost_seconds: float) -> int:
    """The number of workers that have given a sign of life within `lost_seconds`."""
    return int(owner.session.execute(WORKERS, {"lost_seconds": lost_seconds}).one()[0])


def last_fetch_at(owner: Owner) -> datetime | None:
    """When a fetch has last ended, in whichever way."""
    last: datetime | None = owner.session.scalar(LAST_FETCH)
    return last


def add_fetches(owner: Owner, counts: Mapping[tuple[UUID, str], FetchSum], day: date) -> None:
    """Adds to the numbers of fetches that have ended, by provider and outcome, ever and on this day. Providers that are gone are
    left out.
    """
    ids = {provider for provider, _ in counts}
    standing_ids = set(owner.session.scalars(select(Provider.id).where(Provider.id.in_(ids))))
    totals = [
        (key, counts[key])
        for key in sorted(counts)  # in one order, so that no two workers wait for each other
        if key[0] in standing_ids
    ]
    rows = [
        {"provider_id": provider, "outcome": outcome, "fetches": total.fetches, "last_at": func.now()}
        for (provider, outcome), total in totals
    ]
    if not rows:
        return
    statement = insert(FetchCount).values(rows)
    sums = {"fetches": FetchCount.fetches + statement.excluded.fetches, "last_at": statement.excluded.last_at}
    owner.session.execute(statement.on_conflict_do_update(index_elements=["provider_id", "outcome"], set_=sums))
    days = [{**row, "day": day, "seconds": total.seconds} for row, (_, total) in zip(rows, totals, strict=True)]
    statement = insert(FetchDay).values(days)
    sums = {
        "fetches": FetchDay.fetches + statement.excluded.fetches,
        "seconds": FetchDay.seconds + statement.excluded.seconds,
        "last_at": statement.excluded.last_at,
    }
    owner.session.execute(statement.on_conflict_do_update(index_elements=["provider_id", "day", "outcome"], set_=sums))
