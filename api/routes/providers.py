"""The provider catalogue: which banks are offered, what a login there takes, and their logos."""

from typing import Annotated
from uuid import UUID
from weakref import WeakKeyDictionary

from fastapi import Query
from pydantic import StringConstraints
from starlette.responses import Response

from api.bodies import provider_logos
from api.http.authorization import TokenKind, needs
from api.http.responses import answer, link
from api.http.route import JSON, router
from api.http.strict_json import render
from api.schemas.base import Line, Relation
from api.schemas.categories import WIRE_CATEGORIES
from api.schemas.providers import WIRE_CAPABILITIES, AuthenticationField, AuthenticationInfo, ProviderBody
from api.services import Held, Services
from pipelines.banks import catalogue
from pipelines.banks.base import Offer
from pipelines.banks.catalogue import ProviderOffer
from warehouse import scopes
from warehouse.errors import NotFound
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.tables import Provider
from warehouse.stores import providers
from warehouse.stores.callers import Caller

PREFIX = "/providers/v2"
SEARCH_LENGTH = 100
LOGO_HEADERS = {
    "Cache-Control": "public, max-age=86400",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
}
routes = router(PREFIX, "Providers")

ReadsProviders = Annotated[Caller, needs(scopes.PROVIDERS_READ, TokenKind.ANY)]
Search = Annotated[Line, StringConstraints(min_length=1, max_length=SEARCH_LENGTH)]


class SvgResponse(Response):
    media_type = "image/svg+xml"


@routes.get("", response_model=list[ProviderBody])
def list_providers(
    caller: ReadsProviders,
    held: Held,
    q: Annotated[Search | None, Query(description="Part of the name, or beginning of BLZ or BIC", examples=["demo"])] = None,
    blz: Annotated[str | None, Query(pattern="^[0-9]{8}$", description="Bank code", examples=["10010010"])] = None,
    bic: Annotated[
        str | None,
        Query(pattern="^[A-Za-z0-9]{8}([A-Za-z0-9]{3})?$", description="With or without branch", examples=["PBNKDEFF"]),
    ] = None,
    group: Annotated[Search | None, Query(description="The whole grouping term", examples=["Demo"])] = None,
) -> Response:
    """All providers that are connected and enabled, by name; with parameters, those that fit all of them."""
    with held.database.acting_for(caller.tenant_id) as owner:
        known = offered_providers(held, owner)
    found = (text for row, text in known if catalogue.fits(row, q=q, blz=blz, bic=bic, group=group))
    return Response(b"[" + b",".join(found) + b"]", media_type=JSON)


@routes.get("/{provider}", response_model=ProviderBody)
def get_provider(provider: str, caller: ReadsProviders, held: Held) -> Response:
    """One provider."""
    with held.database.acting_for(caller.tenant_id) as owner:
        return answer(held, _provider(held, catalogue.find_offer(owner, held.connectors, _key(provider))))


@routes.get("/{provider}/logo", response_class=SvgResponse, openapi_extra={"security": []})
def get_logo(provider: str, held: Held) -> Response:
    """The logo of a provider. Needs no token: a page that shows it cannot send one."""
    with held.database.operating() as owner:
        row, _ = catalogue.find_offer(owner, held.connectors, _key(provider))
        return SvgResponse(provider_logos.draw(row.name, row.group_name), headers=LOGO_HEADERS)


_ROOT = PREFIX.strip("/").split("/")
_lists: WeakKeyDictionary[Database, tuple[str, list[tuple[Provider, bytes]]]] = WeakKeyDictionary()
"""All providers with their JSON, and the version of the catalogue that they show: writing down thousands takes a second."""


def offered_providers(held: Services, owner: Owner) -> list[tuple[Provider, bytes]]:
    """What is offered, with its JSON; written anew only after a change."""
    # Asked for before the rows are read: a change in between makes the next request write the list anew.
    version = providers.version(owner)
    kept = _lists.get(held.database)
    if kept is None or kept[0] != version:
        found = catalogue.find_offers(owner, held.connectors)
        kept = version, [(item[0], render(_provider(held, item), held.settings.zone)) for item in found]
        _lists[held.database] = kept
    return kept[1]


def _key(value: str) -> UUID:
    """A provider's id; one that is not even a UUID names no provider."""
    try:
        return UUID(value)
    except ValueError as error:
        raise NotFound("provider") from error


def _provider(held: Services, offered: ProviderOffer) -> ProviderBody:
    row, offer = offered
    return ProviderBody(
        id=row.id,
        name=row.name,
        consumer_relevant=row.consumer_relevant,
        group=row.group_name,
        blz=row.blz,
        bic=row.bic,
        relations=_relations(held, row),
        capabilities=[WIRE_CAPABILITIES[capability] for capability in offer.capabilities],
        channels=[[WIRE_CATEGORIES[category] for category in channel] for channel in offer.channels],
        authentication_info=_authentication(offer),
    )


def _relations(held: Services, row: Provider) -> list[Relation]:
    href = link(held, *_ROOT, str(row.id))
    return [Relation(rel="self", href=href), Relation(rel="logo", href=f"{href}/logo")]


def _authentication(offer: Offer) -> AuthenticationInfo:
    return AuthenticationInfo(
        login_hint=offer.login_hint,
        fields=[
            AuthenticationField(fieldkey=field.key, label=field.label, secret=field.secret, hint=field.hint, format=field.format)
            for field in offer.fields
        ],
    )
