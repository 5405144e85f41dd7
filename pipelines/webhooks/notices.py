"""The body and headers of a webhook event, as in Standard Webhooks. `notify.py` sends them.

One German word stands here, because the body uses the words of the interface; it is the only body on the wire that pipelines
send. `api/schemas/webhooks.py` has the same shape for reading events again. Only references: no amounts, names or IBANs.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any
from urllib.parse import quote
from uuid import uuid5

import orjson
from standardwebhooks import Webhook

from warehouse.settings import Settings
from warehouse.stores.deliveries import Delivery
from warehouse.stores.webhooks import EventNotice

ACCESSES, PAYMENTS, ANALYSIS_ROOT = "customer/v2/bankzugaenge", "customer/v2/payments", "customer/v2/ai"
ANALYSIS_PATHS = {"life-stages": "life/stages"}
"""The paths of analyses whose names are not their paths."""
ANALYSES, TRIGGER = "analyses", "trigger"
"""The details that become references. All others stand in the body as they are."""


def body(delivery: Delivery, settings: Settings) -> bytes:
    """The JSON of an event, the same at every attempt. `event` is the older name of `type`."""
    return orjson.dumps(
        {
            "serial": delivery.serial,
            "type": delivery.type,
            "event": delivery.type,
            "tenant": delivery.tenant_name,
            **references(delivery, settings.base_url),
            "timestamp": delivery.created_at.astimezone(settings.zone).strftime("%Y-%m-%d %H:%M:%S"),
        }
    )


def references(notice: EventNotice, base_url: str) -> dict[str, Any]:
    """What an event is about, in the words of the interface; empty if that is gone."""
    if not notice.has_subject:
        return {}
    details: Mapping[str, Any] = notice.details
    return {
        "user": str(notice.user_id),
        **({"bankzugang": _link(base_url, ACCESSES, notice.access_key)} if notice.access_key is not None else {}),
        **({"payment": _link(base_url, PAYMENTS, str(notice.payment_id))} if notice.payment_id is not None else {}),
        **({ANALYSES: [_analysis(base_url, name) for name in details[ANALYSES]]} if ANALYSES in details else {}),
        **({"salesTrigger": _trigger(base_url, notice)} if TRIGGER in details else {}),
        **{name: value for name, value in details.items() if name not in (ANALYSES, TRIGGER)},
    }


def _link(base_url: str, root: str, name: str) -> dict[str, str]:
    return {"id": name, "href": f"{base_url}/{root}/{quote(name, safe='')}"}


def _analysis(base_url: str, name: str) -> dict[str, str]:
    return {"id": name, "href": f"{base_url}/{ANALYSIS_ROOT}/{ANALYSIS_PATHS.get(name, name)}"}


def _trigger(base_url: str, notice: EventNotice) -> dict[str, str]:
    """The id of the trigger as its analysis has it, which begins with that of the user."""
    return {"id": f"{notice.user_id}.{notice.details[TRIGGER]}", "href": f"{base_url}/{ANALYSIS_ROOT}/sales-triggers"}


def headers(delivery: Delivery, content: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """The headers of one attempt, with a signature for each secret.

    The time is that of the attempt: receivers refuse old ones.
    """
    sent_at = delivery.claimed_at.astimezone(UTC)
    name = message_id(delivery)
    signatures = [Webhook(secret).sign(name, sent_at, content.decode()) for secret in secrets]
    return {
        "Content-Type": "application/json",
        "User-Agent": "Kontor",
        "webhook-id": name,
        "webhook-timestamp": str(int(sent_at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def message_id(delivery: Delivery) -> str:
    """The id of an event: the same at every attempt, and unique even if a webhook is deleted and registered again."""
    return f"msg_{uuid5(delivery.client_id, f'{delivery.serial} {delivery.created_at.astimezone(UTC).isoformat()}').hex}"
