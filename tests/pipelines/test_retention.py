"""Dagster forgets old runs of routine, and nothing that shows the present state or the history of models."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import pytest

from pipelines.assets.retention import Routine, purge_runs

PARTITIONS = dg.StaticPartitionsDefinition(["000", "001"])
LATER = timedelta(minutes=1)


@dg.op
def nothing() -> None:
    pass


@dg.job(executor_def=dg.in_process_executor)
def tidy_job() -> None:
    nothing()


@dg.asset(partitions_def=PARTITIONS)
def bookings() -> None:
    pass


@dg.asset(partitions_def=PARTITIONS)
def landed() -> None:
    pass


@dg.asset
def model() -> None:
    pass


ROUTINE = Routine(["tidy_job"], [bookings.key], [landed.key])


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


def materialised(instance: dg.DagsterInstance, asset: dg.AssetsDefinition, **options: Any) -> str:
    definitions = dg.Definitions([bookings, landed, model], executor=dg.in_process_executor)
    job = definitions.resolve_implicit_global_asset_job_def()
    return job.execute_in_process(instance=instance, asset_selection=[asset.key], **options).run_id


def run_ids(instance: dg.DagsterInstance) -> set[str]:
    return {run.run_id for run in instance.get_runs()}


def test_old_runs_of_routine_go_with_their_events(instance: dg.DagsterInstance) -> None:
    old = tidy_job.execute_in_process(instance=instance).run_id
    assert purge_runs(instance, ROUTINE, datetime.now(UTC) - LATER) == 0, "it is not old enough"
    assert purge_runs(instance, ROUTINE, datetime.now(UTC) + LATER) == 1
    assert old not in run_ids(instance)
    assert instance.all_logs(old) == []


def test_what_shows_the_present_state_of_a_bucket_stays(instance: dg.DagsterInstance) -> None:
    outdated = materialised(instance, bookings, partition_key="000")
    current = {materialised(instance, bookings, partition_key=partition) for partition in ("000", "001")}
    assert purge_runs(instance, ROUTINE, datetime.now(UTC) + LATER) == 1
    assert run_ids(instance) == current
    assert outdated not in current
    assert instance.get_materialized_partitions(bookings.key) == {"000", "001"}


def test_of_pulls_only_the_last_run_stays(instance: dg.DagsterInstance) -> None:
    materialised(instance, landed, partition_key="000")
    last = materialised(instance, landed, partition_key="001")
    assert purge_runs(instance, ROUTINE, datetime.now(UTC) + LATER) == 1
    assert run_ids(instance) == {last}


def test_trainings_stay(instance: dg.DagsterInstance) -> None:
    trained = {materialised(instance, model) for _ in range(2)}
    assert purge_runs(instance, ROUTINE, datetime.now(UTC) + LATER) == 0
    assert run_ids(instance) == trained
