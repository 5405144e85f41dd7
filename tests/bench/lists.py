"""Long lists: one request for all 50,000 bookings of an account, alone and several at the same time.

Measured are the rate, the time to the first byte, the memory that the API's worker takes meanwhile, and how long others wait:
`/health` is asked again and again, in turns of its own, since asking costs the server time too.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import orjson

from tests.bench import ending, memory
from tests.bench.cases import HEALTH, HOST, Seed, Server, get
from tests.bench.house import Started
from tests.bench.load import CHUNKED, CONTENT_LENGTH, HEAD_END
from tests.bench.seeding import LONG_LIST
from warehouse.errors import KontorError

AT_ONCE = (1, 4)
ROUNDS = 3
STEPS = ROUNDS * len(AT_ONCE)
ASKED_IN_QUIET = 200
PAUSE_SECONDS = 0.001
PATIENCE_SECONDS = 120
READ_BYTES = 256 * 1024
SHOWN_BYTES = 100


@dataclass(frozen=True)
class Answer:
    """One list as it arrived. Rows are counted after the clock has stopped."""

    first_byte_seconds: float
    pieces: list[bytes]

    @property
    def size(self) -> int:
        return sum(map(len, self.pieces))


@dataclass
class Measured:
    """What the rounds of one number of requests gave, a value for each round."""

    at_once: int
    rows_per_second: list[float] = field(default_factory=list)
    first_byte_seconds: list[float] = field(default_factory=list)
    answer_bytes: int = 0
    growth_mebibytes: list[float] = field(default_factory=list)
    quiet_seconds: list[float] = field(default_factory=list)
    worst_seconds: list[float] = field(default_factory=list)


async def measure(started: Started, seed: Seed, tell: Callable[[str], None]) -> list[Measured]:
    """All numbers of requests in turn, round by round. The worker must be fresh, so that what it takes is what the lists need."""
    results = [Measured(at_once) for at_once in AT_ONCE]
    try:
        with ending.cancels():
            await _ask(started.ports[Server.API], _list(seed.bookings, seed))  # loads what every list needs, however short
            held = memory.held(started.pids[Server.API])
            for _ in range(ROUNDS):
                for result in results:
                    tell(f"{result.at_once} × {LONG_LIST:,} bookings")
                    await _round(result, started, seed, held)
    except (OSError, EOFError, TimeoutError, ValueError) as error:
        raise KontorError(f"a list of {LONG_LIST} bookings did not come whole ({type(error).__name__})") from error
    return results


async def _round(result: Measured, started: Started, seed: Seed, held: float) -> None:
    """One turn for the lists by themselves, one with somebody else beside them."""
    port, pid = started.ports[Server.API], started.pids[Server.API]
    request, health = _list(seed.long_list, seed), HEALTH.request(seed)
    with memory.peak(pid) as peak:
        await _timed(result, port, request)
    result.growth_mebibytes.append(peak.mebibytes - held)
    result.quiet_seconds += await _waits(port, health, lambda asked: asked == ASKED_IN_QUIET)
    lists = asyncio.gather(*(_ask(port, request) for _ in range(result.at_once)))
    result.worst_seconds.append(max(await _waits(port, health, lambda _: lists.done())))
    await lists


def _list(path: str, seed: Seed) -> bytes:
    return get(path, seed.customer, Connection="close")


async def _timed(result: Measured, port: int, request: bytes) -> None:
    """Asks for the lists once, and checks that each came whole."""
    began = time.perf_counter()
    answers = await asyncio.gather(*(_ask(port, request) for _ in range(result.at_once)))
    result.rows_per_second.append(LONG_LIST * len(answers) / (time.perf_counter() - began))
    result.first_byte_seconds.append(max(answer.first_byte_seconds for answer in answers))
    result.answer_bytes = answers[0].size
    for answer in answers:
        rows = _rows(b"".join(answer.pieces))
        if rows != LONG_LIST:
            raise KontorError(f"a list of {LONG_LIST} bookings came with {rows}")


async def _ask(port: int, request: bytes) -> Answer:
    """One list, read until the server closes the connection."""
    began = time.perf_counter()
    async with asyncio.timeout(PATIENCE_SECONDS):
        reader, writer = await asyncio.open_connection(HOST, port)
        try:
            writer.write(request)
            pieces = [await reader.read(READ_BYTES)]
            first_byte_seconds = time.perf_counter() - began
            while piece := await reader.read(READ_BYTES):
                pieces.append(piece)
        finally:
            writer.close()
    return Answer(first_byte_seconds, pieces)


async def _waits(port: int, request: bytes, enough: Callable[[int], bool]) -> list[float]:
    """How long each request took, one after the other, until so many are enough."""
    reader, writer = await asyncio.open_connection(HOST, port)
    waits: list[float] = []
    try:
        while not enough(len(waits)):
            began = time.perf_counter()
            writer.write(request)
            length = CONTENT_LENGTH.search(await reader.readuntil(HEAD_END))
            await reader.readexactly(int(length[1]) if length else 0)
            waits.append(time.perf_counter() - began)
            await asyncio.sleep(PAUSE_SECONDS)
    finally:
        writer.close()
    return waits


def _rows(answer: bytes) -> int:
    """How many elements the list of an answer has, which must be whole."""
    head, _, rest = answer.partition(HEAD_END)
    if not head.startswith(b"HTTP/1.1 200 "):
        raise KontorError(f"expected a list, but got {head[:SHOWN_BYTES].decode(errors='replace')}")
    return len(orjson.loads(_joined(rest) if CHUNKED.search(head + HEAD_END) else rest))


def _joined(chunks: bytes) -> bytes:
    """The body that was sent in chunks."""
    body, at = bytearray(), 0
    while at < len(chunks):
        end = chunks.index(b"\r\n", at)
        length = int(chunks[at:end], 16)
        body += chunks[end + 2 : end + 2 + length]
        at = end + length + 4
    return bytes(body)
