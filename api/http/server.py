"""The HTTP server: uvicorn with time limits on slow callers, no banner, and our error shape for malformed HTTP."""

import asyncio
import os
import shutil
import signal
import sys
import uuid
from functools import cache
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import multiprocess

from api.http.errors import respond
from warehouse import files, logs
from warehouse.settings import Settings

GRACE_SECONDS = 25
HEALTHCHECK_SECONDS = 120  # a busy worker, or one that starts slowly, must not count as dead
MAX_HEADER_BYTES = 64 * 1024
MAX_UNREAD_BODY_BYTES = 1024 * 1024
UNREAD_BODY_SECONDS = 10.0


class Protocol(HttpToolsProtocol):
    """A connection that must send the complete header of each request within a time limit.

    A body that nobody reads, because the request was answered without it (401, 413), is dropped as it arrives, so that the
    caller sees the answer; but only up to a limit of bytes and seconds, after which the connection is closed.
    """

    _header_timer: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _body_bytes = 0
    _unread_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_header()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._body_bytes = 0
        self._expect_header()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._header_arrived()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)
        self._limit_unread_body()

    def on_message_complete(self) -> None:
        self._body_arrived()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body and not self.transport.is_closing():
            self._unread_timer = self.loop.call_later(UNREAD_BODY_SECONDS, self.transport.close)
            self._limit_unread_body()

    def connection_lost(self, exc: Exception | None) -> None:
        self._header_arrived()
        self._body_arrived()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 (callers do not see the text of the parser)
        """Sends 400 for malformed HTTP, in the shape of all errors."""
        body = bytes(respond("", 400).body)
        head = (
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
            f"x-content-type-options: nosniff\r\nx-correlation-id: {uuid.uuid4()}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def _count(self, size: int) -> None:
        """Raises for endless headers, which makes the parser reject the request."""
        self._header_bytes += size
        if self._header_bytes > MAX_HEADER_BYTES:
            raise ValueError("header too large")

    def _limit_unread_body(self) -> None:
        if self.cycle.response_complete and self._body_bytes > MAX_UNREAD_BODY_BYTES:
            self.transport.close()

    def _body_arrived(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None

    def _expect_header(self) -> None:
        self._header_arrived()
        self._header_bytes = 0
        self._header_timer = self.loop.call_later(header_timeout_seconds(), self.transport.close)

    def _header_arrived(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None


class Worker(multiprocess.Process):
    """A worker whose death the master notices at once.

    By default the master keeps the worker's end of their pipe open. If a worker died during a health check, the master would
    wait for the whole time limit and ignore signals meanwhile.
    """

    def start(self) -> None:
        super().start()
        self.child_conn.close()


@cache
def header_timeout_seconds() -> float:
    """The time limit for headers, from the environment: uvicorn passes no settings to a protocol."""
    return Settings().header_timeout_seconds


def options(settings: Settings) -> dict[str, Any]:
    """The options of uvicorn; the benchmark uses them for its bare route too."""
    return {
        "host": settings.host,
        "port": settings.port,
        "http": Protocol,
        "ws": "none",
        "loop": "uvloop",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_graceful_shutdown": GRACE_SECONDS,
        "timeout_worker_healthcheck": HEALTHCHECK_SECONDS,
    }


def run(settings: Settings) -> None:
    """Serves the API until a signal stops it. Workers read their settings from the environment.

    Each port has its own folder of metrics, so that services on one machine do not delete each other's.
    """
    signal.signal(signal.SIGTERM, _exit)
    metrics_folder = settings.home / "metrics" / str(settings.port)
    shutil.rmtree(metrics_folder, ignore_errors=True)
    files.make_folder(metrics_folder)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(metrics_folder)
    logs.configure(settings.log_level)
    multiprocess.Process = Worker  # type: ignore[misc]
    uvicorn.run("api.app:worker", factory=True, workers=settings.workers, **options(settings))


def _exit(_number: int, _frame: Any) -> None:
    """Exits with code 0. After a clean stop, uvicorn with one process sends itself the signal again, which would kill it."""
    sys.exit(0)
