"""A connection of the HTTP server: time limits on slow callers, and our error shape for malformed HTTP.

Apart from `server.py`, which the process that watches the workers loads: it handles no request and needs no framework.
"""

import asyncio
import socket
import struct
import uuid
from functools import cache

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.http.errors import ErrorSite, respond
from api.http.middleware import OVERRIDABLE_HEADERS, SECURITY_HEADERS
from warehouse.settings import Settings

MAX_HEADER_BYTES = 64 * 1024
MIN_READ_BYTES = 64 * 1024
MAX_UNREAD_BODY_BYTES = 1024 * 1024
UNREAD_BODY_SECONDS = 10.0
NO_LINGER = struct.pack("ii", 1, 0)
TCP_INFO_BYTES, BYTES_ACKNOWLEDGED_AT, BYTES_ACKNOWLEDGED = 136, 120, struct.Struct("Q")
"""The part of Linux's `struct tcp_info` that is read, and where `tcpi_bytes_acked` stands in it."""
log = structlog.get_logger("api")


class Protocol(HttpToolsProtocol):
    """A connection that must send the complete header of each request, and read its answers, within time limits.

    A body that nobody reads, because the request was answered without it (401, 413), is dropped as it arrives, so that the
    caller sees the answer; but only up to a limit of bytes and seconds, after which the connection is closed.
    """

    _header_timer: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _body_bytes = 0
    _unread_timer: asyncio.TimerHandle | None = None
    _reader_timer: asyncio.TimerHandle | None = None

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
        """What is still in the buffer is watched too: closing waits for it, however long."""
        super().on_response_complete()
        self._expect_reader()
        if self.cycle.response_complete and self.cycle.more_body and not self.transport.is_closing():
            self._unread_timer = self.loop.call_later(UNREAD_BODY_SECONDS, self.transport.close)
            self._limit_unread_body()

    def connection_lost(self, exc: Exception | None) -> None:
        self._header_arrived()
        self._body_arrived()
        if self._reader_timer is not None:
            self._reader_timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_reader()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 (callers do not see the text of the parser)
        """Sends 400 for malformed HTTP, in the shape of all errors."""
        body = bytes(respond("", 400, site=ErrorSite(limits().base_url)).body)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-language", b"de"),
            (b"connection", b"close"),
            (b"content-length", str(len(body)).encode()),
            (b"x-correlation-id", str(uuid.uuid4()).encode()),
            *OVERRIDABLE_HEADERS,
            *SECURITY_HEADERS,
        ]
        lines = [b"HTTP/1.1 400 Bad Request", *(name + b": " + value for name, value in headers), b"", body]
        self.transport.write(b"\r\n".join(lines))
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
        self._header_timer = self.loop.call_later(limits().header_timeout_seconds, self.transport.close)

    def _header_arrived(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _expect_reader(self) -> None:
        """Begins to watch what is ready to be read, unless there is nothing or it is watched already."""
        if self._reader_timer is None and self.transport.get_write_buffer_size():
            seconds = limits().reader_timeout_seconds
            self._reader_timer = self.loop.call_later(seconds, self._check_reader, self._bytes_taken())

    def _check_reader(self, bytes_taken: int) -> None:
        """Cuts the connection if the caller has taken next to nothing since it had taken these bytes."""
        self._reader_timer = None
        if self.transport.get_write_buffer_size() and self._bytes_taken() - bytes_taken < MIN_READ_BYTES:
            log.warning("reader_cut", unread_bytes=self.transport.get_write_buffer_size())
            self._drop()
        else:
            self._expect_reader()

    def _drop(self) -> None:
        """Ends the connection with what lies in its buffers, in the kernel too, which otherwise tries on to send it."""
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self.transport.abort()

    def _bytes_taken(self) -> int:
        """What the caller's system has acknowledged since the connection began. What ours takes from us says nothing: its
        buffers grow while nobody reads.
        """
        connection = self.transport.get_extra_info("socket")
        tcp_info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)
        return int(BYTES_ACKNOWLEDGED.unpack_from(tcp_info, BYTES_ACKNOWLEDGED_AT)[0])


@cache
def limits() -> Settings:
    """The settings with the time limits of connections, from the environment: uvicorn passes none to a protocol."""
    return Settings()
