"""The application: its routes, and everything that is not the login passed on to Dagster."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from api.dagster_proxy import credentials, pages, rules, upstream
from api.dagster_proxy.bodies import read_body
from api.dagster_proxy.callers import ProxyServices, has_token, is_logged_in, services_of
from api.dagster_proxy.guard import RequestGuard, refused
from api.dagster_proxy.login import log_in, log_out, show_login
from api.dagster_proxy.sessions import Attempts, Sessions
from api.dagster_proxy.sites import OWN_ROOT, READY, sites_of
from warehouse.settings import Settings

MAX_SUBSCRIPTIONS = 100


def create_app(settings: Settings, socket: Path, clock: Callable[[], float] = time.monotonic) -> Starlette:
    """The application in front of the Dagster webserver that listens on a socket."""
    sites = sites_of(settings)
    credentials.create_token(settings.home)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with upstream.new_client(settings, socket) as client:
            sessions = Sessions(settings.dagster_session_seconds)
            attempts = Attempts(settings.login_failures_allowed, settings.login_window_seconds)
            app.state.services = ProxyServices(settings, socket, clock, sites, sessions, attempts, client)
            yield

    routes = [
        Route(pages.LOGIN, show_login),
        Route(pages.LOGIN, log_in, methods=["POST"]),
        Route(pages.LOGOUT, show_login),
        Route(pages.LOGOUT, log_out, methods=["POST"]),
        Route(READY, show_readiness),
        Route(f"{OWN_ROOT}/{{name}}", send_asset),
        WebSocketRoute(rules.GRAPHQL, subscribe),
        Route("/{path:path}", pass_on, methods=sorted(rules.METHODS)),
    ]
    return Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(RequestGuard, sites=sites)])


async def show_readiness(request: Request) -> Response:
    """Whether Dagster answers; for `kontor up` and supervisors, without a login."""
    is_ready = await upstream.is_ready(services_of(request).client)
    return PlainTextResponse("ready" if is_ready else "Dagster does not answer", 200 if is_ready else 503)


async def send_asset(request: Request) -> Response:
    """A file that the login page needs."""
    asset = pages.asset(request.path_params["name"])
    if asset is None:
        return PlainTextResponse("Not Found", 404)
    return Response(asset.content, media_type=asset.media_type, headers={"Cache-Control": "max-age=3600"})


async def pass_on(request: Request) -> Response:
    """Dagster's response, for whoever is logged in or has the token of programs."""
    services = services_of(request)
    is_program = has_token(services, request)
    if not is_program and not is_logged_in(services, request):
        return _to_login(request) if _is_page_visit(request) else refused(request, rules.LOGGED_OUT)
    if request.method in rules.READING_METHODS:
        return await _forward(services, request, b"")
    if not is_program and not rules.has_origin(request):
        return refused(request, rules.NO_ORIGIN)
    settings = services.settings
    body = await read_body(request, settings.large_body_limit_bytes, settings.body_timeout_seconds)
    return refused(request, body) if isinstance(body, rules.Refusal) else await _forward(services, request, body)


async def subscribe(websocket: WebSocket) -> None:
    """A subscription of the UI to Dagster's events."""
    services = services_of(websocket)
    is_program = has_token(services, websocket)
    is_allowed = is_program or (rules.has_origin(websocket) and is_logged_in(services, websocket))
    offers_protocol = upstream.SUBPROTOCOL in websocket.scope["subprotocols"]
    if not is_allowed or not offers_protocol or services.subscriptions >= MAX_SUBSCRIPTIONS:
        await websocket.close()
        return
    services.subscriptions += 1
    try:
        await upstream.relay(websocket, services.socket, lambda: is_program or is_logged_in(services, websocket))
    finally:
        services.subscriptions -= 1


async def _forward(services: ProxyServices, request: Request, body: bytes) -> Response:
    try:
        return await upstream.forward(services.client, request, body)
    except upstream.UpstreamSilent:
        return refused(request, rules.SILENT)


def _is_page_visit(request: Request) -> bool:
    return request.method in rules.READING_METHODS and "text/html" in request.headers.get("accept", "")


def _to_login(request: Request) -> Response:
    """The way to the login, and from there back to the page."""
    query = request.scope["query_string"].decode("latin-1")
    target = request.scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
    return RedirectResponse(pages.LOGIN if target == "/" else f"{pages.LOGIN}?next={quote(target)}", 303)
