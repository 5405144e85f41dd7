"""The load: connections that stay open, each sending the same prepared request as soon as the answer to the last is complete.

Here belongs how requests are sent and counted. It is as little code per answer as can check it, so that the servers, not the
load, are what is measured.
"""

import asyncio
import re
import time
from dataclasses import dataclass
from typing import cast

from tests.bench.cases import HOST
from warehouse.errors import KontorError

CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)\r\n", re.IGNORECASE)
CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked\r\n", re.IGNORECASE)
HEAD_END = b"\r\n\r\n"
LAST_CHUNK = b"\r\n0\r\n\r\n"  # can stand nowhere else in JSON without line breaks
NOT_MODIFIED = 304
PATIENCE_SECONDS = 30
SHOWN_CHARACTERS = 300


@dataclass(frozen=True)
class Target:
    """A case with the place where it is answered and the bytes that ask for it."""

    name: str
    port: int
    request: bytes
    status: int


class Connection(asyncio.Protocol):
    """One connection. `finished` is done when the deadline has passed and nothing is under way any more."""

    def __init__(self, target: Target) -> None:
        self.answers = 0
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._target = target
        self._expected = b"HTTP/1.1 %d " % target.status
        self._received = bytearray()
        self._deadline = 0.0

    def start(self, deadline: float) -> None:
        """Sends the first request; answers that come before the deadline are followed by another one."""
        self._deadline = deadline
        self._transport.write(self._target.request)

    def close(self) -> None:
        self.finished.cancel()
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("the connection was closed")

    def data_received(self, data: bytes) -> None:
        self._received += data
        head = self._received.find(HEAD_END)
        if head < 0:
            return
        if CHUNKED.search(self._received, 0, head + 2):
            if self._received.endswith(LAST_CHUNK):
                self._complete(exact=True)
            return
        length = self._length(head)
        if length is None:
            self._fail("an answer has no Content-Length")
            return
        missing = head + len(HEAD_END) + length - len(self._received)
        if missing <= 0:
            self._complete(exact=missing == 0)

    def _length(self, head: int) -> int | None:
        """The length of the body, as the head tells it; an answer that nothing has changed has none."""
        told = CONTENT_LENGTH.search(self._received, 0, head + 2)
        if told is None:
            return 0 if self._target.status == NOT_MODIFIED else None
        return int(told[1])

    def _complete(self, *, exact: bool) -> None:
        """Counts an answer if it is as expected, and asks again."""
        if not exact or not self._received.startswith(self._expected):
            head, _, body = self._received.decode(errors="replace").partition("\r\n\r\n")
            self._fail(
                f"expected one answer {self._target.status}, but got {head.splitlines()[0]} with {body[:SHOWN_CHARACTERS]}"
            )
            return
        self._received.clear()
        self.answers += 1
        if time.perf_counter() < self._deadline:
            self._transport.write(self._target.request)
        elif not self.finished.done():
            self.finished.set_result(None)

    def _fail(self, fact: str) -> None:
        if not self.finished.done():
            self.finished.set_exception(KontorError(f"{self._target.name}: {fact}"))


async def run_slice(target: Target, seconds: float, connections: int) -> float:
    """Requests per second over about so many seconds.

    Requests that are under way at the end are waited for and counted with the time they take: dropped ones would cost the
    next slice, and the slower a case is, the more.
    """
    loop = asyncio.get_running_loop()
    opened: list[Connection] = []
    try:
        async with asyncio.timeout(seconds + PATIENCE_SECONDS):
            while len(opened) < connections:
                _, connection = await loop.create_connection(lambda: Connection(target), HOST, target.port)
                opened.append(connection)
            began = time.perf_counter()
            for connection in opened:
                connection.start(began + seconds)
            await asyncio.gather(*(connection.finished for connection in opened))
            return sum(connection.answers for connection in opened) / (time.perf_counter() - began)
    except TimeoutError as error:
        raise KontorError(f"{target.name}: no answer within {PATIENCE_SECONDS} s") from error
    except OSError as error:
        raise KontorError(f"{target.name}: cannot connect to {HOST}:{target.port} ({error})") from error
    finally:
        for connection in opened:
            connection.close()
