"""Advisory locks of PostgreSQL that a process keeps over many transactions, all on one connection of their own.

They end with that connection: a process that dies gives back all of its locks. What a lock stands for is the caller's to say.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable

from psycopg import AsyncConnection, OperationalError

TAKE = "SELECT number FROM unnest(%s::int[]) AS number WHERE pg_try_advisory_lock(%s, number) LIMIT 1"
GIVE_BACK = "SELECT pg_advisory_unlock(%s, %s)"


class AdvisoryLocks:
    """The locks of one process, by group and number. A connection that was lost is made again with the next lock."""

    def __init__(self, address: str, application_name: str) -> None:
        self._address = address
        self._application_name = application_name
        self._own_numbers: dict[int, set[int]] = defaultdict(set)
        self._one_at_a_time = asyncio.Lock()
        self._connection: AsyncConnection | None = None

    async def take(self, group: int, numbers: Iterable[int]) -> int | None:
        """The number of a lock that this process holds from now on; None if all are taken or the database is away."""
        async with self._one_at_a_time:
            try:
                connection = await self._connected()
                others = [number for number in numbers if number not in self._own_numbers[group]]  # a second time would succeed
                row = await (await connection.execute(TAKE, (others, group))).fetchone()
            except OperationalError:
                return None
            if row is None:
                return None
            self._own_numbers[group].add(row[0])
            return int(row[0])

    async def give_back(self, group: int, number: int) -> None:
        """Frees a lock for others."""
        async with self._one_at_a_time:
            self._own_numbers[group].discard(number)
            if self._connection is not None and not self._connection.closed:
                try:
                    await self._connection.execute(GIVE_BACK, (group, number))
                except OperationalError:  # it is given back with the connection
                    return

    async def close(self) -> None:
        """Gives back everything."""
        if self._connection is not None:
            await self._connection.close()

    async def _connected(self) -> AsyncConnection:
        if self._connection is None or self._connection.closed:
            self._connection = await AsyncConnection.connect(
                self._address, autocommit=True, application_name=self._application_name
            )
            self._own_numbers.clear()
        return self._connection
