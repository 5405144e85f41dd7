"""Turns of requests on the event loop: a crowd of one tenant does not delay another, and nobody who waits long blocks anybody."""

import asyncio
from collections.abc import Coroutine, Hashable
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from api.http import turns
from api.http.asker import asker, set_asker
from api.http.middleware import Exchanges, Middleware
from api.http.turns import REQUESTS_AT_ONCE, SPARE_REQUESTS, RequestTurns
from warehouse.runtime.fair_slots import STRANGERS, FairSlots, RecentTenants
from warehouse.settings import Settings

CROWD = 50
RECENT_SECONDS = 3600


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class Requests:
    """Requests that last until the test lets them end."""

    def __init__(self) -> None:
        self.turns = RequestTurns(RecentTenants(RECENT_SECONDS))
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
        request_turns, ended = RequestTurns(RecentTenants(RECENT_SECONDS)), 0

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


def test_before_its_token_is_checked_a_request_asks_for_the_tenant_that_had_it_last(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        request_turns = RequestTurns(RecentTenants(RECENT_SECONDS))
        request_turns.remember(b"a", "tenant A")
        for token, path, tenant in ((b"a", "/path", "tenant A"), (b"guess", "/path", STRANGERS), (b"", "/health", STRANGERS)):
            async with request_turns.begin(token, path):
                assert asker()[0] == tenant
                assert (asker()[1] == path) == (tenant is STRANGERS)

    run(check(), monkeypatch)


@pytest.mark.parametrize("header", ["Authorization", "Cookie"])
def test_the_next_request_with_the_same_credential_asks_for_the_tenant_that_it_was_checked_for(header: str) -> None:
    tenants: list[Hashable] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        tenants.append(asker()[0])
        set_asker("tenant A", "customer")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def check() -> None:
        middleware = Middleware(app, settings=Settings(), exchanges=Exchanges(), recent=RecentTenants(RECENT_SECONDS))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(middleware), base_url="http://form") as client:
            for credential in ("form=1", "form=1", "form=2", ""):
                await client.get("/page", headers={header: credential} if credential else {})

    asyncio.run(check())
    assert tenants == [STRANGERS, "tenant A", STRANGERS, STRANGERS]


class RecordingSlots(FairSlots):
    """Slots that keep for how long each was used."""

    def __init__(self) -> None:
        super().__init__(1)
        self.uses: list[float] = []

    def give_back(self, tenant: Hashable, member: Hashable, used_seconds: float = 0) -> None:
        self.uses.append(used_seconds)
        super().give_back(tenant, member, used_seconds)


@pytest.mark.parametrize(("path", "counts"), [("/health", False), ("/docs", True)])
def test_who_asks_for_health_has_used_nothing_and_never_rests(path: str, counts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        request_turns = RequestTurns(RecentTenants(RECENT_SECONDS))
        request_turns.slots = slots = RecordingSlots()
        async with request_turns.begin(b"", path):
            await settle()
        await settle()
        assert [use > 0 for use in slots.uses] == [counts]

    run(check(), monkeypatch)
