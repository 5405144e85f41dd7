"""The body and headers of a webhook event, as in Standard Webhooks. `notify.py` sends them.

One German word stands here, because the body uses the words of the interface; it is the only body on the wire that pipelines
send. `api/schemas/webhooks.py` has the same shape for reading events again. Only references: no amounts, names or IBANs.
"""

from collections.abc import Sequence
from datetime import UTC
from urllib.parse import quote
from uuid import uuid5

import orjson
from standardwebhooks import Webhook

from warehouse.settings import Settings
from warehouse.stores.deliveries import Delivery

EVENT = "NEW_TRANSACTIONS"


def body(delivery: Delivery, settings: Settings) -> bytes:
    """The JSON of an event, the same at every attempt."""
    href = f"{settings.base_url}/customer/v2/bankzugaenge/{quote(delivery.access_key, safe='')}"
    return orjson.dumps(
        {
            "serial": delivery.serial,
            "event": EVENT,
            "tenant": delivery.tenant_name,
            "user": str(delivery.user_id),
            "bankzugang": {"id": delivery.access_key, "href": href},
            "timestamp": delivery.created_at.astimezone(settings.zone).strftime("%Y-%m-%d %H:%M:%S"),
        }
    )


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
