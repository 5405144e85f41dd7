"""Bodies of tag trees, of their items, and of the tags of bookings and users. `results.documents` writes them as JSON."""

from typing import Annotated

from pydantic import Field

from api.schemas.base import Number, Relation, Wire, shape
from pipelines.results.documents.tags import TRANSACTION, TREES, USER

EXAMPLE = f"http://127.0.0.1:8000/{TREES}"
RELATIONS = [{"rel": "self", "href": f"{EXAMPLE}/1/"}]


class TagTreeReference(Wire):
    """The tree of an item."""

    description: str = Field(examples=["Wofür Geld ausgegeben oder eingenommen wurde, in Haupt- und Unterkategorien."])
    display_name: str = Field(alias="displayName", examples=["Kategorien"])
    system_id: int = Field(alias="systemId", examples=[1])
    system_name: str = Field(alias="systemName", examples=["CATEGORIES"], description="Never changes")
    version: int = Field(examples=[1], description="Grows when items change")
    is_client_generated: bool = Field(alias="isClientGenerated", examples=[False])


class TagTreeBody(TagTreeReference):
    """A tag tree."""

    relations: list[Relation] = Field(examples=[RELATIONS])


class TagTreeItemReference(Wire):
    """An item of a tag tree."""

    display_name: str = Field(alias="displayName", examples=["Lebensmittel"])
    system_id: int = Field(alias="systemId", examples=[10101], description="Never changes, and is never used for another item")
    system_name: str = Field(alias="systemName", examples=["LIVING_GROCERIES"], description="Never changes")
    system_name_parent: str | None = Field(None, alias="systemNameParent", examples=["LIVING"], description="In two-level trees")
    description: str | None = Field(None, examples=["Einkäufe in Supermarkt, Discounter, Bäckerei und auf dem Wochenmarkt."])
    tag_tree: TagTreeReference = Field(alias="tagTree")
    address_city: str | None = Field(None, alias="addressCity", examples=["Hamburg"], description="This and all below: partners")
    address_country: str | None = Field(None, alias="addressCountry", examples=["DE"])
    address_street: str | None = Field(None, alias="addressStreet", examples=["Musterstraße 1"])
    address_zip: str | None = Field(None, alias="addressZip", examples=["20095"])
    creditor_id: str | None = Field(None, alias="creditorId", examples=["DE98ZZZ09999999999"])
    group: str | None = Field(None, examples=["REWE Group"])
    telephone: str | None = Field(None, examples=["+49 40 123456"])
    website: str | None = Field(None, examples=["https://www.example.de/"])
    categories: list[str] | None = Field(None, examples=[["LIVING_GROCERIES"]], description="In contracts only")


class TagTreeItemBody(TagTreeItemReference):
    """An item of a tag tree, as the tree lists it."""

    relations: list[Relation] = Field(examples=[RELATIONS])


class TagEntity(Wire):
    """What carries a tag."""

    display_name: str = Field(alias="displayName", examples=["Stadtwerke"])
    entity_class: Annotated[str, shape("EntityClass", [TRANSACTION, USER])] = Field(alias="entityClass", examples=[TRANSACTION])
    id: str = Field(examples=["3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10"])
    user_id: str | None = Field(None, alias="userId", examples=["5f0c6f0e-3c52-4d3c-9a52-0d7b0a3f9c11"])


class TagDetails(Wire):
    """Why a booking carries a tag."""

    confidence_level: Number = Field(alias="confidenceLevel", examples=[0.97], description="From 0 to 1")
    source: Annotated[str, shape("TagSource", ["USER", "RULE", "PARTNER", "MODEL", "FALLBACK"])] = Field(
        examples=["PARTNER"], description="Who decided: the customer, a rule, the partner, the model, or nothing was recognised"
    )
    reason: str = Field(examples=["Partner REWE"], description="What decided, in German")
    model_version: str = Field(alias="modelVersion", examples=["2026.11-3f9a"])
    refund_of: str | None = Field(None, alias="refundOf", examples=["3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10"])
    pair_of: str | None = Field(None, alias="pairOf", examples=["3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10"])


class TagBody(Wire):
    """What every tag says: what carries it, and of which item it is. Its kind adds the details."""

    id: str = Field(examples=["3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10.1"])
    entity: TagEntity
    tag_tree_item: TagTreeItemReference = Field(alias="tagTreeItem")
    relations: list[Relation] = Field(examples=[RELATIONS])


class TagInstanceBody(TagBody):
    """A tag on a booking."""

    details: TagDetails | None = None
