"""Publishing buckets: writes their tags and analyses to PostgreSQL, from where the API sends them without computing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

import polars as pl

from pipelines.results import live, tags
from pipelines.results.analysis_changes import AnalysisChanges
from pipelines.results.buckets import Versions
from pipelines.results.export import MAX_BOOKINGS
from warehouse.lake.buckets import bucket_of, span
from warehouse.lake.lake import Lake
from warehouse.lake.parquet import ALL_USERS, LakeTable, UserRange
from warehouse.lake.tables import ANALYSED, ANALYSES, TRANSACTION_TAGS, USERS
from warehouse.postgres.database import Database, Owner
from warehouse.stores import results, webhooks
from warehouse.stores.results import NewResult

BATCH_RESULTS = 500
"""Results per statement to PostgreSQL."""
SOURCES = ((tags.NAME, TRANSACTION_TAGS), (live.NAMES[0], ANALYSED))
"""One result that represents all that are published together, and the lake table with their users and revisions."""


@dataclass(frozen=True)
class PublishCounts:
    """The users of a bucket, and those whose results were published now."""

    users: int
    changed: int


def unchanged_buckets(database: Database, lake: Lake, buckets: Sequence[int], count: int) -> dict[int, PublishCounts]:
    """The buckets in which nothing must be published, found with one query over all of them."""
    changed: set[int] = set()
    with database.operating() as operator:
        for name, table in SOURCES:
            for _, _, users in _unpublished(operator, lake, name, table, buckets, count):
                changed |= {bucket_of(UUID(user), count) for user in users["user"]}
    return {bucket: PublishCounts(lake.rows(USERS, bucket), 0) for bucket in buckets if bucket not in changed}


def publish_buckets(
    database: Database, lake: Lake, buckets: Sequence[int], count: int, base_url: str, *, max_bookings: int = MAX_BOOKINGS
) -> dict[int, PublishCounts]:
    """Publishes the tags and analyses of buckets: of all their users in one transaction, or of none. About `max_bookings` of
    their bookings are in memory at once.
    """
    changed_users: set[UUID] = set()
    changes = AnalysisChanges()
    with database.operating() as operator:
        for name, table in SOURCES:
            for knowledge, group, users in _unpublished(operator, lake, name, table, buckets, count):
                for part, ids in _parts(lake, group, users, max_bookings):
                    is_tags = table is TRANSACTION_TAGS
                    new_results = _tags(lake, group, part, ids) if is_tags else _documents(lake, group, part, ids, base_url)
                    for piece in _batches(new_results):
                        changes.put(operator, knowledge, piece)
                changed_users |= {UUID(user) for user in users["user"]}
        webhooks.announce(operator, *changes.events())  # last, since it locks the rows of the receivers
    counts = Counter(bucket_of(user, count) for user in changed_users)
    return {bucket: PublishCounts(lake.rows(USERS, bucket), counts[bucket]) for bucket in buckets}


def _result_users(lake: Lake, table: LakeTable, buckets: Sequence[int]) -> pl.DataFrame:
    """The users who have results in a table, with their revision and the day of the analyses, if the table has one."""
    columns = [name for name in ("user", "revision", "as_of") if name in table.schema]
    users = pl.concat([lake.read(table, [bucket], columns).unique(maintain_order=True) for bucket in buckets])
    return users if "as_of" in columns else users.with_columns(as_of=pl.lit(None, pl.Date))


def _unpublished(
    operator: Owner, lake: Lake, name: str, table: LakeTable, buckets: Sequence[int], count: int
) -> Iterator[tuple[str, list[int], pl.DataFrame]]:
    """The users whose published results differ from the lake, grouped by the version of the results: version, buckets, users."""
    about = {bucket: Versions.of(lake.about(table, bucket)) for bucket in buckets}
    for versions in {str(sorted(one.about().items())): one for one in about.values()}.values():
        group = [bucket for bucket in buckets if about[bucket] == versions]
        served = results.states(operator, name, span(group, count))
        for version, users in _users_by_version(lake, table, group, versions):
            current = served.filter(knowledge=version)
            unserved = users.join(current, on=users.columns, how="anti", nulls_equal=True, maintain_order="left")
            if unserved.height:
                yield version, group, unserved


def _users_by_version(
    lake: Lake, table: LakeTable, buckets: Sequence[int], versions: Versions
) -> Iterator[tuple[str, pl.DataFrame]]:
    """The users who have results in a table, by the version of their tenant."""
    users = _result_users(lake, table, buckets)
    if not versions.own:
        yield versions.shared, users
        return
    tenants = users.select("user").join(
        lake.read(USERS, buckets, ["user", "tenant"]), on="user", how="left", maintain_order="left"
    )
    version = versions.of_users(tenants)
    for value in version.unique().sort():
        yield value, users.filter(version == value)


def _parts(
    lake: Lake, buckets: Sequence[int], users: pl.DataFrame, max_bookings: int
) -> Iterator[tuple[pl.DataFrame, UserRange]]:
    """The users in parts of about this number of bookings, each with the range of its ids."""
    bookings, all_users = (sum(lake.rows(table, bucket) for bucket in buckets) for table in (TRANSACTION_TAGS, USERS))
    if bookings <= max_bookings:
        yield users, ALL_USERS
        return
    for part in users.sort("user").iter_slices(max(1, max_bookings * all_users // bookings)):
        yield part, UserRange(part["user"][0], part["user"][-1])


def _tags(lake: Lake, buckets: Sequence[int], users: pl.DataFrame, ids: UserRange) -> Iterator[NewResult]:
    tag_rows = lake.read(TRANSACTION_TAGS, buckets, users=ids).join(users, on="user", how="semi", maintain_order="left")
    for (user, revision), of_user in tag_rows.group_by("user", "revision", maintain_order=True):
        yield NewResult(UUID(str(user)), tags.NAME, int(str(revision)), tags.encode(of_user))


def _documents(lake: Lake, buckets: Sequence[int], users: pl.DataFrame, ids: UserRange, base_url: str) -> Iterator[NewResult]:
    frames = {
        name: lake.read(table, buckets, users=ids).join(users, on="user", how="semi", maintain_order="left")
        for name, table in ANALYSES.items()
    }
    states = {user: (revision, as_of) for user, revision, as_of in users.iter_rows()}
    for user, contents in live.packed_documents(frames, users.select("user", "as_of"), base_url):
        revision, as_of = states[user]
        yield from (NewResult(UUID(user), name, revision, content, as_of) for name, content in contents.items())


def _batches(new_results: Iterable[NewResult]) -> Iterator[list[NewResult]]:
    remaining = iter(new_results)
    while batch := list(islice(remaining, BATCH_RESULTS)):
        yield batch
