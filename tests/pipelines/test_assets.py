"""The assets as Dagster runs them: one run over many buckets, checks that block, runs that are killed or run at the same time."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipelines.definitions import FIRST, LAST, _bucket_requests, _buckets_to_look_at, changed_buckets, defs
from pipelines.results import checks, tags, tasks
from pipelines.results.checks import CheckResult
from tests.support.stack import Customer, Stack
from warehouse.lake import tables
from warehouse.lake.buckets import bucket_of, key
from warehouse.lake.lake import Lake
from warehouse.stores import accesses

BUCKETS = 64
AGAIN = """
from pipelines.results import tasks
while True:
    tasks.export_buckets([{0}], everything=True); tasks.tag_buckets([{0}], everything=True)
    tasks.analyse_buckets([{0}], everything=True); tasks.publish_buckets([{0}])
    print("once more", flush=True)
"""


@pytest.fixture
def settings(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The processes of this test work on the running service's house."""
    for name, value in stack.told.items():
        monkeypatch.setenv(name, value)
    tasks._context.cache_clear()
    yield
    tasks._context().database.close()
    tasks._context.cache_clear()


@pytest.fixture(scope="module")
def customer(stack: Stack) -> Customer:
    found = stack.tenant().customer()
    found.connected("demo1")
    return found


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as found:
        yield found


def run(instance: dg.DagsterInstance, first: int, last: int, **config: Any) -> dg.ExecuteInProcessResult:
    job = defs.resolve_job_def("analyses_job")
    ops = {name: {"config": config} for name in ("transactions", "transaction_tags", "analyses")} if config else {}
    return job.execute_in_process(
        run_config={"ops": ops}, instance=instance, tags={FIRST: key(first), LAST: key(last)}, raise_on_error=False
    )


def brought_up_to_date(*buckets: int) -> None:
    tasks.export_buckets(buckets)
    tasks.tag_buckets(buckets)
    tasks.analyse_buckets(buckets)
    tasks.publish_buckets(buckets)


def answer(customer: Customer) -> tuple[str, bytes]:
    (access,) = customer.read("/bankzugaenge")
    product = customer.access(access)["bankprodukte"][0]["id"]
    found = customer.get(f"/bankzugaenge/{access}/{product}/kontoumsaetze", params={"tag": "true"})
    assert found.status_code == 200
    return found.headers["X-Analysis-Source"], found.content


@pytest.mark.usefixtures("settings")
def test_one_run_does_many_buckets_and_tells_of_each(customer: Customer, instance: dg.DagsterInstance) -> None:
    mine = bucket_of(customer.user_id, BUCKETS)
    first = max(0, mine - 1)
    assert run(instance, first, mine).success
    for asset in ("transactions", "transaction_tags", "served_results"):
        events = instance.fetch_materializations(dg.AssetKey(asset), limit=10).records
        assert {event.partition_key for event in events} == {key(bucket) for bucket in range(first, mine + 1)}
    of_mine = next(event for event in events if event.partition_key == key(mine))
    assert of_mine.asset_materialization is not None
    assert str(of_mine.asset_materialization.metadata["dagster/row_count"].value) >= "1"
    assert answer(customer)[0] == "precomputed"


@pytest.mark.usefixtures("settings")
def test_a_failing_check_keeps_results_from_being_published(
    customer: Customer, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, stack: Stack
) -> None:
    mine = bucket_of(customer.user_id, BUCKETS)
    stack.sql("DELETE FROM results WHERE user_id = :user", user=customer.user_id)
    with stack.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
        accesses.touch(owner)  # what the service remembers is of an older state
    monkeypatch.setattr(
        checks,
        "check_tags",
        lambda *_: [
            CheckResult("complete", passed=False),
            CheckResult("sign_rule", passed=True),
            CheckResult("drift", passed=True),
        ],
    )
    assert not run(instance, mine, mine).success
    assert stack.sql("SELECT 1 FROM results WHERE user_id = :user", user=customer.user_id) == []
    assert answer(customer)[0] == "live"


@pytest.mark.usefixtures("settings")
def test_two_runs_at_once_end_as_one(customer: Customer) -> None:
    mine = bucket_of(customer.user_id, BUCKETS)
    lake = Lake(tasks._context().settings.lake_path)

    def once(_: int) -> None:
        tasks.export_buckets([mine], everything=True)
        tasks.tag_buckets([mine], everything=True)
        tasks.analyse_buckets([mine], everything=True)
        tasks.publish_buckets([mine])

    once(0)
    before = lake.read(tables.TRANSACTION_TAGS, [mine])
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(once, range(6)))
    assert lake.read(tables.TRANSACTION_TAGS, [mine]).equals(before)
    assert answer(customer)[0] == "precomputed"


@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.thorough)])
@pytest.mark.usefixtures("settings")
def test_a_run_that_is_killed_leaves_old_or_new_and_the_next_one_completes(customer: Customer, kills: int) -> None:
    mine = bucket_of(customer.user_id, BUCKETS)
    lake = Lake(tasks._context().settings.lake_path)
    brought_up_to_date(mine)
    expected, chance = answer(customer)[1], random.Random(kills)
    before = lake.read(tables.TRANSACTION_TAGS, [mine])
    for _ in range(kills):
        with subprocess.Popen([sys.executable, "-c", AGAIN.format(mine)], env=os.environ, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()  # everything is loaded: from here on it writes all the time
            time.sleep(chance.random())
            child.send_signal(signal.SIGKILL)
        assert lake.read(tables.TRANSACTION_TAGS, [mine]).equals(before)
        assert answer(customer)[1] == expected
    brought_up_to_date(mine)
    assert answer(customer) == ("precomputed", expected)


@pytest.mark.usefixtures("settings")
def test_the_sensor_asks_for_buckets_that_have_changed_and_only_for_them(
    customer: Customer, stack: Stack, instance: dg.DagsterInstance
) -> None:
    mine = bucket_of(customer.user_id, BUCKETS)
    stack.sql("DELETE FROM results WHERE user_id = :user", user=customer.user_id)
    context = dg.build_sensor_context(instance=instance, resources={"kontor": tasks._context()})
    asked = changed_buckets(context)
    assert isinstance(asked, dg.SensorResult)
    assert any(request.tags[FIRST] <= key(mine) <= request.tags[LAST] for request in asked.run_requests or ())
    brought_up_to_date(*range(BUCKETS))
    assert isinstance(
        changed_buckets(dg.build_sensor_context(instance=instance, resources={"kontor": tasks._context()})), dg.SkipReason
    )


@pytest.mark.parametrize(
    ("buckets", "ranges"),
    [([], []), ([5], [(5, 5)]), ([0, 1, 2, 9, 11, 12, 63], [(0, 2), (9, 9), (11, 12), (63, 63)])],
)
def test_exactly_the_changed_buckets_are_planned(buckets: list[int], ranges: list[tuple[int, int]]) -> None:
    planned = [(request.tags[FIRST], request.tags[LAST]) for request in _bucket_requests(buckets)]
    assert planned == [(key(first), key(last)) for first, last in ranges]


@pytest.mark.parametrize(
    ("stale", "is_first_of_day", "planned"), [([], False, []), ([], True, [0]), ([7], False, [7]), ([7], True, [7])]
)
def test_after_a_pull_nothing_is_planned_without_a_change_but_one_look_a_day(
    stale: list[int], is_first_of_day: bool, planned: list[int]
) -> None:
    assert _buckets_to_look_at(stale, is_first_of_day=is_first_of_day) == planned


@pytest.mark.parametrize(("again", "moved", "share"), [(0, 0, 0), (10, 0, 0), (10, 5, 0.5)])
def test_drift_is_the_share_that_moved(tmp_path: Path, again: int, moved: int, share: float) -> None:
    found = {finding.name: finding for finding in checks.check_tags(Lake(str(tmp_path)), [], again, moved)}
    assert (found["drift"].facts["share"], found["drift"].passed) == (share, share <= checks.MAX_DRIFT_SHARE)


def test_the_tags_that_are_served_have_the_name_of_their_table() -> None:
    assert tables.TRANSACTION_TAGS.name == tags.NAME


def test_the_webserver_listens_only_where_others_cannot_enter(tmp_path: Path) -> None:
    from pipelines import webserver  # takes seconds to load, in every process that collects tests

    tmp_path.chmod(0o755)
    with pytest.raises(SystemExit, match="0700"):
        webserver.serve(None, tmp_path / "socket")
