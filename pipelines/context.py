"""The context of flows, their first argument. The caller of a flow (a worker, a Dagster job, a command, a test) opens it."""

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias
from uuid import UUID

from pipelines.banks.base import Connector
from pipelines.banks.connectors import connectors
from pipelines.banks.sessions import BankSessions
from warehouse.errors import KontorError
from warehouse.lake.lake import Lake
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.work_state import FetchSum
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores.webhooks import NewEvent

PATIENCE_SECONDS = 120.0
"""How long a flow waits for a connection or a restarting database: no request waits for a flow, and it holds fetched data."""

PublishResults: TypeAlias = Callable[[Owner], list[NewEvent]]
"""Publishes the results of a user in the owner's transaction; returns what webhooks are to be told of them."""


class ResultMaker(Protocol):
    """Makes the results of users whose data change."""

    def turn(self) -> AbstractContextManager[PublishResults | None]:
        """Waits until no other user's results are made, and keeps it so during the block; None at once if that may take
        long.
        """


FetchSums: TypeAlias = dict[tuple[UUID, str], FetchSum]
"""How fetches ended, by provider and outcome."""


class FetchTally:
    """Counts how fetches ended in this process, by provider and outcome, until the worker stores the counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: FetchSums = {}

    def add(self, provider: UUID, outcome: str, seconds: float = 0.0) -> None:
        """Counts a fetch, whose session took this long."""
        self.put_back({(provider, outcome): FetchSum(1, seconds)})

    def take(self) -> FetchSums:
        """All counts; they start again at zero."""
        with self._lock:
            sums, self._sums = self._sums, {}
        return sums

    def put_back(self, sums: FetchSums) -> None:
        """Adds counts, such as those that could not be stored."""
        with self._lock:
            for key, total in sums.items():
                self._sums[key] = self._sums.get(key, FetchSum()) + total


@dataclass(frozen=True)
class Context:
    settings: Settings
    database: Database
    vault: Vault
    connectors: Mapping[str, Connector]
    sessions: BankSessions
    lake: Lake
    results: ResultMaker | None = None
    """None where nobody waits for results."""
    tally: FetchTally = field(default_factory=FetchTally)

    @classmethod
    def of(cls, settings: Settings) -> "Context":
        """The context of these settings, which must have the address of a database."""
        if settings.database_url is None:
            raise KontorError("no database: start with 'kontor up', or set KONTOR_DATABASE_URL")
        lake = Lake(settings.lake_path)
        lake.prepare(settings.buckets)
        database = Database(settings.database_url, pool=settings.database_pool, wait_seconds=PATIENCE_SECONDS)
        return cls(
            settings,
            database,
            Vault(settings),
            connectors(settings),
            BankSessions(given_up_limit=2 * settings.bank_calls_at_once),
            lake,
        )
