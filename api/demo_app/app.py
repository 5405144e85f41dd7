"""The pages of the demo. A visitor who connects a bank becomes a user of the demo's tenant, remembered by a cookie."""

import hashlib
import ipaddress
import logging
import re
import secrets
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from api.demo_app import charts, formats, views
from api.demo_app.tenant import ACCESSES, DemoTenant, DemoVisit, Refused, Tokens, UserUnknown, read
from api.demo_app.texts import FAILURES, REENTRY, Notice, refusal, unreadable, uploaded
from api.http.errors import Problem
from api.http.responses import SVG
from api.http.route import UPLOAD, StrictRequest
from warehouse.settings import Settings

ROOT = "/demo"
COOKIE = "kontor-demo"
COOKIE_SECONDS = 30 * 24 * 3600
CONTENT_POLICY = "default-src 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; form-action 'self'"
STATIC = {"demo.css": "text/css", "demo.js": "text/javascript", "demo.svg": SVG}
FOLDER = Path(__file__).parent / "static"
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
TOKENS = "demo_tokens"
COUNT = re.compile("[0-9]{1,6}")
Page = Callable[[Request, DemoTenant], Awaitable[Response]]


class DemoRoute(Route):
    """A page that exists only while the demo's credentials do."""

    openapi_extra: dict[str, Any] | None = None
    """What `StrictRequest` looks at to limit a body."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child_scope = super().matches(scope)
        if match is not Match.NONE and not _credentials(scope["app"].state.services.settings).exists():
            return Match.NONE, {}
        return match, {**child_scope, "route": self}


def page(path: str, method: str = "GET", *, takes_files: bool = False) -> Callable[[Page], DemoRoute]:
    """Registers a function as the page at a path. Errors in it lead to a page too. With `takes_files`, its body may be long."""

    def register(show: Page) -> DemoRoute:
        async def respond(request: Request) -> Response:
            settings = _settings(request)
            tenant = read(_credentials(settings), settings.base_url)
            if tenant is None:
                return _failure(request, Refused(404))
            if method == "POST" and not _is_own(request, tenant):
                return _failure(request, Refused(403))
            if (elsewhere := _canonical(request, tenant)) is not None:
                return RedirectResponse(elsewhere, 307)
            try:
                return await show(request, tenant)
            except Problem as problem:
                return _failure(request, Refused(problem.status_code))
            except UserUnknown:
                return _without_cookie(RedirectResponse(ROOT, 303), tenant)
            except Refused as refused:
                return _failure(request, refused)

        route = DemoRoute(ROOT + path, respond, methods=[method], name=show.__name__, include_in_schema=False)
        route.openapi_extra = {UPLOAD: takes_files}
        return route

    return register


@page("")
async def welcome(request: Request, tenant: DemoTenant) -> Response:
    """What Kontor is, and the button that starts the demo."""
    return await _welcome(request, tenant)


@page("/connect", "POST")
async def connect(request: Request, tenant: DemoTenant) -> Response:
    """Sends the visitor to the form, as a user that is created if there is none."""
    visitor = _visitor(request, tenant) or secrets.token_hex(16)
    try:
        address = await _begin(request, tenant, visitor)
    except UserUnknown:  # the cookie is of an earlier demo
        visitor = secrets.token_hex(16)
        address = await _begin(request, tenant, visitor)
    return _with_cookie(RedirectResponse(address, 303), tenant, visitor)


@page("/upload", "POST", takes_files=True)
async def upload(request: Request, tenant: DemoTenant) -> Response:
    """Takes the visitor's own statement files, and leads to the overview; or says why they cannot be read."""
    form = await StrictRequest(request.scope, request.receive).body()
    content_type = request.headers.get("content-type", "")
    visitor = _visitor(request, tenant) or secrets.token_hex(16)
    try:
        answer = await _upload(request, tenant, visitor, form, content_type)
    except UserUnknown:  # the cookie is of an earlier demo
        visitor = secrets.token_hex(16)
        answer = await _upload(request, tenant, visitor, form, content_type)
    except Refused as refused:
        if refused.status not in (400, 413, 415):
            raise
        return await _welcome(request, tenant, unreadable(refused.details))
    return _with_cookie(RedirectResponse(f"{ROOT}/overview?new={answer['neu']}", 303), tenant, visitor)


@page("/back")
async def back(request: Request, tenant: DemoTenant) -> Response:
    """The callback of the form: leads to the overview if there is something to see, else to an explanation."""
    reentry = request.query_params.get("baReentry", "")
    if reentry == "ACCOUNT_CREATED":
        return RedirectResponse(f"{ROOT}/overview", 303)
    if reentry == "FINISHED":
        return RedirectResponse(f"{ROOT}/overview?done=1", 303)
    return await _welcome(request, tenant, REENTRY.get(reentry, REENTRY["ERROR"]))


@page("/overview")
async def overview(request: Request, tenant: DemoTenant) -> Response:
    """What the interface says about the visitor."""
    notice = REENTRY["FINISHED"] if request.query_params.get("done") == "1" else None
    if COUNT.fullmatch(count := request.query_params.get("new", "")):
        notice = uploaded(int(count))
    return await _overview(request, tenant, notice)


@page("/report")
async def report(request: Request, tenant: DemoTenant) -> Response:
    """The visitor's last month as a page to print, or as PDF, as the interface makes it."""
    query = {"format": "pdf"} if request.query_params.get("format") == "pdf" else {}
    async with _visit(request, tenant) as visit:
        content, headers = await visit.report(query)
    return Response(content, headers=headers)


@page("/transfer", "POST")
async def transfer(request: Request, tenant: DemoTenant) -> Response:
    """Sends the visitor to the form to confirm a transfer, or shows why the service refused it."""
    fields = await StrictRequest(request.scope, request.receive).fields()
    access, _, product = fields.get("account", "").partition("/")
    amount = formats.amount(fields.get("amount", ""))
    if amount is None:
        return await _overview(request, tenant, FAILURES["amount"], fields)
    details = {name: fields.get(name, "").strip() for name in ("recipient", "iban", "purpose")}
    order = {**details, "bic": None, "currency": "EUR", "amount": amount}
    async with _visit(request, tenant) as visit:
        try:
            address = await visit.begin_transfer(access, product, order, _back(tenant), _public_ip(request))
        except UserUnknown:
            raise
        except Refused as refused:
            return await _overview(request, tenant, refusal(refused.details), fields)
    return RedirectResponse(address, 303)


@page("/disconnect", "POST")
async def disconnect(request: Request, tenant: DemoTenant) -> Response:
    """Deletes all data that were fetched for the visitor."""
    async with _visit(request, tenant) as visit:
        for access in await visit.read(ACCESSES):
            await visit.disconnect(access)
    return RedirectResponse(ROOT, 303)


async def asset(request: Request) -> Response:
    """A static file. Its address changes with its content, so that browsers can cache it for long."""
    name = request.path_params["name"]
    if name not in STATIC:
        return _failure(request, Refused(404))
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response((FOLDER / name).read_bytes(), media_type=STATIC[name], headers=headers)


ROUTES = (
    welcome,
    connect,
    upload,
    back,
    overview,
    report,
    transfer,
    disconnect,
    DemoRoute(f"{ROOT}/static/{{name}}", asset, methods=["GET"], include_in_schema=False),
)


def install(app: FastAPI) -> None:
    """Adds the demo's pages to an app; they respond only while the data directory contains the demo's credentials."""
    app.router.routes.extend(ROUTES)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs addresses, some of which contain account numbers


async def _welcome(request: Request, tenant: DemoTenant, notice: Notice | None = None) -> Response:
    connected = False
    if _visitor(request, tenant) is not None:
        async with _visit(request, tenant) as visit:
            connected = bool(await visit.read(ACCESSES))
    return _render(request, "welcome.html", notice=notice, connected=connected)


async def _begin(request: Request, tenant: DemoTenant, visitor: str) -> str:
    async with DemoVisit(tenant, _tokens(request), visitor) as visit:
        await visit.register()
        return await visit.begin_connecting(_back(tenant), _public_ip(request))


async def _upload(request: Request, tenant: DemoTenant, visitor: str, form: bytes, content_type: str) -> dict[str, Any]:
    async with DemoVisit(tenant, _tokens(request), visitor) as visit:
        await visit.register()
        return await visit.upload(form, content_type)


async def _overview(
    request: Request, tenant: DemoTenant, notice: Notice | None = None, typed: dict[str, str] | None = None
) -> Response:
    async with _visit(request, tenant) as visit:
        answers = await views.load(visit)
        calls = sorted(visit.calls, key=lambda call: call.started_at)
    if not answers.accesses:
        return RedirectResponse(ROOT, 303)
    months, accounts = views.months(answers), views.accounts(answers)
    return _render(
        request,
        "overview.html",
        notice=notice,
        typed=typed or {},
        calls=calls,
        pending=views.is_pending(answers),
        messages=views.messages(answers),
        owner=views.owner(answers),
        as_of=views.as_of(answers),
        accounts=accounts,
        total=views.total(accounts),
        fetched=views.is_fetched(answers),
        contracts=views.contracts(answers),
        months=months,
        categories=views.categories(answers, months),
        disposable=views.disposable(answers),
        events=views.findings(answers.events),
        stages=views.findings(answers.stages),
        triggers=views.findings(answers.triggers),
        household=views.affordability(answers),
    )


def _render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    text = _pages().get_template(template).render(root=ROOT, assets=_assets(), docs=_settings(request).docs, **values)
    return HTMLResponse(text, status, {"Content-Security-Policy": CONTENT_POLICY})


def _failure(request: Request, refused: Refused) -> Response:
    """A page that says what went wrong, without internal details."""
    status = refused.status if refused.status in (403, 404, 413, 429) else 502
    return _render(request, "failure.html", status, notice=FAILURES.get(str(status), FAILURES["502"]))


@cache
def _pages() -> Environment:
    environment = Environment(
        loader=PackageLoader("api.demo_app"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "money": formats.money,
        "whole_money": formats.whole_money,
        "percent": formats.percent,
        "day": formats.day,
        "bar": charts.bar,
        "stacked": charts.stacked,
        "sparkline": charts.sparkline,
    }
    environment.globals["cashflow"] = charts.cashflow
    return environment


@cache
def _assets() -> dict[str, str]:
    """The addresses of the static files, which change with their content."""
    return {name: f"{ROOT}/static/{name}?v={hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:12]}" for name in STATIC}


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.services.settings
    return settings


def _credentials(settings: Settings) -> Path:
    return settings.home / "demo.json"


def _tokens(request: Request) -> Tokens:
    """The cached tokens of this worker."""
    state = request.app.state
    if not hasattr(state, TOKENS):
        setattr(state, TOKENS, Tokens())
    tokens: Tokens = getattr(state, TOKENS)
    return tokens


def _visit(request: Request, tenant: DemoTenant) -> DemoVisit:
    visitor = _visitor(request, tenant)
    if visitor is None:
        raise UserUnknown(401)
    return DemoVisit(tenant, _tokens(request), visitor)


def _visitor(request: Request, tenant: DemoTenant) -> str | None:
    value = request.cookies.get(_cookie(tenant), "")
    return value if len(value) == 32 and set(value) <= set("0123456789abcdef") else None


def _cookie(tenant: DemoTenant) -> str:
    """The name of the cookie. Its prefix requires https, so it is left out over plain http on the local machine."""
    return f"__Host-{COOKIE}" if _is_https(tenant) else COOKIE


def _is_https(tenant: DemoTenant) -> bool:
    return tenant.base_url.startswith("https:")


def _with_cookie(response: Response, tenant: DemoTenant, visitor: str) -> Response:
    response.set_cookie(
        _cookie(tenant), visitor, COOKIE_SECONDS, path="/", secure=_is_https(tenant), httponly=True, samesite="lax"
    )
    return response


def _without_cookie(response: Response, tenant: DemoTenant) -> Response:
    response.delete_cookie(_cookie(tenant), path="/", secure=_is_https(tenant), httponly=True, samesite="lax")
    return response


def _back(tenant: DemoTenant) -> str:
    return f"{tenant.base_url}{ROOT}/back"


def _is_own(request: Request, tenant: DemoTenant) -> bool:
    """Whether a form was sent from a page of this site, according to the browser."""
    site = request.headers.get("sec-fetch-site")
    return site == "same-origin" if site is not None else request.headers.get("origin") == _origin(tenant.base_url)


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def _canonical(request: Request, tenant: DemoTenant) -> str | None:
    """The canonical address, for a visitor who came by another name of this machine: cookies belong to one name only."""
    host, canonical = urlsplit(f"//{request.headers.get('host', '')}").hostname, urlsplit(tenant.base_url).hostname
    if request.method != "GET" or host == canonical or not {host, canonical} <= LOOPBACK:
        return None
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{tenant.base_url}{request.url.path}{query}"


def _public_ip(request: Request) -> str | None:
    """The visitor's IP address, if it is a public one."""
    try:
        address = ipaddress.ip_address(request.client.host if request.client else "")
    except ValueError:
        return None
    return str(address) if address.is_global else None
