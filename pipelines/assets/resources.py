"""The resource of assets and jobs: the context of flows. It is loaded when a run begins, so that the code location loads fast."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import dagster as dg

from pipelines.assets.run_processes import RunProcesses
from warehouse.runtime import traces
from warehouse.settings import Settings

if TYPE_CHECKING:
    from pipelines.context import Context
else:
    Context = Any


__all__ = ["Context", "ContextResource"]


class ContextResource(dg.ConfigurableResource[Context]):
    """What flows work with, by the settings in the environment."""

    @contextmanager
    def yield_for_execution(self, run_context: dg.InitResourceContext) -> "Iterator[Context]":
        from pipelines.context import Context
        from pipelines.engine.executors import keeping_executor

        settings = Settings()
        traces.configure(settings, "dagster")
        run = run_context.run
        if run:
            RunProcesses(settings.home).hold(run.run_id)
        context = Context.of(settings)
        try:
            with (
                keeping_executor(),
                traces.span("run", **({"kontor__run": run.run_id, "kontor__job": run.job_name} if run else {})),
            ):
                yield context
        finally:
            context.database.close()
            traces.close()
