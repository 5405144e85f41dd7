"""Requests and subscriptions passed on to Dagster's webserver over its unix socket, and its responses on their way back."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import httpx
import structlog
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection, unix_connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from warehouse.runtime.logs import describe
from warehouse.settings import Settings

SUBPROTOCOL = Subprotocol("graphql-ws")
REQUEST_HEADERS = (
    "accept",
    "accept-encoding",
    "accept-language",
    "content-type",
    "host",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "range",
    "user-agent",
)
"""What Dagster gets to see. Cookie and token stay here."""
OWN_RESPONSE_HEADERS = frozenset(
    {
        b"connection",
        b"date",
        b"keep-alive",
        b"server",
        b"set-cookie",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
"""What belongs to the connection with Dagster, or is ours to say."""
CONNECT_SECONDS = 10
MAX_CONNECTIONS = 100
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
CHECK_SECONDS = 5
"""So long a subscription may outlive its login."""
POLICY_VIOLATION, GOING_AWAY = 1008, 1001


class UpstreamSilent(Exception):
    """Dagster's webserver did not answer."""


def new_client(settings: Settings, socket: Path) -> httpx.AsyncClient:
    """A client that reaches nothing but the socket."""
    limits = httpx.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=5)
    return httpx.AsyncClient(
        transport=httpx.AsyncHTTPTransport(uds=str(socket), limits=limits, trust_env=False),
        timeout=httpx.Timeout(settings.request_timeout_seconds, connect=CONNECT_SECONDS),
        trust_env=False,
    )


async def forward(client: httpx.AsyncClient, request: Request, body: bytes) -> Response:
    """Dagster's response to a request. Its body is passed on piece by piece."""
    target = request.scope["raw_path"] + (b"?" + request.scope["query_string"] if request.scope["query_string"] else b"")
    headers = {name: request.headers[name] for name in REQUEST_HEADERS if name in request.headers}
    url = httpx.URL("http://dagster").copy_with(raw_path=target)
    try:
        answer = await client.send(httpx.Request(request.method, url, headers=headers, content=body or None), stream=True)
    except httpx.TransportError as error:
        structlog.get_logger().warning("dagster_silent", error=describe(error))
        raise UpstreamSilent from error
    response = StreamingResponse(_chunks(answer), answer.status_code)
    response.raw_headers = [
        (name.lower(), value) for name, value in answer.headers.raw if name.lower() not in OWN_RESPONSE_HEADERS
    ]
    return response


async def is_ready(client: httpx.AsyncClient) -> bool:
    """Whether Dagster's webserver answers."""
    try:
        return (await client.get("http://dagster/server_info", timeout=CONNECT_SECONDS)).is_success
    except httpx.TransportError:
        return False


async def relay(websocket: WebSocket, socket: Path, is_allowed: Callable[[], bool]) -> None:
    """Passes the messages of a subscription on in both directions, until a side ends it or the login has ended."""
    connecting = unix_connect(
        str(socket),
        "ws://dagster/graphql",
        subprotocols=[SUBPROTOCOL],
        compression=None,
        max_size=MAX_MESSAGE_BYTES,
        open_timeout=CONNECT_SECONDS,
        user_agent_header=None,
    )
    try:
        upstream = await connecting
    except (OSError, TimeoutError, WebSocketException) as error:
        structlog.get_logger().warning("dagster_silent", error=describe(error))
        await websocket.close(GOING_AWAY)
        return
    async with upstream:
        await websocket.accept(subprotocol=SUBPROTOCOL)
        await _first_of(_to_dagster(websocket, upstream), _to_browser(websocket, upstream), _until_forbidden(is_allowed))
    with suppress(RuntimeError):  # the browser may have ended it
        await websocket.close(GOING_AWAY if is_allowed() else POLICY_VIOLATION)


async def _chunks(answer: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_raw():
            yield chunk
    finally:
        await answer.aclose()


async def _first_of(*waits: Awaitable[None]) -> None:
    """Returns when one has ended; the others are cancelled."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _to_dagster(websocket: WebSocket, upstream: ClientConnection) -> None:
    while (message := await websocket.receive())["type"] == "websocket.receive" and message.get("text") is not None:
        await upstream.send(message["text"])


async def _to_browser(websocket: WebSocket, upstream: ClientConnection) -> None:
    async for message in upstream:
        await websocket.send_text(message if isinstance(message, str) else message.decode())


async def _until_forbidden(is_allowed: Callable[[], bool]) -> None:
    while is_allowed():
        await asyncio.sleep(CHECK_SECONDS)
