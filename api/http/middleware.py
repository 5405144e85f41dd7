"""The outermost layer of the API: correlation id, trailing slashes, limits on time and unread answers, security headers, log
line, metrics.

Plain ASGI, because every request pays for it. Here belongs what applies to every response, including those without a route.
"""

import asyncio
import re
import time
import uuid
from typing import Any

import structlog
from opentelemetry.trace import INVALID_SPAN, Span
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http import metrics
from api.http.asker import asker
from api.http.errors import UNREAD_ANSWERS, respond
from api.http.negotiation import language_of
from api.http.strict_json import CONTROL
from api.http.turns import RequestTurns
from api.http.unread_answers import LONG_BYTES, UnreadAnswers
from api.schemas.languages import Text, say
from warehouse.runtime import traces
from warehouse.runtime.fair_slots import STRANGERS, RecentTenants
from warehouse.runtime.logs import describe
from warehouse.settings import Settings

CORRELATION_ID = re.compile(rb"[!-~](?:[ -~]{0,126}[!-~])?")
SECURITY_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"strict-transport-security", b"max-age=31536000; includeSubDomains"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]
OVERRIDABLE_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; base-uri 'none'; frame-ancestors 'none'"),
]
METHODS = {"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE"}
log = structlog.get_logger("api")


class Middleware:
    """Wraps the app. Each request has an `Exchange`, which tracks what has been sent."""

    def __init__(self, app: ASGIApp, settings: Settings, exchanges: "Exchanges", recent: RecentTenants) -> None:
        self.app = app
        self.settings = settings
        self.turns = RequestTurns(recent)
        self.exchanges = exchanges
        self.unread_answers = UnreadAnswers(settings.unread_answers_per_tenant, settings.unread_bytes_per_tenant)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        method = scope["method"]
        if method == "HEAD":  # as GET; the server, which knows the method of the caller, leaves the body out
            scope = {**scope, "method": "GET"}
        exchange = Exchange(scope, receive, send, self.unread_answers, method)
        timer = asyncio.get_running_loop().call_later(self.settings.request_timeout_seconds, exchange.give_up, 504)
        self.exchanges.running.add(exchange)
        try:
            with traces.span("request", http__request__method=exchange.method) as exchange.span:
                try:
                    await self._handle(exchange)
                finally:
                    exchange.trace()
        finally:
            timer.cancel()
            self.exchanges.running.discard(exchange)
            exchange.end()
            exchange.record()

    async def _handle(self, exchange: "Exchange") -> None:
        scope = exchange.scope
        if CONTROL.search(scope["path"]) or "\ufffd" in scope["path"]:
            await exchange.refuse(404)
        elif exchange.header(b"content-encoding") not in (None, b"identity"):
            await exchange.refuse(415)
        else:
            if len(scope["path"]) > 1 and scope["path"].endswith("/"):
                scope["path"] = scope["path"][:-1]
            try:
                await self._run_in_turn(exchange)
            except Exception as error:
                log.error("failure", **exchange.facts(), error=describe(error))  # noqa: TRY400 (the text may hold data)
                await exchange.refuse(500)

    async def _run_in_turn(self, exchange: "Exchange") -> None:
        """Runs the app when it is the turn of the caller's tenant."""
        credential = exchange.header(b"authorization") or exchange.header(b"cookie") or b""
        async with self.turns.begin(credential, exchange.scope["path"]):
            await self.app(exchange.scope, exchange.receive, exchange.send)
            tenant, _ = asker()
            if credential and tenant is not STRANGERS:
                self.turns.remember(credential, tenant)


class Exchanges:
    """The requests that a worker is handling."""

    def __init__(self) -> None:
        self.running: set[Exchange] = set()

    def end_within(self, seconds: float) -> None:
        """Sends 503 to the requests that have no response after this time: the worker stops."""
        asyncio.get_running_loop().call_later(seconds, self._end)

    def _end(self) -> None:
        for exchange in tuple(self.running):
            exchange.give_up(503)


class Exchange:
    """One request and its response."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, unread_answers: UnreadAnswers, method: str) -> None:
        self.scope = scope
        self.receive = receive
        self.started_at = time.perf_counter()
        self.status = 0
        self.span: Span = INVALID_SPAN
        self.is_given_up = False
        """Whether an error was sent in place of the app's response, which is dropped."""
        self._unread_answers = unread_answers
        self._unread_bytes = 0
        self._response: asyncio.Future[None] | None = None
        self._send = send
        self._method = method
        correlation_id = self.header(b"x-correlation-id") or b""
        self.correlation_id = correlation_id if CORRELATION_ID.fullmatch(correlation_id) else str(uuid.uuid4()).encode()
        scope.setdefault("state", {})["correlation_id"] = self.correlation_id.decode()

    def header(self, name: bytes) -> bytes | None:
        """The value of a request header."""
        return next((value for key, value in self.scope["headers"] if key == name), None)

    async def send(self, message: Message) -> None:
        """Passes the app's response on, unless an error is sent in its place."""
        if message["type"] == "http.response.start" and not self.is_given_up and not self._may_begin(message):
            self.is_given_up = True
            await self.refuse(429, UNREAD_ANSWERS)
        elif not self.is_given_up:
            await self._deliver(message)

    async def refuse(self, status: int, details: Text | None = None) -> None:
        """Sends an error, unless a response has started."""
        if self.status == 0:
            language = language_of(self.scope["headers"])
            text = say(details, language) if details else None
            site = self.scope["app"].state.error_site
            response = respond(self.scope["path"], status, text, site=site, language=language)
            await response(self.scope, self.receive, self._deliver)

    def give_up(self, status: int) -> None:
        """Sends an error in place of the app, which may still finish its work; its response is dropped."""
        if self.status == 0 and not self.is_given_up:
            self.is_given_up = True
            self._response = asyncio.ensure_future(self.refuse(status))

    def end(self) -> None:
        """Ends the response, whether it was read or not."""
        if self._unread_bytes:
            self._unread_answers.end(self.scope["state"]["caller"].tenant_id, self._unread_bytes)

    def _may_begin(self, message: Message) -> bool:
        """Whether the caller's tenant may have another answer of this length now."""
        caller = self.scope.get("state", {}).get("caller")
        size = next((int(value) for name, value in message.get("headers", []) if name == b"content-length"), 0)
        if caller is None or size <= LONG_BYTES:
            return True
        if not self._unread_answers.begin(caller.tenant_id, size):
            return False
        self._unread_bytes = size
        return True

    async def _deliver(self, message: Message) -> None:
        """Sends a part of a response, with the headers that all responses have.

        A long body is sent piece by piece: the server waits before each until the reader has taken the one before, and so it does
        before the empty one at the end.
        """
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = self._complete(list(message.get("headers", [])))
        body = message.get("body", b"")
        if len(body) > LONG_BYTES:
            for start in range(0, len(body), LONG_BYTES):
                await self._send({**message, "body": body[start : start + LONG_BYTES], "more_body": True})
            message = {**message, "body": b""}
        await self._send(message)

    def _complete(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        present = {name.lower() for name, _ in headers}
        headers += [header for header in OVERRIDABLE_HEADERS if header[0] not in present]
        return [*headers, *SECURITY_HEADERS, (b"x-correlation-id", self.correlation_id)]

    def facts(self) -> dict[str, Any]:
        """The fields of the request's log line: our own ids and names, nothing that a person typed."""
        state = self.scope.get("state", {})
        caller, login = state.get("caller"), state.get("login")
        return {
            "correlation_id": self.correlation_id.decode(),
            "method": self.method,
            "route": self.route,
            **({"tenant": caller.tenant_name, "client": caller.client_name} if caller else {}),
            **({"tenant": login.tenant.name, "client": login.client.name} if login else {}),
        }

    @property
    def method(self) -> str:
        return self._method if self._method in METHODS else "OTHER"

    @property
    def route(self) -> str:
        """The path template of the route, so that no personal id gets into logs and metrics."""
        return getattr(self.scope.get("route"), "path", "unmatched")

    def trace(self) -> None:
        """Tells the span of the request how it went."""
        if self.span.is_recording():
            traces.describe(self.span, http__route=self.route, http__response__status_code=self.status)

    def record(self) -> None:
        """Writes the log line and counts the request."""
        seconds = time.perf_counter() - self.started_at
        metrics.count_request(self.method, self.route, self.status, seconds)
        log.info("request", **self.facts(), status=self.status, milliseconds=round(seconds * 1000, 2))
