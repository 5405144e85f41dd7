"""Who asks in `fairness.py`: a crowd of connections that asks as fast as it is answered, and an observer that asks steadily.

Each is an event loop in a process of its own. Answers are counted, not read, so that asking costs little. In truth a crowd is on
other machines: here its process has the lowest priority, and its connections hold the next request ready.
"""

import asyncio
import os
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import cast

import uvloop

from tests.bench.cases import HOST

CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)\r\n", re.IGNORECASE)
RETRY_AFTER = re.compile(rb"\r\nretry-after: *([0-9]+)\r\n", re.IGNORECASE)
MARK = b"00000000-mark"
"""Stands in a request for a number that is different each time."""
CUT, UNANSWERED = "cut", "unanswered"
HEALTH_SECONDS, MIX_SECONDS, SAME_SECONDS = 0.02, 0.05, 0.4
PATIENCE_SECONDS = 60
LOOK_SECONDS = 0.05
LOWEST_PRIORITY = 19
AUTOGROUP = Path("/proc/self/autogroup")
PIPELINED_REQUESTS = 2
"""Each connection of a crowd has one request that is being answered, and one that waits for its turn in the connection."""
MAX_PIPELINED_BYTES = 64 * 1024
BUFFER_BYTES = 2**20


@dataclass(frozen=True)
class Crowd:
    """What a tenant asks on many connections at once. Each asks again as soon as it has its answer."""

    requests: Sequence[bytes]
    connections: int = 200
    heeds_retry_after: bool = True
    reads: bool = True
    """Whether it takes its answers, or lets them lie."""
    sends_whole: bool = True
    """Whether it sends whole requests, or only their first half."""


@dataclass
class CrowdResult:
    """What a crowd got: answers by status, and how many of them left a connection without a request in flight."""

    statuses: Counter[str] = field(default_factory=Counter)
    idle_answers: int = 0
    connections: int = 0
    """Those that were opened, again ones included."""


@dataclass(frozen=True)
class Observer:
    """What is asked steadily: `/health`, requests of another tenant in turn, and one of the same kind as the crowd's."""

    mix: Sequence[bytes]
    same: bytes | None = None


@dataclass
class Observed:
    """How long the observer waited, in seconds."""

    health: list[float] = field(default_factory=list)
    mix: list[float] = field(default_factory=list)
    same: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)


def run_crowd(crowd: Crowd, port: int, stop: Event, result_pipe: Connection) -> None:
    """Asks until it is stopped: says when all connections have asked, and in the end how many answers of each status came."""
    _yield_to_others()
    result = CrowdResult()

    async def ask() -> None:
        buffer = bytearray(BUFFER_BYTES)
        tasks = [asyncio.create_task(_ask_on(crowd, port, number, buffer, result)) for number in range(crowd.connections)]
        while result.connections < crowd.connections and not stop.is_set():
            await asyncio.sleep(LOOK_SECONDS)
        result_pipe.send(None)
        result.statuses.clear()
        result.idle_answers = 0
        while not stop.is_set():
            await asyncio.sleep(LOOK_SECONDS)
        result_pipe.send(result)
        for task in tasks:
            task.cancel()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(ask())


def _yield_to_others() -> None:
    """Lets this process have only what the service leaves: a crowd is on other machines. Where the system shares the processor by
    sessions first, priorities of processes count within a session only, and sessions have priorities of their own.
    """
    os.nice(LOWEST_PRIORITY)
    if AUTOGROUP.exists():
        priority = int(AUTOGROUP.read_text().split()[-1])
        os.setsid()
        AUTOGROUP.write_text(str(min(LOWEST_PRIORITY, priority + LOWEST_PRIORITY)))


def run_observer(observer: Observer, port: int, seconds: float, result: Connection) -> None:
    """Asks for so many seconds, then sends what was observed."""
    observed = Observed()

    async def observe() -> None:
        async with asyncio.TaskGroup() as tasks:
            health = [b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"]
            tasks.create_task(_ask_steadily(health, HEALTH_SECONDS, port, seconds, observed.health, observed.failures))
            tasks.create_task(_ask_steadily(observer.mix, MIX_SECONDS, port, seconds, observed.mix, observed.failures))
            if observer.same is not None:
                same = [observer.same]
                tasks.create_task(_ask_steadily(same, SAME_SECONDS, port, seconds, observed.same, observed.failures))

    asyncio.run(observe())
    result.send(observed)


async def _ask_steadily(
    requests: Sequence[bytes], pause: float, port: int, seconds: float, waits: list[float], failures: Counter[str]
) -> None:
    """Asks at fixed times, however long answers take, each time on a connection of its own: each reaches another worker."""
    began_at = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for number in range(int(seconds / pause)):
            await asyncio.sleep(max(0, began_at + number * pause - time.monotonic()))
            request = requests[number % len(requests)].replace(MARK, _number())
            tasks.create_task(_time_one(request, port, waits, failures))


async def _time_one(request: bytes, port: int, waits: list[float], failures: Counter[str]) -> None:
    began_at = time.monotonic()
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            reader, writer = await asyncio.open_connection(HOST, port)
            writer.write(request)
            status, _ = await _read_answer(reader)
            writer.close()
    except (OSError, EOFError, TimeoutError) as error:
        status = type(error).__name__
    waits.append(time.monotonic() - began_at)
    if not status.startswith("2"):
        failures[status] += 1


class CrowdConnection(asyncio.BufferedProtocol):
    """One connection of a crowd. It sends the next request before it has its answer, so that the service never waits for this
    program: what it answers, another request has followed already.
    """

    def __init__(self, crowd: Crowd, number: int, buffer: bytearray, result: CrowdResult) -> None:
        self._crowd, self._buffer, self._result = crowd, buffer, result
        self._parts = crowd.requests[number % len(crowd.requests)].split(MARK)
        self._is_short = sum(len(part) for part in self._parts) <= MAX_PIPELINED_BYTES
        self._head, self._missing_bytes, self._in_flight = b"", 0, 0
        self.lost = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._result.connections += 1
        if not self._crowd.reads:
            self._transport.pause_reading()
        if self._crowd.reads and self._crowd.sends_whole:
            for _ in range(PIPELINED_REQUESTS if self._is_short else 1):
                self._ask()
        else:
            request = self._request()
            self._transport.write(request if self._crowd.sends_whole else request[: len(request) // 2])
            self._result.statuses[UNANSWERED] += 1

    def connection_lost(self, error: Exception | None) -> None:
        if not self.lost.done():
            self.lost.set_result(error)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Counts answers. Their bodies are dropped unseen."""
        start = min(self._missing_bytes, nbytes)
        self._missing_bytes -= start
        if start < nbytes:
            self._read(self._head + bytes(memoryview(self._buffer)[start:nbytes]))
        elif self._missing_bytes == 0:
            self._end_answer()

    def _read(self, content: bytes) -> None:
        """Reads what begins with the head of an answer, or follows the last byte of one."""
        while content:
            end = content.find(b"\r\n\r\n") + 4
            if end < 4:
                break
            head = content[:end]
            length, retry = CONTENT_LENGTH.search(head), RETRY_AFTER.search(head)
            self._status, self._retry_seconds = head[9:12].decode(), int(retry[1]) if retry else 0
            size = int(length[1]) if length else 0
            self._missing_bytes = max(0, size - (len(content) - end))
            content = content[end + size :]
            if self._missing_bytes == 0:
                self._end_answer()
        self._head = content

    def _end_answer(self) -> None:
        self._result.statuses[self._status] += 1
        self._in_flight -= 1
        self._result.idle_answers += self._in_flight == 0 and self._is_short
        pause = self._retry_seconds if self._crowd.heeds_retry_after else 0
        if pause:
            asyncio.get_running_loop().call_later(pause, self._ask)
        else:
            self._ask()

    def _ask(self) -> None:
        if not self._transport.is_closing():
            self._in_flight += 1
            self._transport.write(self._request())

    def _request(self) -> bytes:
        return self._parts[0] if len(self._parts) == 1 else _number().join(self._parts)


async def _ask_on(crowd: Crowd, port: int, number: int, buffer: bytearray, result: CrowdResult) -> None:
    """One connection of a crowd, opened again when it is cut."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            _, connection = await loop.create_connection(lambda: CrowdConnection(crowd, number, buffer, result), HOST, port)
            await connection.lost
        except OSError:
            pass
        result.statuses[CUT] += 1
        await asyncio.sleep(0.05)


async def _read_answer(reader: asyncio.StreamReader) -> tuple[str, int]:
    """The status of an answer that was read to its end, and the pause that it asks for."""
    head = await reader.readuntil(b"\r\n\r\n")
    length, retry = CONTENT_LENGTH.search(head), RETRY_AFTER.search(head)
    missing = int(length[1]) if length else 0
    while missing > 0:
        piece = await reader.read(min(missing, 2**18))
        if not piece:
            raise EOFError
        missing -= len(piece)
    return head[9:12].decode(), int(retry[1]) if retry else 0


def _number() -> bytes:
    """Digits in place of `MARK`, different each time."""
    return b"%013d" % (time.monotonic_ns() % 10 ** len(MARK))
