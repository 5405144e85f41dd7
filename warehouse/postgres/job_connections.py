"""The connections of `procrastinate`, on which each statement is a transaction of its own.

A worker takes and ends several jobs in a second. A connection is therefore asked only if it is alive when its socket says that
something has come: a server that restarts or goes away closes it.
"""

import select
from typing import Any

import procrastinate
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

MAX_CONNECTIONS = 5


def job_connector(address: str, application_name: str) -> procrastinate.PsycopgConnector:
    """The connector of a worker to the jobs in a database."""
    return procrastinate.PsycopgConnector(
        conninfo=address,
        kwargs={"application_name": application_name},
        max_size=MAX_CONNECTIONS,
        pool_factory=_pool,
        configure=_commit_each_statement,
    )


def _pool(**options: Any) -> AsyncConnectionPool:
    return AsyncConnectionPool(**{**options, "check": _check})


async def _commit_each_statement(connection: AsyncConnection) -> None:
    await connection.set_autocommit(True)


async def _check(connection: AsyncConnection) -> None:
    """Raises an error for a connection that was closed."""
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    if poll.poll(0):
        await AsyncConnectionPool.check_connection(connection)
