"""Pages of the console as HTML, in the looks of the redirect form. There is no script: forms and links do everything."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from api.console.pages import ConsolePage
from api.console.roles import AUDIT_READ, OPERATIONS_READ, PAYMENTS_SETTLE, TENANTS_CHANGE
from api.schemas.languages import Language, Text, say
from api.webform import render
from warehouse import scopes
from warehouse.postgres.console_accounts import ConsoleUser

ROOT = "/console"
HERE = Path(__file__).parent
HEADERS = {
    **render.HEADERS,
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
}
MENU = (
    ("overview", "", AUDIT_READ, Text("Übersicht", "Overview")),
    ("tenants", "/tenants", scopes.TENANTS_READ, Text("Mandanten", "Tenants")),
    ("banks", "/banks", OPERATIONS_READ, Text("Banken", "Banks")),
    ("jobs", "/jobs", OPERATIONS_READ, Text("Aufträge", "Jobs")),
    ("freshness", "/freshness", OPERATIONS_READ, Text("Aktualität", "Freshness")),
    ("payments", "/payments", PAYMENTS_SETTLE, Text("Zahlungen", "Payments")),
    ("accounts", "/accounts", TENANTS_CHANGE, Text("Konten", "Accounts")),
    ("audit", "/audit", AUDIT_READ, Text("Protokoll", "Audit log")),
)
"""The menu: name, address, scope and text of each entry."""
OWN_TENANT = Text("Mandant", "Tenant")
STOPS = {
    "not_found": Text("Diese Seite gibt es nicht, oder nicht für Sie.", "There is no such page, or not for you."),
    "too_many": Text("Zu viele Anfragen. Bitte gleich noch einmal.", "Too many requests. Please try again in a moment."),
    "unavailable": Text("Der Dienst antwortet gerade nicht.", "The service does not answer at the moment."),
    "bad_request": Text(
        "Das geht so nicht: Ihre Rolle erlaubt es nicht, das Formular war veraltet, oder der Zustand ist inzwischen ein anderer.",
        "This is not possible: your role does not allow it, the form was outdated, or the state has changed.",
    ),
    "failure": Text("Es ist ein Fehler aufgetreten.", "Something went wrong."),
}


@dataclass(frozen=True)
class ConsoleFrame:
    """What all pages have around their content."""

    language: Language
    zone: ZoneInfo = render.ZONE
    token: str = field(default="", repr=False)
    user: ConsoleUser | None = None
    scopes: frozenset[str] = frozenset()
    address: str | None = None
    """The address of this page, ready for the language to be added; None if it cannot be opened again."""


def page_response(frame: ConsoleFrame, page: ConsolePage, status: int = 200) -> HTMLResponse:
    """A page as a response."""
    return template_response("page.html", frame, status, page=page)


def template_response(template: str, frame: ConsoleFrame, status: int = 200, **values: Any) -> HTMLResponse:
    """A page of its own form as a response."""
    own_tenant = {"tenants": OWN_TENANT} if frame.user and frame.user.tenant_id else {}
    menu = [
        (name, ROOT + path, say(own_tenant.get(name, text), frame.language))
        for name, path, scope, text in MENU
        if scope in frame.scopes
    ]

    def translated(german: str, english: str) -> str:
        return english if frame.language == "en" else german

    def moment(value: datetime) -> str:
        pattern = "%Y-%m-%d %H:%M" if frame.language == "en" else "%d.%m.%Y %H:%M"
        return value.astimezone(frame.zone).strftime(pattern)

    other = "de" if frame.language == "en" else "en"
    html = _environment.get_template(template).render(frame=frame, menu=menu, t=translated, moment=moment, other=other, **values)
    headers = {**HEADERS, "Content-Language": frame.language, "Vary": "Accept-Language, Cookie"}
    return HTMLResponse(html, status, headers)


def stop_response(text: str, status: int, headers: dict[str, str], language: Language = "de") -> HTMLResponse:
    """The page of an error; `text` is a key of `STOPS`."""
    response = template_response("stopped.html", ConsoleFrame(language), status, text=say(STOPS[text], language))
    response.headers.update(headers)
    return response


def asset(name: str) -> render.Asset | None:
    """A file of `static/` by its exact name."""
    return _assets.get(name)


def asset_response(request: Request, file: render.Asset) -> Response:
    """A file of `static/` as a response."""
    return render.asset_response(request, file)


def _asset_url(name: str) -> str:
    return f"{ROOT}/static/{name}?v={_assets[name].etag[1:9]}" if name in _assets else render.asset_url(name)


_assets = {path.name: render.load_asset(path) for path in (HERE / "static").iterdir() if path.suffix in render.MEDIA_TYPES}
_environment = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_environment.globals |= {"root": ROOT, "asset_url": _asset_url}
