"""The state of the PostgreSQL server, for people on call: how large the database is, and how near its limits the server is.

The service's role sees the connections of all roles, but the transactions of its own only.
"""

from dataclasses import dataclass

from sqlalchemy import text

from warehouse.postgres.database import APPLICATION, Owner

STATE = text(
    "SELECT pg_database_size(current_database()), current_setting('max_connections')::integer, "
    "count(*) FILTER (WHERE datid IS NOT NULL AND usesysid IS NOT NULL), "
    "coalesce(extract(epoch FROM now() - min(xact_start) "
    "FILTER (WHERE datname = current_database() AND pid <> pg_backend_pid())), 0) FROM pg_stat_activity"
)
OTHERS = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = :name "
    "AND pid <> pg_backend_pid()"
)
BOUND = text("SELECT set_config('statement_timeout', :milliseconds, true)")


@dataclass(frozen=True)
class ServerState:
    """The size of our database, the connections that the server allows and those that are open, whoever has opened them, and the
    age of the oldest transaction.
    """

    database_bytes: int
    allowed_connections: int
    open_connections: int
    oldest_transaction_seconds: float


def read(owner: Owner) -> ServerState:
    """The state of the server now. The owner is the operator."""
    size, allowed, opened, oldest_seconds = owner.session.execute(STATE).one()
    return ServerState(size, allowed, opened, float(oldest_seconds))


def bound_statements(owner: Owner, seconds: float) -> None:
    """Ends every statement of this transaction that takes longer."""
    owner.session.execute(BOUND, {"milliseconds": str(int(seconds * 1000))})


def count_others(owner: Owner) -> int:
    """The connections of our programs beside this one. The owner is the operator."""
    return int(owner.session.execute(OTHERS, {"name": APPLICATION}).scalar_one())
