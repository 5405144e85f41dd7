"""What a run plans is written in a few statements, and Dagster sees what it would see had it written every event by itself."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml  # type: ignore[import-untyped]
from sqlalchemy import event, make_url
from sqlalchemy.engine import Engine

from pipelines.assets.event_storage import EventStorage
from tests.support.databases import migrated_database
from warehouse.settings import Settings

ROOT = Path(__file__).parents[2]
DAGSTER_WAY = {"postgres": {"postgres_url": {"env": "KONTOR_DAGSTER_DATABASE_URL"}}}
OUR_WAY = yaml.safe_load((ROOT / "dagster.yaml").read_text())["storage"]
PARTITIONS = dg.StaticPartitionsDefinition([f"{number:03}" for number in range(40)])
Opened = Callable[[dict[str, Any]], AbstractContextManager[dg.DagsterInstance]]


@dg.asset(
    partitions_def=PARTITIONS,
    backfill_policy=dg.BackfillPolicy.single_run(),
    check_specs=[dg.AssetCheckSpec("good", asset="first")],
)
def first() -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    yield dg.MaterializeResult(check_results=[dg.AssetCheckResult(passed=True, check_name="good")])


@dg.asset(deps=[first], partitions_def=PARTITIONS, backfill_policy=dg.BackfillPolicy.single_run())
def second() -> None:
    raise RuntimeError("what was planned for it stays planned")


@dg.asset
def third() -> None:
    pass


ASSETS = (first, second, third)


@pytest.fixture
def opened(homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """A Dagster with this storage, in a database that all storages of a test share."""
    with migrated_database(Settings(_env_file=None, home=homes / tmp_path.name, database_url=None)) as where:
        address = make_url(where.dagster).set(drivername="postgresql+psycopg2").render_as_string(hide_password=False)
        monkeypatch.setenv("KONTOR_DAGSTER_DATABASE_URL", address)
        monkeypatch.setenv("DAGSTER_EVENT_BATCH_SIZE", "64")

        @contextmanager
        def opening(storage: dict[str, Any]) -> Iterator[dg.DagsterInstance]:
            (tmp_path / "dagster.yaml").write_text(yaml.safe_dump({"storage": storage, "telemetry": {"enabled": False}}))
            with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
                yield instance

        yield opening


def run_of_all(instance: dg.DagsterInstance) -> str:
    """A run of all partitions, of which the second asset fails."""
    job = dg.Definitions(ASSETS, executor=dg.in_process_executor).resolve_implicit_global_asset_job_def()
    tags = {"dagster/asset_partition_range_start": "000", "dagster/asset_partition_range_end": "039"}
    return job.execute_in_process(instance=instance, tags=tags, raise_on_error=False).run_id


def events_of(instance: dg.DagsterInstance, run_id: str) -> list[tuple[Any, ...]]:
    """The events of a run that are about assets and their checks."""
    entries = [entry.get_dagster_event() for entry in instance.all_logs(run_id) if entry.is_dagster_event]
    about_assets = [entry for entry in entries if "ASSET" in entry.event_type_value]
    return sorted(
        (entry.event_type_value, str(entry.asset_key), entry.partition or "", entry.step_key or "") for entry in about_assets
    )


def states_of(instance: dg.DagsterInstance) -> list[tuple[Any, ...]]:
    """What Dagster's pages know of the assets, but for times."""
    keys = [asset.key for asset in ASSETS]
    latest = instance.event_log_storage.get_latest_materialization_events(keys)
    last_runs = {record.asset_entry.asset_key: record.asset_entry.last_run_id for record in instance.get_asset_records(keys)}
    return [
        (
            key.to_user_string(),
            latest.get(key) is not None,
            instance.get_materialized_partitions(key),
            last_runs[key],
            (planned := instance.event_log_storage.get_latest_planned_materialization_info(key, "007")) is not None
            and planned.run_id,
        )
        for key in keys
    ]


def test_dagster_sees_the_same_events_and_states(opened: Opened) -> None:
    with opened(DAGSTER_WAY) as instance:
        dagster_run = run_of_all(instance)
        dagster_events, dagster_states = events_of(instance, dagster_run), states_of(instance)
    with opened(OUR_WAY) as instance:
        assert isinstance(instance.event_log_storage, EventStorage)
        our_run = run_of_all(instance)
        assert events_of(instance, our_run) == dagster_events
        our_states = states_of(instance)
    planned = [entry for entry in dagster_events if entry[0] == "ASSET_MATERIALIZATION_PLANNED"]
    assert len(planned) == 2 * 40 + 1
    assert [tuple(our_run if value == dagster_run else value for value in state) for state in dagster_states] == our_states


@contextmanager
def counted_connections() -> Iterator[list[object]]:
    """The connections to databases that are opened meanwhile."""
    connections: list[object] = []

    def note(connection: object, _record: object) -> None:
        connections.append(connection)

    event.listen(Engine, "connect", note)
    yield connections
    event.remove(Engine, "connect", note)


def test_what_a_run_plans_takes_few_connections(opened: Opened) -> None:
    counts = {}
    for name, storage in {"theirs": DAGSTER_WAY, "ours": OUR_WAY}.items():
        with opened(storage) as instance, counted_connections() as connections:
            run_of_all(instance)
            counts[name] = len(connections)
    assert counts["ours"] < counts["theirs"] - 100
