"""When work stands still, and when it only takes long."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from pipelines.operations import standstills
from warehouse.postgres.work_state import AWAITED, QUEUES, SCHEDULED, WEBHOOKS, FetchTotal, QueueState, WorkState
from warehouse.settings import Settings

NOW = datetime(2026, 11, 18, 3, tzinfo=UTC)
SETTINGS = Settings()
LATE = SETTINGS.work_late_seconds + 1
IDLE = WorkState(1, 0, 5.0, {queue: QueueState(queue) for queue in QUEUES}, ())


def with_queue(queue: str, oldest_seconds: float) -> WorkState:
    return replace(IDLE, queues={**IDLE.queues, queue: QueueState(queue, 7, 0, oldest_seconds)})


def with_fetch_ended(work: WorkState, seconds_ago: float) -> WorkState:
    return replace(work, fetches=(FetchTotal("Demo", "fetched", 3, NOW - timedelta(seconds=seconds_ago)),))


@pytest.mark.parametrize(
    ("work", "names"),
    [
        (IDLE, set()),
        (replace(IDLE, workers=0, heartbeat_seconds=None), {"workers"}),
        (replace(IDLE, workers=0, lost_workers=1, heartbeat_seconds=61.0), {"workers"}),
        (with_queue(AWAITED, LATE), {AWAITED}),
        (with_fetch_ended(with_queue(AWAITED, LATE), 1), {AWAITED}),
        (with_queue(AWAITED, LATE - 2), set()),
        (with_queue(SCHEDULED, LATE), {SCHEDULED}),
        (with_fetch_ended(with_queue(SCHEDULED, LATE), LATE), {SCHEDULED}),
        (with_fetch_ended(with_queue(SCHEDULED, 3 * 3600), 10), set()),  # a long pull that goes on
        (with_queue(WEBHOOKS, SETTINGS.webhook_drop_seconds), set()),
        (with_queue(WEBHOOKS, SETTINGS.webhook_drop_seconds + 61), {WEBHOOKS}),
    ],
)
def test_work_stands_still_when_nobody_does_it(work: WorkState, names: set[str]) -> None:
    assert standstills(work, SETTINGS, NOW).keys() == names


def test_the_reason_tells_how_much_waits_and_for_how_long() -> None:
    work = replace(with_queue(AWAITED, LATE), workers=0, heartbeat_seconds=90.0)
    reasons = standstills(work, SETTINGS, NOW)
    assert reasons["workers"] == "no worker gives signs of life, the last one 90 seconds ago; 7 jobs and events wait"
    assert reasons[AWAITED] == "customers wait for 7 jobs, the oldest for 601 seconds"
