"""Turns of requests on the event loop: a crowd of one tenant does not delay another, and nobody who waits long blocks anybody."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from api.http import turns
from api.http.turns import REQUESTS_AT_ONCE, SPARE_REQUESTS, RequestTurns

CROWD = 50


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class Requests:
    """Requests that last until the test lets them end."""

    def __init__(self) -> None:
        self.turns = RequestTurns()
        self.begun: list[str] = []
        self.end = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self, token: str, count: int = 1) -> None:
        self.tasks += [asyncio.ensure_future(self._run(token)) for _ in range(count)]
        await settle()

    async def finish(self) -> None:
        self.end.set()
        await asyncio.gather(*self.tasks)
        assert self.turns.slots.in_use == 0

    async def _run(self, token: str) -> None:
        async with self.turns.begin(token.encode(), "/path"):
            self.begun.append(token)
            await self.end.wait()


def run(check: Coroutine[Any, Any, None], monkeypatch: pytest.MonkeyPatch, seconds: float = 60) -> None:
    monkeypatch.setattr(turns, "MAX_TURN_SECONDS", seconds)
    asyncio.run(check)


def test_few_of_a_crowd_run_at_once_and_another_tenant_begins_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        requests = Requests()
        requests.turns.remember(b"a", "tenant A")
        requests.turns.remember(b"b", "tenant B")
        await requests.start("a", CROWD)
        assert requests.begun == ["a"] * REQUESTS_AT_ONCE
        await requests.start("b")
        assert requests.begun[-1] == "b"
        await requests.finish()
        assert len(requests.begun) == CROWD + 1

    run(check(), monkeypatch)


def test_tokens_that_nobody_knows_have_the_share_of_one_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        requests = Requests()
        requests.turns.remember(b"a", "tenant A")
        for number in range(CROWD):
            await requests.start(f"guess {number}")
        assert len(requests.begun) == REQUESTS_AT_ONCE < REQUESTS_AT_ONCE + SPARE_REQUESTS
        await requests.start("a")
        assert requests.begun[-1] == "a"
        await requests.finish()

    run(check(), monkeypatch)


def test_a_request_that_lasts_passes_its_turn_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        requests = Requests()
        requests.turns.remember(b"a", "tenant A")
        await requests.start("a", CROWD)
        async with asyncio.timeout(10):
            while len(requests.begun) < CROWD:
                await asyncio.sleep(0.001)
        assert not requests.end.is_set()
        await requests.finish()

    run(check(), monkeypatch, 0.001)


def test_requests_that_wait_for_nothing_do_not_all_run_in_one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without a token, as those of a crowd that asks for `/health`: between any few of them, others can be served."""

    async def check() -> None:
        request_turns, ended = RequestTurns(), 0

        async def request() -> None:
            nonlocal ended
            async with request_turns.begin(b"", "/health"):
                ended += 1

        tasks = [asyncio.ensure_future(request()) for _ in range(CROWD)]
        rounds = []
        while ended < CROWD:
            before = ended
            await asyncio.sleep(0)
            rounds.append(ended - before)
        assert max(rounds) <= REQUESTS_AT_ONCE
        await asyncio.gather(*tasks)
        await settle()
        assert request_turns.slots.in_use == 0

    run(check(), monkeypatch)
