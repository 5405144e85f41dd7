"""Waiting for a fetch: a request sleeps until the worker has the header data, or the fetch is over.

PostgreSQL tells the worker's progress with NOTIFY; a look every few seconds makes up for a notice that was lost in a restart.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from uuid import UUID

import psycopg

from warehouse.connections import Connections, connect
from warehouse.errors import DatabaseUnavailable

CHANNEL = "kontor_fetches"
RUNNING = """
    SELECT count(*) FROM accesses a
    JOIN unnest(%s::uuid[], %s::uuid[]) AS f (access_id, fetch_id) ON a.id = f.access_id AND a.fetch_id = f.fetch_id
    WHERE a.fetch_phase = 'STARTED'
"""
LOOK_SECONDS = 2
PAUSE_SECONDS = 0.5


class Arrivals:
    """Lets requests wait for fetches."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._listener: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._listener = asyncio.create_task(self._listen())

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
            with suppress(asyncio.CancelledError):
                await self._listener

    async def wait(self, fetches: Mapping[UUID, UUID]) -> None:
        """Returns when each access (key) has the header data of its fetch (value), or that fetch is over."""
        news = asyncio.Event()
        for access_id in fetches:
            self._waiting.setdefault(str(access_id), set()).add(news)
        try:
            while await self._running(fetches):
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), LOOK_SECONDS)
                news.clear()
        finally:
            for access_id in fetches:
                self._waiting[str(access_id)].discard(news)
                if not self._waiting[str(access_id)]:
                    del self._waiting[str(access_id)]

    async def _running(self, fetches: Mapping[UUID, UUID]) -> bool:
        """Whether one of the fetches has no header data yet. A database that is away is asked again."""
        with suppress(DatabaseUnavailable):
            row = await self._connections.one(RUNNING, (list(fetches), list(fetches.values())))
            return bool(row and row[0])
        return True

    async def _listen(self) -> None:
        while True:
            with suppress(psycopg.OperationalError, OSError):
                async with await connect(self._connections.address) as connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    async for notice in connection.notifies():
                        for event in self._waiting.get(notice.payload, ()):
                            event.set()
            await asyncio.sleep(PAUSE_SECONDS)
