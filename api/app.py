"""The app: routes, error handlers and middleware put together."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from fastapi.telemetry import TelemetryConfig

from api.console import app as console_app
from api.console import render as console_render
from api.demo_app import app as demo_app
from api.http import errors
from api.http.errors import ErrorSite
from api.http.middleware import Exchanges, Middleware
from api.http.route import KontorRoute
from api.http.route_index import RouteIndex
from api.routes import (
    accesses,
    analyses,
    changes,
    consents,
    corrections,
    docs,
    encryption,
    exports,
    health,
    management,
    oauth,
    payments,
    products,
    providers,
    records,
    rules,
    search,
    security_txt,
    site,
    statement_files,
    tags,
    transactions,
    transfers,
    webform,
    webhooks,
    what_if,
)
from api.services import Services
from api.webform import render
from warehouse.errors import Invalid
from warehouse.runtime import logs, memory, traces
from warehouse.settings import Settings

ROUTERS = (
    oauth.routes,
    accesses.routes,
    statement_files.routes,
    products.routes,
    transactions.routes,
    search.routes,
    exports.routes,
    changes.routes,
    consents.routes,
    payments.routes,
    transfers.routes,
    webform.routes,
    corrections.routes,
    analyses.routes,
    what_if.routes,
    products.platform,
    records.routes,
    corrections.platform,
    rules.routes,
    providers.routes,
    tags.routes,
    tags.aliases,
    encryption.routes,
    management.routes,
    webhooks.routes,
    health.routes,
    security_txt.routes,
    site.routes,
)
NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""The framework's own spans and logs would hold addresses and texts of errors; ours are in `warehouse.runtime.traces`."""


def create_app(settings: Settings, routers: Sequence[APIRouter] = ROUTERS) -> FastAPI:
    """The app for these settings. Its connections open and close with the server that runs it."""
    services = Services.of(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await services.open()
        yield
        await services.close()
        await asyncio.to_thread(traces.close)

    app = FastAPI(
        lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False, telemetry=NO_TELEMETRY
    )
    app.state.services = services
    for router in (*routers, *([console_app.console_routes()] if settings.console else [])):
        app.router.routes.extend(router.routes)
    app.router.routes.insert(0, RouteIndex(app.routes))
    if settings.docs:
        docs.install(app)
        docs.install_handbook(app, docs.HANDBOOK)
    demo_app.install(app)
    pages = {render.ROOT: render.stop_response, console_render.ROOT: console_render.stop_response}
    errors.install(app, ErrorSite(settings.base_url, pages))
    app.state.exchanges = Exchanges()
    app.add_middleware(Middleware, settings=settings, exchanges=app.state.exchanges, recent=services.recent_tenants)
    operations = {route.unique_id for route in app.routes if isinstance(route, KontorRoute)}
    if unknown := settings.retired_operations - operations:
        raise Invalid(f"KONTOR_RETIRED_OPERATIONS names no operation: {', '.join(sorted(unknown))}; see /openapi.json")
    return app


def worker() -> FastAPI:
    """The app of a worker process, with the settings from the environment."""
    settings = Settings()
    memory.bound_arenas()
    logs.configure(settings.log_level)
    traces.configure(settings, "api")
    return create_app(settings)
