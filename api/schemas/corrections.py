"""Bodies by which categories are wished for: of one booking, or by a rule for a counterparty."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema
from schwifty import IBAN
from schwifty.exceptions import SchwiftyException

from api.schemas.base import CONTROLS, Line, Relation, Wire
from api.schemas.tags import TagTreeItemReference

NAME_LENGTH = 256
OR_NULL = WithJsonSchema({"type": ["string", "null"], "maxLength": NAME_LENGTH, "pattern": f"^[^{CONTROLS}]*$"})
SystemName = Annotated[Line, StringConstraints(min_length=1, max_length=64)]


def _given(value: Any) -> Any:
    """A text without blanks around it; null is the same as none."""
    return "" if value is None else value.strip() if isinstance(value, str) else value


def _compact_iban(value: str) -> str:
    """An IBAN without blanks and in capitals, after checking its length and check digits; empty if there is none."""
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
    iban: Annotated[Line, AfterValidator(_compact_iban), BeforeValidator(_given), OR_NULL] = Field(
        "", alias="counterpartyIban", examples=["DE02120300000000202051"]
    )
    name: Annotated[Line, StringConstraints(max_length=NAME_LENGTH), BeforeValidator(_given), OR_NULL] = Field(
        "", alias="counterpartyName", examples=["Stadtwerke"]
    )


class RuleBody(Wire):
    """A rule: bookings of this counterparty have this category."""

    id: str = Field(examples=["6a0b1f5e-3c0d-4b7e-9a52-0d7b0a3f9c11"])
    item: TagTreeItemReference = Field(alias="tagTreeItem")
    iban: str = Field(alias="counterpartyIban", examples=["DE02120300000000202051"])
    name: str = Field(alias="counterpartyName", examples=["Stadtwerke"])
    relations: list[Relation]
