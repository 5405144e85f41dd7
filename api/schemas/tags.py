"""Bodies of tag trees, of their items, and of the tags of bookings and users. `results.documents` writes
them, and describes what they have in common with analyses.
"""

from typing import Annotated

from pydantic import Field

from api.schemas.base import Number, Relation, Wire, shape
from pipelines.results.documents.tags import TRANSACTION, TREES, USER, TagTreeItemReference, TagTreeReference

EXAMPLE = f"http://127.0.0.1:8000/{TREES}"
RELATIONS = [{"rel": "self", "href": f"{EXAMPLE}/1/"}]


class TagTreeBody(TagTreeReference):
    """A tag tree."""

    relations: list[Relation] = Field(examples=[RELATIONS])


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
    reason: str = Field(examples=["Partner REWE"], description="What decided, in the language of the response")
    model_version: str = Field(alias="modelVersion", examples=["2026.11-3f9a"])
    refund_of: str | None = Field(None, alias="refundOf", examples=["3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10"])
    pair_of: str | None = Field(None, alias="pairOf", examples=["3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10"])
    guess: str | None = Field(
        None,
        examples=["LIVING_GROCERIES"],
        description="The item that is most likely where nothing is likely enough; analyses do not use it",
    )


class TagBody(Wire):
    """What every tag says: what carries it, and of which item it is. Its kind adds the details."""

    id: str = Field(examples=["3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10.1"])
    entity: TagEntity
    tag_tree_item: TagTreeItemReference = Field(alias="tagTreeItem")
    relations: list[Relation] = Field(examples=[RELATIONS])


class TagInstanceBody(TagBody):
    """A tag on a booking."""

    details: TagDetails | None = None
