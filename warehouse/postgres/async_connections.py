"""Asynchronous connections, for what an event loop does itself: checking tokens, waiting for news, sending long lists.

Everything else goes through `warehouse.postgres.database`. A connection of this pool acts for the operator unless a transaction
on it says for whom it acts (`acting_for`). A database that is just restarting is waited for, as long as trying again is safe.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from sqlalchemy import URL

from warehouse import patience
from warehouse.errors import DatabaseUnavailable

BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
ACT_FOR = (
    "SELECT set_config('kontor.tenant', %s, true), set_config('kontor.user', %s, true), set_config('kontor.operator', '', true)"
)
OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "options": "-c kontor.operator=on",
    "connect_timeout": 5,
    "application_name": "kontor",
}
PAUSE_SECONDS = 0.1
T = TypeVar("T")


class Connections:
    """A pool of asynchronous connections."""

    def __init__(self, url: URL, *, pool: int, wait_seconds: float) -> None:
        self.address = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._wait_seconds = wait_seconds
        self._pool = AsyncConnectionPool(
            self.address, kwargs=OPTIONS, min_size=0, max_size=pool, timeout=1, reconnect_timeout=1, open=False
        )

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._pool.close()

    async def one(self, query: str, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The first row of a query over all tenants that only reads."""

        async def read() -> tuple[Any, ...] | None:
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query, values, prepare=True)
                return await cursor.fetchone()

        return await self._retry(read)

    @asynccontextmanager
    async def acting_for(self, tenant_id: UUID, user_id: UUID) -> AsyncIterator[AsyncConnection[Any]]:
        """A connection in a transaction that only reads, sees one moment, and only one user's rows."""

        async def begin() -> AsyncConnection[Any]:
            connection = await self._pool.getconn()
            try:
                await connection.execute(BEGIN)
                await connection.execute(ACT_FOR, (str(tenant_id), str(user_id)))
            except BaseException:
                await self._pool.putconn(connection)
                raise
            return connection

        connection = await self._retry(begin)
        try:
            yield connection
        except psycopg.OperationalError as error:
            raise DatabaseUnavailable from error
        finally:
            with suppress(psycopg.Error):
                await connection.execute("ROLLBACK")
            await self._pool.putconn(connection)

    async def _retry(self, work: Callable[[], Awaitable[T]]) -> T:
        """The result of work that only reads, repeated while the database restarts."""
        pauses = patience.pauses_until(self._wait_seconds, PAUSE_SECONDS)
        try:
            return await patience.retry_async(work, (psycopg.OperationalError, PoolTimeout), pauses)
        except (psycopg.OperationalError, PoolTimeout) as error:
            raise DatabaseUnavailable from error


async def connect(address: str) -> AsyncConnection[Any]:
    """A connection of its own, for who listens for long."""
    return await AsyncConnection.connect(address, **OPTIONS)
