"""Changes as the interface shows them: entries of the store as bodies, by kind and by what has happened to them."""

from typing import Any
from uuid import UUID

from api.bodies.customers import access_body, product_body
from api.http.responses import Links
from api.schemas.base import Wire
from api.schemas.changes import LEFT_OUT
from api.schemas.transactions import transaction_fields
from warehouse.stores.callers import Caller
from warehouse.stores.changes import PRODUCT, ChangePage, Entry, Kind, SyncCursor, is_added

KINDS = {Kind.ACCESS: "accesses", Kind.PRODUCT: "products", Kind.BOOKING: "bookings"}
REMOVED_KINDS = {"access": "accesses", "product": "products", "booking": "bookings"}
Changes = dict[str, dict[str, list[Any]]]


def changes_body(links: Links, caller: Caller, page: ChangePage, since: SyncCursor) -> Changes:
    """What was added, changed and removed, by kind, for a client at this cursor."""
    body: Changes = {kind: {"added": [], "changed": [], "removed": []} for kind in KINDS.values()}
    for entry in page.entries:
        if entry.place.kind is Kind.REMOVAL:
            body[REMOVED_KINDS[entry.content.kind]]["removed"].append(str(entry.content.object_id))
        else:
            change = "added" if is_added(entry, since) else "changed"
            body[KINDS[entry.place.kind]][change].append(_object_body(links, caller, page, entry))
    body["accesses"]["removed"] += [str(id_) for id_ in page.expired]
    return body


def _object_body(links: Links, caller: Caller, page: ChangePage, entry: Entry) -> dict[str, Any]:
    if entry.place.kind is Kind.ACCESS:
        return {"uid": str(entry.content.id), **_without_links(access_body(links, caller, entry.content, []))}
    if entry.place.kind is Kind.PRODUCT:
        product = entry.content
        access = page.accesses[product.access_id]
        uids = {"uid": str(product.id), "accessUid": str(access.id), "accessId": access.key}
        return {**uids, **_without_links(product_body(links, caller, access, product))}
    return {**transaction_fields(entry.content), **_belonging(page, entry.content[PRODUCT])}


def _belonging(page: ChangePage, product_id: UUID) -> dict[str, str]:
    """Where a booking belongs."""
    product = page.products[product_id]
    access = page.accesses[product.access_id]
    return {"accessId": access.key, "productId": product.key, "accessUid": str(access.id), "productUid": str(product.id)}


def _without_links(body: Wire) -> dict[str, Any]:
    return body.model_dump(by_alias=True, exclude=set(LEFT_OUT), exclude_none=True)
