"""Dagster's programs log JSON lines in the form of API and worker, without the texts of errors."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from pipelines.dagster_process import entry_point

ROOT = Path(__file__).parents[2]
PRIVATE = "DE02120300000000202051 von Erika Mustermann"
CODE = f"""
    import warnings
    import dagster as dg
    import structlog

    @dg.op
    def count(context):
        context.log.info("%d accesses were due\\n%s", 7, "{PRIVATE}")
        structlog.get_logger("engine").info("worked", users=3)
        warnings.warn("this will go away")

    @dg.op
    def fail(context):
        raise LookupError("{PRIVATE}")

    @dg.job(executor_def=dg.in_process_executor)
    def counting():
        count()

    @dg.job(executor_def=dg.in_process_executor)
    def failing():
        fail()

    defs = dg.Definitions(jobs=[counting, failing])
"""


def run_job(folder: Path, job: str) -> list[dict[str, Any]]:
    """The lines that a program of Dagster logs while it runs a job."""
    (folder / "made_jobs.py").write_text(textwrap.dedent(CODE))
    (folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    command = ["job", "execute", "-f", str(folder / "made_jobs.py"), "-j", job]
    run = subprocess.run(
        [*entry_point(sys.executable), *command],
        env={**os.environ, "DAGSTER_HOME": str(folder), "KONTOR_HOME": str(folder), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=180,
    )
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    assert lines, run.stderr
    assert PRIVATE not in run.stdout
    return lines


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return run_job(tmp_path_factory.mktemp("counting"), "counting")


def test_every_line_has_the_form_of_all_logs(counted: list[dict[str, Any]]) -> None:
    assert all({"level", "time", "event"} <= line.keys() for line in counted)


def test_messages_of_assets_are_told_with_run_and_step_but_only_their_first_line(counted: list[dict[str, Any]]) -> None:
    (line,) = [line for line in counted if line.get("text") == "7 accesses were due"]
    assert (line["event"], line["level"], line["job"], line["step"]) == ("run", "info", "counting", "count")
    assert len({line["run"] for line in counted if line["event"] == "run"}) == 1


def test_our_own_lines_and_warnings_are_among_them(counted: list[dict[str, Any]]) -> None:
    assert [line["users"] for line in counted if line["event"] == "worked"] == [3]
    (warning,) = [line for line in counted if line.get("text", "").endswith("UserWarning: this will go away")]
    assert (warning["level"], warning["logger"]) == ("warning", "py.warnings")


def test_the_beginning_and_the_end_of_a_run_are_told(counted: list[dict[str, Any]]) -> None:
    types = [line["type"] for line in counted if "type" in line]
    assert (types[0], types[-1]) == ("PIPELINE_START", "PIPELINE_SUCCESS")


def test_a_failure_is_told_by_its_kind_and_not_by_its_text(tmp_path: Path) -> None:
    lines = run_job(tmp_path, "failing")
    (failure,) = [line for line in lines if line.get("type") == "STEP_FAILURE"]
    assert (failure["level"], failure["step"], failure["error"]) == ("error", "fail", "LookupError")
