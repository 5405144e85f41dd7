"""Fair slots: who may use a scarce resource next, by tenant, then by member (a user or a receiver of the tenant).

Here belongs the order alone. Nothing in here knows what the work is; it runs in one event loop and needs no lock.
"""

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from warehouse.errors import Throttled

RETRY_SECONDS = 1
MIN_CROWD = 5
"""So many that wait are a crowd. Fewer are the ordinary business of a tenant whose requests come close together."""
REST_PER_USE = 2
"""How long a tenant with a crowd rests after each use, in times of the use."""
STRANGERS = None
"""The tenant of all whose tenant is not known (yet). Together they have the share of one tenant."""


class RecentTenants:
    """Which tenants have asked of late. While another one has, a tenant with a crowd leaves room for its next request."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._tenant: Hashable = None
        self._asked_at = self._another_asked_at = -math.inf

    def note(self, tenant: Hashable) -> None:
        """Keeps that a tenant asks now."""
        if tenant != self._tenant:
            self._tenant, self._another_asked_at = tenant, self._asked_at
        self._asked_at = time.monotonic()

    def has_others(self, tenant: Hashable) -> bool:
        """Whether any other tenant has asked of late."""
        asked_at = self._another_asked_at if tenant == self._tenant else self._asked_at
        return time.monotonic() - asked_at < self._seconds


class FairSlots:
    """A number of slots that tenants share evenly, and the members of a tenant in turn.

    A free slot goes to the waiting tenant that holds the fewest, among equals to the one that has waited longest for its turn. A
    lone tenant may hold all `slots`. The `spare` ones beyond them are for tenants that hold none: such a tenant begins at once
    even while another one fills all slots, and no slot has to be kept free for it.

    A tenant with a crowd would still take all of the processor that others leave between two of their requests, and each of these
    would find it busy. Where `recent` tenants are known, a tenant that has a crowd waiting while another one is active therefore
    rests after each use, for twice as long as it took: it uses a third of the time. Strangers have nothing in common but that
    nobody knows them: each member of theirs rests alone.
    """

    def __init__(
        self,
        slots: int,
        *,
        spare: int = 0,
        per_tenant: int | None = None,
        beside_others: int | None = None,
        max_waiting: int | None = None,
        recent: RecentTenants | None = None,
        rests: bool = True,
    ) -> None:
        """A tenant holds at most `per_tenant` slots, and gets no more than `beside_others` for a crowd while another tenant is
        active: holds one, or has asked of late. Without `rests`, who uses a slot sees to rests itself.

        `max_waiting` limits the queue of each tenant, so that no tenant fills the queue of another.
        """
        self._slots = slots
        self._spare = spare
        self._per_tenant = per_tenant or slots
        self._beside_others = beside_others or self._per_tenant
        self._max_waiting = max_waiting
        self._recent = recent
        self._has_rests = rests and recent is not None
        self._rests: dict[Hashable, asyncio.TimerHandle] = {}
        self._of_tenants: Counter[Hashable] = Counter()
        self._of_members: Counter[tuple[Hashable, Hashable]] = Counter()
        self._queues: dict[Hashable, dict[Hashable, deque[asyncio.Future[None]]]] = {}
        self._waiting: Counter[Hashable] = Counter()

    @property
    def capacity(self) -> int:
        """The largest number of slots that are in use at once."""
        return self._slots + self._spare

    @property
    def in_use(self) -> int:
        return self._of_tenants.total()

    def in_use_of(self, tenant: Hashable) -> int:
        """How many slots a tenant holds."""
        return self._of_tenants[tenant]

    def has_waiting(self, tenant: Hashable) -> bool:
        """Whether more of a tenant waits than it has slots for."""
        return self._waiting[tenant] > 0

    def is_crowding(self, tenant: Hashable) -> bool:
        """Whether a crowd of a tenant waits while another tenant is active."""
        return self._waiting[tenant] >= MIN_CROWD and self._has_others(tenant)

    @asynccontextmanager
    async def hold(self, tenant: Hashable, member: Hashable) -> AsyncIterator[None]:
        """Holds a slot during the block, after waiting for it; raises `Throttled` if too much of the tenant waits already."""
        await self.acquire(tenant, member)
        began_at = time.monotonic()
        try:
            yield
        finally:
            self.give_back(tenant, member, time.monotonic() - began_at)

    async def acquire(self, tenant: Hashable, member: Hashable) -> None:
        """Takes a slot, after waiting for it; the caller gives it back."""
        if not self.take(tenant, member):
            await self._wait(tenant, member)

    def take(self, tenant: Hashable, member: Hashable) -> bool:
        """Takes a slot if there is one now; the caller gives it back. It overtakes nobody: who waits could not have it either."""
        if not self._may_take(tenant) or _rester(tenant, member) in self._rests:
            return False
        self._of_tenants[tenant] += 1
        self._of_members[tenant, member] += 1
        return True

    def give_back(self, tenant: Hashable, member: Hashable, used_seconds: float = 0) -> None:
        """Frees a slot that was used for this time, and passes it to whoever is next."""
        if used_seconds and self._has_rests and self.is_crowding(tenant):
            self._rest(_rester(tenant, member), REST_PER_USE * used_seconds)
        self._of_tenants[tenant] -= 1
        self._of_members[tenant, member] -= 1
        if self._of_members[tenant, member] == 0:
            del self._of_members[tenant, member]
        if self._of_tenants[tenant] == 0:
            del self._of_tenants[tenant]
        self._admit()

    def _may_take(self, tenant: Hashable) -> bool:
        tenants_slots = self._of_tenants[tenant]
        limit = self._beside_others if self.is_crowding(tenant) else self._per_tenant
        return tenants_slots < limit and self.in_use < (self._slots if tenants_slots else self.capacity)

    def _has_others(self, tenant: Hashable) -> bool:
        """Whether another tenant is active."""
        return self.in_use > self._of_tenants[tenant] or (self._recent is not None and self._recent.has_others(tenant))

    def _rest(self, rester: Hashable, seconds: float) -> None:
        """Gives a tenant, or a stranger, no slot for some time."""
        if rester in self._rests:
            self._rests[rester].cancel()
        self._rests[rester] = asyncio.get_running_loop().call_later(seconds, self._end_rest, rester)

    def _end_rest(self, rester: Hashable) -> None:
        del self._rests[rester]
        self._admit()

    async def _wait(self, tenant: Hashable, member: Hashable) -> None:
        """Returns with a slot. A waiter that is cancelled leaves the queue, or passes on the slot that it was just given."""
        if self._max_waiting is not None and self._waiting[tenant] >= self._max_waiting:
            raise Throttled(RETRY_SECONDS)
        turn = asyncio.get_running_loop().create_future()
        self._queues.setdefault(tenant, {}).setdefault(member, deque()).append(turn)
        self._waiting[tenant] += 1
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.give_back(tenant, member)
            elif turn in self._queues.get(tenant, {}).get(member, ()):
                self._leave(tenant, member, turn)
            raise

    def _admit(self) -> None:
        """Gives free slots to waiters, as long as one of them may have one."""
        while self.in_use < self.capacity and (waiter := self._next()) is not None:
            tenant, member = waiter
            turn = self._queues[tenant][member][0]
            self._leave(tenant, member, turn)
            if not turn.cancelled():
                self.take(tenant, member)
                turn.set_result(None)

    def _next(self) -> tuple[Hashable, Hashable] | None:
        """The waiting tenant and member whose turn it is. Sorting is stable: among equals, the order of the queues decides."""
        for tenant in sorted(self._queues, key=self.in_use_of):
            members = [member for member in self._queues[tenant] if _rester(tenant, member) not in self._rests]
            if members and self._may_take(tenant):
                return tenant, min(members, key=lambda member: self._of_members[tenant, member])
        return None

    def _leave(self, tenant: Hashable, member: Hashable, turn: asyncio.Future[None]) -> None:
        """Takes a waiter out of its queue; what is left of its member and its tenant goes behind the others."""
        members = self._queues.pop(tenant)
        queue = members.pop(member)
        queue.remove(turn)
        self._waiting[tenant] -= 1
        if queue:
            members[member] = queue
        if members:
            self._queues[tenant] = members
        else:
            del self._waiting[tenant]


def _rester(tenant: Hashable, member: Hashable) -> Hashable:
    """Who rests: a tenant with all its members, or one of the strangers."""
    return (tenant, member) if tenant is STRANGERS else tenant
