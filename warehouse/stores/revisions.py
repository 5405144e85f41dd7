"""The revision: a number for the state of all data that the tags and analyses of a user are computed from, except the knowledge;
and their reference day.
"""

from datetime import date
from typing import NamedTuple

import polars as pl
from psycopg import sql
from sqlalchemy import text

from warehouse.lake.buckets import Range
from warehouse.postgres import frames
from warehouse.postgres.database import Owner

REVISIONS = pl.Schema({"user": pl.String, "tenant": pl.String, "revision": pl.Int64, "as_of": pl.Date, "serial": pl.Int64})
REVISION = sql.SQL(
    "u.revision + t.revision + (SELECT count(*) FROM accesses gone WHERE gone.user_id = u.id AND gone.expires_at <= now())"
)
"""For a user `u` of a tenant `t`. Grows with every change of the user's data and corrections, and of the tenant's rules.

It is a sum, so that a rule of a tenant does not change the rows of all its users. An expired access is invisible and counts until
it is deleted, which raises the part of the user by as much.
"""
BETWEEN = sql.SQL(
    "SELECT u.id, u.tenant_id, {revision}, u.refreshed_on, u.serial FROM users u JOIN tenants t ON t.id = u.tenant_id "
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
    """The revision of a user, and the day of the last refresh; None before the first one."""

    revision: int
    as_of: date | None


def user_state(owner: Owner) -> UserState:
    """The current state of the data of the user."""
    return UserState(*owner.session.execute(CURRENT, {"tenant": owner.tenant, "user": owner.user_id}).one())


def between(owner: Owner, ids: Range) -> pl.DataFrame:
    """The users in a range of ids with their revisions, reference days and serials (frame `REVISIONS`)."""
    return frames.read_frame(owner, BETWEEN, ids._asdict(), REVISIONS)
