"""Turns of requests on the event loop, by tenant.

A crowd of cheap requests fills the event loop and the connections that check tokens. Only a few requests of a tenant run at once,
therefore, from their first line of ours to the last byte of their answer; the others wait, and a tenant that has none running
begins at once. A request that takes long waits for something else than the event loop: it passes its turn on after a moment.
One that waits for nothing keeps its turn until the next round of the event loop; else a crowd of them would run in a single
round, and everybody would wait for all of them.

The tenant must be guessed before its token is checked: it is the one that this header had last. The cookies of a browser on the
pages of the form stand for it there. The guess decides about turns only, never about access. All that are not known, and all
requests without such a header, share a tenant; its members are paths.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from cachetools import LRUCache

from api.http.asker import set_asker
from warehouse.runtime.fair_slots import STRANGERS, FairSlots, RecentTenants

REQUESTS_AT_ONCE = 3
SPARE_REQUESTS = 4
MAX_TURN_SECONDS = 0.05
MAX_TOKENS = 20_000
HEALTH = "/health"
"""Who asks for it never rests: it costs next to nothing, and whoever watches the service must not wait for others who do."""


class RequestTurn:
    """The right of a request to use the event loop, until it ends or has lasted for a moment."""

    def __init__(self, slots: FairSlots, tenant: Hashable, member: Hashable) -> None:
        self._slots, self._tenant, self._member, self._ended = slots, tenant, member, False
        self._began_at = time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(MAX_TURN_SECONDS, self.end)

    def end(self) -> None:
        """Passes the turn on, once."""
        if not self._ended:
            self._ended = True
            self._timer.cancel()
            used_seconds = 0 if self._member == HEALTH else time.monotonic() - self._began_at
            self._slots.give_back(self._tenant, self._member, used_seconds)


class RequestTurns:
    """The turns of one worker."""

    def __init__(self, recent: RecentTenants) -> None:
        self._recent = recent
        self.slots = FairSlots(REQUESTS_AT_ONCE, spare=SPARE_REQUESTS, beside_others=1, recent=recent)
        self._tenants: LRUCache[bytes, Hashable] = LRUCache(MAX_TOKENS)

    @asynccontextmanager
    async def begin(self, credential: bytes, path: str) -> AsyncIterator[None]:
        """Runs the block when it is the turn of the tenant behind this header, which is empty for a request without one."""
        digest = hashlib.sha256(credential).digest() if credential else b""
        tenant = self._tenants.get(digest, STRANGERS)
        member = path if tenant is STRANGERS else digest
        set_asker(tenant, member)
        if tenant is not STRANGERS:
            self._recent.note(tenant)
        await self.slots.acquire(tenant, member)
        turn = RequestTurn(self.slots, tenant, member)
        try:
            yield
        finally:
            asyncio.get_running_loop().call_soon(turn.end)

    def remember(self, credential: bytes, tenant: Hashable) -> None:
        """Keeps the tenant of a header whose token, secret or session was checked."""
        self._tenants[hashlib.sha256(credential).digest()] = tenant
