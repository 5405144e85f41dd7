"""A pull: in a slot, the accesses that are due are refreshed by the workers; a run waits for them and counts what has landed."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from pipelines.context import Context
from pipelines.fetching import refresh
from pipelines.fetching.slots import SLOT, slot_of
from warehouse.lake import landing as pieces
from warehouse.lake.tables import LANDING
from warehouse.stores import fetches

WAIT_SECONDS = 1800.0
LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Pulled:
    """What a bucket has received in a slot."""

    fetches: int
    bookings: int


def pull(
    house: Context,
    slot: str,
    now: datetime,
    wait_seconds: float = WAIT_SECONDS,
    tell: Callable[[Mapping[str, int]], None] = lambda _: None,
) -> int:
    """Refreshes what is due, if the slot is the one that it is now: a bank is never asked for the past. Answers how many.

    Returns when the workers have carried out all of them, or the time is over: what comes later has landed all the same.
    """
    if slot_of(now, house.settings.zone).strftime(SLOT) != slot:
        return 0
    count = refresh.enqueue_due(house, now)
    deadline = time.monotonic() + wait_seconds
    while (left := _running(house)) and time.monotonic() < deadline:
        tell(left)
        time.sleep(LOOK_SECONDS)
    return count


def landed(house: Context, slot: str, buckets: Iterable[int]) -> dict[int, Pulled]:
    """What has landed in a slot, by bucket; the pieces are compacted on the way."""
    found = {}
    for bucket in buckets:
        names = pieces.list_pieces(house.lake, LANDING, slot, bucket)
        if names:
            pieces.compact(house.lake, LANDING, slot, bucket)
        rows = pieces.read_pieces(house.lake, LANDING, names).height if names else 0
        found[bucket] = Pulled(len(names), rows)
    return found


def _running(house: Context) -> dict[str, int]:
    """How many fetches have begun and not ended, by provider."""
    with house.database.operating() as operator:
        return fetches.count_running(operator)
