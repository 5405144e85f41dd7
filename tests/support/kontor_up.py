"""`kontor up` as a process of its own, for tests of whole installations."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.support.stack import free_port, wait_until


@contextmanager
def running(home: Path, *arguments: str, **settings: str) -> Iterator[tuple[Path, int, int]]:
    """`kontor up` on free ports; stopped by Ctrl-C at the end, after which nothing of it may be left."""
    api, dagster = free_port(), free_port()
    told = {"KONTOR_HOME": str(home), "KONTOR_PORT": str(api), "KONTOR_DAGSTER_PORT": str(dagster), **settings}
    output = home.parent / f"output-{api}.txt"
    command = [str(Path(sys.executable).with_name("kontor")), "up", *arguments]
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, env={**os.environ, **told}, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        wait_until(lambda: "Ctrl-C stops everything" in output.read_text() or process.poll() is not None, 300, output.read_text)
        assert process.poll() is None, output.read_text()
        yield output, api, dagster
    finally:
        family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0, output.read_text()
        _, alive = psutil.wait_procs(family, timeout=10)
        assert [child.cmdline() for child in alive if child.status() != psutil.STATUS_ZOMBIE] == []
    assert output.read_text().rstrip().endswith("Stopped.")
    mine = [process for process in psutil.process_iter(["cmdline"]) if str(home) in " ".join(process.info["cmdline"] or [])]
    assert mine == [], "no server of this data directory is left"
