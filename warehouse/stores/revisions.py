"""The number that names the state of all that a user's tags and analyses rest on, except the knowledge they are made with; and
the day of which analyses speak.
"""

from datetime import date
from typing import NamedTuple

import polars as pl
from psycopg import sql
from sqlalchemy import text

from warehouse.lake.buckets import Range
from warehouse.postgres import frames
from warehouse.postgres.database import Owner

REVISIONS = pl.Schema({"user": pl.String, "tenant": pl.String, "revision": pl.Int64, "as_of": pl.Date})
REVISION = sql.SQL(
    "u.revision + t.revision + (SELECT count(*) FROM accesses gone WHERE gone.user_id = u.id AND gone.expires_at <= now())"
)
"""Of a user `u` of a tenant `t`: grows with every change of the user's data and wishes, and of the tenant's rules.

A sum, so that a rule of a tenant does not have to be written into the rows of all its users. An access that has expired is not
seen any more, and counts until it is removed, which raises the user's own part by as much.
"""
BETWEEN = sql.SQL(
    "SELECT u.id, u.tenant_id, {revision}, u.refreshed_on FROM users u JOIN tenants t ON t.id = u.tenant_id "
    "WHERE u.id BETWEEN %(first)s AND %(last)s ORDER BY u.id"
).format(revision=REVISION)
CURRENT = text(
    sql.SQL(
        "SELECT {revision}, u.refreshed_on FROM users u JOIN tenants t ON t.id = u.tenant_id "
        "WHERE u.tenant_id = :tenant AND u.id = :user"
    )
    .format(revision=REVISION)
    .as_string()
)


class UserState(NamedTuple):
    """The revision of a user, and the day on which its data were last heard of; none if they never were."""

    revision: int
    as_of: date | None


def user_state(owner: Owner) -> UserState:
    """The state of the user's data now."""
    return UserState(*owner.session.execute(CURRENT, {"tenant": owner.tenant, "user": owner.user_id}).one())


def between(owner: Owner, ids: Range) -> pl.DataFrame:
    """The users of a range of ids with their revisions and days (frame `REVISIONS`)."""
    return frames.read_frame(owner, BETWEEN, ids._asdict(), REVISIONS)
