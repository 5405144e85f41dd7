"""The engine gives the same results everywhere, and what dies on the way costs time, never data.

`dask` is here a cluster that the operator runs; the one that the engine starts itself has its own test, since it starts slowly.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import psutil
import pytest
import structlog
from pydantic import ValidationError

from pipelines.engine import run as engine
from pipelines.engine.executors import THREAD_LIMITS, TaskExecutor, keeping_executor
from pipelines.engine.progress import bar
from tests.support.engine_tasks import (
    FATAL,
    PATIENCE_SECONDS,
    endless,
    failing,
    fatal,
    fatal_once,
    last_first,
    panicking,
    process,
    square,
    threads,
    unsendable,
    wait_for,
)
from warehouse.errors import KontorError
from warehouse.settings import Settings

ROOT = Path(__file__).parents[2]
ITEMS = range(12)
CLUSTER = """if __name__ == "__main__":
    import sys, dask, distributed
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"})
    options = {"dashboard": False, "dashboard_address": "127.0.0.1:0", "allowed_failures": 0}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, scheduler_kwargs=options) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


class Forgetful(Executor):
    """Takes tasks and never does them."""

    def submit(self, *_given: Any) -> Future[Any]:  # type: ignore[override]
        return Future()


def _until_failure(results: Iterator[tuple[int, Any]]) -> tuple[list[tuple[int, Any]], engine.TasksFailed]:
    """What was handed out before the failure, and the failure."""
    found: list[tuple[int, Any]] = []
    try:
        found.extend(results)
    except engine.TasksFailed as failure:
        return found, failure
    raise AssertionError("nothing failed")


def _limits() -> list[str | None]:
    return [os.environ.get(name) for name in THREAD_LIMITS]


def _children(process: psutil.Process) -> set[psutil.Process]:
    """Its processes, without the one in which Python keeps account of semaphores."""
    return {child for child in process.children() if "resource_tracker" not in " ".join(child.cmdline())}


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a cluster in processes of its own, which ends when it cannot read any more."""
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        yield run.stdout.readline().strip()
        run.communicate()


def _settings(name: str, request: pytest.FixtureRequest) -> Settings:
    return Settings.model_validate(
        {
            "engine": name,
            "engine_workers": 2,
            "dask_scheduler": request.getfixturevalue("scheduler") if name == "dask" else None,
        }
    )


@pytest.fixture(params=["inline", "processes", "dask"])
def everywhere(request: pytest.FixtureRequest) -> Settings:
    return _settings(request.param, request)


@pytest.fixture(params=["processes", "dask"])
def elsewhere(request: pytest.FixtureRequest) -> Settings:
    return _settings(request.param, request)


@pytest.fixture
def processes() -> Settings:
    return Settings(engine="processes", engine_workers=2)


def test_results_and_their_order_are_the_same_everywhere_and_progress_is_counted(everywhere: Settings) -> None:
    told: list[tuple[int, int]] = []
    with structlog.testing.capture_logs() as logged:
        results = list(engine.run(square, ITEMS, everywhere, lambda done, tasks: told.append((done, tasks))))
    assert results == [(number, number * number) for number in ITEMS]
    assert told == [(done, len(ITEMS)) for done in range(1, len(ITEMS) + 1)]
    assert logged[0] == {"event": "engine starts", "log_level": "info", "engine": everywhere.engine, "tasks": len(ITEMS)}
    assert logged[-1] == {"event": "engine works", "log_level": "info", "done": len(ITEMS), "tasks": len(ITEMS)}


def test_results_come_in_the_order_of_the_items_whatever_finishes_first(elsewhere: Settings, tmp_path: Path) -> None:
    assert list(engine.run(partial(last_first, tmp_path), range(4), elsewhere)) == [(n, n) for n in range(4)]


def test_without_items_nothing_happens(everywhere: Settings) -> None:
    assert list(engine.run(square, [], everywhere)) == []


def test_a_worker_that_is_killed_costs_no_result(elsewhere: Settings, tmp_path: Path) -> None:
    results = list(engine.run(partial(fatal_once, tmp_path), ITEMS, elsewhere))
    assert (tmp_path / "died").exists()
    assert results == [(number, number * number) for number in ITEMS]


def test_a_task_that_always_kills_its_worker_is_named_and_all_others_are_done(elsewhere: Settings) -> None:
    results, failure = _until_failure(engine.run(fatal, ITEMS, elsewhere))
    assert results == [(number, number * number) for number in ITEMS if number != FATAL]
    assert str(failure) == "1 of 12 tasks failed: 3 (pipelines.engine.run.WorkerDied)"


def test_what_a_crew_holds_but_nobody_works_on_waits_for_another_crew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SILENCE_SECONDS", 0.0)
    jobs = [engine._Job(number, number) for number in ITEMS]
    waiting = list(jobs)
    assert list(engine._run_until_broken(TaskExecutor(Forgetful(), window=2, stuck=lambda: True), square, waiting)) == []  # type: ignore[arg-type]
    assert sorted(job.index for job in waiting) == list(ITEMS)
    assert [job.losses for job in jobs] == [1, 1] + [0] * 10


def test_tasks_that_fail_are_named_without_what_their_errors_say(everywhere: Settings, capfd: pytest.CaptureFixture[str]) -> None:
    results, caught = _until_failure(engine.run(failing, ITEMS, everywhere))
    assert results == [(number, number * number) for number in ITEMS if number % 4 != 1]
    assert [failure.item for failure in caught.failures] == [1, 5, 9]
    assert all(failure.error["frames"][-1].endswith(" failing") for failure in caught.failures)
    assert caught.__cause__ is caught.__context__ is None
    said = capfd.readouterr()
    assert "Fussy" in str(caught)
    assert "Mustermann" not in str(caught) + said.out + said.err


def test_a_panic_of_polars_is_a_failure_like_any_other(everywhere: Settings) -> None:
    with pytest.raises(engine.TasksFailed, match=r"1 of 12 tasks failed: 3 \(.*PanicException\)"):
        list(engine.run(panicking, ITEMS, everywhere))


def test_a_result_that_cannot_be_sent_is_a_failure_of_its_task_alone(processes: Settings) -> None:
    with pytest.raises(engine.TasksFailed, match="1 of 12 tasks failed: 3 "):
        list(engine.run(unsendable, ITEMS, processes))


def test_processes_share_the_cores_among_them_and_ours_keeps_its_environment(processes: Settings) -> None:
    before = _limits()
    share = max(1, len(os.sched_getaffinity(0)) // 2)
    assert {found for _, found in engine.run(threads, range(4), processes)} == {(share, str(share))}
    assert _limits() == before


def _process_of(settings: Settings) -> int:
    """The process that runs a task."""
    ((_, number),) = engine.run(process, [0], settings)
    return number


def test_kept_processes_serve_the_next_run_and_end_with_the_context(processes: Settings) -> None:
    others = _children(psutil.Process())
    with keeping_executor():
        with keeping_executor():
            first = _process_of(processes)
        assert _process_of(processes) == first
        assert {child.pid for child in _children(psutil.Process()) - others} == {first}
    assert _children(psutil.Process()) == others
    assert _process_of(processes) != first


def test_a_run_that_needs_more_kept_workers_gets_them(processes: Settings, tmp_path: Path) -> None:
    with keeping_executor():
        assert _process_of(processes) != os.getpid()
        assert list(engine.run(partial(last_first, tmp_path), range(4), processes)) == [(n, n) for n in range(4)]


def test_kept_processes_of_which_one_died_are_replaced(processes: Settings, tmp_path: Path) -> None:
    with keeping_executor():
        for turn in range(2):
            (tmp_path / str(turn)).mkdir()
            results = list(engine.run(partial(fatal_once, tmp_path / str(turn)), ITEMS, processes))
            assert results == [(number, number * number) for number in ITEMS]
        assert _process_of(processes) != os.getpid()


def test_closing_the_results_ends_kept_processes_too(processes: Settings, tmp_path: Path) -> None:
    others = _children(psutil.Process())
    with keeping_executor():
        results = engine.run(partial(endless, tmp_path), ITEMS, processes)
        assert next(results) == (0, 0)
        results.close()
        assert _children(psutil.Process()) == others
        assert _process_of(processes) != os.getpid()
    assert _children(psutil.Process()) == others


def test_closing_the_results_ends_all_processes(processes: Settings, tmp_path: Path) -> None:
    others = _children(psutil.Process())
    results = engine.run(partial(endless, tmp_path), ITEMS, processes)
    assert next(results) == (0, 0)
    assert len(_children(psutil.Process()) - others) == 2
    results.close()
    assert _children(psutil.Process()) == others


def test_an_interruption_ends_all_processes(processes: Settings, tmp_path: Path) -> None:
    others = _children(psutil.Process())

    def interrupt(_done: int, _tasks: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        next(engine.run(partial(endless, tmp_path), ITEMS, processes, interrupt))
    assert _children(psutil.Process()) == others


def _hears_of_signals() -> None:
    """What was started in the background, or after a test that meddled with signals, ignores them, and so would its children."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_its_parent_however_that_ends(end: signal.Signals, tmp_path: Path) -> None:
    code = f"""if True:
        from functools import partial
        from pathlib import Path
        from pipelines.engine import run as engine
        from tests.support.engine_tasks import endless
        from warehouse.settings import Settings
        list(engine.run(partial(endless, Path({str(tmp_path)!r})), range(1, 4), Settings(engine="processes", engine_workers=2)))
    """
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        start_new_session=True,
        preexec_fn=_hears_of_signals,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as parent:
        try:
            wait_for(lambda: (tmp_path / "started-1").exists() and (tmp_path / "started-2").exists())
            workers = _children(psutil.Process(parent.pid))
            if end == signal.SIGINT:
                os.killpg(parent.pid, end)  # as a terminal does
            else:
                parent.send_signal(end)
            _, said = parent.communicate(timeout=PATIENCE_SECONDS)
        finally:
            parent.kill()  # else a failure would be waited for without end
    assert len(workers) == 2
    assert psutil.wait_procs(workers, timeout=PATIENCE_SECONDS)[1] == []
    assert said.count("Traceback") == (end == signal.SIGINT)


def test_the_cluster_that_the_engine_starts_is_reached_from_nowhere_else_and_leaves_nothing(tmp_path: Path) -> None:
    before, others = _limits(), _children(psutil.Process())
    results = engine.run(partial(endless, tmp_path), ITEMS, Settings(engine="dask", engine_workers=2))
    assert next(results) == (0, 0)
    ours = psutil.Process()
    workers = _children(ours) - others
    listening = [
        end.laddr for process in [ours, *workers] for end in process.net_connections("inet") if end.status == psutil.CONN_LISTEN
    ]
    assert len(workers) == 2
    assert len(listening) >= 3
    assert [end for end in listening if not ip_address(end.ip).is_loopback] == []
    assert {worker.environ()["POLARS_MAX_THREADS"] for worker in workers} == {str(max(1, len(os.sched_getaffinity(0)) // 2))}
    results.close()
    assert psutil.wait_procs(workers, timeout=PATIENCE_SECONDS)[1] == []
    assert _limits() == before


def test_a_missing_dask_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(KontorError, match=r"install requirements-dask\.lock"):
        next(engine.run(square, ITEMS, Settings(engine="dask")))


@pytest.mark.parametrize("address", ["tcp://scheduler:8786", "tcp://0.0.0.0:8786", "scheduler:8786", "tcp://127.0.0.1", ""])
def test_a_scheduler_elsewhere_must_speak_tls(address: str) -> None:
    with pytest.raises(ValidationError, match="must be tls://host:port"):
        Settings(dask_scheduler=address)


@pytest.mark.parametrize("address", ["tls://scheduler.example.org:8786", "tcp://127.0.0.1:8786", "tcp://[::1]:8786"])
def test_a_scheduler_with_tls_or_on_this_machine_is_taken(address: str) -> None:
    assert Settings(dask_scheduler=address).dask_scheduler == address


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.engine.executors.CONNECT_SECONDS", 0.2)
    with pytest.raises(KontorError, match=r"no Dask scheduler to work with at tcp://127\.0\.0\.1:1 "):
        next(engine.run(square, ITEMS, Settings(engine="dask", dask_scheduler="tcp://127.0.0.1:1")))


def test_where_nobody_watches_there_is_no_bar(capfd: pytest.CaptureFixture[str]) -> None:
    with bar("Buckets") as on_progress:
        list(engine.run(square, ITEMS, Settings(), on_progress))
    assert capfd.readouterr().err == ""
