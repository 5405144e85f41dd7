"""Products that a tenant keeps itself, on an access without a bank: a home for bookings and balances from elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from pipelines.fetching import connect
from pipelines.fetching.validation import PRODUCTS_LIMIT
from warehouse.errors import HasBank, TooMany
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Product
from warehouse.settings import Settings
from warehouse.stores import accesses, products, results


@dataclass(frozen=True)
class OwnProducts:
    """The access whose products change, and when."""

    settings: Settings
    access_key: str
    now: datetime


def add(owner: Owner, place: OwnProducts, key: str | None, values: Mapping[str, Any]) -> str:
    """Adds a product with the values of its columns; returns its key. Raises `NameTaken` and `TooMany`."""
    access = _lock(owner, place)
    number = products.count(owner, access)
    if number >= PRODUCTS_LIMIT:
        raise TooMany("product")
    supports = {"transfer_support": False, "bulk_transfer_support": False}
    key = key or str(uuid4())
    products.add(owner, access, key, ordinal=number, status=accesses.COMPLETE, fetched_at=place.now, **supports, **values)
    _publish(owner, place, access)
    return key


def change(owner: Owner, place: OwnProducts, product_key: str, values: Mapping[str, Any]) -> None:
    """Changes the given columns of a product."""
    access = _lock(owner, place)
    product = products.find(owner, access, product_key, lock=True)
    for name, value in values.items():
        setattr(product, name, value)
    product.fetched_at = place.now
    _publish(owner, place, access)


def remove(owner: Owner, place: OwnProducts, product_key: str) -> None:
    """Deletes a product with its bookings."""
    access = _lock(owner, place)
    product: Product = products.find(owner, access, product_key, lock=True)
    products.remove(owner, product)
    accesses.touch(owner)
    results.request(owner)


def _lock(owner: Owner, place: OwnProducts) -> Access:
    """The access, locked; raises `HasBank` for one whose products a bank reports."""
    access = accesses.find(owner, place.access_key, lock=True)
    if connect.has_bank(access):
        raise HasBank
    return access


def _publish(owner: Owner, place: OwnProducts, access: Access) -> None:
    access.status, access.fetched_at, access.attempted_at = accesses.COMPLETE, place.now, place.now
    access.expires_at = None if access.sync else accesses.end_after(place.settings.unsynced_lifetime_seconds)
    accesses.touch(owner)
    accesses.record_refresh_day(owner, place.now.astimezone(place.settings.zone).date())
    results.request(owner)
