"""The store of computed results: one for each user and name, with the revision of the data and the version of the knowledge that
it was computed from, and its reference day.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

import polars as pl
from psycopg import sql
from sqlalchemy import delete, func, select, text

from warehouse.lake.buckets import Range
from warehouse.postgres import frames, jobs
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Result
from warehouse.stores.revisions import REVISION

MAKE = "make_results"
"""The name of the job that makes the results of a user."""
SETTLING_SECONDS = 2
"""Whoever changes one thing often changes the next one, and the answers that are wanted at once are computed meanwhile."""
STATES = pl.Schema({"user": pl.String, "revision": pl.Int64, "knowledge": pl.String, "as_of": pl.Date})
BETWEEN = sql.SQL(
    "SELECT user_id, revision, knowledge, as_of FROM results "
    "WHERE name = %(name)s AND user_id BETWEEN %(first)s AND %(last)s ORDER BY user_id"
)
PUT = (
    "INSERT INTO results (tenant_id, user_id, name, revision, knowledge, as_of, content) "
    "SELECT u.tenant_id, u.id, new.name, new.revision, %(knowledge)s, new.as_of, new.content "
    "FROM unnest(%(users)s::uuid[], %(names)s::text[], %(revisions)s::bigint[], %(days)s::date[], %(contents)b::bytea[]) "
    " AS new (id, name, revision, as_of, content) "
    "JOIN users u ON u.id = new.id "
    "ON CONFLICT (user_id, name) DO UPDATE SET revision = excluded.revision, knowledge = excluded.knowledge, "
    "as_of = excluded.as_of, content = excluded.content, published_at = clock_timestamp() "
    "WHERE (results.revision, coalesce(results.as_of, '-infinity')) "
    "<= (excluded.revision, coalesce(excluded.as_of, '-infinity')) "
    "RETURNING user_id, name"
)
"""For the driver itself, since contents are passed in its binary format."""
STALE = text(
    sql.SQL(
        "SELECT u.id FROM users u JOIN tenants t ON t.id = u.tenant_id "
        "LEFT JOIN unnest(CAST(:tenants AS uuid[]), CAST(:versions AS text[])) AS own (tenant_id, version) "
        "ON own.tenant_id = u.tenant_id "
        "LEFT JOIN results r ON r.user_id = u.id AND r.name = :name AND r.knowledge = coalesce(own.version, :knowledge) "
        "WHERE (r.revision IS DISTINCT FROM {revision} OR r.as_of IS DISTINCT FROM u.refreshed_on) "
        "AND (SELECT true FROM accesses a, LATERAL (SELECT FROM products p, LATERAL ("
        "SELECT FROM transactions b WHERE b.product_id = p.id LIMIT 1) booking WHERE p.access_id = a.id LIMIT 1) product "
        "WHERE a.user_id = u.id AND (a.expires_at IS NULL OR a.expires_at > now()) LIMIT 1)"
    )
    .format(revision=REVISION)
    .as_string()
)
"""Each LIMIT makes PostgreSQL look up one user after the other. As a join, row security makes it guess that hardly any row can be
seen, and it read all bookings for each pair of a user and an access: minutes for 150 users.
"""


BUCKETS = text(
    "SELECT b.number - 1, count(u.id), count(u.refreshed_on), min(u.refreshed_on), max(r.published_at), "
    "count(u.id) FILTER (WHERE u.refreshed_on IS NOT NULL AND r.as_of IS DISTINCT FROM u.refreshed_on) "
    "FROM unnest(CAST(:firsts AS uuid[]), CAST(:lasts AS uuid[])) WITH ORDINALITY AS b (first, last, number) "
    "LEFT JOIN users u ON u.active AND u.id BETWEEN b.first AND b.last "
    "LEFT JOIN LATERAL (SELECT max(published_at) AS published_at, max(as_of) AS as_of FROM results WHERE user_id = u.id) r "
    "ON true "
    "GROUP BY b.number ORDER BY b.number"
)
NO_OWN_KNOWLEDGE: Mapping[str, str] = {}
READY = "SELECT content FROM results WHERE user_id = %s AND name = %s AND revision = %s AND knowledge = %s AND as_of = %s"
"""Selects a result with a reference day, for an asynchronous connection."""
IS_READY = READY.replace("content", "1", 1)
"""The same without its content."""


@dataclass(frozen=True)
class BucketState:
    """The active users of a bucket: all, those with data, the day of the oldest data, when results were last published, and the
    number of users whose data are newer than their results.
    """

    bucket: int
    users: int
    users_with_data: int
    oldest_day: date | None
    published_at: datetime | None
    stale_users: int


def bucket_states(owner: Owner, ranges: Sequence[Range]) -> list[BucketState]:
    """The state of buckets, given by their ranges of ids. The owner is the operator."""
    values = {"firsts": [str(one.first) for one in ranges], "lasts": [str(one.last) for one in ranges]}
    return [BucketState(*row) for row in owner.session.execute(BUCKETS, values).tuples()]


@dataclass(frozen=True)
class NewResult:
    """A result to be published."""

    user: UUID
    name: str
    revision: int
    content: bytes
    as_of: date | None = None


def request(owner: Owner) -> None:
    """Lets a worker make the results of the user anew, soon after this transaction, which has changed what they are made from."""
    ids = {"tenant": str(owner.tenant), "user": str(owner.user_id)}
    jobs.enqueue(owner, MAKE, lock=f"results {owner.user_id}", args=ids, seconds=SETTLING_SECONDS)


def find(owner: Owner, name: str, revision: int, knowledge: str) -> bytes | None:
    """The result of the user for this revision and knowledge, without a reference day; None if there is none."""
    statement = owner.rows(Result).with_only_columns(Result.content)
    return owner.session.scalar(statement.where(Result.name == name, Result.revision == revision, Result.knowledge == knowledge))


def exists(owner: Owner, name: str, revision: int, knowledge: str) -> bool:
    """Whether `find` finds a result."""
    state = (Result.name == name, Result.revision == revision, Result.knowledge == knowledge)
    return owner.session.scalar(owner.rows(Result).with_only_columns(Result.user_id).where(*state)) is not None


def is_ready(owner: Owner, name: str, revision: int, knowledge: str, as_of: date) -> bool:
    """Whether the result of the user for this revision, knowledge and reference day is stored."""
    state = (Result.name == name, Result.revision == revision, Result.knowledge == knowledge, Result.as_of == as_of)
    return owner.session.scalar(owner.rows(Result).with_only_columns(Result.user_id).where(*state)) is not None


def states(owner: Owner, name: str, ids: Range) -> pl.DataFrame:
    """The states that results of users in a range of ids were computed from (frame `STATES`)."""
    return frames.read_frame(owner, BETWEEN, {"name": name, **ids._asdict()}, STATES)


def users_with_stale_result(
    owner: Owner, name: str, knowledge: str, own_knowledge: Mapping[str, str] = NO_OWN_KNOWLEDGE
) -> Sequence[UUID]:
    """Users with bookings whose result of this name does not match their data, their reference day or this knowledge;
    `own_knowledge` is that of tenants, by their ids, that have another one.
    """
    tenants, versions = [UUID(tenant) for tenant in own_knowledge], list(own_knowledge.values())
    values = {"name": name, "knowledge": knowledge, "tenants": tenants, "versions": versions}
    return owner.session.scalars(STALE, values).all()


def digests(owner: Owner, users: Collection[UUID], names: Collection[str]) -> dict[tuple[UUID, str], bytes]:
    """The SHA-256 digests of the stored contents of users, by user and name."""
    statement = select(Result.user_id, Result.name, func.sha256(Result.content))
    rows = owner.session.execute(statement.where(Result.user_id.in_(users), Result.name.in_(names)))
    return {(user, name): digest for user, name, digest in rows}


def contents(owner: Owner, users: Collection[UUID], name: str) -> dict[UUID, bytes]:
    """The stored contents of one name, by user."""
    statement = select(Result.user_id, Result.content).where(Result.user_id.in_(users), Result.name == name)
    return dict(owner.session.execute(statement).tuples().all())


def put(owner: Owner, knowledge: str, new_results: Sequence[NewResult]) -> set[tuple[UUID, str]]:
    """Publishes results of many users in the transaction of the caller; returns the users and names that were published.

    Results of deleted users are skipped, and a newer revision or day is never replaced by an older one.
    """
    if not new_results:
        return set()
    columns = {
        "users": [result.user for result in new_results],
        "names": [result.name for result in new_results],
        "revisions": [result.revision for result in new_results],
        "days": [result.as_of for result in new_results],
        "contents": [result.content for result in new_results],
    }
    rows = owner.session.connection().exec_driver_sql(PUT, {"knowledge": knowledge, **columns})
    return {(user, name) for user, name in rows}


def drop(owner: Owner, users: Sequence[UUID]) -> None:
    """Deletes all results of users."""
    owner.session.execute(delete(Result).where(Result.user_id.in_(users)))
