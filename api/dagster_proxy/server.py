"""The proxy as a process: uvicorn with the same limits on slow callers as the API, and with WebSockets."""

import logging
from pathlib import Path
from typing import Any

import uvicorn

from api.dagster_proxy.app import create_app
from api.dagster_proxy.upstream import MAX_MESSAGE_BYTES
from api.http import server
from warehouse.runtime import logs
from warehouse.settings import Settings

GRACE_SECONDS = 5


def options(settings: Settings) -> dict[str, Any]:
    """The options of uvicorn."""
    return {
        **server.options(settings),
        "host": settings.dagster_host,
        "port": settings.dagster_port,
        "ws": "websockets-sansio",
        "ws_max_size": MAX_MESSAGE_BYTES,
        "timeout_graceful_shutdown": GRACE_SECONDS,
    }


def run(settings: Settings, socket: Path) -> None:
    """Serves the Dagster UI behind its login until a signal stops it."""
    logs.configure(settings.log_level)
    for library in ("httpx", "websockets"):  # they would log the address of every request
        logging.getLogger(library).setLevel(logging.WARNING)
    uvicorn.run(create_app(settings, socket), **options(settings))
