"""The store of results that lie ready: one for each user and name, with the revision and the knowledge it was computed from."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import polars as pl
from psycopg import sql
from sqlalchemy import delete, text

from warehouse import copies
from warehouse.buckets import Range
from warehouse.database import Owner
from warehouse.tables import Result

STATES = pl.Schema({"user": pl.String, "revision": pl.Int64, "knowledge": pl.String})
BETWEEN = sql.SQL(
    "SELECT user_id, revision, knowledge FROM results "
    "WHERE name = %(name)s AND user_id BETWEEN %(first)s AND %(last)s ORDER BY user_id"
)
PUT = text(
    "INSERT INTO results (tenant_id, user_id, name, revision, knowledge, content) "
    "SELECT u.tenant_id, u.id, :name, new.revision, :knowledge, new.content "
    "FROM unnest(CAST(:users AS uuid[]), CAST(:revisions AS bigint[]), CAST(:contents AS bytea[])) "
    "AS new (id, revision, content) "
    "JOIN users u ON u.id = new.id "
    "ON CONFLICT (user_id, name) DO UPDATE SET revision = excluded.revision, knowledge = excluded.knowledge, "
    "content = excluded.content, published_at = clock_timestamp() WHERE results.revision <= excluded.revision "
    "RETURNING user_id"
)


STALE = text(
    "SELECT u.id FROM users u JOIN tenants t ON t.id = u.tenant_id "
    "LEFT JOIN results r ON r.user_id = u.id AND r.name = :name AND r.knowledge = :knowledge "
    "WHERE r.revision IS DISTINCT FROM u.revision + t.revision "
    "AND EXISTS (SELECT FROM accesses a JOIN products p ON p.access_id = a.id JOIN transactions b ON b.product_id = p.id "
    "WHERE a.user_id = u.id AND (a.expires_at IS NULL OR a.expires_at > now()))"
)


@dataclass(frozen=True)
class New:
    """A result to be published."""

    user: UUID
    revision: int
    content: bytes


def find(owner: Owner, name: str, revision: int, knowledge: str) -> bytes | None:
    """The user's result of this state; None if there is none, or one of another state."""
    found = owner.rows(Result).with_only_columns(Result.content)
    return owner.session.scalar(found.where(Result.name == name, Result.revision == revision, Result.knowledge == knowledge))


def states(owner: Owner, name: str, ids: Range) -> pl.DataFrame:
    """What the results of users of a range of ids were computed from (frame `STATES`)."""
    return copies.frame(owner, BETWEEN, {"name": name, **ids._asdict()}, STATES)


def stale(owner: Owner, name: str, knowledge: str) -> Sequence[UUID]:
    """Users with bookings whose result is not that of their revision and this knowledge."""
    return owner.session.scalars(STALE, {"name": name, "knowledge": knowledge}).all()


def put(owner: Owner, name: str, knowledge: str, new: Sequence[New]) -> int:
    """Publishes results of many users, in the caller's transaction; answers how many.

    A user who has gone meanwhile gets none, and a newer revision is never replaced by an older one.
    """
    if not new:
        return 0
    columns = {
        "users": [result.user for result in new],
        "revisions": [result.revision for result in new],
        "contents": [result.content for result in new],
    }
    return len(owner.session.execute(PUT, {"name": name, "knowledge": knowledge, **columns}).all())


def drop(owner: Owner, name: str, users: Sequence[UUID]) -> None:
    """Takes back the results of users."""
    owner.session.execute(delete(Result).where(Result.name == name, Result.user_id.in_(users)))
