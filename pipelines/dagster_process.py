"""`python -m pipelines.dagster_process MODULE ARGUMENT…`: a program of Dagster that logs JSON lines, as API and worker do.

So do the programs that it starts, and runs: a process that is spawned imports the main module of its parent, which is this one.
Of a failure the log has the step and the kind of the error, not its text, which may quote a person's data; the text is in the
events of the run, behind the login of the Dagster UI.
"""

import logging
import runpy
import sys
from collections.abc import Sequence
from typing import Any

import dagster._core.origin
import dagster._loggers
import dagster._utils.log
import structlog

from warehouse.runtime import logs
from warehouse.settings import Settings


def install() -> None:
    """Makes this process and its runs log JSON lines."""
    configure()
    dagster._utils.log.configure_loggers = configure  # programs of Dagster call it when they start
    dagster._loggers.create_console_logger = run_logger  # type: ignore[attr-defined]  # which it imports from where it is made
    dagster._core.origin.get_python_environment_entry_point = entry_point


def entry_point(executable_path: str) -> Sequence[str]:
    """The beginning of the command of every program that Dagster itself starts, as the daemon does the server of our code."""
    return [executable_path, "-m", "pipelines.dagster_process", "dagster"]


def configure(*_arguments: Any, **_options: Any) -> None:
    """Takes all loggers of this process, Dagster's own included, instead of Dagster's way of configuring them."""
    logs.configure(Settings().log_level)
    logging.captureWarnings(True)
    logging.getLogger("alembic").setLevel(logging.WARNING)  # tells of each of Dagster's tables


def run_logger(name: str, level: str | int) -> logging.Logger:
    """The logger that a run writes its messages and events to, beside those that Dagster stores."""
    logger = logging.Logger(name, level)
    logger.addHandler(RunHandler())
    return logger


class RunHandler(logging.Handler):
    """Logs the messages of runs, and those of Dagster's events that begin or end a run or tell of a failure."""

    def emit(self, record: logging.LogRecord) -> None:
        about: dict[str, Any] = getattr(record, "dagster_meta", {})
        event = about.get("dagster_event")
        level = record.levelno
        facts = {"run": about.get("run_id"), "job": about.get("job_name"), "step": about.get("step_key")}
        if event is not None:
            level = max(level, logging.INFO) if event.is_job_event else level
            facts["type"] = event.event_type_value
            error = getattr(event.event_specific_data, "error", None)
            facts["error"] = None if error is None else error_kind(error)
        else:
            facts["text"] = logs.first_line(str(about.get("orig_message") or record.getMessage()))
        told_facts = {name: fact for name, fact in facts.items() if fact is not None}
        structlog.get_logger().log(level, "run", logger=record.name, **told_facts)


def error_kind(error: Any) -> str:
    """The kind of the innermost error of those that Dagster has wrapped."""
    while error.cause is not None:
        error = error.cause
    return str(error.cls_name)


def main(module: str, *arguments: str) -> None:
    """Runs a program of Dagster."""
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__")


if __name__ in ("__main__", "__mp_main__"):  # the second is the name in a process that was spawned by the first
    install()
if __name__ == "__main__":
    main(*sys.argv[1:])
