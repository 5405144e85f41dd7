"""The provider catalogue: the offered banks, the fields of their logins, and their logos."""

from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import StringConstraints
from starlette.responses import Response

from api.bodies import drawn_logos
from api.bodies.providers import ROOT, offered_providers, provider_body
from api.http.authorization import TokenKind, needs
from api.http.responses import SVG, json_response
from api.http.route import JSON, router
from api.schemas.base import Line
from api.schemas.providers import ProviderBody
from api.services import AppServices
from pipelines.banks import catalogue
from warehouse import scopes
from warehouse.errors import NotFound
from warehouse.stores.callers import Caller

MAX_SEARCH_CHARACTERS = 100
LOGO_HEADERS = {
    "Content-Type": SVG,
    "Cache-Control": "public, max-age=86400",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox",
}
routes = router("/" + "/".join(ROOT), "Providers")

ReadsProviders = Annotated[Caller, needs(scopes.PROVIDERS_READ, TokenKind.ANY)]
Search = Annotated[Line, StringConstraints(min_length=1, max_length=MAX_SEARCH_CHARACTERS)]


class SvgResponse(Response):
    media_type = "image/svg+xml"


@routes.get("", response_model=list[ProviderBody])
def list_providers(
    caller: ReadsProviders,
    services: AppServices,
    q: Annotated[Search | None, Query(description="Part of the name, or beginning of BLZ or BIC", examples=["demo"])] = None,
    blz: Annotated[str | None, Query(pattern="^[0-9]{8}$", description="Bank code", examples=["10010010"])] = None,
    bic: Annotated[
        str | None,
        Query(pattern="^[A-Za-z0-9]{8}([A-Za-z0-9]{3})?$", description="With or without branch", examples=["PBNKDEFF"]),
    ] = None,
    group: Annotated[Search | None, Query(description="The whole grouping term", examples=["Demo"])] = None,
) -> Response:
    """All providers that are connected and enabled, by name; with parameters, those that fit all of them."""
    with services.database.acting_for(caller.tenant_id) as owner:
        rows = offered_providers(services.database, owner, services.connectors, services.links, services.zone)
    texts = (text for row, text in rows if catalogue.fits(row, q=q, blz=blz, bic=bic, group=group))
    return Response(b"[" + b",".join(texts) + b"]", media_type=JSON)


@routes.get("/{provider}", response_model=ProviderBody)
def get_provider(provider: str, caller: ReadsProviders, services: AppServices) -> Response:
    """One provider."""
    with services.database.acting_for(caller.tenant_id) as owner:
        item = catalogue.find_offer(owner, services.connectors, _id(provider))
    return json_response(services.zone, provider_body(services.links, item))


@routes.get("/{provider}/logo", response_class=SvgResponse, openapi_extra={"security": []})
def get_logo(provider: str, services: AppServices) -> Response:
    """The logo of a provider. Needs no token: a page that shows it cannot send one."""
    with services.database.operating() as owner:
        row, _ = catalogue.find_offer(owner, services.connectors, _id(provider))
        return SvgResponse(drawn_logos.draw(row.name, row.group_name), headers=LOGO_HEADERS)


def _id(value: str) -> UUID:
    """The id of a provider; anything but a UUID names none."""
    try:
        return UUID(value)
    except ValueError as error:
        raise NotFound("provider") from error
