"""Tasks of the engine on buckets. Each process opens its own context, once.

Only one worker at a time works on the files of a bucket, so that rows which were read before an erasure are not written after
it. Small buckets are processed together, because a call costs more than a few bookings do.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache, partial
from math import ceil
from typing import Any

from pipelines import shared_models
from pipelines.context import Context
from pipelines.engine import run
from pipelines.engine.executors import workers
from pipelines.engine.run import OnProgress, TaskFailure, TasksFailed
from pipelines.fetching import landing
from pipelines.fetching.landing import ReplayCounts
from pipelines.results import buckets as analyse
from pipelines.results import export, live, publish, tags
from pipelines.results.buckets import BucketAnalysis, BucketTagging
from pipelines.results.export import ExportCounts
from pipelines.results.publish import PublishCounts
from warehouse.lake import shares
from warehouse.lake.tables import TRANSACTIONS
from warehouse.settings import Settings

Buckets = Sequence[int]
MAX_GROUP_BOOKINGS = export.MAX_BOOKINGS
"""Bookings per call. To analyse 460,000 bookings, one call needs 1.8 GiB; calls with 200,000 need 1.3 GiB and as much time.
Smaller calls take longer."""


@cache
def _context() -> Context:
    return Context.of(Settings())


def _context_with_models() -> Context:
    """The context, with the models in use that were put into use last, on whichever machine."""
    context = _context()
    shared_models.take_up(context.database, context.settings.home)
    return context


def export_buckets(buckets: Buckets, *, everything: bool = False) -> dict[int, ExportCounts]:
    context = _context()
    with context.database.locking_buckets(buckets):
        return {
            bucket: export.export_bucket(
                context.database,
                context.lake,
                bucket,
                context.settings.buckets,
                everything=everything,
                max_bookings=context.settings.piece_bookings,
            )
            for bucket in buckets
        }


def tag_buckets(buckets: Buckets, *, everything: bool = False) -> dict[int, BucketTagging]:
    context = _context_with_models()
    small, large, limit = _by_size(context, buckets)
    taggers = (tags.tagger(), tags.own_taggers())
    with context.database.locking_buckets(buckets):
        taggings = analyse.tag_buckets(context.lake, small, *taggers, everything=everything) if small else {}
        return taggings | {
            bucket: analyse.tag_in_pieces(context.lake, bucket, *taggers, max_bookings=limit, everything=everything)
            for bucket in large
        }


def analyse_buckets(buckets: Buckets, *, everything: bool = False) -> dict[int, BucketAnalysis]:
    context = _context_with_models()
    versions = _analysis_versions(context)
    small, large, limit = _by_size(context, buckets)
    with context.database.locking_buckets(buckets):
        analyses = analyse.analyse_buckets(context.lake, small, *versions, everything=everything) if small else {}
        return analyses | {
            bucket: analyse.analyse_in_pieces(context.lake, bucket, *versions, max_bookings=limit, everything=everything)
            for bucket in large
        }


def publish_buckets(buckets: Buckets) -> dict[int, PublishCounts]:
    context = _context()
    settings = context.settings
    with context.database.locking_buckets(buckets):
        of_tenants = shares.shares(context.lake)
        for bucket in buckets:
            shares.refresh(context.lake, bucket, of_tenants, settings.piece_bookings)
        return publish.publish_buckets(
            context.database,
            context.lake,
            buckets,
            settings.buckets,
            settings.base_url,
            max_bookings=settings.piece_bookings,
        )


def replay_buckets(
    buckets: Buckets, *, since: date | None = None, until: date | None = None, everything: bool = False
) -> dict[int, ReplayCounts]:
    context = _context()
    return {
        bucket: landing.replay(context, landing.pieces_of(context.lake, [bucket], since), everything=everything, until=until)
        for bucket in buckets
    }


def _by_size(context: Context, buckets: Buckets) -> tuple[list[int], list[int], int]:
    """The buckets that are worked on as a whole, those that are worked on piece by piece, and the bookings of a piece."""
    limit = context.settings.piece_bookings
    large = [bucket for bucket in buckets if context.lake.rows(TRANSACTIONS, bucket) > limit]
    return [bucket for bucket in buckets if bucket not in large], large, limit


def _unchanged_publications(context: Context, buckets: Buckets) -> Mapping[int, PublishCounts]:
    """The buckets of which nothing must be published, and whose copies for tenants are up to date."""
    of_tenants = shares.shares(context.lake)
    copied = [bucket for bucket in buckets if not shares.outdated(context.lake, bucket, of_tenants)]
    return publish.unchanged_buckets(context.database, context.lake, copied, context.settings.buckets) if copied else {}


def _analysis_versions(context: Context) -> tuple[str, dict[str, str]]:
    """The version of analyses for all tenants, and those of tenants with models of their own."""
    base_url = context.settings.base_url
    return live.version(base_url), live.own_versions(base_url, tags.own_taggers())


UNCHANGED: Mapping[Any, Callable[[Context, Buckets], Mapping[int, Any]]] = {
    export_buckets: lambda context, buckets: export.unchanged_buckets(
        context.database, context.lake, buckets, context.settings.buckets
    ),
    tag_buckets: lambda context, buckets: analyse.unchanged_taggings(context.lake, buckets, tags.tagger(), tags.own_taggers()),
    analyse_buckets: lambda context, buckets: analyse.unchanged_analyses(context.lake, buckets, *_analysis_versions(context)),
    publish_buckets: _unchanged_publications,
}
"""For each task the function that finds many unchanged buckets at once: most buckets have not changed since the last run."""
GROUPED_TASKS = (tag_buckets, analyse_buckets, publish_buckets)
"""The tasks that are faster with several buckets per call."""


def run_on_buckets(task: Any, buckets: Buckets, on_progress: OnProgress | None = None, **options: Any) -> dict[int, Any]:
    """The result of a task for each bucket, computed by the engine of the settings. Unchanged buckets are not given to workers.

    Where a task fails for a group, each of its buckets is tried again alone, so that one bad bucket does not fail the others.
    """
    look = None if options.get("everything") else UNCHANGED.get(task)
    results = dict(look(_context_with_models(), buckets)) if look and buckets else {}
    due_buckets = [bucket for bucket in buckets if bucket not in results]
    sizes = {bucket: _context().lake.rows(TRANSACTIONS, bucket) for bucket in due_buckets}
    groups = (
        group_buckets(sizes, workers(Settings()), Settings().piece_bookings)
        if task in GROUPED_TASKS
        else [(bucket,) for bucket in due_buckets]
    )
    work = partial(task, **options)
    failures = _run_groups(work, groups, results, on_progress)
    single_buckets = [(bucket,) for failure in failures if len(failure.item) > 1 for bucket in failure.item]
    final_failures = [failure for failure in failures if len(failure.item) == 1]
    final_failures += _run_groups(work, single_buckets, results, on_progress)
    if final_failures:
        raise TasksFailed([TaskFailure(failure.item[0], failure.error) for failure in final_failures], len(due_buckets))
    return {bucket: results[bucket] for bucket in buckets}


def _run_groups(
    work: Callable[[Buckets], Mapping[int, Any]],
    groups: Sequence[Buckets],
    results: dict[int, Any],
    on_progress: OnProgress | None,
) -> list[TaskFailure]:
    """Adds the results of the groups to `results`; returns the failures."""
    options = {} if on_progress is None else {"on_progress": on_progress}
    try:
        for _, bucket_results in run.run(work, groups, Settings(), **options) if groups else ():
            results |= bucket_results
    except TasksFailed as failed:
        return list(failed.failures)
    return []


def group_buckets(bookings: Mapping[int, int], among: int, max_bookings: int = MAX_GROUP_BOOKINGS) -> list[Buckets]:
    """The buckets in groups of about equal bookings, as few as possible but as many for each worker: at most `max_bookings` each,
    unless one bucket alone has more.
    """
    groups = among * ceil(len(_filled_groups(bookings, max_bookings)) / among)
    limits = range(max_bookings)
    least = bisect_left(limits, True, key=lambda limit: len(_filled_groups(bookings, limit)) <= groups)
    return _filled_groups(bookings, least)


def _filled_groups(bookings: Mapping[int, int], max_bookings: int) -> list[Buckets]:
    """The buckets in groups, of which each takes buckets until the next one would be too much."""
    groups: list[list[int]] = []
    size = 0
    for bucket, more in bookings.items():
        if not groups or size + more > max_bookings:
            groups.append([])
            size = 0
        groups[-1].append(bucket)
        size += more
    return [tuple(group) for group in groups]
