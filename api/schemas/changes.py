"""Bodies of what clients need to keep a copy of a customer's data: what was added, changed and removed since a cursor."""

from typing import Annotated, Any

from pydantic import Field, create_model

from api.schemas.accesses import AccessBody, ProductBody
from api.schemas.base import Wire
from api.schemas.transactions import FoundTransactionBody

UID = "5f0c2b7a-1d3e-4f6a-8b9c-0d1e2f3a4b5c"
ACCESS_ID = "0d0f6a4e-6f0e-4b0e-9a55-0f0c5d1f7a10"
LEFT_OUT = frozenset({"products", "relations"})
"""Fields of accesses and products that a copy has not: products come by themselves, and relations depend on time and token."""


def _without(model: type[Wire]) -> dict[str, Any]:
    """The fields of a body that a copy has."""
    return {name: (field.annotation, field) for name, field in model.model_fields.items() if name not in LEFT_OUT}


class Unique(Wire):
    """An object with a name of its own."""

    uid: str = Field(examples=[UID], description="Names this object for ever; an `id` can be given to another one later")


class OfAccess(Unique):
    """An object that belongs to an access."""

    access_uid: str = Field(alias="accessUid", examples=[UID], description="`uid` of its access")
    access_id: str = Field(alias="accessId", examples=[ACCESS_ID], description="`id` of its access")


SyncedAccess = create_model("SyncedAccess", __base__=Unique, __doc__="An access without its products.", **_without(AccessBody))
SyncedProduct = create_model("SyncedProduct", __base__=OfAccess, __doc__="A product.", **_without(ProductBody))


class SyncedTransaction(FoundTransactionBody):
    """A booking. A correction of its category by the customer counts as a change of it: read it again with `tag`."""

    access_uid: str = Field(alias="accessUid", examples=[UID], description="`uid` of its access")
    product_uid: str = Field(alias="productUid", examples=[UID], description="`uid` of its product")


Removed = Annotated[list[str], Field(examples=[[UID]])]


class AccessChanges(Wire):
    """Accesses. A removed one takes its products and their bookings with it."""

    added: list[SyncedAccess]
    changed: list[SyncedAccess]
    removed: Removed = Field(description="By `uid`")


class ProductChanges(Wire):
    """Products. A removed one takes its bookings with it. Positions that change are a change of their depot."""

    added: list[SyncedProduct]
    changed: list[SyncedProduct]
    removed: Removed = Field(description="By `uid`")


class TransactionChanges(Wire):
    """Bookings."""

    added: list[SyncedTransaction]
    changed: list[SyncedTransaction]
    removed: Removed = Field(description="By `id`")


class ChangedAnalysis(Wire):
    """Something computed from all bookings that may have changed."""

    name: str = Field(examples=["contracts"])
    href: str = Field(examples=["http://127.0.0.1:8000/customer/v2/ai/contracts"], description="Where to read it")


class ChangesBody(Wire):
    """A page of changes. Apply removals first, then replace or insert the rest by `uid` (bookings by `id`)."""

    accesses: AccessChanges
    products: ProductChanges
    bookings: TransactionChanges
    analyses: list[ChangedAnalysis] = Field(description="On the last page only: all of them, if any may have changed, else none")
    cursor: str = Field(examples=["AQIABjZ…"], description="Where to go on: store it together with what the page changed")
    has_more: bool = Field(alias="hasMore", examples=[False], description="There is more already: go on at once")
