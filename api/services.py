"""What a worker holds for all its requests: settings, database, vault, lake and the lane for slow password work."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, ParamSpec, TypeVar

from fastapi import Depends, Request

from warehouse import hashing
from warehouse.callers import Callers
from warehouse.database import Database
from warehouse.errors import KontorError, Throttled
from warehouse.lake import Lake
from warehouse.settings import Settings
from warehouse.vault import Vault

P = ParamSpec("P")
T = TypeVar("T")


class Lane:
    """Runs slow work beside the event loop and the shared threads: few at a time, and not more waiting than is sensible."""

    def __init__(self, name: str, at_once: int, waiting: int) -> None:
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

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class Services:
    settings: Settings
    database: Database
    callers: Callers
    vault: Vault
    lake: Lake
    passwords: Lane

    @classmethod
    def of(cls, settings: Settings) -> "Services":
        """The services of a worker. The database address must be set: starting an embedded server is the command line's task."""
        if settings.database_url is None:
            raise KontorError("no database: start the API with 'kontor up' or 'kontor serve', or set KONTOR_DATABASE_URL")
        database = Database(settings.database_url, pool=settings.database_pool, wait_seconds=settings.database_wait_seconds)
        return cls(
            settings=settings,
            database=database,
            callers=Callers(database.url, pool=settings.database_pool, wait_seconds=settings.database_wait_seconds),
            vault=Vault(settings),
            lake=Lake(settings.lake_path),
            passwords=Lane("passwords", settings.password_checks_at_once, settings.password_checks_waiting),
        )

    async def open(self) -> None:
        """Takes up work. Fails, and with it the start of the service, if there is no vault key."""
        self.vault.ring()
        self.lake.prepare()
        await self.callers.open()
        await self.passwords.run(hashing.decoy)

    async def close(self) -> None:
        self.passwords.close()
        await self.callers.close()
        self.database.close()


async def services(request: Request) -> Services:
    """The services of the worker that handles a request."""
    found: Services = request.app.state.services
    return found


Held = Annotated[Services, Depends(services)]
