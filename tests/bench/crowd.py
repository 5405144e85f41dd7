"""Who asks in `fairness.py`: a crowd of connections that asks as fast as it is answered, and an observer that asks steadily.

Each is an event loop in a process of its own. Answers are counted, not read, so that asking costs little.
"""

import asyncio
import os
import re
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from tests.bench.cases import HOST

CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)\r\n", re.IGNORECASE)
RETRY_AFTER = re.compile(rb"\r\nretry-after: *([0-9]+)\r\n", re.IGNORECASE)
MARK = b"00000000-mark"
"""Stands in a request for a number that is different each time."""
CUT, UNANSWERED = "cut", "unanswered"
HEALTH_SECONDS, MIX_SECONDS, SAME_SECONDS = 0.02, 0.05, 0.4
PATIENCE_SECONDS = 60
CROWD_NICENESS = 5
"""A crowd is on other machines; here it must not take the processor from those whom it asks."""


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


def run_crowd(crowd: Crowd, port: int, seconds: float, result: Connection) -> None:
    """Asks for so many seconds, then sends how many answers of each status came."""
    os.nice(CROWD_NICENESS)
    statuses: Counter[str] = Counter()

    async def ask() -> None:
        deadline = time.monotonic() + seconds
        tasks = [asyncio.create_task(_ask_on(crowd, port, number, deadline, statuses)) for number in range(crowd.connections)]
        await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(ask())
    result.send(statuses)


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


async def _ask_on(crowd: Crowd, port: int, number: int, deadline: float, statuses: Counter[str]) -> None:
    """One connection of a crowd, opened again when it is cut."""
    while time.monotonic() < deadline:
        try:
            reader, writer = await asyncio.open_connection(HOST, port, limit=2**16)
            try:
                await _ask_again_and_again(crowd, reader, writer, number, deadline, statuses)
            finally:
                writer.transport.abort()
        except (OSError, EOFError):
            statuses[CUT] += 1
            await asyncio.sleep(0.05)


async def _ask_again_and_again(
    crowd: Crowd,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    number: int,
    deadline: float,
    statuses: Counter[str],
) -> None:
    request = crowd.requests[number % len(crowd.requests)]
    while time.monotonic() < deadline:
        numbered = request.replace(MARK, _number())
        writer.write(numbered if crowd.sends_whole else numbered[: len(numbered) // 2])
        if not crowd.reads or not crowd.sends_whole:  # a reader takes no more than its buffer holds until somebody reads
            statuses[UNANSWERED] += 1
            await asyncio.sleep(max(0, deadline - time.monotonic()))
            return
        with suppress(ConnectionError):
            await writer.drain()
        status, retry_seconds = await _read_answer(reader)
        statuses[status] += 1
        if crowd.heeds_retry_after and retry_seconds:
            await asyncio.sleep(retry_seconds)


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
