"""Bodies that correct categories: of one booking, or by a rule for a counterparty."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema
from schwifty import IBAN
from schwifty.exceptions import SchwiftyException

from api.schemas.base import CONTROLS, Line, Relation, Wire
from pipelines.results.documents.tags import TagTreeItemReference

MAX_NAME_CHARACTERS = 256
OR_NULL = WithJsonSchema({"type": ["string", "null"], "maxLength": MAX_NAME_CHARACTERS, "pattern": f"^[^{CONTROLS}]*$"})
SystemName = Annotated[Line, StringConstraints(min_length=1, max_length=64)]


def _strip(value: Any) -> Any:
    """The text without surrounding blanks; empty for null."""
    return "" if value is None else value.strip() if isinstance(value, str) else value


def _compact_iban(value: str) -> str:
    """The IBAN in its compact form, with valid length and check digits; empty if there is none."""
    if not value:
        return ""
    try:
        return str(IBAN(value).compact)
    except SchwiftyException as error:
        raise ValueError("not an IBAN") from error


class TreeInput(Wire):
    """The tree of a wished item."""

    system_name: SystemName = Field(alias="systemName", examples=["CATEGORIES"], description="Only categories can be wished for")


class ItemInput(Wire):
    """A wished item. Only the system names are read; a `systemId` is not."""

    system_name: SystemName = Field(alias="systemName", examples=["LIVING_GROCERIES"])
    tag_tree: TreeInput = Field(alias="tagTree")


class TransactionPut(Wire):
    """The wished category of a booking."""

    tags: ItemInput


class NewRule(Wire):
    """A rule to make. IBAN or name says for which counterparty; if both are given, both must be the same."""

    item: ItemInput = Field(alias="tagTreeItem")
    iban: Annotated[Line, AfterValidator(_compact_iban), BeforeValidator(_strip), OR_NULL] = Field(
        "", alias="counterpartyIban", examples=["DE02120300000000202051"]
    )
    name: Annotated[Line, StringConstraints(max_length=MAX_NAME_CHARACTERS), BeforeValidator(_strip), OR_NULL] = Field(
        "", alias="counterpartyName", examples=["Stadtwerke"]
    )


class RuleBody(Wire):
    """A rule: bookings of this counterparty have this category."""

    id: str = Field(examples=["6a0b1f5e-3c0d-4b7e-9a52-0d7b0a3f9c11"])
    item: TagTreeItemReference = Field(alias="tagTreeItem")
    iban: str = Field(alias="counterpartyIban", examples=["DE02120300000000202051"])
    name: str = Field(alias="counterpartyName", examples=["Stadtwerke"])
    relations: list[Relation]
