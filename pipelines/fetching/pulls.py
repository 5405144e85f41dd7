"""Pulls: in each slot the workers refresh the accesses that are due; a run waits for them and counts what has landed."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipelines.context import Context
from pipelines.fetching import refresh
from pipelines.fetching.slots import SLOT_FORMAT, slot_of
from warehouse.errors import KontorError
from warehouse.lake import landing as pieces
from warehouse.lake.core_tables import LANDING
from warehouse.postgres import work_state
from warehouse.stores import fetches
from warehouse.stores.fetches import DataAge, SlotFetches

WAIT_SECONDS = 1800.0
LOOK_SECONDS = 1.0
TELL_SECONDS = 30.0
"""Every line that a run logs is a row in Dagster's database."""
MIN_FETCHED_SHARE = 0.9
"""Of the accesses of a slot, the share that must have data of that slot."""
MAX_DATA_AGE = timedelta(hours=24)
MAX_OUTDATED_SHARE = 0.1
"""Of all accesses that are fetched without their customers, the share that may have older data."""


class PullStandsStill(KontorError):
    """The fetches of a pull do not run, and will not without somebody who looks after the workers."""


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

    Waits until the workers have finished or the time is over; later fetches land all the same. Raises `PullStandsStill` if no
    worker is alive, or if none has ended a fetch for `KONTOR_WORK_LATE_SECONDS`.
    """
    slot_at = slot_of(now, context.settings.zone)
    if slot_at.strftime(SLOT_FORMAT) != slot:
        return 0
    count = refresh.enqueue_due(context, now)
    began_at = progressed_at = seen_alive_at = time.monotonic()
    told_at = -TELL_SECONDS
    progress: tuple[int, datetime | None] | None = None
    while unended := _unended(context, slot_at):
        moment = time.monotonic()
        workers, last_fetch_at = _signs_of_life(context)
        if progress != (latest := (sum(unended.values()), last_fetch_at)):
            progress, progressed_at = latest, moment
        seen_alive_at = moment if workers else seen_alive_at
        _require_motion(context, unended, moment - seen_alive_at, moment - progressed_at)
        if moment - began_at >= wait_seconds:
            break
        if moment - told_at >= TELL_SECONDS:
            told_at = moment
            tell(unended)
        time.sleep(LOOK_SECONDS)
    return count


def _require_motion(context: Context, unended: Mapping[str, int], dead_seconds: float, still_seconds: float) -> None:
    """Raises if the fetches of a pull stand still: no worker has been alive, or none has ended a fetch, for too long."""
    settings = context.settings
    left = f"{sum(unended.values())} fetches have not run ({', '.join(f'{name}: {count}' for name, count in unended.items())})"
    if dead_seconds >= settings.worker_lost_seconds:
        raise PullStandsStill(f"no worker is alive; {left}")
    if still_seconds >= settings.work_late_seconds:
        raise PullStandsStill(f"no fetch has ended for {still_seconds:.0f} seconds; {left}")


def slot_counts(context: Context, slot: str) -> SlotFetches:
    """How many accesses the refresh of a slot has tried, and how far it has come."""
    slot_at = datetime.strptime(slot, SLOT_FORMAT).replace(tzinfo=context.settings.zone)
    with context.database.operating() as operator:
        return fetches.slot_fetches(operator, slot_at)


def data_age(context: Context, now: datetime) -> DataAge:
    """How old the data of accesses are that are fetched without their customers."""
    with context.database.operating() as operator:
        return fetches.data_age(operator, now - MAX_DATA_AGE)


def count_landed(context: Context, slot: str, buckets: Iterable[int]) -> dict[int, PullCounts]:
    """The counts of a slot by bucket; also compacts the pieces."""
    counts = {}
    for bucket in buckets:
        names = pieces.list_pieces(context.lake, LANDING, slot, bucket)
        if names:
            with context.database.locking_buckets([bucket]):  # an erasure must not be undone by what was read before it
                pieces.compact(context.lake, LANDING, slot, bucket)
        rows = pieces.read_pieces(context.lake, LANDING, names).height if names else 0
        counts[bucket] = PullCounts(len(names), rows)
    return counts


def _unended(context: Context, slot_at: datetime) -> dict[str, int]:
    """The number of fetches of a slot that have not ended, by provider."""
    with context.database.operating() as operator:
        return fetches.count_unended(operator, slot_at)


def _signs_of_life(context: Context) -> tuple[int, datetime | None]:
    """The number of workers that are alive, and when a fetch has last ended."""
    with context.database.operating() as operator:
        workers = work_state.count_live_workers(operator, context.settings.worker_lost_seconds)
        return workers, work_state.last_fetch_at(operator)
