"""A receiver of webhooks for tests: a real HTTP server on loopback that answers as told and keeps what it got."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HANG = 0


@dataclass(frozen=True)
class Call:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass
class Receiver:
    """What a receiver answers: the statuses in turn, then 200. `HANG` lets a caller wait until the receiver is released."""

    port: int
    statuses: list[int] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    most_at_once: int = 0
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def names(self) -> list[str]:
        return [call.headers["webhook-id"] for call in self.calls]


@contextmanager
def receiving(*statuses: int, port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """A receiver that runs while the block does."""
    inside: set[int] = set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            inside.add(id(self))
            receiver.most_at_once = max(receiver.most_at_once, len(inside))
            body = self.rfile.read(size := int(self.headers["content-length"]))
            if len(body) < size:  # who sent it has died on the way
                inside.discard(id(self))
                return
            receiver.calls.append(Call(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            status = receiver.statuses.pop(0) if receiver.statuses else 200
            if status == HANG:
                receiver.released.wait()
            inside.discard(id(self))
            self.send_response(status or 200)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            """Callers that have gone away are what some tests are about."""

    server = Server(("127.0.0.1", port), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    receiver = Receiver(server.server_address[1], list(statuses))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
