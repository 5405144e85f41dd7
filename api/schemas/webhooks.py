"""Bodies of webhooks and their events, and of the notifications that receivers get."""

import re
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field

from api.schemas.accesses import Moment
from api.schemas.base import Line, Relation, Wire
from warehouse.inputs.addresses import MAX_URL_LENGTH
from warehouse.stores.webhooks import EventState

MAX_SERIAL = 2**63 - 1


def _digits(value: Any) -> Any:
    """A number of digits alone; other spellings that Python accepts, like `1_000`, are refused."""
    if isinstance(value, str) and not re.fullmatch("[0-9]{1,19}", value):
        raise ValueError("not a whole number")
    return value


Serial = Annotated[int, Field(ge=1, le=MAX_SERIAL), BeforeValidator(_digits)]
Limit = Annotated[int, Field(ge=1, le=1000), BeforeValidator(_digits)]


class NewWebhook(Wire):
    """What setting a webhook takes."""

    url: Line = Field(
        max_length=MAX_URL_LENGTH,
        description="a public https address on port 443, without credentials and fragment",
        examples=["https://app.example.de/kontor"],
        json_schema_extra={"format": "uri"},
    )


class WebhookBody(Wire):
    """The webhook of a client. `serial` is the number of its latest event; it is disabled after the receiver answered 410."""

    url: str = Field(examples=["https://app.example.de/kontor"])
    serial: int = Field(examples=[41])
    enabled: bool = Field(examples=[True])
    relations: list[Relation]


class WebhookSecretBody(WebhookBody):
    """A webhook with its new secret, which is shown here and never again."""

    secret: str = Field(examples=["whsec_ZGFzIGlzdCBlaW4gQmVpc3BpZWwgbWl0IDMyIEJ5dGVzIQ=="])


class AccessReference(Wire):
    """Which access has new transactions."""

    id: str = Field(examples=["5b1d8f0a"])
    href: str = Field(examples=["http://127.0.0.1:8000/customer/v2/bankzugaenge/5b1d8f0a"])


class WebhookNotification(Wire):
    """What a receiver gets: that an access has new transactions."""

    serial: int = Field(examples=[41], description="Counts the events of this webhook by one: a gap is a lost event")
    event: Literal["NEW_TRANSACTIONS"]
    tenant: str = Field(examples=["demo"])
    user: UUID = Field(examples=["5f0c6f0e-3c52-4d3c-9a52-0d7b0a3f9c11"])
    access: AccessReference = Field(alias="bankzugang")
    timestamp: Moment = Field(examples=["2026-03-01 08:15:00"])


class WebhookEventBody(Wire):
    """An event. `user` and `bankzugang` are left out once the access is gone."""

    serial: int = Field(examples=[41])
    event: Literal["NEW_TRANSACTIONS"] = "NEW_TRANSACTIONS"
    tenant: str = Field(examples=["demo"])
    user: UUID | None = Field(None, examples=["5f0c6f0e-3c52-4d3c-9a52-0d7b0a3f9c11"])
    access: AccessReference | None = Field(None, alias="bankzugang")
    timestamp: Moment = Field(examples=["2026-03-01 08:15:00"])
    state: EventState
