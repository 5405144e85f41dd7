"""Publishing buckets: their tags and analyses become what the API sends without computing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

import polars as pl

from pipelines.results import live, tags
from pipelines.results.buckets import KNOWLEDGE
from warehouse.lake.buckets import bucket_of, span
from warehouse.lake.lake import Lake
from warehouse.lake.parquet import LakeTable
from warehouse.lake.tables import ANALYSED, ANALYSES, TRANSACTION_TAGS, USERS
from warehouse.postgres.database import Database, Owner
from warehouse.stores import results
from warehouse.stores.results import NewResult

AT_ONCE = 500
"""Results that go to PostgreSQL in one statement."""
SOURCES = ((tags.NAME, TRANSACTION_TAGS), (live.NAMES[0], ANALYSED))
"""A result that stands for all that are published with it, and the table that says for whom and from what they are made."""


@dataclass(frozen=True)
class Published:
    """What publishing a bucket did."""

    users: int
    changed: int


def unchanged(database: Database, lake: Lake, buckets: Sequence[int], count: int) -> dict[int, Published]:
    """The buckets for which there is nothing to publish, found with one look at all of them."""
    changed: set[int] = set()
    with database.operating() as operator:
        for name, table in SOURCES:
            for _, _, users in _unpublished(operator, lake, name, table, buckets, count):
                changed |= {bucket_of(UUID(user), count) for user in users["user"]}
    return {bucket: Published(lake.rows(USERS, bucket), 0) for bucket in buckets if bucket not in changed}


def publish_buckets(database: Database, lake: Lake, buckets: Sequence[int], count: int, base_url: str) -> dict[int, Published]:
    """Makes the tags and analyses of buckets those that the API serves: of all their users in one transaction, or of none."""
    written: set[UUID] = set()
    with database.operating() as operator:
        for name, table in SOURCES:
            for knowledge, some, users in _unpublished(operator, lake, name, table, buckets, count):
                new = _tags(lake, some, users) if table is TRANSACTION_TAGS else _documents(lake, some, users, base_url)
                for piece in _pieces(new):
                    results.put(operator, knowledge, piece)
                written |= {UUID(user) for user in users["user"]}
    changed = Counter(bucket_of(user, count) for user in written)
    return {bucket: Published(lake.rows(USERS, bucket), changed[bucket]) for bucket in buckets}


def _users(lake: Lake, table: LakeTable, buckets: Sequence[int]) -> pl.DataFrame:
    """Who has results of a table, from which revision, and as of which day, if of any."""
    columns = [name for name in ("user", "revision", "as_of") if name in table.schema]
    found = lake.read(table, buckets, columns).unique(maintain_order=True)
    return found if "as_of" in columns else found.with_columns(as_of=pl.lit(None, pl.Date))


def _unpublished(
    operator: Owner, lake: Lake, name: str, table: LakeTable, buckets: Sequence[int], count: int
) -> Iterator[tuple[str, list[int], pl.DataFrame]]:
    """Of buckets, by the knowledge with which they were made, the users of whom something else is served."""
    knowledge = {bucket: lake.about(table, bucket).get(KNOWLEDGE, "") for bucket in buckets}
    for known in sorted(set(knowledge.values())):
        some = [bucket for bucket in buckets if knowledge[bucket] == known]
        users = _users(lake, table, some)
        served = results.states(operator, name, span(some, count)).filter(knowledge=known)
        unserved = users.join(served, on=users.columns, how="anti", nulls_equal=True, maintain_order="left")
        if unserved.height:
            yield known, some, unserved


def _tags(lake: Lake, buckets: Sequence[int], users: pl.DataFrame) -> Iterator[NewResult]:
    tagged = lake.read(TRANSACTION_TAGS, buckets).join(users, on="user", how="semi", maintain_order="left")
    for (user, revision), of_user in tagged.group_by("user", "revision", maintain_order=True):
        yield NewResult(UUID(str(user)), tags.NAME, int(str(revision)), tags.encoded(of_user))


def _documents(lake: Lake, buckets: Sequence[int], users: pl.DataFrame, base_url: str) -> Iterator[NewResult]:
    frames = {
        name: lake.read(table, buckets).join(users, on="user", how="semi", maintain_order="left")
        for name, table in ANALYSES.items()
    }
    states = {user: (revision, as_of) for user, revision, as_of in users.iter_rows()}
    for user, contents in live.packed_documents(frames, users.select("user", "as_of"), base_url):
        revision, as_of = states[user]
        yield from (NewResult(UUID(user), name, revision, content, as_of) for name, content in contents.items())


def _pieces(new: Iterable[NewResult]) -> Iterator[list[NewResult]]:
    rest = iter(new)
    while some := list(islice(rest, AT_ONCE)):
        yield some
