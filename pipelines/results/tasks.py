"""What is done with buckets, as tasks of the engine: each opens the house of its own process, once.

A bucket's files have one worker at a time, so that what was read before somebody was erased is not written afterwards. Small
buckets go to a worker together: many calls for few bookings each cost more than the bookings.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache, partial
from itertools import accumulate, groupby
from math import ceil
from typing import Any

from pipelines.context import Context
from pipelines.engine import run
from pipelines.engine.executors import workers
from pipelines.engine.run import OnProgress, TaskFailure, TasksFailed
from pipelines.fetching import landing
from pipelines.fetching.landing import Replayed
from pipelines.results import buckets as analyse
from pipelines.results import export, live, publish, tags
from pipelines.results.buckets import BucketAnalysis, BucketTagging
from pipelines.results.export import Exported
from pipelines.results.publish import Published
from warehouse.lake.tables import TRANSACTIONS
from warehouse.settings import Settings

Buckets = Sequence[int]
TOGETHER = 500_000
"""Bookings from which on buckets are no longer put together: a call's fixed cost is a tenth of its work by then, and its memory
about a gibibyte."""


@cache
def _house() -> Context:
    return Context.of(Settings())


def export_buckets(buckets: Buckets, *, everything: bool = False) -> dict[int, Exported]:
    house = _house()
    with house.database.locking_buckets(buckets):
        return {
            bucket: export.export_bucket(house.database, house.lake, bucket, house.settings.buckets, everything=everything)
            for bucket in buckets
        }


def tag_buckets(buckets: Buckets, *, everything: bool = False) -> dict[int, BucketTagging]:
    house = _house()
    with house.database.locking_buckets(buckets):
        return analyse.tag_buckets(house.lake, buckets, tags.brain(), everything=everything)


def analyse_buckets(buckets: Buckets, *, everything: bool = False) -> dict[int, BucketAnalysis]:
    house = _house()
    version = live.version(house.settings.base_url)
    with house.database.locking_buckets(buckets):
        return analyse.analyse_buckets(house.lake, buckets, version, everything=everything)


def publish_buckets(buckets: Buckets) -> dict[int, Published]:
    house = _house()
    settings = house.settings
    with house.database.locking_buckets(buckets):
        return publish.publish_buckets(house.database, house.lake, buckets, settings.buckets, settings.base_url)


def replay_buckets(buckets: Buckets, *, since: date | None = None, everything: bool = False) -> dict[int, Replayed]:
    house = _house()
    return {
        bucket: landing.replay(house, landing.pieces_of(house.lake, [bucket], since), everything=everything) for bucket in buckets
    }


UNCHANGED: Mapping[Any, Callable[[Context, Buckets], Mapping[int, Any]]] = {
    export_buckets: lambda house, buckets: export.unchanged(house.database, house.lake, buckets, house.settings.buckets),
    tag_buckets: lambda house, buckets: analyse.tags_unchanged(house.lake, buckets, tags.brain()),
    analyse_buckets: lambda house, buckets: analyse.analyses_unchanged(
        house.lake, buckets, live.version(house.settings.base_url)
    ),
    publish_buckets: lambda house, buckets: publish.unchanged(house.database, house.lake, buckets, house.settings.buckets),
}
"""How a task finds out for many buckets at once that it has nothing to do: most of them have not changed since the last time."""
AT_ONCE = (tag_buckets, analyse_buckets, publish_buckets)
"""The tasks that gain from having several buckets at once."""


def on_buckets(task: Any, buckets: Buckets, on_progress: OnProgress | None = None, **given: Any) -> dict[int, Any]:
    """What a task gives for each bucket, by the engine of the settings; no worker sees a bucket for which nothing is to do.

    Where a task fails for several buckets, each of them gets its own attempt: none is to pay for another.
    """
    look = None if given.get("everything") else UNCHANGED.get(task)
    done = dict(look(_house(), buckets)) if look and buckets else {}
    left = [bucket for bucket in buckets if bucket not in done]
    sizes = {bucket: _house().lake.rows(TRANSACTIONS, bucket) for bucket in left}
    pieces = shared_out(sizes, workers(Settings())) if task in AT_ONCE else [(bucket,) for bucket in left]
    work = partial(task, **given)
    failures = _work(work, pieces, done, on_progress)
    several = [(bucket,) for failure in failures if len(failure.item) > 1 for bucket in failure.item]
    alone = [failure for failure in failures if len(failure.item) == 1] + _work(work, several, done, on_progress)
    if alone:
        raise TasksFailed([TaskFailure(failure.item[0], failure.error) for failure in alone], len(left))
    return {bucket: done[bucket] for bucket in buckets}


def _work(
    work: Callable[[Buckets], Mapping[int, Any]], pieces: Sequence[Buckets], done: dict[int, Any], on_progress: OnProgress | None
) -> list[TaskFailure]:
    """Adds to what is done; answers the pieces that failed."""
    more = {} if on_progress is None else {"on_progress": on_progress}
    try:
        for _, found in run.run(work, pieces, Settings(), **more) if pieces else ():
            done |= found
    except TasksFailed as failed:
        return list(failed.failures)
    return []


def shared_out(bookings: Mapping[int, int], among: int) -> list[Buckets]:
    """Buckets, by the number of their bookings, in pieces of about the same size: not more than are worked on together, and as
    many pieces for each worker.
    """
    whole = max(1, sum(bookings.values()))
    pieces = ceil(whole / TOGETHER / among) * among
    ends = accumulate(bookings.values())
    place = {bucket: (end - size / 2) * pieces // whole for (bucket, size), end in zip(bookings.items(), ends, strict=True)}
    return [tuple(piece) for _, piece in groupby(bookings, place.__getitem__)]
