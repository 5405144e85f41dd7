"""`python -m pipelines.webserver SOCKET`: Dagster's webserver on a unix socket instead of a port.

The webserver has no login and takes mutations from every page that a browser shows, so no browser and no other user may reach it:
the socket lies in a folder of its owner alone, and `api/dagster_proxy` stands in front. The command `dagster-webserver` can only
listen on a port, and a path prefix would be no secret: it redirects from `/` to the prefix.
"""

import signal
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import uvicorn
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster_webserver.app import create_app_from_workspace_process_context
from dagster_webserver.cli import DEFAULT_DB_STATEMENT_TIMEOUT, DEFAULT_POOL_MAX_OVERFLOW, DEFAULT_POOL_RECYCLE
from dagster_webserver.version import __version__

from pipelines.dagster_process import configure

WORKSPACE = Path(__file__).with_name("workspace.yaml")
POLL_MILLISECONDS = 2000
KEEP_ALIVE_SECONDS = 30
"""Longer than the proxy keeps a connection: it must not send a request on one that is just being closed."""
GRACE_SECONDS = 5
OTHERS = 0o077


def main(socket: Path) -> None:
    """Serves Dagster's webserver until a signal stops it."""
    signal.signal(signal.SIGTERM, _exit)
    configure()
    with dg.DagsterInstance.get() as instance:
        instance.optimize_for_webserver(DEFAULT_DB_STATEMENT_TIMEOUT, DEFAULT_POOL_RECYCLE, DEFAULT_POOL_MAX_OVERFLOW)
        with WorkspaceProcessContext(instance, WorkspaceFileTarget([str(WORKSPACE)]), version=__version__) as context:
            app = create_app_from_workspace_process_context(context, live_data_poll_rate=POLL_MILLISECONDS)
            serve(app, socket)


def serve(app: Any, socket: Path) -> None:
    """Serves an application on a unix socket in a folder that only its owner can enter."""
    if socket.parent.stat().st_mode & OTHERS:
        raise SystemExit(f"others can enter {socket.parent}: the socket must lie in a folder of its owner alone (mode 0700)")
    uvicorn.run(
        app,
        uds=str(socket),
        log_config=None,  # our own
        log_level="warning",
        ws="websockets-sansio",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _exit(_number: int, _frame: Any) -> None:
    """Exits with code 0."""
    sys.exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
