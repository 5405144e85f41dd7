"""What is done with a bucket, as tasks of the engine: each opens the house of its own process, once.

A bucket's files have one worker at a time, so that what was read before somebody was erased is not written afterwards.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache, partial
from typing import Any

from pipelines import analyse, analyses, engine, export, landing, ready, tags
from pipelines.analyse import Analysed, Tagged
from pipelines.engine import OnProgress
from pipelines.export import Exported
from pipelines.house import House
from pipelines.landing import Replayed
from pipelines.ready import Published
from warehouse.settings import Settings


@cache
def _house() -> House:
    return House.of(Settings())


def export_bucket(bucket: int, *, everything: bool = False) -> Exported:
    house = _house()
    with house.database.alone_with(bucket):
        return export.export_bucket(house.database, house.lake, bucket, house.settings.buckets, everything=everything)


def tag_bucket(bucket: int, *, everything: bool = False) -> Tagged:
    house = _house()
    with house.database.alone_with(bucket):
        return analyse.tag_bucket(house.lake, bucket, tags.brain(), everything=everything)


def analyse_bucket(bucket: int, *, everything: bool = False) -> Analysed:
    house = _house()
    with house.database.alone_with(bucket):
        return analyse.analyse_bucket(house.lake, bucket, analyses.version(house.settings.base_url), everything=everything)


def publish_bucket(bucket: int) -> Published:
    house = _house()
    settings = house.settings
    with house.database.alone_with(bucket):
        return ready.publish_bucket(house.database, house.lake, bucket, settings.buckets, settings.base_url)


def replay_bucket(bucket: int, *, since: date | None = None, everything: bool = False) -> Replayed:
    house = _house()
    return landing.replay(house, landing.pieces_of(house.lake, [bucket], since), everything=everything)


UNCHANGED: Mapping[Any, Callable[[House, Sequence[int]], Mapping[int, Any]]] = {
    export_bucket: lambda house, buckets: export.unchanged(house.database, house.lake, buckets, house.settings.buckets),
    tag_bucket: lambda house, buckets: analyse.tags_unchanged(house.lake, buckets, tags.brain()),
    analyse_bucket: lambda house, buckets: analyse.analyses_unchanged(
        house.lake, buckets, analyses.version(house.settings.base_url)
    ),
    publish_bucket: lambda house, buckets: ready.unchanged(house.database, house.lake, buckets, house.settings.buckets),
}
"""How a task finds out for many buckets at once that it has nothing to do: most of them have not changed since the last time."""


def on_buckets(task: Any, buckets: Sequence[int], on_progress: OnProgress | None = None, **given: Any) -> dict[int, Any]:
    """What a task gives for each bucket, by the engine of the settings; no worker sees a bucket for which nothing is to do."""
    look = None if given.get("everything") else UNCHANGED.get(task)
    done = dict(look(_house(), buckets)) if look and buckets else {}
    left = [bucket for bucket in buckets if bucket not in done]
    more = {} if on_progress is None else {"on_progress": on_progress}
    done |= engine.run(partial(task, **given), left, Settings(), **more) if left else {}
    return {bucket: done[bucket] for bucket in buckets}
