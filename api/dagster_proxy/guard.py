"""What holds for every request and response, whoever sends it: the rules, and the headers that keep other pages out."""

import structlog
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from api.dagster_proxy import rules
from api.dagster_proxy.rules import Refusal
from api.dagster_proxy.sites import Sites

RESPONSE_HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NO_FRAMES = "frame-ancestors 'none'"
"""A policy of its own beside Dagster's: browsers enforce both."""


class RequestGuard:
    """Refuses what nobody may send, and says with every response that no page may frame or reinterpret it."""

    def __init__(self, app: ASGIApp, sites: Sites) -> None:
        self.app = app
        self.sites = sites

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        refusal = rules.refusal(connection, self.sites)
        app = self.app if refusal is None else _refusing(connection, refusal)
        await app(scope, receive, _with_headers(send))


def refused(connection: HTTPConnection, refusal: Refusal) -> Response:
    """A refusal in the form that its reader expects: the UI shows the errors of GraphQL."""
    if rules.is_graphql(connection):
        return JSONResponse({"errors": [{"message": refusal.text}]}, refusal.status, refusal.headers)
    return PlainTextResponse(f"{refusal.text}\n", refusal.status, refusal.headers)


def _refusing(connection: HTTPConnection, refusal: Refusal) -> ASGIApp:
    structlog.get_logger().info("dagster_refused", status=refusal.status)
    return WebSocketClose() if connection.scope["type"] == "websocket" else refused(connection, refusal)


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(RESPONSE_HEADERS)
            headers.append("Content-Security-Policy", NO_FRAMES)
        await send(message)

    return send_with_headers
