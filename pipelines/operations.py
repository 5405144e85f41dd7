"""The state of an installation for people on call: what stands still, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipelines.fetching.pulls import MAX_DATA_AGE
from pipelines.fetching.slots import slot_of
from warehouse.postgres import work_state
from warehouse.postgres.database import Database
from warehouse.postgres.work_state import AWAITED, SCHEDULED, WEBHOOKS, WorkState
from warehouse.settings import Settings
from warehouse.stores import fetches
from warehouse.stores.fetches import DataAge, FailingProvider, SlotFetches

DROP_GRACE_SECONDS = 60.0
"""Workers drop events after a while; an event that is older by this has no worker that looks at it."""


@dataclass(frozen=True)
class InstallationState:
    """Workers and queues, how far the refresh of the current slot has come, how old data are, and where fetches fail."""

    work: WorkState
    standstills: Mapping[str, str]
    slot: datetime
    slot_fetches: SlotFetches
    data_age: DataAge
    failing_providers: list[FailingProvider]


def read_work(database: Database, settings: Settings) -> WorkState:
    """The state of workers and queues."""
    with database.operating() as operator:
        return work_state.read(operator, settings.worker_lost_seconds)


def read_installation(database: Database, settings: Settings, now: datetime) -> InstallationState:
    """The state of everything that people on call look at."""
    slot = slot_of(now, settings.zone)
    with database.surveying() as operator:
        work = work_state.read(operator, settings.worker_lost_seconds)
        return InstallationState(
            work,
            standstills(work, settings, now),
            slot,
            fetches.slot_fetches(operator, slot),
            fetches.data_age(operator, now - MAX_DATA_AGE),
            fetches.failing_providers(operator),
        )


def standstills(work: WorkState, settings: Settings, now: datetime) -> dict[str, str]:
    """What stands still, with the reason, by the name of the part; empty while work goes on.

    Jobs of the schedule may wait for hours behind each other, so they stand still only if no fetch has ended either.
    """
    reasons = {}
    late_seconds = settings.work_late_seconds
    waiting = sum(queue.waiting for queue in work.queues.values())
    if not work.workers:
        silence = (
            "none has started" if work.heartbeat_seconds is None else f"the last one {work.heartbeat_seconds:.0f} seconds ago"
        )
        reasons["workers"] = f"no worker gives signs of life, {silence}; {waiting} jobs and events wait"
    if (awaited_queue := work.queues[AWAITED]).oldest_seconds > late_seconds:
        reasons[AWAITED] = (
            f"customers wait for {awaited_queue.waiting} jobs, the oldest for {awaited_queue.oldest_seconds:.0f} seconds"
        )
    last_fetch_at = work.last_fetch_at
    has_ended_fetches = last_fetch_at is not None and now - last_fetch_at <= timedelta(seconds=late_seconds)
    if (scheduled_queue := work.queues[SCHEDULED]).oldest_seconds > late_seconds and not has_ended_fetches:
        reasons[SCHEDULED] = (
            f"{scheduled_queue.waiting} scheduled fetches wait, one for {scheduled_queue.oldest_seconds:.0f} s, and none ends"
        )
    if (webhooks := work.queues[WEBHOOKS]).oldest_seconds > settings.webhook_drop_seconds + DROP_GRACE_SECONDS:
        reasons[WEBHOOKS] = f"{webhooks.waiting} events wait for delivery, the oldest for {webhooks.oldest_seconds:.0f} seconds"
    return reasons
