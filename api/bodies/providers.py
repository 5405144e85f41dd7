"""Providers as the interface shows them, with the finished JSON of the whole catalogue."""

from collections.abc import Mapping
from weakref import WeakKeyDictionary
from zoneinfo import ZoneInfo

from api.http.responses import Links
from api.http.strict_json import render
from api.schemas.base import Relation
from api.schemas.categories import WIRE_CATEGORIES
from api.schemas.providers import WIRE_CAPABILITIES, AuthenticationField, AuthenticationInfo, ProviderBody
from pipelines.banks import catalogue
from pipelines.banks.base import Connector, Offer
from pipelines.banks.catalogue import ProviderOffer
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.tables import Provider
from warehouse.stores import providers

ROOT = ("providers", "v2")
_catalogues: WeakKeyDictionary[Database, tuple[str, list[tuple[Provider, bytes]]]] = WeakKeyDictionary()
"""The version of each database's catalogue, and its providers with their JSON: rendering thousands of them takes a second."""


def offered_providers(
    database: Database, owner: Owner, connectors: Mapping[str, Connector], links: Links, zone: ZoneInfo
) -> list[tuple[Provider, bytes]]:
    """All offered providers with their JSON, which is rendered again only after the catalogue has changed."""
    # Read before the rows: a change in between makes the next request render the list again.
    version = providers.version(owner)
    cached_version, rows = _catalogues.get(database, (None, []))
    if cached_version != version:
        rows = [(item[0], render(provider_body(links, item), zone)) for item in catalogue.find_offers(owner, connectors)]
        _catalogues[database] = version, rows
    return rows


def provider_body(links: Links, item: ProviderOffer) -> ProviderBody:
    """A provider with the fields of its login."""
    row, offer = item
    return ProviderBody(
        id=row.id,
        name=row.name,
        consumer_relevant=row.consumer_relevant,
        group=row.group_name,
        blz=row.blz,
        bic=row.bic,
        relations=_relations(links, row),
        capabilities=[WIRE_CAPABILITIES[capability] for capability in offer.capabilities],
        channels=[[WIRE_CATEGORIES[category] for category in channel] for channel in offer.channels],
        authentication_info=_authentication(offer),
        paused_since=row.paused_at,
    )


def _relations(links: Links, row: Provider) -> list[Relation]:
    href = links.to(*ROOT, str(row.id))
    return [Relation(rel="self", href=href), Relation(rel="logo", href=f"{href}/logo")]


def _authentication(offer: Offer) -> AuthenticationInfo:
    return AuthenticationInfo(
        login_hint=offer.login_hint,
        fields=[
            AuthenticationField(fieldkey=field.key, label=field.label, secret=field.secret, hint=field.hint, format=field.format)
            for field in offer.fields
        ],
    )
