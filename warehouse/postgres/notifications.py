"""Waiting for workers: a request sleeps until a fetch has its header data or is over, or a move of a dialogue is answered.

Workers report progress with NOTIFY; a query every few seconds makes up for notices that were lost in a restart.
"""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from warehouse.errors import DatabaseUnavailable
from warehouse.postgres.async_connections import Connections, announcements

CHANNEL = "kontor_fetches"
COUNT_RUNNING_FETCHES = """
    SELECT count(*) FROM accesses a
    JOIN unnest(%s::uuid[], %s::uuid[]) AS f (access_id, fetch_id) ON a.id = f.access_id AND a.fetch_id = f.fetch_id
    WHERE a.fetch_phase = 'STARTED'
"""
COUNT_UNANSWERED_MOVES = "SELECT count(*) FROM dialogues WHERE id = %s AND move = %s AND phase IN ('ASKED', 'CALLING')"
POLL_SECONDS = 2


class Arrivals:
    """Lets requests wait for fetches and dialogues of workers."""

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
        """Returns when the bank has answered a move, or the move is void."""
        await self._until_none([dialogue_id], COUNT_UNANSWERED_MOVES, (dialogue_id, move))

    async def _until_none(self, ids: Collection[UUID], query: str, values: tuple[Any, ...]) -> None:
        """Returns when a query counts nothing any more. It runs again at every notice about one of these ids."""
        notice = asyncio.Event()
        for id_ in ids:
            self._waiting.setdefault(str(id_), set()).add(notice)
        try:
            while await self._counts_any(query, values):
                with suppress(TimeoutError):
                    await asyncio.wait_for(notice.wait(), POLL_SECONDS)
                notice.clear()
        finally:
            for id_ in ids:
                self._waiting[str(id_)].discard(notice)
                if not self._waiting[str(id_)]:
                    del self._waiting[str(id_)]

    async def _counts_any(self, query: str, values: tuple[Any, ...]) -> bool:
        """Whether a query counts anything; also True while the database is away."""
        with suppress(DatabaseUnavailable):
            row = await self._connections.one(query, values)
            return bool(row and row[0])
        return True

    async def _listen(self) -> None:
        async for id_ in announcements(self._connections.url, CHANNEL):
            for event in self._waiting.get(id_, ()):
                event.set()
