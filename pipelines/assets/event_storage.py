"""Where Dagster keeps its runs and events: in PostgreSQL by its own classes, but for the events that a run plans.

Before a run begins, Dagster notes for each asset and partition that it is planned: 650 events, one by one, each on two
connections of its own. Here they are one statement for each batch (`DAGSTER_EVENT_BATCH_SIZE`), as Dagster itself does with the
partitions that a run has made.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from dagster import DagsterEventType, EventLogEntry
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage, PostgresEventLogStorage
from dagster_postgres.utils import pg_url_from_config

PLANNED = DagsterEventType.ASSET_MATERIALIZATION_PLANNED


class EventStorage(PostgresEventLogStorage):
    """Dagster's own storage of events, which stores planned materialisations together."""

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Stores events of any types that come in batches."""
        planned = [event for event in events if event.get_dagster_event().event_type == PLANNED]
        others = [event for event in events if event.get_dagster_event().event_type != PLANNED]
        if planned:
            self._store_planned(planned)
        if others:
            super().store_event_batch(others)

    def _store_planned(self, events: Sequence[EventLogEntry]) -> None:
        with self._connect() as connection:
            statement = self.prepare_insert_event_batch(events).returning(SqlEventLogStorageTable.c.id)
            ids = connection.execute(statement).scalars().all()
        latest = {event.get_dagster_event().asset_key: (event, number) for event, number in zip(events, ids, strict=True)}
        with self.index_transaction() as connection:
            for event, number in latest.values():
                self._store_asset_event(connection, event, number)


class DagsterStorage(DagsterPostgresStorage):
    """Dagster's own storage with `EventStorage`. `dagster.yaml` names it."""

    def __init__(self, postgres_url: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(postgres_url, inst_data=inst_data)
        self._event_log_storage = EventStorage(postgres_url)

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]) -> Self:
        """The storage at the address of `dagster.yaml`."""
        return cls(pg_url_from_config(config_value), inst_data)
