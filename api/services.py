"""What the requests of a worker process share: settings, database, vault, lake, connectors, and lanes for slow work.

`connections` check tokens and wait for fetches. Long lists have a pool of their own, `reads`, so that they never delay a token.
Tenants share all scarce resources evenly (`FairSlots`): connections, processor and threads.
"""

import asyncio
import gc
import itertools
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Annotated, ParamSpec, TypeVar
from uuid import UUID
from weakref import WeakValueDictionary
from zoneinfo import ZoneInfo

import structlog
from cachetools import TTLCache
from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from api.http.asker import asker
from api.http.response_cache import ResponseCache
from api.http.responses import Links
from api.http.shared_checks import SharedChecks
from pipelines import shared_models, tombstones
from pipelines.banks.base import Connector
from pipelines.banks.connectors import connectors
from pipelines.operations import Survey
from pipelines.results import live
from pipelines.results.live import RecentDocuments
from pipelines.results.tags import RecentTags
from warehouse.errors import Busy, KontorError, TooLate
from warehouse.lake.lake import Lake
from warehouse.postgres import models_in_use
from warehouse.postgres.async_connections import Connections
from warehouse.postgres.database import DATABASE_ERRORS, Database
from warehouse.postgres.notifications import Arrivals
from warehouse.postgres.work_state import WorkState
from warehouse.runtime import logs, patience
from warehouse.runtime.fair_slots import FairSlots, RecentTenants
from warehouse.runtime.priorities import let_polars_yield, yield_to_others
from warehouse.secrets import hashing
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores.callers import Caller, Callers

P = ParamSpec("P")
T = TypeVar("T")

CHANGE_THREADS = 4
MAX_WAITING_CHANGES = 1000
THREADS, SPARE_THREADS = 2, 2
"""Of routes that are plain functions. One computes while the other waits for PostgreSQL; more would only wait for each other, and
delay the event loop.
"""
MAX_WAITING_FOR_THREADS = 1000
LARGE_BODIES = 2
LISTS_PER_USER = 2
MAX_WAITING_LISTS = 200
LIST_CONNECTIONS_PER_TENANT = 2
"""PostgreSQL reads one list while another is written as JSON. More would take the processor from others and gain nothing."""
BATCHES_AT_ONCE = 1
ANALYSES_PER_USER = 1
COMPUTATIONS_AT_ONCE = 1
"""There are about as many workers as cores: a second computation would only slow down the first, and the event loop."""
MAX_WAITING_COMPUTATIONS = 50
SPARE_SLOTS = 1
RECENT_SECONDS = 10
"""Somebody who works with the service asks again within this time."""
MONITOR_WAIT_SECONDS = 0.3
"""Enough to replace a connection that a restart of the database has ended."""
SURVEY_LIFETIME_SECONDS = 60
"""A survey counts all accesses, which takes a while with millions of them: no process makes one more often."""
MONITOR_OPTIONS = "-c statement_timeout=1000"
PAUSES_SECONDS = (0.1, 0.2, 0.4, 0.8)
log = structlog.get_logger("services")


class Lane:
    """Runs slow work on threads of its own, apart from the event loop and the shared pool. Tenants share the threads evenly, and
    the queue of each is bounded.
    """

    def __init__(
        self,
        name: str,
        threads: int,
        max_waiting: int,
        timeout_seconds: float = 0,
        *,
        spare: int = 0,
        yields: bool = False,
        recent: RecentTenants | None = None,
    ) -> None:
        """The `spare` threads are for tenants that have no work in the lane. If the lane `yields`, work of a tenant that has more
        of it waiting has a lower priority of the system: it takes the time that others leave. This is for work that runs without
        the interpreter's lock; with it, the event loop would wait for a thread that waits for the processor.
        """
        self._timeout_seconds = timeout_seconds
        self._executor = ThreadPoolExecutor(threads + spare, thread_name_prefix=name)
        self._crowded_executor = (
            ThreadPoolExecutor(threads, thread_name_prefix=f"{name}-crowd", initializer=yield_to_others)
            if yields
            else self._executor
        )
        self.slots = FairSlots(threads, spare=spare, max_waiting=max_waiting, beside_others=1 if recent else None, recent=recent)

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of the work; raises `Throttled` if too much of the same tenant waits already."""
        tenant, member = asker()
        async with self.slots.hold(tenant, member):
            executor = self._crowded_executor if self.slots.has_waiting(tenant) else self._executor
            return await _run_on(executor, work, *args, **kwargs)

    async def run_behind_others(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for work that others do not have to wait for, whatever else waits in this lane."""
        async with self.slots.hold(*asker()):
            return await _run_on(self._crowded_executor, work, *args, **kwargs)

    def begin(self, work: Callable[[], object]) -> None:
        """Starts work without waiting for it; later work of the lane queues behind it."""
        self._executor.submit(work)

    async def insist(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a change, retried while another transaction blocks it; raises `TooLate` after the lane's timeout.

        Between two attempts it holds neither a thread nor a connection, so waiting for one row does not delay other requests.
        No attempt starts after the timeout: the caller has already received an error and may have sent the change again.
        """
        deadline = time.monotonic() + self._timeout_seconds

        def attempt() -> T:
            if time.monotonic() >= deadline:
                raise TooLate
            return work(*args, **kwargs)

        pauses = itertools.chain(PAUSES_SECONDS, itertools.repeat(PAUSES_SECONDS[-1]))
        return await patience.retry_async(lambda: self.run(attempt), Busy, pauses)

    def close(self) -> None:
        for executor in (self._executor, self._crowded_executor):
            executor.shutdown(wait=False, cancel_futures=True)


class UserSlots:
    """Limits how many requests of one user run at a time; further ones wait without holding a thread or a connection."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._users: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()

    def of(self, user_id: UUID) -> asyncio.Semaphore:
        """The semaphore of the user, to be held during the work."""
        return self._users.setdefault(user_id, asyncio.Semaphore(self._slots))


@dataclass(frozen=True)
class ReadinessCheck:
    """The status of one check, and what is wrong. Everybody can read it: no paths and no ids of keys."""

    status: str
    reason: str | None = None


@dataclass(frozen=True)
class StoreReport:
    """What stores tell of themselves: checks by name, and the state of the work."""

    checks: Mapping[str, ReadinessCheck]
    work: WorkState | None = None


@dataclass(frozen=True)
class Services:
    settings: Settings
    database: Database
    monitor: Database
    """A connection for health checks, so that they neither wait for requests nor keep them waiting."""
    store_checks: SharedChecks[StoreReport]
    surveys: SharedChecks[Survey | None]
    """Looks at how fresh everything is, for the metrics."""
    last_surveys: TTLCache[str, Survey]
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
    recent_tenants: RecentTenants
    """Those that have asked this worker of late: while there are others, a tenant with a crowd rests between its turns."""
    threads: FairSlots
    """The threads of routes that are plain functions; see `KontorRoute` and `in_thread`."""
    large_bodies: FairSlots
    """Requests with large bodies that are read, parsed and handled."""
    lists: UserSlots
    list_connections: FairSlots
    """The connections of `reads`."""
    list_turns: FairSlots
    """Turns on the event loop; a list needs one for each batch of its rows."""
    analyses: UserSlots
    computations: FairSlots
    """The threads of `tagging`; see `compute`."""
    response_cache: ResponseCache
    recent_tags: RecentTags
    recent_documents: RecentDocuments
    background: list[asyncio.Task[None]] = field(default_factory=list)

    @classmethod
    def of(cls, settings: Settings) -> "Services":
        """The services of a worker. The database URL must be set: only the command line starts an embedded server."""
        if settings.database_url is None:
            raise KontorError("no database: start the API with 'kontor up' or 'kontor serve', or set KONTOR_DATABASE_URL")
        database = Database(settings.database_url, pool=settings.database_pool, wait_seconds=settings.database_wait_seconds)
        connections = _connections(database, settings)
        lists = max(1, _connection_count(settings) - SPARE_SLOTS)
        recent = RecentTenants(RECENT_SECONDS)
        return cls(
            settings=settings,
            database=database,
            monitor=Database(settings.database_url, pool=1, wait_seconds=MONITOR_WAIT_SECONDS, options=MONITOR_OPTIONS),
            store_checks=SharedChecks(),
            surveys=SharedChecks(),
            last_surveys=TTLCache(maxsize=1, ttl=SURVEY_LIFETIME_SECONDS),
            connections=connections,
            reads=_connections(database, settings),
            callers=Callers(connections),
            arrivals=Arrivals(connections),
            vault=Vault(settings),
            lake=Lake(settings.lake_path),
            connectors=connectors(settings),
            passwords=Lane(
                "passwords", settings.password_checks_at_once, settings.password_checks_waiting, spare=SPARE_SLOTS, yields=True
            ),
            changes=Lane(
                "changes", CHANGE_THREADS, MAX_WAITING_CHANGES, settings.request_timeout_seconds, spare=SPARE_SLOTS, recent=recent
            ),
            tagging=Lane("tagging", COMPUTATIONS_AT_ONCE + SPARE_SLOTS, MAX_WAITING_COMPUTATIONS, yields=True),
            recent_tenants=recent,
            threads=FairSlots(THREADS, spare=SPARE_THREADS, max_waiting=MAX_WAITING_FOR_THREADS, beside_others=1, recent=recent),
            large_bodies=FairSlots(LARGE_BODIES, spare=SPARE_SLOTS, beside_others=1, recent=recent),
            lists=UserSlots(LISTS_PER_USER),
            list_connections=FairSlots(
                lists,
                spare=_connection_count(settings) - lists,
                per_tenant=LIST_CONNECTIONS_PER_TENANT,
                beside_others=1,
                max_waiting=MAX_WAITING_LISTS,
                recent=recent,
                rests=False,
            ),
            list_turns=FairSlots(BATCHES_AT_ONCE, spare=SPARE_SLOTS),
            analyses=UserSlots(ANALYSES_PER_USER),
            computations=FairSlots(COMPUTATIONS_AT_ONCE, spare=SPARE_SLOTS, max_waiting=MAX_WAITING_COMPUTATIONS, recent=recent),
            response_cache=ResponseCache(),
            recent_tags=RecentTags(),
            recent_documents=RecentDocuments(),
        )

    @property
    def links(self) -> Links:
        return Links(self.settings.base_url)

    @property
    def zone(self) -> ZoneInfo:
        return self.settings.zone

    async def in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of short work that blocks, on one of the `threads`."""
        async with self.threads.hold(*asker()):
            return await run_in_threadpool(work, *args, **kwargs)

    async def compute(self, caller: Caller, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a computation on a thread of `tagging`; raises `Throttled` if too many of the caller's tenant wait."""
        async with self.computations.hold(caller.tenant_id, caller.user_id or caller.client_id):
            run = self.tagging.run_behind_others if self.computations.is_crowding(caller.tenant_id) else self.tagging.run
            return await run(work, *args, **kwargs)

    async def compute_for_asker(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for a request without a token, whose tenant and user are known otherwise."""
        async with self.computations.hold(*asker()):
            return await self.tagging.run(work, *args, **kwargs)

    async def open(self) -> None:
        """Opens all connections and loads the tagger. Raises if there is no vault key, or if somebody who was erased cannot be
        erased again after a restore, so that the service does not start.
        """
        self.vault.ring()
        self.lake.prepare(self.settings.buckets)
        await self.changes.run(tombstones.sync, self.database, self.lake, self.settings)
        await self.connections.open()
        await self.reads.open()
        await self.arrivals.open()
        await self.passwords.run(hashing.decoy)
        await asyncio.to_thread(shared_models.take_up, self.database, self.settings.home)
        self.background.append(asyncio.create_task(self._take_up_models()))
        await self.tagging.run(live.version, self.settings.base_url)
        let_polars_yield()
        if self.settings.warm_up:
            self.tagging.begin(live.prepare)
        gc.collect()
        gc.freeze()  # collecting these long-lived objects again and again would stop requests for 0.1 seconds
        gc.enable()

    async def _take_up_models(self) -> None:
        """Takes up models that were put into use on other machines, until the process ends."""
        while True:
            await asyncio.sleep(shared_models.LOOK_SECONDS)
            try:
                row = await self.connections.one(models_in_use.ALL_VERSIONS, ())
                if row is not None and shared_models.outdated_scopes(row[0], self.settings.home):
                    await asyncio.to_thread(shared_models.take_up, self.database, self.settings.home)
            except (*DATABASE_ERRORS, OSError) as error:
                log.warning("models_not_looked_at", error=logs.describe(error))

    async def close(self) -> None:
        for task in self.background:
            task.cancel()
        self.passwords.close()
        self.changes.close()
        self.tagging.close()
        await self.arrivals.close()
        await self.reads.close()
        await self.connections.close()
        self.monitor.close()
        self.database.close()


async def _run_on(executor: ThreadPoolExecutor, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of work on a thread, with what belongs to the request, such as its language."""
    context = copy_context()
    return await asyncio.get_running_loop().run_in_executor(executor, lambda: context.run(work, *args, **kwargs))


def _connections(database: Database, settings: Settings) -> Connections:
    return Connections(database.url, pool=_connection_count(settings), wait_seconds=settings.database_wait_seconds)


def _connection_count(settings: Settings) -> int:
    """The size of a pool of asynchronous connections: half that of the database pool, since each is held only briefly."""
    return max(1, settings.database_pool // 2)


async def services_of(request: Request) -> Services:
    """The services of the worker that handles a request."""
    services: Services = request.app.state.services
    return services


AppServices = Annotated[Services, Depends(services_of)]
