"""The HTTP server: uvicorn with our protocol, no banner, and processes that are watched."""

import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import uvicorn

from api.http.workers import Supervisor
from warehouse.runtime import files, logs
from warehouse.settings import Settings

PROTOCOL = "api.http.protocol:Protocol"
"""By name: only the processes that handle requests load it."""
KEEP_ALIVE_SECONDS = 75
"""How long an idle connection is kept: longer than proxies keep theirs (usually 60), or one of them sends a request into a
connection that is being closed. A browser stays with its worker, which remembers what it has computed for its user.
"""
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # our folder in it can be entered by this user only


def options(settings: Settings) -> dict[str, Any]:
    """The options of uvicorn; the benchmark uses them for its bare route too."""
    return {
        "host": settings.host,
        "port": settings.port,
        "http": PROTOCOL,
        "ws": "none",
        "loop": "uvloop",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": settings.stop_seconds,
    }


def run(settings: Settings) -> None:
    """Serves the API until a signal stops it. Workers read their settings from the environment.

    Each port has its own folder of metrics, so that services on one machine do not delete each other's.
    """
    metrics_folder = _metrics_folder(settings)
    shutil.rmtree(metrics_folder, ignore_errors=True)
    files.make_folder(metrics_folder)
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # a request is about one user: more threads would only wait for each other
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(metrics_folder)
    logs.configure(settings.log_level)
    config = uvicorn.Config("api.app:worker", factory=True, workers=settings.workers, **options(settings))
    has_served = Supervisor(config, [config.bind_socket()], settings.worker_stuck_seconds).run()
    shutil.rmtree(metrics_folder, ignore_errors=True)
    if not has_served:
        sys.exit(1)


def _metrics_folder(settings: Settings) -> Path:
    """A folder in memory where the system has one: metrics are mapped files, and on a full disk, writing one kills a process."""
    if not os.access(SHARED_MEMORY, os.W_OK):
        return settings.home / "metrics" / str(settings.port)
    installation = hashlib.sha256(str(settings.home.resolve()).encode()).hexdigest()[:16]
    return SHARED_MEMORY / f"kontor-{os.getuid()}-{installation}-{settings.port}"
