"""The door to the Dagster UI that runs in this process, in front of a small server that plays Dagster."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from api.dagster_proxy import credentials, server
from api.dagster_proxy.app import create_app
from tests.support.stack import free_port, wait_until
from warehouse.settings import Settings

MUTATION = {"query": "mutation { launchRun { __typename } }"}
TLS_NAME = "dagster.example.de"
PIECE, PIECES = b"x" * 65536, 200
POLICY = "script-src 'nonce-1'"


@dataclass
class Played:
    """What the server that plays Dagster was asked."""

    calls: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    subscriptions: int = 0
    goes_on: threading.Event = field(default_factory=threading.Event)
    """Set by who has read the first piece of a large answer; the others come after that."""


@dataclass
class Door:
    """The proxy that runs, and the clock that it looks at."""

    home: Path
    port: int
    played: Played
    moment: float = 0.0
    password: str = ""

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {credentials.token(self.home)}"}

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.origin, trust_env=False, timeout=30)

    def log_in(self, client: httpx.Client, password: str | None = None, **headers: str) -> httpx.Response:
        form = {"password": self.password if password is None else password, "next": "/runs?x=1"}
        return client.post("/kontor/login", data=form, headers={"Origin": self.origin, **headers})


def playing(played: Played) -> Starlette:
    """A server with the paths of Dagster's webserver, which does what everybody asks."""

    async def answer(request: Request) -> Response:
        body = await request.body()
        played.calls.append((request.method, str(request.url.path), dict(request.headers), body))
        headers = {"Content-Security-Policy": POLICY, "X-Frame-Options": "ALLOWALL", "Set-Cookie": "theirs=1", "Server": "played"}
        return JSONResponse({"data": "done", "query": request.url.query}, headers=headers)

    async def large(_: Request) -> Response:
        async def pieces() -> Any:
            yield PIECE
            if await asyncio.to_thread(played.goes_on.wait, 10):
                for _ in range(PIECES - 1):
                    yield PIECE

        return StreamingResponse(pieces())

    async def events(websocket: WebSocket) -> None:
        played.subscriptions += 1
        await websocket.accept(subprotocol="graphql-ws")
        async for message in websocket.iter_text():
            await websocket.send_text(f"heard {message}")

    methods = ["GET", "POST", "PUT", "DELETE"]
    return Starlette(
        routes=[
            WebSocketRoute("/graphql", events),
            Route("/large", large),
            Route("/{path:path}", answer, methods=methods),
        ]
    )


@contextmanager
def serving(application: Any, **options: Any) -> Iterator[None]:
    """An application that runs in a thread."""
    running = uvicorn.Server(uvicorn.Config(application, **options))
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        wait_until(lambda: running.started or not thread.is_alive(), 30)
        assert running.started
        yield
    finally:
        running.should_exit = True
        thread.join()


@contextmanager
def running_door() -> Iterator[Door]:
    """The proxy with a password and a data directory of its own."""
    with TemporaryDirectory(prefix="kontor-door-") as folder:
        home, path = Path(folder), Path(folder) / "socket"
        door = Door(home, free_port(), Played(), password=credentials.change_password(home))
        settings = Settings(
            _env_file=None,
            home=home,
            dagster_port=door.port,
            dagster_origins=f"https://{TLS_NAME}, http://other.example.de:8080/",
            login_failures_allowed=3,
            login_window_seconds=60,
            large_body_limit_bytes=100_000,
        )
        with (
            serving(playing(door.played), uds=str(path), log_level="warning"),
            serving(create_app(settings, path, lambda: door.moment), **server.options(settings)),
        ):
            yield door
