"""The types of webhook events: the one table from which the schema, the command line and the pages for tenants follow.

A new type is a row here, its model in `api/schemas/webhooks.py`, its section in `docs/tenants/webhooks.md`, and a call of
`webhooks.announce` in the transaction of the fact that it reports.
"""

from enum import StrEnum
from typing import NamedTuple


class EventType(StrEnum):
    """The type of a webhook event."""

    NEW_TRANSACTIONS = "NEW_TRANSACTIONS"
    FIRST_FETCH_DONE = "FIRST_FETCH_DONE"
    LOGIN_BROKEN = "LOGIN_BROKEN"
    CONSENT_ENDING = "CONSENT_ENDING"
    CONSENT_ENDED = "CONSENT_ENDED"
    PAYMENT_FINAL = "PAYMENT_FINAL"
    ANALYSES_CHANGED = "ANALYSES_CHANGED"
    TRIGGER_APPEARED = "TRIGGER_APPEARED"


class EventSubject(StrEnum):
    """What an event is about. An event whose subject is gone is not sent any more."""

    ACCESS = "ACCESS"
    PAYMENT = "PAYMENT"
    USER = "USER"


class TypeRow(NamedTuple):
    """A type, as the pages and the command line describe it."""

    subject: EventSubject
    description: str


TYPES: dict[EventType, TypeRow] = {
    EventType.NEW_TRANSACTIONS: TypeRow(EventSubject.ACCESS, "A refresh of an access with `sync` has found new transactions."),
    EventType.FIRST_FETCH_DONE: TypeRow(
        EventSubject.ACCESS, "The first fetch of an access has ended; `fault` names what went wrong, if anything did."
    ),
    EventType.LOGIN_BROKEN: TypeRow(
        EventSubject.ACCESS, "The bank refuses the login of an access, or it cannot be used: the customer has to act."
    ),
    EventType.CONSENT_ENDING: TypeRow(
        EventSubject.ACCESS, "The consent of an access ends in at most 30, 7 or 1 days (`daysLeft`)."
    ),
    EventType.CONSENT_ENDED: TypeRow(EventSubject.ACCESS, "The consent of an access has ended."),
    EventType.PAYMENT_FINAL: TypeRow(EventSubject.PAYMENT, "The outcome of a payment is final: `DONE` or `FAILED`."),
    EventType.ANALYSES_CHANGED: TypeRow(EventSubject.USER, "Stored analyses of a user have changed; `analyses` names them."),
    EventType.TRIGGER_APPEARED: TypeRow(EventSubject.USER, "A user has a sales trigger that the latest analyses did not have."),
}
DEFAULT_TYPES = (EventType.NEW_TRANSACTIONS,)
"""What a webhook receives that was set without types."""


def types_about(subject: EventSubject) -> list[str]:
    """The types of events about this kind of subject."""
    return [str(name) for name, row in TYPES.items() if row.subject is subject]
