"""The limit on sessions at one provider at the same time, over all workers.

A session needs a slot of its provider. A slot is an advisory lock of PostgreSQL on a connection that the worker keeps: a worker
that dies gives back all of its slots. Half of a provider's slots are for customers who wait, half for the schedule. Within a
worker, tenants take turns: a crowd of one does not keep the customers of another waiting. When PostgreSQL restarts, the sessions
that are open then are forgotten, so that for as long as they last there can be twice as many.
"""

import asyncio
import zlib
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from warehouse.postgres.advisory_locks import AdvisoryLocks
from warehouse.runtime.fair_slots import FairSlots

PAUSE_SECONDS = 0.25


class ProviderSlots:
    """The slots of one worker. It asks PostgreSQL for no more slots of a provider than there can be."""

    def __init__(self, address: str, at_once: int) -> None:
        self._locks = AdvisoryLocks(address, "kontor-turns")
        self._numbers = range(max(1, at_once // 2))
        self._own_slots: dict[int, FairSlots] = defaultdict(lambda: FairSlots(len(self._numbers)))

    @asynccontextmanager
    async def at(self, provider: str, tenant: str, *, is_awaited: bool) -> AsyncIterator[None]:
        """Holds a slot of a provider for a tenant while the block runs; waits until there is one."""
        group = zlib.crc32(f"{provider} {is_awaited}".encode()) - 2**31
        async with self._own_slots[group].hold(tenant, None):
            while (number := await self._locks.take(group, self._numbers)) is None:
                await asyncio.sleep(PAUSE_SECONDS)
            try:
                yield
            finally:
                await self._locks.give_back(group, number)

    async def close(self) -> None:
        """Gives back all slots."""
        await self._locks.close()
