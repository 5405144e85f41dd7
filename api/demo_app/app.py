"""The pages of the demo. A visitor who connects a bank becomes a user of the demo's tenant, remembered by a cookie."""

import asyncio
import gzip
import hashlib
import ipaddress
import logging
import re
import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from fastapi import FastAPI
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from api.demo_app import charts, curves, formats, views
from api.demo_app.assumptions import NoAmount, assumptions, compared
from api.demo_app.bookings import bookings as booking_views
from api.demo_app.bookings import by_day, category_groups
from api.demo_app.excerpts import call_of, excerpt
from api.demo_app.people import BY_LOGIN, PEOPLE, PIN
from api.demo_app.tenant import ACCESSES, NAME, PEOPLE_NAME, Call, DemoTenant, DemoVisit, Refused, Tokens, UserUnknown, read
from api.demo_app.texts import CORRECTED, FAILURES, REENTRY, Notice, refusal, unreadable, uploaded
from api.http.errors import Problem
from api.http.negotiation import language_of
from api.http.responses import SVG
from api.http.route import UPLOAD, StrictRequest, takes_gzip
from api.schemas.languages import Language, Text
from pipelines.banks.fints import addresses
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
VISITOR = re.compile("p?[0-9a-f]{32}")
PERSON = "p"
"""The first letter of the cookie of visitors who are a person of the demo bank."""
LANGUAGES: dict[str, Language] = {"de": "de", "en": "en"}
LANGUAGE_COOKIE = "kontor-demo-language"
GZIP_LEVEL = 1
LIVE = "x-live"
"""The header of requests by the page's script, which takes the parts that have changed out of the page."""
VIEWS = ("customer", "tenant")
CATEGORY_ITEMS = "/tags/v1/tag-trees/1/tag-tree-items"
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
            name = PEOPLE_NAME if request.cookies.get(_cookie(settings.base_url), "").startswith(PERSON) else NAME
            tenant = read(_credentials(settings), settings.base_url, name)
            if tenant is None:
                return _failure(request, Refused(404))
            if method == "POST" and not _is_own(request, tenant):
                return _failure(request, Refused(403))
            if (elsewhere := _canonical(request, tenant)) is not None:
                return RedirectResponse(elsewhere, 307)
            try:
                return _with_language(await show(request, tenant), request)
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


@page("/people", "POST")
async def become(request: Request, tenant: DemoTenant) -> Response:
    """Makes the visitor one of the demo bank's people, as a new user of the regulated tenant."""
    person = BY_LOGIN.get((await StrictRequest(request.scope, request.receive).fields()).get("person", ""))
    people_tenant = read(_credentials(_settings(request)), tenant.base_url, PEOPLE_NAME)
    if person is None or people_tenant is None:
        raise Refused(404)
    visitor = _new_visitor(people_tenant)
    async with _visit_of(request, people_tenant, visitor) as visit:
        await visit.register()
        await visit.connect_person(person.login, PIN, _public_ip(request))
    return _with_cookie(RedirectResponse(f"{ROOT}/overview", 303), tenant, visitor)


@page("/connect", "POST")
async def connect(request: Request, tenant: DemoTenant) -> Response:
    """Sends the visitor to the form, as a user that is created if there is none. A person of the demo bank becomes a new one."""
    if tenant.name != NAME:
        form_tenant = read(_credentials(_settings(request)), tenant.base_url)
        if form_tenant is None:
            raise Refused(404)
        visitor = secrets.token_hex(16)
        return _with_cookie(RedirectResponse(await _begin(request, form_tenant, visitor), 303), tenant, visitor)
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
    visitor = _visitor(request, tenant) or _new_visitor(tenant)
    try:
        answer = await _upload(request, tenant, visitor, form, content_type)
    except UserUnknown:  # the cookie is of an earlier demo
        visitor = _new_visitor(tenant)
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
    notice = CORRECTED if request.query_params.get("corrected") == "1" else notice
    if COUNT.fullmatch(count := request.query_params.get("new", "")):
        notice = uploaded(int(count))
    return await _overview(request, tenant, notice)


@page("/bookings/{booking}")
async def booking(request: Request, tenant: DemoTenant) -> Response:
    """The form in which a visitor corrects the category of a booking; the script takes it out of this page."""
    return await _booking(request, tenant)


@page("/bookings/{booking}", "POST")
async def correct(request: Request, tenant: DemoTenant) -> Response:
    """Corrects the category of a booking, and shows what follows from it."""
    fields = await StrictRequest(request.scope, request.receive).fields()
    name = request.path_params["booking"]
    partnered = None
    async with _visit(request, tenant) as visit:
        change = visit.choose_category(name, fields.get("category", ""), change_existing=bool(fields.get("all")))
        try:
            if request.headers.get(LIVE):  # read while the database works
                _, partnered = await asyncio.gather(change, views.load_partners(visit))
            else:
                await change
        except UserUnknown:
            raise
        except Refused as refused:
            if refused.status not in (400, 404, 409):
                raise
            return await _booking(request, tenant, FAILURES["category"])
        if partnered is not None:
            return await _first_effects(request, visit, partnered)
    return RedirectResponse(f"{ROOT}/overview?corrected=1#b-{quote(name, safe='')}", 303)


@page("/what-if", "POST")
async def what_if(request: Request, tenant: DemoTenant) -> Response:
    """The overview, with what would be if the visitor's assumptions were true."""
    fields = await StrictRequest(request.scope, request.receive).fields()
    async with _visit(request, tenant) as visit:
        try:
            answer = await visit.compare(assumptions(fields))
        except UserUnknown:
            raise
        except (Refused, NoAmount) as problem:
            if isinstance(problem, Refused) and problem.status != 400:
                raise
            return await _overview(request, tenant, assumed=fields, problem=FAILURES["assumption"])
        calls = list(visit.calls)
    return await _overview(request, tenant, assumed=fields, comparison=compared(answer), more_calls=calls)


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
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    content, encoding = _packed(request, (FOLDER / name).read_bytes())
    return Response(content, media_type=STATIC[name], headers=headers | encoding)


ROUTES = (
    welcome,
    become,
    connect,
    booking,
    correct,
    what_if,
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
    fints_banks = len(addresses.addresses()) if _settings(request).fints_product_id else 0
    return _render(request, "welcome.html", notice=notice, connected=connected, fints_banks=fints_banks)


async def _begin(request: Request, tenant: DemoTenant, visitor: str) -> str:
    async with _visit_of(request, tenant, visitor) as visit:
        await visit.register()
        return await visit.begin_connecting(_back(tenant), _public_ip(request))


async def _upload(request: Request, tenant: DemoTenant, visitor: str, form: bytes, content_type: str) -> dict[str, Any]:
    async with _visit_of(request, tenant, visitor) as visit:
        await visit.register()
        return await visit.upload(form, content_type)


async def _overview(
    request: Request,
    tenant: DemoTenant,
    notice: Notice | None = None,
    typed: dict[str, str] | None = None,
    *,
    assumed: dict[str, str] | None = None,
    comparison: dict[str, Any] | None = None,
    problem: Notice | None = None,
    more_calls: list[Call] | None = None,
) -> Response:
    max_bookings = _shown_bookings(request)
    async with _visit(request, tenant) as visit:
        partnered = await views.load_partners(visit)
        answers = await views.load(visit, datetime.now(UTC).date(), partnered, max_bookings)
        calls = sorted([*visit.calls, *(more_calls or [])], key=lambda call: call.started_at)
    if not answers.accesses:
        return RedirectResponse(ROOT, 303)
    accounts = views.accounts(answers)
    return _render(
        request,
        "overview.html",
        **_first_values(request, answers),
        notice=notice,
        typed=typed or {},
        assumed=assumed or {},
        comparison=comparison,
        problem=problem,
        api=partial(call_of, calls),
        calls=calls,
        is_person=tenant.name == PEOPLE_NAME,
        person=next((person for person in PEOPLE if person.name == views.owner(answers)), None),
        pending=views.is_pending(answers),
        messages=views.messages(answers),
        owner=views.owner(answers),
        as_of=views.as_of(answers),
        accounts=accounts,
        total=views.total(accounts),
        fetched=views.is_fetched(answers),
        events=views.findings(answers.events),
        stages=views.findings(answers.stages),
        triggers=views.findings(answers.triggers),
        household=views.affordability(answers),
        risk=views.credit_risk(answers),
    )


async def _first_effects(request: Request, visit: DemoVisit, partnered: list[dict[str, Any]]) -> Response:
    """The sections of the page that show first what a correction changes; the script asks for the page with all others then."""
    answers = await views.load_first(visit, datetime.now(UTC).date(), partnered, _shown_bookings(request))
    return _render(request, "corrected.html", **_first_values(request, answers), api=partial(call_of, visit.calls))


def _first_values(request: Request, answers: views.Answers) -> dict[str, Any]:
    """What the sections show that a correction changes at once."""
    max_bookings, months, bookings = _shown_bookings(request), views.months(answers), views.booking_views(answers)
    return {
        "view": _view(request),
        "days": by_day(bookings[:max_bookings]),
        "more_bookings": len(bookings) > max_bookings,
        "contracts": views.contracts(answers),
        "months": months,
        "categories": views.categories(answers, months),
        "disposable": views.disposable(answers),
        "curve": views.curve(answers),
    }


async def _booking(request: Request, tenant: DemoTenant, notice: Notice | None = None) -> Response:
    async with _visit(request, tenant) as visit:
        listed = await visit.read(views.BOOKINGS, tag="categories", limit=str(views.LOADED_BOOKINGS))
        partnered = await views.load_partners(visit)
        items = await visit.read(CATEGORY_ITEMS)
    name = request.path_params["booking"]
    view = next((item for item in booking_views(listed, partnered) if item.id == name), None)
    if view is None:
        raise Refused(404)
    return _render(request, "booking.html", notice=notice, booking=view, groups=category_groups(items, view.amount))


def _shown_bookings(request: Request) -> int:
    return views.MAX_SHOWN_BOOKINGS if request.query_params.get("all") == "1" else views.SHOWN_BOOKINGS


def _view(request: Request) -> str:
    """What the page shows: what the customer sees, or what the tenant gets."""
    view = request.query_params.get("view", "")
    return view if view in VIEWS else VIEWS[0]


def _render(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    language = _language(request)
    other = "de" if language == "en" else "en"
    is_page = request.method == "GET"
    query = {name: value for name, value in request.query_params.items() if name in ("view", "all")} if is_page else {}
    values |= {"root": ROOT, "assets": _assets(), "docs": _settings(request).docs, "language": language, "other": other}
    values["switch"] = f"{request.url.path if is_page else f'{ROOT}/overview'}?{urlencode({**query, 'lang': other})}"
    text = _pages(language).get_template(template).render(**values)
    headers = {"Content-Security-Policy": CONTENT_POLICY, "Content-Language": language}
    headers["Vary"] = "Accept-Language, Accept-Encoding, Cookie"
    content, encoding = _packed(request, text.encode())
    return HTMLResponse(content, status, headers | encoding)


def _packed(request: Request, content: bytes) -> tuple[bytes, dict[str, str]]:
    """A body as the browser takes it, and its header. Pages hold no token and repeat nothing that other sites can choose."""
    if not takes_gzip(request):
        return content, {}
    return gzip.compress(content, GZIP_LEVEL, mtime=0), {"Content-Encoding": "gzip"}


def _language(request: Request) -> Language:
    """The language that the visitor chose, else the one that the browser prefers."""
    chosen = request.query_params.get("lang", "") or request.cookies.get(LANGUAGE_COOKIE, "")
    return LANGUAGES.get(chosen) or language_of(request.headers.raw)


def _with_language(response: Response, request: Request) -> Response:
    """The response that makes the browser remember a language, if it was language in this request."""
    language = request.query_params.get("lang", "")
    if language in LANGUAGES:
        is_https = _settings(request).base_url.startswith("https:")
        response.set_cookie(LANGUAGE_COOKIE, language, COOKIE_SECONDS, path=ROOT, secure=is_https, httponly=True, samesite="lax")
    return response


def _failure(request: Request, refused: Refused) -> Response:
    """A page that says what went wrong, without internal details."""
    status = refused.status if refused.status in (403, 404, 413, 429) else 502
    return _render(request, "failure.html", status, notice=FAILURES.get(str(status), FAILURES["502"]))


@cache
def _pages(language: Language) -> Environment:
    """The templates of a language; `t` takes a text in both, and gives the one of the page."""
    environment = Environment(
        loader=PackageLoader("api.demo_app"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )

    def translated(german: str, english: str) -> str:
        return english if language == "en" else german

    def said(text: Text) -> str:
        return translated(*text)

    number_filters = (formats.money, formats.whole_money, formats.percent, formats.day, formats.long_day)
    environment.filters |= {function.__name__: partial(function, language=language) for function in number_filters}
    environment.filters |= {
        "bar": charts.bar,
        "stacked": charts.stacked,
        "sparkline": charts.sparkline,
        "said": said,
        "signed": formats.signed,
        "excerpt": excerpt,
    }
    chart_functions = (charts.cashflow, curves.draw_money, curves.draw_events)
    environment.globals |= {function.__name__: partial(function, language=language) for function in chart_functions}
    environment.globals |= {"t": translated, "people": PEOPLE, "today_of": date.fromisoformat}
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
    return _visit_of(request, tenant, visitor)


def _visit_of(request: Request, tenant: DemoTenant, visitor: str) -> DemoVisit:
    return DemoVisit(tenant, request.app, _tokens(request), visitor, _language(request))


def _visitor(request: Request, tenant: DemoTenant) -> str | None:
    value = request.cookies.get(_cookie(tenant.base_url), "")
    return value if VISITOR.fullmatch(value) else None


def _new_visitor(tenant: DemoTenant) -> str:
    """The random id of a new visitor; that of a person of the demo bank says so."""
    return (PERSON if tenant.name == PEOPLE_NAME else "") + secrets.token_hex(16)


def _cookie(base_url: str) -> str:
    """The name of the cookie. Its prefix requires https, so it is left out over plain http on the local machine."""
    return f"__Host-{COOKIE}" if base_url.startswith("https:") else COOKIE


def _is_https(tenant: DemoTenant) -> bool:
    return tenant.base_url.startswith("https:")


def _with_cookie(response: Response, tenant: DemoTenant, visitor: str) -> Response:
    response.set_cookie(
        _cookie(tenant.base_url), visitor, COOKIE_SECONDS, path="/", secure=_is_https(tenant), httponly=True, samesite="lax"
    )
    return response


def _without_cookie(response: Response, tenant: DemoTenant) -> Response:
    response.delete_cookie(_cookie(tenant.base_url), path="/", secure=_is_https(tenant), httponly=True, samesite="lax")
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
