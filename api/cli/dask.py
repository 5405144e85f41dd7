"""`kontor dask`: the scheduler and the workers of a Dask cluster on several machines.

Each command becomes Dask's own program, so that a supervisor watches that.
"""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from api.cli import processes
from api.cli.installation import read_settings
from pipelines.engine import cluster_key, executors
from warehouse.errors import KontorError

commands = typer.Typer(help="Dask: buckets on several machines.", no_args_is_help=True)
Host = Annotated[str, typer.Option(help="The address to listen on; other machines need one that they reach, or 0.0.0.0.")]
SETTINGS = {
    "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "warning",
}
"""Dask serves nothing but its own protocol."""
NO_PAGES = ("--no-dashboard", "--dashboard-address", "127.0.0.1:0")


@commands.command()
def scheduler(
    host: Host = "127.0.0.1", port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8786
) -> None:
    """Run the scheduler of a cluster, one for each installation. At first it makes the cluster's key in the data directory."""
    key = cluster_key.create(read_settings().home, datetime.now(UTC))
    _become("scheduler", key, "--host", host, "--port", str(port), "--protocol", "tls")


@commands.command()
def worker(
    workers: Annotated[
        int | None, typer.Option(min=1, max=1024, help="Processes, each with one thread; default: the cores of this machine.")
    ] = None,
) -> None:
    """Run workers of the cluster that KONTOR_DASK_SCHEDULER names. Start it once on each machine."""
    settings = read_settings()
    if settings.dask_scheduler is None:
        raise KontorError("set KONTOR_DASK_SCHEDULER to the address of the scheduler, tls://host:8786")
    key = cluster_key.require(settings.home)
    count = workers or executors.cores()
    # The container or the service limits the memory; Dask would end a worker that has much of it.
    _become("worker", key, settings.dask_scheduler, "--nworkers", str(count), "--nthreads", "1", "--memory-limit", "0")


def _become(program: str, key: Path, *arguments: str) -> None:
    """Goes on as a program of Dask, which speaks TLS alone."""
    executors.require_dask()
    os.umask(processes.PRIVATE_UMASK)
    tls = ("--tls-ca-file", str(key), "--tls-cert", str(key))
    command = [sys.executable, "-m", "dask", program, *arguments, *tls, *NO_PAGES]
    variables = os.environ | SETTINGS | dict.fromkeys(executors.THREAD_LIMITS, "1")
    os.execve(sys.executable, command, variables)  # noqa: S606  # our own program
