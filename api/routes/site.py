"""The start page and the pages about codes, for browsers as HTML and for programs as JSON. They need no token."""

from typing import Any

from fastapi import Request
from starlette.responses import HTMLResponse, Response

from api.http.errors import PAGES
from api.http.negotiation import HTML, JSON, language_of, prefers_html
from api.http.responses import json_response
from api.http.route import router
from api.openapi.document import VERSION
from api.routes.docs import is_built
from api.schemas.base import Relation
from api.schemas.codes import CATALOGUE, CodeEntry
from api.schemas.languages import Language, say
from api.services import AppServices, Services
from api.site import pages
from warehouse.errors import NotFound

PUBLIC: dict[str, Any] = {"openapi_extra": {"security": []}, "include_in_schema": False}
VARY = {"Vary": "Accept, Accept-Language"}
CACHED = {"Cache-Control": "public, max-age=3600"}
"""For pages that only change with the version."""
routes = router("", "Health")


class PageOrJson(Response):
    media_type = JSON
    also_accepted = (HTML,)


@routes.get("/", response_class=PageOrJson, **PUBLIC)
async def get_start(request: Request, services: AppServices) -> Response:
    """Where to go on from here."""
    links = _links(services)
    language = language_of(request.scope["headers"])
    if prefers_html(request.scope["headers"]):
        return _page(pages.start_page(language, links), language)
    base_url = services.settings.base_url
    relations = [Relation(rel="self", href=f"{base_url}/")]
    relations += [Relation(rel=name, href=f"{base_url}{address}") for name, address in links.items()]
    return json_response(services.zone, {"name": "Kontor", "version": VERSION, "relations": relations}, headers=VARY)


@routes.get(PAGES, response_class=PageOrJson, **PUBLIC)
async def list_codes(request: Request, services: AppServices) -> Response:
    """All codes of errors and messages."""
    language = language_of(request.scope["headers"])
    if prefers_html(request.scope["headers"]):
        return _page(pages.codes_page(language, PAGES), language, CACHED)
    bodies = [_body(services, entry, language) for entry in CATALOGUE.values()]
    return json_response(services.zone, {"errors": bodies}, headers={**VARY, **CACHED, "Content-Language": language})


@routes.get(f"{PAGES}/{{code}}", response_class=PageOrJson, **PUBLIC)
async def get_code(request: Request, code: str, services: AppServices) -> Response:
    """What a code means, and what to do about it."""
    entry = CATALOGUE.get(code)
    if entry is None:
        raise NotFound("code")
    language = language_of(request.scope["headers"])
    if prefers_html(request.scope["headers"]):
        return _page(pages.code_page(language, entry, PAGES), language, CACHED)
    body = _body(services, entry, language)
    return json_response(services.zone, body, headers={**VARY, **CACHED, "Content-Language": language})


def _links(services: Services) -> dict[str, str]:
    """What there is to see, by the names of `pages.LINKS`."""
    documentation = {"documentation": "/docs", "openapi": "/openapi.json"} if services.settings.docs else {}
    if services.settings.docs and is_built():
        documentation["handbook"] = "/handbook"
    demo = {"demo": "/demo"} if (services.settings.home / "demo.json").exists() else {}
    return {
        **documentation,
        **demo,
        "errors": PAGES,
        "health": "/health",
        "ready": "/ready",
        "security": "/.well-known/security.txt",
    }


def _body(services: Services, entry: CodeEntry, language: Language) -> dict[str, Any]:
    return {
        "code": str(entry.code),
        "level": entry.level,
        "statuses": entry.statuses,
        "title": say(entry.title, language),
        "meaning": say(entry.meaning, language),
        "remedy": say(entry.remedy, language),
        "documentation": f"{services.settings.base_url}{PAGES}/{entry.code}",
    }


def _page(html: str, language: Language, headers: dict[str, str] | None = None) -> Response:
    return HTMLResponse(html, headers={**pages.HEADERS, **VARY, "Content-Language": language, **(headers or {})})
