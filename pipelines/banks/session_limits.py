"""Turns at a bank: at most so many sessions at one provider at once, over all workers.

A turn is an advisory lock of PostgreSQL on a connection that a worker keeps for them: whoever dies gives back all of its turns.
Half of a provider's turns are for customers who wait, half for the schedule. When PostgreSQL restarts, the sessions that are open
then are forgotten, so that for as long as they last there can be twice as many.
"""

import asyncio
import zlib
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

AGAIN_SECONDS = 0.25
TAKE = "SELECT turn FROM unnest(%s::int[]) AS turn WHERE pg_try_advisory_lock(%s, turn) LIMIT 1"
GIVE_BACK = "SELECT pg_advisory_unlock(%s, %s)"


class ProviderSlots:
    """The turns of one worker. Before it asks PostgreSQL, nobody waits for more than there can be."""

    def __init__(self, address: str, at_once: int) -> None:
        self._address = address
        self._numbers = range(max(1, at_once // 2))
        self._here: dict[int, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(len(self._numbers)))
        self._mine: dict[int, set[int]] = defaultdict(set)
        self._asking = asyncio.Lock()
        self._connection: psycopg.AsyncConnection | None = None

    @asynccontextmanager
    async def at(self, provider: str, *, awaited: bool) -> AsyncIterator[None]:
        """Has a turn while the block runs; waits until there is one."""
        bank = zlib.crc32(f"{provider} {awaited}".encode()) - 2**31
        async with self._here[bank]:
            while (turn := await self._take(bank)) is None:
                await asyncio.sleep(AGAIN_SECONDS)
            try:
                yield
            finally:
                await self._give_back(bank, turn)

    async def close(self) -> None:
        """Gives back everything."""
        if self._connection is not None:
            await self._connection.close()

    async def _take(self, bank: int) -> int | None:
        """The number of a turn that is ours now, or nothing if all are taken or the database is away."""
        async with self._asking:
            try:
                connection = await self._connected()
                free = [number for number in self._numbers if number not in self._mine[bank]]  # ours would be given us again
                row = await (await connection.execute(TAKE, (free, bank))).fetchone()
            except psycopg.OperationalError:
                return None
            if row is not None:
                self._mine[bank].add(row[0])
            return None if row is None else int(row[0])

    async def _give_back(self, bank: int, turn: int) -> None:
        async with self._asking:
            self._mine[bank].discard(turn)
            if self._connection is not None and not self._connection.closed:
                try:
                    await self._connection.execute(GIVE_BACK, (bank, turn))
                except psycopg.OperationalError:  # it is given back with the connection
                    return

    async def _connected(self) -> psycopg.AsyncConnection:
        if self._connection is None or self._connection.closed:
            self._connection = await psycopg.AsyncConnection.connect(
                self._address, autocommit=True, application_name="kontor-turns"
            )
            self._mine.clear()
        return self._connection
