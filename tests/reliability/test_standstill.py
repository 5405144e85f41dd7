"""Work that stands still and stores that do not answer are told at once: dead workers, locked tables, a frozen database."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import httpx
import psutil
import psycopg
import pytest
from typer.testing import CliRunner

from api.cli import app
from pipelines.context import Context
from pipelines.definitions import FIRST, LAST, defs
from pipelines.fetching import pulls
from pipelines.fetching.slots import SLOT_FORMAT, slot_of
from tests.support.stack import Customer, Stack, running_stack, start, wait_until
from warehouse.lake.buckets import bucket_of, key
from warehouse.settings import Settings

ASKERS = 12
WORKERS = {"KONTOR_WORKERS": "2", "KONTOR_WORKER_LOST_SECONDS": "3"}
MAKE_DUE = "UPDATE accesses SET attempted_at = now() - interval '1 day', slot_at = NULL WHERE user_id = :user"
BEGIN_FETCH_OF_NOBODY = """WITH begun AS (
  UPDATE accesses SET slot_at = :slot, fetch_id = id WHERE user_id = :user RETURNING fetch_id
) INSERT INTO procrastinate_jobs (queue_name, task_name, args)
  SELECT 'nobody', 'none', jsonb_build_object('fetch', fetch_id::text) FROM begun"""
WAITING = "SELECT count(*) FROM pg_locks WHERE relation = 'sealed_values'::regclass AND NOT granted"


@pytest.fixture(scope="module")
def fragile(homes: Path) -> Iterator[Stack]:
    """A service of these tests' own, to be broken, which soon counts its workers as dead."""
    with running_stack(homes / "standstill", **WORKERS) as running:
        yield running


@pytest.fixture
def customer(fragile: Stack) -> Customer:
    made = fragile.tenant().customer()
    made.connected("demo1")
    return made


@pytest.fixture
def settings(fragile: Stack, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in fragile.told.items():
        monkeypatch.setenv(name, value)
    return Settings()


@pytest.fixture
def dead_worker(fragile: Stack, customer: Customer) -> Iterator[Customer]:
    """A customer with data, after the only worker was killed."""
    fragile.worker.kill()
    fragile.worker.wait()
    yield customer
    if fragile.worker.poll() is not None:
        fragile.worker = start("pipelines.worker", fragile.told, fragile.worker_log)
    wait_until(lambda: readiness(fragile)[1]["checks"]["work"] == "ok", 120)


def readiness(stack: Stack) -> tuple[int, dict[str, Any]]:
    answer = httpx.get(f"{stack.base_url}/ready", timeout=60)
    return answer.status_code, answer.json()


def metric(stack: Stack, line: str) -> float:
    """The value of a metric; 0 if there is none yet."""
    lines = httpx.get(f"{stack.base_url}/metrics", timeout=60).text.splitlines()
    return next((float(other.rpartition(" ")[2]) for other in lines if other.startswith(line)), 0.0)


def test_a_dead_worker_is_told_by_ready_metrics_and_status(fragile: Stack, dead_worker: Customer, settings: Settings) -> None:
    wait_until(lambda: readiness(fragile)[1]["checks"]["work"] == "degraded", 60)
    status, body = readiness(fragile)
    assert (status, body["status"]) == (200, "degraded"), "reading goes on without workers"
    assert body["reasons"]["work"].startswith("no worker gives signs of life, the last one ")
    assert metric(fragile, 'kontor_workers{state="alive"}') == 0
    assert metric(fragile, 'kontor_check_severity{check="work"}') == 1
    assert metric(fragile, "kontor_worker_heartbeat_age_seconds") > settings.worker_lost_seconds
    told = CliRunner().invoke(app, ["status"])
    assert told.exit_code == 1
    assert "work stands still" in told.stdout
    assert '"workers": "no worker gives signs of life' in CliRunner().invoke(app, ["status", "--json"]).stdout
    fragile.worker = start("pipelines.worker", fragile.told, fragile.worker_log)
    wait_until(lambda: readiness(fragile)[1]["checks"]["work"] == "ok", 60)
    assert "work goes on" in CliRunner().invoke(app, ["status"]).stdout


def test_a_pull_fails_without_a_worker_and_succeeds_with_one(fragile: Stack, dead_worker: Customer, settings: Settings) -> None:
    fragile.sql(MAKE_DUE, user=dead_worker.user_id)
    slot = slot_of(datetime.now(UTC), settings.zone).strftime(SLOT_FORMAT)
    partition = f"{key(bucket_of(dead_worker.user_id, settings.buckets))}|{slot}"
    job = defs.resolve_job_def("pull_job")
    with dg.DagsterInstance.ephemeral() as instance:
        tags = {FIRST: partition, LAST: partition}
        run = job.execute_in_process(instance=instance, tags=tags, raise_on_error=False)
        assert not run.success
        assert not instance.fetch_materializations(dg.AssetKey("landing"), limit=1).records, "landing does not count as fresh"
        failure = next(event for event in run.all_events if event.event_type_value == "STEP_FAILURE")
        assert "no worker is alive; 1 fetches have not run (Demo" in str(failure.event_specific_data)
        before = metric(fragile, 'kontor_fetches_total{outcome="fetched",provider="Demo')
        fragile.worker = start("pipelines.worker", fragile.told, fragile.worker_log)
        wait_until(lambda: metric(fragile, 'kontor_workers{state="alive"}') == 1, 120)
        again = job.execute_in_process(instance=instance, tags=tags, raise_on_error=False)
        assert again.success
        checks = {check.check_name: check for check in again.get_asset_check_evaluations()}
        assert checks["share_fetched"].metadata["fetched"].value not in (None, 0)
        assert "age_of_data" in checks
    wait_until(lambda: metric(fragile, 'kontor_fetches_total{outcome="fetched",provider="Demo') > before, 60)


def test_fetches_that_hang_fail_a_pull(fragile: Stack, customer: Customer, settings: Settings) -> None:
    """The worker lives, but the fetch of the slot never ends: here because its job is in a queue that no worker looks at."""
    now = datetime.now(UTC)
    context = Context.of(settings.model_copy(update={"work_late_seconds": 2.0}))
    fragile.sql(BEGIN_FETCH_OF_NOBODY, user=customer.user_id, slot=slot_of(now, settings.zone))
    try:
        with pytest.raises(pulls.PullStandsStill, match="no fetch has ended for"):
            pulls.pull(context, slot_of(now, settings.zone).strftime(SLOT_FORMAT), now)
    finally:
        context.database.close()
        fragile.sql("DELETE FROM procrastinate_jobs WHERE queue_name = 'nobody'")
        fragile.sql("UPDATE accesses SET fetch_id = NULL WHERE user_id = :user", user=customer.user_id)


def test_a_failed_fetch_is_a_warning_with_its_provider(fragile: Stack) -> None:
    customer = fragile.tenant().customer()
    customer.add("demo1", pin="wrong")
    lines = [line for line in fragile.log_lines() if line["event"] == "fetch_failed"]
    assert [(line["level"], line["provider"], line["code"]) for line in lines] == [
        ("warning", "00000000-0000-0000-0000-000000000000", "BA1011")
    ]
    wait_until(lambda: metric(fragile, 'kontor_fetches_total{outcome="BA1011",provider="Demo') >= 1, 60)


def test_a_locked_table_is_told_and_asked_about_once(fragile: Stack) -> None:
    wait_until(lambda: readiness(fragile)[0] == 200, 60)
    with psycopg.connect(fragile.where.migration) as holder, ThreadPoolExecutor(ASKERS) as pool:
        holder.execute("LOCK TABLE sealed_values IN ACCESS EXCLUSIVE MODE")
        answers = [pool.submit(readiness, fragile) for _ in range(ASKERS)]
        most_waiting = 0
        while not all(answer.done() for answer in answers):
            most_waiting = max(most_waiting, fragile.sql(WAITING)[0][0])
        for status, body in (answer.result() for answer in answers):
            assert status == 503
            assert body["reasons"]["keys"] == "the vault keys cannot be checked"
            assert body["checks"]["database"] == "ok"
        assert most_waiting <= int(WORKERS["KONTOR_WORKERS"]), "each process asks once, for all who ask it"
    wait_until(lambda: readiness(fragile)[0] == 200, 60)


def test_a_frozen_database_is_told_in_time(fragile: Stack) -> None:
    """Nobody is refused and nothing is answered: only the limit of the look itself ends the wait."""
    wait_until(lambda: readiness(fragile)[0] == 200, 60)
    postmaster = psutil.Process(int((fragile.home / "postgres" / "postmaster.pid").read_text().splitlines()[0]))
    processes = [postmaster, *postmaster.children()]
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        answers = [readiness(fragile) for _ in range(2)]
        text = httpx.get(f"{fragile.base_url}/metrics", timeout=60).text
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)
    for status, body in answers:
        assert (status, body["checks"]["database"], body["checks"]["lake"]) == (503, "unavailable", "ok")
        assert body["reasons"]["database"] == "no answer within 4 seconds"
    assert 'kontor_check_severity{check="database"} 2.0' in text
    assert "kontor_requests_total" in text, "what needs no database is still told"
    wait_until(lambda: readiness(fragile)[0] == 200, 60)
