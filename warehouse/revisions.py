"""The number that names the state of all that a user's tags and analyses rest on, except the knowledge they are made with."""

import polars as pl
from psycopg import sql
from sqlalchemy import select

from warehouse import copies
from warehouse.buckets import Range
from warehouse.database import Owner
from warehouse.tables import Tenant, User

REVISIONS = pl.Schema({"user": pl.String, "tenant": pl.String, "revision": pl.Int64})
BETWEEN = sql.SQL(
    "SELECT u.id, u.tenant_id, u.revision + t.revision FROM users u JOIN tenants t ON t.id = u.tenant_id "
    "WHERE u.id BETWEEN %(first)s AND %(last)s ORDER BY u.id"
)


def current(owner: Owner) -> int:
    """Grows with every change of the user's data and wishes, and of the tenant's rules.

    A sum, so that a rule of a tenant does not have to be written into the rows of all its users.
    """
    both = select(User.revision + Tenant.revision).join(Tenant, Tenant.id == User.tenant_id)
    return owner.session.scalars(both.where(User.tenant_id == owner.tenant, User.id == owner.user_id)).one()


def between(owner: Owner, ids: Range) -> pl.DataFrame:
    """The users of a range of ids with their revisions (frame `REVISIONS`)."""
    return copies.frame(owner, BETWEEN, ids._asdict(), REVISIONS)
