"""A run of Dagster whose process has died ends soon, whoever else has died with it."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import dagster as dg
import pytest
import yaml  # type: ignore[import-untyped]
from dagster._core.events import DagsterEvent, DagsterEventType
from dagster._core.test_utils import create_run_for_test
from dagster._daemon.monitoring.run_monitoring import monitor_started_run

from pipelines.assets import run_processes
from pipelines.assets.resources import ContextResource
from pipelines.assets.run_processes import RunProcesses
from pipelines.definitions import defs

ROOT = Path(__file__).parents[2]
HOLD = """
import sys, time
from pathlib import Path
from pipelines.assets.run_processes import RunProcesses
RunProcesses(Path(sys.argv[1])).hold(sys.argv[2])
print("held", flush=True)
time.sleep(600)
"""
IS_HELD = """
import sys
from pathlib import Path
from pipelines.assets.run_processes import RunProcesses
print(RunProcesses(Path(sys.argv[1])).is_held(sys.argv[2]))
"""


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    """A Dagster with our launcher and our monitoring, and a storage of its own."""
    settings = yaml.safe_load((ROOT / "dagster.yaml").read_text())
    kept = {name: settings[name] for name in ("run_launcher", "run_monitoring", "telemetry")}
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(kept))
    monkeypatch.setenv("KONTOR_HOME", str(tmp_path))
    with dg.DagsterInstance.from_config(str(tmp_path)) as dagster:
        yield dagster


@contextmanager
def holding(home: Path, run_id: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock of a run."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, home, run_id], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def status_after_a_look(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRunStatus:
    """The status of a run after Dagster's monitoring has looked at it."""
    (record,) = instance.get_run_records(dg.RunsFilter(run_ids=[run_id]))
    if record.dagster_run.status is dg.DagsterRunStatus.STARTED:
        monitor_started_run(instance, None, record, logging.getLogger())  # type: ignore[arg-type]  # no run is resumed
    (record,) = instance.get_run_records(dg.RunsFilter(run_ids=[run_id]))
    return record.dagster_run.status


def started_run(instance: dg.DagsterInstance) -> str:
    run = create_run_for_test(instance, status=dg.DagsterRunStatus.STARTING)
    instance.report_dagster_event(DagsterEvent(DagsterEventType.RUN_START.value, run.job_name), run.run_id)
    return str(run.run_id)


def test_a_run_ends_with_its_process(instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_processes, "START_SECONDS", 0.0)
    run_id, other_id = started_run(instance), started_run(instance)
    with holding(tmp_path, run_id) as process, holding(tmp_path, other_id):
        assert status_after_a_look(instance, run_id) is dg.DagsterRunStatus.STARTED
        process.kill()
        process.wait()
        assert status_after_a_look(instance, run_id) is dg.DagsterRunStatus.FAILURE
        assert status_after_a_look(instance, other_id) is dg.DagsterRunStatus.STARTED


def test_a_run_that_has_just_started_has_time_to_take_its_lock(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = started_run(instance)
    assert status_after_a_look(instance, run_id) is dg.DagsterRunStatus.STARTED
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + run_processes.START_SECONDS + 1)
    assert status_after_a_look(instance, run_id) is dg.DagsterRunStatus.FAILURE


def test_a_process_that_the_run_has_started_does_not_keep_its_lock(tmp_path: Path) -> None:
    run_id = str(uuid4())
    starter = HOLD.replace("time.sleep(600)", "import os; os.fork() or (print(os.getpid(), flush=True), time.sleep(600))")
    process = subprocess.Popen([sys.executable, "-c", starter, tmp_path, run_id], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    child = int(process.stdout.readline())
    try:
        process.wait(10)
        assert not RunProcesses(tmp_path).is_held(run_id)
    finally:
        os.kill(child, signal.SIGKILL)
        process.stdout.close()


def test_the_context_of_flows_holds_the_lock_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONTOR_HOME", str(tmp_path))
    monkeypatch.setenv("KONTOR_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")
    seen: list[str] = []

    @dg.op
    def look(context: dg.OpExecutionContext, kontor: dg.ResourceParam[object]) -> None:
        command = [sys.executable, "-c", IS_HELD, str(tmp_path), context.run_id]
        seen.append(subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout.strip())

    @dg.job(executor_def=dg.in_process_executor, resource_defs={"kontor": ContextResource().get_resource_definition()})
    def looking_job() -> None:
        look()

    looking_job.execute_in_process()
    assert seen == ["True"]


def test_every_job_and_every_asset_has_the_context() -> None:
    """A run without it would hold no lock, and be taken for dead."""
    jobs = [job for job in defs.get_repository_def().get_all_jobs() if not job.name.startswith("__")]
    without = [job.name for job in jobs if "kontor" not in job.get_required_resource_defs()] if jobs else ["no job"]
    assets = defs.resolve_all_asset_specs()
    assert assets
    graph = defs.get_repository_def().asset_graph
    without += [
        node.key.to_user_string()
        for node in graph.asset_nodes
        if node.is_executable and "kontor" not in node.assets_def.required_resource_keys
    ]
    assert not without
