"""What a worker holds for all its requests: settings, database, vault, lake, connectors, and lanes for slow work.

`connections` check tokens and wait for fetches; `reads` read long lists, apart from them, so that many lists hold up no token.
"""

import asyncio
import gc
import itertools
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, ParamSpec, TypeVar
from uuid import UUID
from weakref import WeakValueDictionary

from fastapi import Depends, Request

from api.http.response_cache import ResponseCache
from pipelines.banks.base import Connector
from pipelines.banks.connectors import connectors
from pipelines.results import live, tags
from warehouse.errors import Busy, KontorError, Throttled, TooLate
from warehouse.lake.lake import Lake
from warehouse.postgres.async_connections import Connections
from warehouse.postgres.database import Database
from warehouse.postgres.notifications import Arrivals
from warehouse.secrets import hashing
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores.callers import Callers

P = ParamSpec("P")
T = TypeVar("T")


CHANGES_AT_ONCE = 4
CHANGES_WAITING = 1000
LISTS_AT_ONCE = 2
TAGGINGS_AT_ONCE = 2
TAGGINGS_WAITING = 50
PAUSES_SECONDS = (0.1, 0.2, 0.4, 0.8)


class Lane:
    """Runs slow work beside the event loop and the shared threads: few at a time, and not more waiting than is sensible."""

    def __init__(self, name: str, at_once: int, waiting: int, seconds: float = 0) -> None:
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix=name)
        self._limit = at_once + waiting
        self._inside = 0

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of the work; raises `Throttled` if too much waits already."""
        if self._inside >= self._limit:
            raise Throttled(1)
        self._inside += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: work(*args, **kwargs))
        finally:
            self._inside -= 1

    def begin(self, work: Callable[[], object]) -> None:
        """Begins work that nobody waits for, but all that comes into the lane after it."""
        self._threads.submit(work)

    async def insist(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a change, tried again as long as another transaction is in its way.

        Between two tries it holds neither a thread nor a connection, so that who waits for one row keeps nobody from others. It
        is not begun once the lane's time for a change is over: who was told that it took too long may have sent another since.
        """
        deadline = time.monotonic() + self._seconds

        def in_time() -> T:
            if time.monotonic() >= deadline:
                raise TooLate
            return work(*args, **kwargs)

        for pause in itertools.chain(PAUSES_SECONDS, itertools.repeat(PAUSES_SECONDS[-1])):
            with suppress(Busy):
                return await self.run(in_time)
            await asyncio.sleep(pause)
        raise TooLate

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class UserSlots:
    """Lets each user do only a few things of a kind at a time; others of the same user wait without holding anything."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._users: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()

    def of(self, user_id: UUID) -> asyncio.Semaphore:
        """The user's turns: to be held while the thing is done."""
        return self._users.setdefault(user_id, asyncio.Semaphore(self._at_once))


@dataclass(frozen=True)
class Services:
    settings: Settings
    database: Database
    connections: Connections
    reads: Connections
    callers: Callers
    arrivals: Arrivals
    vault: Vault
    lake: Lake
    connectors: Mapping[str, Connector]
    passwords: Lane
    changes: Lane
    tagging: Lane
    lists: UserSlots
    analyses: UserSlots
    shelf: ResponseCache

    @classmethod
    def of(cls, settings: Settings) -> "Services":
        """The services of a worker. The database address must be set: starting an embedded server is the command line's task."""
        if settings.database_url is None:
            raise KontorError("no database: start the API with 'kontor up' or 'kontor serve', or set KONTOR_DATABASE_URL")
        database = Database(settings.database_url, pool=settings.database_pool, wait_seconds=settings.database_wait_seconds)
        connections = _connections(database, settings)
        return cls(
            settings=settings,
            database=database,
            connections=connections,
            reads=_connections(database, settings),
            callers=Callers(connections),
            arrivals=Arrivals(connections),
            vault=Vault(settings),
            lake=Lake(settings.lake_path),
            connectors=connectors(settings),
            passwords=Lane("passwords", settings.password_checks_at_once, settings.password_checks_waiting),
            changes=Lane("changes", CHANGES_AT_ONCE, CHANGES_WAITING, settings.request_timeout_seconds),
            tagging=Lane("tagging", TAGGINGS_AT_ONCE, TAGGINGS_WAITING),
            lists=UserSlots(LISTS_AT_ONCE),
            analyses=UserSlots(1),
            shelf=ResponseCache(),
        )

    async def open(self) -> None:
        """Takes up work. Fails, and with it the start of the service, if there is no vault key."""
        self.vault.ring()
        self.lake.prepare(self.settings.buckets)
        await self.connections.open()
        await self.reads.open()
        await self.arrivals.open()
        await self.passwords.run(hashing.decoy)
        await self.tagging.run(tags.brain)
        if self.settings.warm_up:
            self.tagging.begin(live.prepare)
        gc.collect()
        gc.freeze()  # what is there now stays: looking through it again and again would stop requests for a tenth of a second

    async def close(self) -> None:
        self.passwords.close()
        self.changes.close()
        self.tagging.close()
        await self.arrivals.close()
        await self.reads.close()
        await self.connections.close()
        self.database.close()


def _connections(database: Database, settings: Settings) -> Connections:
    """Half as many as the database has: each is held for a moment only."""
    half = max(1, settings.database_pool // 2)
    return Connections(database.url, pool=half, wait_seconds=settings.database_wait_seconds)


async def services(request: Request) -> Services:
    """The services of the worker that handles a request."""
    found: Services = request.app.state.services
    return found


Held = Annotated[Services, Depends(services)]
