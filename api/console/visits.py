"""Visits: a request of somebody who is logged in, and how pages and actions are registered with the scope that they need.

A browser proves itself with a secret in a cookie. Forms carry a token derived from it, so that pages of others cannot send any.
"""

import hmac
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from api.console import render
from api.console.notices import NOTICES
from api.console.pages import ConsolePage, Pager
from api.console.roles import SCOPES
from api.http.asker import set_asker
from api.http.errors import Problem
from api.http.negotiation import language_of
from api.http.route import StrictRequest, router
from api.schemas.languages import Language, say
from api.services import AppServices, Services
from warehouse.errors import NotFound
from warehouse.postgres import audit_log, console_accounts
from warehouse.postgres.audit_log import AuditActor, Deed
from warehouse.postgres.console_accounts import ConsoleRole, ConsoleUser
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Tenant
from warehouse.secrets import hashing
from warehouse.settings import Settings
from warehouse.stores import tenants

COOKIE, ENTRY_COOKIE, LANGUAGE_COOKIE = "kontor-console", "kontor-console-entry", "kontor-console-language"
LANGUAGE_SECONDS = 365 * 24 * 3600
LANGUAGES: dict[str, Language] = {"de": "de", "en": "en"}
LOGIN = f"{render.ROOT}/login"
READING_METHODS = frozenset({"GET", "HEAD"})
OPERATORS = "console operators"
"""The operators take their turns together, as one tenant."""
PAGE_ROWS = 50
MAX_PAGES = 10_000
BROWSER_ROUTE: dict[str, Any] = {"include_in_schema": False, "openapi_extra": {"security": []}}
"""Web pages are not part of the interface, and need no token."""
routes = router(render.ROOT, "Console")


@dataclass(frozen=True)
class ListWindow:
    """Which rows of a list a page shows."""

    number: int

    @property
    def offset(self) -> int:
        return (self.number - 1) * PAGE_ROWS

    @property
    def limit(self) -> int:
        """One row more than is shown tells whether there is a next page."""
        return PAGE_ROWS + 1


@dataclass(frozen=True)
class Visit:
    """A request of an account."""

    request: Request
    services: Services
    user: ConsoleUser
    language: Language
    now: datetime
    form_fields: Mapping[str, str] = field(default_factory=dict, repr=False)

    def t(self, german: str, english: str, **values: object) -> str:
        """The text in the language of the visitor, with its values filled in."""
        return (english if self.language == "en" else german).format(**values)

    def may(self, scope: str) -> bool:
        """Whether the role of the account has a scope."""
        return scope in SCOPES[self.user.role]

    @property
    def is_operator(self) -> bool:
        return self.user.role is ConsoleRole.OPERATOR

    def path_value(self, name: str) -> str:
        """A part of the address."""
        return str(self.request.path_params[name])

    @contextmanager
    def within(self, name: str) -> Iterator[tuple[Owner, Tenant]]:
        """A transaction on a tenant that the account may see, limited to its rows. Any other tenant is not found."""
        if self.user.tenant_id is not None:
            if name != self.user.tenant_name:
                raise NotFound("tenant")
            tenant_id = self.user.tenant_id
        else:
            with self.services.database.operating() as operator:
                tenant_id = tenants.find(operator, name).id
        with self.services.database.acting_for(tenant_id) as owner:
            yield owner, tenants.find(owner, name)

    def record(self, owner: Owner, deed: Deed) -> None:
        """Adds what is done to the audit log, in the same transaction."""
        audit_log.record(owner, self.actor, deed)

    @property
    def actor(self) -> AuditActor:
        return AuditActor(self.user.name, self.user.role.value, self.user.account_id, correlation_id(self.request))

    def window(self) -> ListWindow:
        """The rows that the address asks for; the first ones if it is no number of a page."""
        text = self.request.query_params.get("page", "1")
        number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MAX_PAGES)) else 1
        return ListWindow(min(max(number, 1), MAX_PAGES))

    def pager(self, window: ListWindow, row_count: int) -> Pager | None:
        """The way to the pages before and after; none if all rows are on one."""
        if window.number == 1 and row_count <= PAGE_ROWS:
            return None
        query = {name: value for name, value in self.request.query_params.items() if name not in ("page", "done")}

        def address(number: int) -> str:
            return f"{self.request.url.path}?{urlencode({**query, 'page': number})}"

        previous = address(window.number - 1) if window.number > 1 else None
        return Pager(window.number, previous, address(window.number + 1) if row_count > PAGE_ROWS else None)

    def show(self, page: ConsolePage, status: int = 200) -> Response:
        """A page as a response."""
        token = form_token(session_cookie(self.request, self.services.settings))
        return render.page_response(self.frame(token), replace(page, notice=page.notice or self.notice()), status)

    def notice(self) -> str | None:
        """What an action has left in the address to be told."""
        text = NOTICES.get(self.request.query_params.get("done", ""))
        return say(text, self.language) if text else None

    def frame(self, token: str) -> render.ConsoleFrame:
        query = {name: value for name, value in self.request.query_params.items() if name not in ("done", "lang")}
        is_reading = self.request.method in READING_METHODS
        return render.ConsoleFrame(
            language=self.language,
            zone=self.services.zone,
            token=token,
            user=self.user,
            scopes=SCOPES[self.user.role],
            address=f"{self.request.url.path}?{urlencode({**query, 'lang': ''})}" if is_reading else None,
        )


Show = Callable[[Visit], Response] | Callable[[Visit], Awaitable[Response]]


def page(path: str, scope: str, method: str = "GET") -> Callable[[Show], Show]:
    """Registers a function as the page or, with POST, as the action at a path. Both need a login with the scope; an action also
    the token of its form. A page runs on a thread; one that is a coroutine on the event loop.
    """

    def register(show: Show) -> Show:
        async def respond(request: Request, services: AppServices) -> Response:
            refuse_foreign(request)
            user = await current_user(request, services)
            if user is None:
                return to_login(request, services.settings)
            set_asker(user.tenant_id or OPERATORS, user.account_id)
            if scope not in SCOPES[user.role]:
                raise Problem(403)
            fields: dict[str, str] = {}
            if method == "POST":
                fields = await StrictRequest(request.scope, request.receive).fields()
                check_token(fields, session_cookie(request, services.settings))
            visit = Visit(request, services, user, language_choice(request), datetime.now(UTC), fields)
            if inspect.iscoroutinefunction(show):
                response: Response = await show(visit)
            elif method == "POST":
                response = await services.changes.insist(show, visit)  # type: ignore[arg-type]
            else:
                response = await services.in_thread(show, visit)  # type: ignore[arg-type]
            return with_language(response, request, services.settings)

        routes.add_api_route(
            path, respond, methods=[method], name=f"console_{show.__name__}", response_class=HTMLResponse, **BROWSER_ROUTE
        )
        PAGE_SCOPES[(method, render.ROOT + path)] = scope
        return show

    return register


PAGE_SCOPES: dict[tuple[str, str], str] = {}
"""The scope of every page and action, by method and path."""


async def current_user(request: Request, services: Services) -> ConsoleUser | None:
    """The account that the browser is logged in with, if its session has not ended."""
    cookie = session_cookie(request, services.settings)
    return await services.in_thread(_use_session, services, cookie) if cookie else None


def _use_session(services: Services, cookie: str) -> ConsoleUser | None:
    with services.database.operating() as operator:
        return console_accounts.use_session(operator, hashing.digest(cookie), services.settings.console_idle_seconds)


def back_to(path: str, message: str) -> Response:
    """The way back to a page after an action, with the key of what is told there, so that reloading repeats nothing."""
    return RedirectResponse(f"{path}{'&' if '?' in path else '?'}{urlencode({'done': message})}", 303)


def to_login(request: Request, settings: Settings) -> Response:
    """The way to the login, and from there back to the page."""
    query: dict[str, str] = {}
    if request.method in READING_METHODS and request.url.path != render.ROOT:
        query["next"] = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    if session_cookie(request, settings):
        query["ended"] = "1"
    return RedirectResponse(LOGIN + (f"?{urlencode(query)}" if query else ""), 303)


def local_path(value: str) -> str:
    """A page of the console to go to after the login; its start if the value leads anywhere else."""
    is_local = value.startswith(f"{render.ROOT}/") and value.isprintable() and "\\" not in value
    return quote(value, safe="/?&=%:-._~") if is_local and not value.startswith(LOGIN) else render.ROOT


def refuse_foreign(request: Request) -> None:
    """Raises if a browser says that a page of others sends a form. One that says nothing is judged by the token alone."""
    if request.method in READING_METHODS:
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None and site != "same-origin":
        raise Problem(403)
    if site is None and origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise Problem(403)


def check_token(fields: Mapping[str, str], cookie: str) -> None:
    """Raises unless a form carries the token of the browser that it was made for."""
    if not cookie or not hmac.compare_digest(fields.get("token", "").encode(), form_token(cookie).encode()):
        raise Problem(403)


def form_token(cookie: str) -> str:
    """The token of the forms of a browser."""
    return hmac.new(cookie.encode(), b"console form", sha256).hexdigest()


def correlation_id(request: Request) -> str | None:
    """The id of the request, as the log has it."""
    return getattr(request.state, "correlation_id", None)


def session_cookie(request: Request, settings: Settings, name: str = COOKIE) -> str:
    """The secret in the cookie, empty if there is none."""
    return request.cookies.get(cookie_name(settings, name), "")


def cookie_name(settings: Settings, name: str = COOKIE) -> str:
    """The name of a cookie. Its prefix requires https, so it is left out over plain http on the local machine."""
    return f"__Host-{name}" if is_https(settings) else name


def is_https(settings: Settings) -> bool:
    return settings.base_url.startswith("https:")


def set_secret(response: Response, settings: Settings, secret: str, name: str = COOKIE) -> Response:
    """The response that gives the browser a secret until it is closed."""
    response.set_cookie(
        cookie_name(settings, name), secret, path="/", secure=is_https(settings), httponly=True, samesite="strict"
    )
    return response


def language_choice(request: Request) -> Language:
    """The language that the visitor chose, else the one that the browser prefers."""
    choice = request.query_params.get("lang", "") or request.cookies.get(LANGUAGE_COOKIE, "")
    return LANGUAGES.get(choice) or language_of(request.headers.raw)


def with_language(response: Response, request: Request, settings: Settings) -> Response:
    """The response that makes the browser remember a language that was chosen in this request."""
    language = request.query_params.get("lang", "")
    if language in LANGUAGES:
        response.set_cookie(
            LANGUAGE_COOKIE,
            language,
            LANGUAGE_SECONDS,
            path=render.ROOT,
            secure=is_https(settings),
            httponly=True,
            samesite="lax",
        )
    return response
