"""Bodies of webhooks and their events, and of the notifications that receivers get."""

import re
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field

from api.schemas.accesses import Moment
from api.schemas.base import Line, Relation, Wire, shape
from warehouse.inputs.addresses import MAX_URL_LENGTH
from warehouse.stores.webhooks import EventState
from warehouse.webhook_types import TYPES, EventType

MAX_SERIAL = 2**63 - 1
SOME_USER = "5f0c6f0e-3c52-4d3c-9a52-0d7b0a3f9c11"
EXAMPLE = "http://127.0.0.1:8000/customer/v2"
TYPE_LIST = "\n".join(f"- `{name}`: {row.description}" for name, row in TYPES.items())


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
    types: list[EventType] | None = Field(
        None,
        min_length=1,
        max_length=len(TYPES),
        description="which events the address receives; without it a webhook keeps its types, and a new one receives "
        f"`NEW_TRANSACTIONS`.\n{TYPE_LIST}",
        examples=[["NEW_TRANSACTIONS", "LOGIN_BROKEN"]],
    )


class WebhookBody(Wire):
    """The webhook of a client. `serial` is the number of its latest event; it is disabled after the receiver answered 410."""

    url: str = Field(examples=["https://app.example.de/kontor"])
    types: list[EventType] = Field(examples=[["NEW_TRANSACTIONS", "LOGIN_BROKEN"]])
    serial: int = Field(examples=[41])
    enabled: bool = Field(examples=[True])
    relations: list[Relation]


class WebhookSecretBody(WebhookBody):
    """A webhook with its new secret, which is shown here and never again."""

    secret: str = Field(examples=["whsec_ZGFzIGlzdCBlaW4gQmVpc3BpZWwgbWl0IDMyIEJ5dGVzIQ=="])


class AccessReference(Wire):
    """The access that an event is about."""

    id: str = Field(examples=["5b1d8f0a"])
    href: str = Field(examples=[f"{EXAMPLE}/bankzugaenge/5b1d8f0a"])


class PaymentReference(Wire):
    """The payment that an event is about."""

    id: UUID = Field(examples=["6f1c2f9e-3c1b-4a57-9d2e-0c5b7a1f4e10"])
    href: str = Field(examples=[f"{EXAMPLE}/payments/6f1c2f9e-3c1b-4a57-9d2e-0c5b7a1f4e10"])


class AnalysisReference(Wire):
    """An analysis that has changed."""

    id: str = Field(examples=["cashflow"])
    href: str = Field(examples=[f"{EXAMPLE}/ai/cashflow"])


class TriggerReference(Wire):
    """A sales trigger: its id in the list behind the address."""

    id: str = Field(examples=[f"{SOME_USER}.5.MISSINGINSURANCE_PRIVATELIABILITY"])
    href: str = Field(examples=[f"{EXAMPLE}/ai/sales-triggers"])


Fault = Annotated[str, Field(examples=["BA1011"], description="The code of the message about the bank")]
DaysLeft = Annotated[int, Field(examples=[7], description="30, 7 or 1: the consent ends in at most so many days")]
Outcome = Annotated[Literal["DONE", "FAILED"], shape("PaymentOutcome")]


class EventNotification(Wire):
    """What every event says that a receiver gets."""

    serial: int = Field(examples=[41], description="Counts the events of this webhook by one: a gap is a lost event")
    type: EventType
    event: EventType = Field(description="The same as `type`: its older name")
    tenant: str = Field(examples=["demo"])
    user: UUID = Field(examples=[SOME_USER])
    timestamp: Moment = Field(examples=["2026-03-01 08:15:00"])


class WebhookNotification(EventNotification):
    """What a receiver gets: that an access has new transactions."""

    type: Literal[EventType.NEW_TRANSACTIONS]
    event: Literal[EventType.NEW_TRANSACTIONS]
    access: AccessReference = Field(alias="bankzugang")


class FirstFetchNotification(EventNotification):
    """What a receiver gets: that the first fetch of an access has ended. Without `fault`, everything was fetched."""

    type: Literal[EventType.FIRST_FETCH_DONE]
    event: Literal[EventType.FIRST_FETCH_DONE]
    access: AccessReference = Field(alias="bankzugang")
    fault: Fault | None = None


class LoginNotification(EventNotification):
    """What a receiver gets: that the login of an access does not work, and the customer has to act."""

    type: Literal[EventType.LOGIN_BROKEN]
    event: Literal[EventType.LOGIN_BROKEN]
    access: AccessReference = Field(alias="bankzugang")
    fault: Fault


class ConsentEndingNotification(EventNotification):
    """What a receiver gets: that the consent of an access ends soon."""

    type: Literal[EventType.CONSENT_ENDING]
    event: Literal[EventType.CONSENT_ENDING]
    access: AccessReference = Field(alias="bankzugang")
    days_left: DaysLeft = Field(alias="daysLeft")


class ConsentEndedNotification(EventNotification):
    """What a receiver gets: that the consent of an access has ended."""

    type: Literal[EventType.CONSENT_ENDED]
    event: Literal[EventType.CONSENT_ENDED]
    access: AccessReference = Field(alias="bankzugang")


class PaymentNotification(EventNotification):
    """What a receiver gets: that the outcome of a payment is final."""

    type: Literal[EventType.PAYMENT_FINAL]
    event: Literal[EventType.PAYMENT_FINAL]
    payment: PaymentReference
    outcome: Outcome


class AnalysesNotification(EventNotification):
    """What a receiver gets: that stored analyses of a user have changed."""

    type: Literal[EventType.ANALYSES_CHANGED]
    event: Literal[EventType.ANALYSES_CHANGED]
    analyses: list[AnalysisReference]


class TriggerNotification(EventNotification):
    """What a receiver gets: that a user has a new sales trigger."""

    type: Literal[EventType.TRIGGER_APPEARED]
    event: Literal[EventType.TRIGGER_APPEARED]
    trigger: TriggerReference = Field(alias="salesTrigger")


NOTIFICATIONS: dict[EventType, type[EventNotification]] = {
    EventType.NEW_TRANSACTIONS: WebhookNotification,
    EventType.FIRST_FETCH_DONE: FirstFetchNotification,
    EventType.LOGIN_BROKEN: LoginNotification,
    EventType.CONSENT_ENDING: ConsentEndingNotification,
    EventType.CONSENT_ENDED: ConsentEndedNotification,
    EventType.PAYMENT_FINAL: PaymentNotification,
    EventType.ANALYSES_CHANGED: AnalysesNotification,
    EventType.TRIGGER_APPEARED: TriggerNotification,
}
"""The body of each type of event."""


class WebhookEventBody(Wire):
    """An event. `user` and all that it is about are left out once that is gone."""

    serial: int = Field(examples=[41])
    type: EventType
    event: EventType = Field(description="The same as `type`: its older name")
    tenant: str = Field(examples=["demo"])
    user: UUID | None = Field(None, examples=[SOME_USER])
    access: AccessReference | None = Field(None, alias="bankzugang")
    payment: PaymentReference | None = None
    outcome: Outcome | None = None
    fault: Fault | None = None
    days_left: DaysLeft | None = Field(None, alias="daysLeft")
    analyses: list[AnalysisReference] | None = None
    trigger: TriggerReference | None = Field(None, alias="salesTrigger")
    timestamp: Moment = Field(examples=["2026-03-01 08:15:00"])
    state: EventState
