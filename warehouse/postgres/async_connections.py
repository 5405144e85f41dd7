"""Asynchronous connections, for queries of the event loop itself: checking tokens, waiting for workers, sending long lists.

Everything else goes through `warehouse.postgres.database`. A connection of this pool acts for the operator unless a transaction
on it acts for a user (`acting_for`). Reads are retried while the database restarts.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from sqlalchemy import URL

from warehouse.errors import DatabaseUnavailable
from warehouse.runtime import patience

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
RECONNECT_SECONDS = 0.5
T = TypeVar("T")


class Connections:
    """A pool of asynchronous connections."""

    def __init__(self, url: URL, *, pool: int, wait_seconds: float) -> None:
        self.url = url
        self._wait_seconds = wait_seconds
        address = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._pool = AsyncConnectionPool(
            address, kwargs=OPTIONS, min_size=0, max_size=pool, timeout=1, reconnect_timeout=1, open=False
        )

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._pool.close()

    async def one(self, query: str, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The first row of a query over all tenants, which must be safe to repeat."""

        async def read() -> tuple[Any, ...] | None:
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query, values, prepare=True)
                return await cursor.fetchone()

        return await self._retry(read)

    @asynccontextmanager
    async def acting_for(self, tenant_id: UUID, user_id: UUID) -> AsyncIterator[AsyncConnection[Any]]:
        """A connection in a transaction that reads the rows of one user, all as they are at one moment."""

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
        """The result of work that is safe to repeat, retried while the database restarts."""
        pauses = patience.pauses_until(self._wait_seconds, PAUSE_SECONDS)
        try:
            return await patience.retry_async(work, (psycopg.OperationalError, PoolTimeout), pauses)
        except (psycopg.OperationalError, PoolTimeout) as error:
            raise DatabaseUnavailable from error


async def announcements(url: URL, channel: str) -> AsyncIterator[str]:
    """The payloads of a channel, for as long as the caller listens.

    An empty one comes after each connection to PostgreSQL: announcements may have been lost before it.
    """
    address = url.set(drivername="postgresql").render_as_string(hide_password=False)
    while True:
        with suppress(psycopg.OperationalError, OSError):
            async with await AsyncConnection.connect(address, **OPTIONS) as connection:
                await connection.execute(f"LISTEN {channel}")
                yield ""
                async for notice in connection.notifies():
                    yield notice.payload
        await asyncio.sleep(RECONNECT_SECONDS)
