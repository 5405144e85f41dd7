"""Pulls: in each slot the workers refresh the accesses that are due; a run waits for them and counts what has landed."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from pipelines.context import Context
from pipelines.fetching import refresh
from pipelines.fetching.slots import SLOT_FORMAT, slot_of
from warehouse.lake import landing as pieces
from warehouse.lake.core_tables import LANDING
from warehouse.stores import fetches

WAIT_SECONDS = 1800.0
LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class PullCounts:
    """The fetches and bookings that landed for a bucket in a slot."""

    fetches: int
    bookings: int


def pull(
    context: Context,
    slot: str,
    now: datetime,
    wait_seconds: float = WAIT_SECONDS,
    tell: Callable[[Mapping[str, int]], None] = lambda _: None,
) -> int:
    """Enqueues the accesses that are due, if the slot is the current one: no bank is asked for the past. Returns their number.

    Waits until the workers have finished or the time is over; later fetches land all the same.
    """
    if slot_of(now, context.settings.zone).strftime(SLOT_FORMAT) != slot:
        return 0
    count = refresh.enqueue_due(context, now)
    deadline = time.monotonic() + wait_seconds
    while (running_fetches := _running(context)) and time.monotonic() < deadline:
        tell(running_fetches)
        time.sleep(LOOK_SECONDS)
    return count


def count_landed(context: Context, slot: str, buckets: Iterable[int]) -> dict[int, PullCounts]:
    """The counts of a slot by bucket; also compacts the pieces."""
    counts = {}
    for bucket in buckets:
        names = pieces.list_pieces(context.lake, LANDING, slot, bucket)
        if names:
            pieces.compact(context.lake, LANDING, slot, bucket)
        rows = pieces.read_pieces(context.lake, LANDING, names).height if names else 0
        counts[bucket] = PullCounts(len(names), rows)
    return counts


def _running(context: Context) -> dict[str, int]:
    """The number of running fetches by provider."""
    with context.database.operating() as operator:
        return fetches.count_running(operator)
