"""Child processes as `kontor up` and `kontor dagster webserver` watch them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from api.cli import dagster, processes
from warehouse.errors import KontorError
from warehouse.runtime import priorities
from warehouse.settings import Settings

SLEEPING = [sys.executable, "-S", "-c", "import time; print('asleep', flush=True); time.sleep(60)"]
SUPERVISING = """
import sys
from api.cli import processes
processes.interrupt_on_signals()
child = processes.start("sleeper", sys.argv[1:], {}, None)
try:
    processes.watch([child])
except KeyboardInterrupt:
    processes.stop_all([child], 5)
    print("ended", child.process.returncode)
"""


@pytest.mark.parametrize("with_log", [True, False])
def test_the_end_of_one_is_noticed_and_named(tmp_path: Path, with_log: bool) -> None:
    children = [processes.start(name, SLEEPING, {}, tmp_path if with_log else None) for name in ("webserver", "proxy")]
    try:
        processes.require_alive(children)
        os.kill(children[1].process.pid, signal.SIGKILL)
        with pytest.raises(KontorError, match="proxy exited with code -9") as raised:
            processes.watch(children)
        assert ("proxy.log" in str(raised.value)) == with_log
    finally:
        for child in children:
            child.stop(0)
    assert all(child.process.returncode is not None for child in children)


def test_a_signal_to_the_supervisor_stops_the_child() -> None:
    """What it writes comes out of the supervisor."""
    command = [sys.executable, "-c", SUPERVISING, *SLEEPING]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == "asleep\n"
        supervisor.terminate()
        assert supervisor.stdout.read() == "ended -15\n"
        assert supervisor.wait(10) == 0


def test_the_proxy_is_not_told_where_the_databases_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environments: dict[str, dict[str, str]] = {}
    monkeypatch.setattr(processes, "start", lambda name, _, variables, *__, **___: environments.setdefault(name, variables))
    variables = dict.fromkeys((*dagster.DATABASE_SECRETS, "KONTOR_HOME"), "x")
    with dagster.sockets() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        for start in dagster.ui_starts(Settings(_env_file=None, home=tmp_path), variables, folder, None).values():
            start()
    assert not folder.exists()
    code = {dagster.CODE_VARIABLE: str(folder / dagster.CODE_SOCKET)}
    with_databases = dict.fromkeys((dagster.CODE, "dagster-webserver"), variables | code)
    assert environments == {**with_databases, "dagster-proxy": {"KONTOR_HOME": "x", **code}}


@pytest.mark.skipif(sys.platform != "linux", reason="priorities are set where Linux starts a process")
@pytest.mark.parametrize("yields", [False, True])
def test_what_can_wait_leaves_the_processor_to_those_who_serve(tmp_path: Path, yields: bool) -> None:
    """So do the processes that it starts."""
    inner = "import os; print(os.getpriority(os.PRIO_PROCESS, 0), flush=True)"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {inner!r}])"
    child = processes.start("program", [sys.executable, "-S", "-c", program], {}, tmp_path, yields=yields)
    processes.finish(child)
    expected = priorities.YIELDING_NICENESS if yields else os.getpriority(os.PRIO_PROCESS, 0)
    assert child.log is not None
    assert int(child.log.read_text()) == expected
