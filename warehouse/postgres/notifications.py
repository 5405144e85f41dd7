"""Waiting for a worker: a request sleeps until a fetch has its header data or is over, or a move of a dialogue is answered.

PostgreSQL tells the worker's progress with NOTIFY; a look every few seconds makes up for a notice that was lost in a restart.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from warehouse.errors import DatabaseUnavailable
from warehouse.postgres.async_connections import Connections, connect

CHANNEL = "kontor_fetches"
COUNT_RUNNING_FETCHES = """
    SELECT count(*) FROM accesses a
    JOIN unnest(%s::uuid[], %s::uuid[]) AS f (access_id, fetch_id) ON a.id = f.access_id AND a.fetch_id = f.fetch_id
    WHERE a.fetch_phase = 'STARTED'
"""
COUNT_UNANSWERED_MOVES = "SELECT count(*) FROM dialogues WHERE id = %s AND move = %s AND phase IN ('ASKED', 'CALLING')"
POLL_SECONDS = 2
PAUSE_SECONDS = 0.5


class Arrivals:
    """Lets requests wait for what workers do."""

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
        await self._until_none(fetches, COUNT_RUNNING_FETCHES, (list(fetches), list(fetches.values())))

    async def wait_for_answer(self, dialogue_id: UUID, move: int) -> None:
        """Returns when the bank has answered a move, or nobody waits for its answer any more."""
        await self._until_none([dialogue_id], COUNT_UNANSWERED_MOVES, (dialogue_id, move))

    async def _until_none(self, about: Collection[UUID], query: str, values: tuple[Any, ...]) -> None:
        """Returns when a query counts nothing any more; news of what it is about lets it look at once."""
        news = asyncio.Event()
        for id_ in about:
            self._waiting.setdefault(str(id_), set()).add(news)
        try:
            while await self._some(query, values):
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), POLL_SECONDS)
                news.clear()
        finally:
            for id_ in about:
                self._waiting[str(id_)].discard(news)
                if not self._waiting[str(id_)]:
                    del self._waiting[str(id_)]

    async def _some(self, query: str, values: tuple[Any, ...]) -> bool:
        """Whether a query counts anything. A database that is away is asked again."""
        with suppress(DatabaseUnavailable):
            row = await self._connections.one(query, values)
            return bool(row and row[0])
        return True

    async def _listen(self) -> None:
        async for payload in notices(self._connections.address, CHANNEL):
            for event in self._waiting.get(payload, ()):
                event.set()


async def notices(address: str, channel: str) -> AsyncIterator[str]:
    """The payloads of a channel's notices, for as long as the caller listens.

    An empty one comes after every connection to PostgreSQL: notices may have been lost before it.
    """
    while True:
        with suppress(psycopg.OperationalError, OSError):
            async with await connect(address) as connection:
                await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                yield ""
                async for notice in connection.notifies():
                    yield notice.payload
        await asyncio.sleep(PAUSE_SECONDS)
