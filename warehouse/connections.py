"""Asynchronous connections, for what an event loop does itself: checking tokens, waiting for news, sending long lists.

Everything else goes through `warehouse.database`. A connection of this pool acts for the operator unless a transaction on it
says for whom it acts (`acting_for`).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool
from sqlalchemy import URL

ACT_FOR = (
    "SELECT set_config('kontor.tenant', %s, true), set_config('kontor.user', %s, true), set_config('kontor.operator', '', true)"
)
OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "options": "-c kontor.operator=on",
    "connect_timeout": 5,
    "application_name": "kontor",
}


class Connections:
    """A pool of asynchronous connections."""

    def __init__(self, url: URL, *, pool: int) -> None:
        self.address = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._pool = AsyncConnectionPool(
            self.address, kwargs=OPTIONS, min_size=0, max_size=pool, timeout=1, reconnect_timeout=1, open=False
        )

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A connection on which every statement is a transaction of its own."""
        async with self._pool.connection() as connection:
            yield connection

    @asynccontextmanager
    async def acting_for(self, tenant_id: UUID, user_id: UUID) -> AsyncIterator[AsyncConnection[Any]]:
        """A connection in a transaction that only reads, sees one moment, and only one user's rows."""
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            await connection.execute(ACT_FOR, (str(tenant_id), str(user_id)))
            yield connection


async def connect(address: str) -> AsyncConnection[Any]:
    """A connection of its own, for who listens for long."""
    return await AsyncConnection.connect(address, **OPTIONS)
