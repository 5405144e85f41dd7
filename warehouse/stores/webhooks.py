"""The store of webhooks: where a client wants to be told, its secrets, and the numbered events. `deliveries.py` sends them.

An event is written in the transaction that makes it true and numbered under the lock of its receiver's row: what is rolled
back was never announced, and the numbers have no gaps.
"""

import base64
import secrets as randomness
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from sqlalchemy import delete, func, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from warehouse.addresses import receiver_url
from warehouse.errors import NotFound
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Client, Webhook, WebhookEvent
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings

CHANNEL = "kontor_webhooks"
SECRET_PREFIX = "whsec_"  # noqa: S105  # nosec B105  # how Standard Webhooks marks a secret
SECRET_BYTES = 32


class EventState(StrEnum):
    """What has become of an event."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    DROPPED = "DROPPED"


@dataclass(frozen=True)
class Event:
    """An event as it can be read again; without references if the access is gone."""

    serial: int
    user_id: UUID | None
    access_key: str | None
    created_at: datetime
    state: str


def register(owner: Owner, vault: Vault, client: Client, url: str, settings: Settings) -> str:
    """Sets the address of a client and answers a new secret. An address that was there before keeps counting."""
    address = receiver_url(url, private=settings.webhook_private_addresses)
    row = insert(Webhook).values(tenant_id=owner.tenant, client_id=client.id, url=address)
    replaced = {"url": address, "enabled": True}
    owner.session.execute(row.on_conflict_do_update(index_elements=["client_id"], set_=replaced))
    return _renew_secret(owner, vault, client, settings.webhook_secret_overlap_seconds)


def rotate_secret(owner: Owner, vault: Vault, client: Client, overlap_seconds: int) -> str:
    """A new secret; events are signed with the old one as well until the overlap ends."""
    find(owner, client, lock=True)
    return _renew_secret(owner, vault, client, overlap_seconds)


def find(owner: Owner, client: Client, *, lock: bool = False) -> Webhook:
    """The webhook of a client as it is now."""
    statement = owner.rows(Webhook).where(Webhook.client_id == client.id).execution_options(populate_existing=True)
    webhook = owner.session.scalar(statement.with_for_update() if lock else statement)
    if webhook is None:
        raise NotFound(f"webhook of client {client.name}")
    return webhook


def remove(owner: Owner, client: Client) -> None:
    """Ends the webhook of a client, with its secrets and events. A later one counts from 1 again."""
    owner.session.delete(find(owner, client, lock=True))
    owner.session.flush()
    sealed_values.remove(owner, _subject(client.id))


def announce(owner: Owner, access_id: UUID, user_id: UUID) -> None:
    """Makes an event for every enabled webhook of the tenant, as part of the transaction that stores the new bookings.

    Call it last: receivers stay locked until the end. They are locked in one order, so that two transactions cannot wait for
    each other.
    """
    ours = (Webhook.tenant_id == owner.tenant, Webhook.enabled)
    locked = owner.session.scalars(select(Webhook.client_id).where(*ours).order_by(Webhook.client_id).with_for_update()).all()
    if not locked:
        return
    counted = update(Webhook).where(Webhook.client_id.in_(locked)).values(serial=Webhook.serial + 1)
    rows = [
        {"tenant_id": owner.tenant, "client_id": client_id, "serial": serial, "user_id": user_id, "access_id": access_id}
        for client_id, serial in owner.session.execute(counted.returning(Webhook.client_id, Webhook.serial)).all()
    ]
    owner.session.execute(insert(WebhookEvent).values(rows))
    owner.session.execute(select(func.pg_notify(CHANNEL, "")))


def events(owner: Owner, client: Client, *, from_serial: int, limit: int, days: int) -> list[Event]:
    """The events of a client's webhook from a number on, in their order, as far back as days."""
    find(owner, client)
    statement = (
        select(WebhookEvent.serial, WebhookEvent.user_id, Access.key, WebhookEvent.created_at, WebhookEvent.state)
        .join(Access, Access.id == WebhookEvent.access_id, isouter=True)
        .where(WebhookEvent.tenant_id == owner.tenant, WebhookEvent.client_id == client.id)
        .where(WebhookEvent.serial >= from_serial, WebhookEvent.created_at > func.now() - timedelta(days))
        .order_by(WebhookEvent.serial)
        .limit(limit)
    )
    return [
        Event(serial, user_id if key is not None else None, key, created_at, state)
        for serial, user_id, key, created_at, state in owner.session.execute(statement)
    ]


def forget(owner: Owner, accesses: list[UUID]) -> None:
    """Takes the references out of events of accesses that are no more; their numbers stay."""
    mine = (WebhookEvent.tenant_id == owner.tenant, WebhookEvent.access_id.in_(accesses))
    owner.session.execute(update(WebhookEvent).where(*mine).values(user_id=None, access_id=None))


def purge_old(owner: Owner, days: int) -> int:
    """Deletes events that are too old to be read again; answers how many."""
    old = select(WebhookEvent.client_id, WebhookEvent.serial).where(WebhookEvent.created_at <= func.now() - timedelta(days))
    key = tuple_(WebhookEvent.client_id, WebhookEvent.serial)
    statement = delete(WebhookEvent).where(key.in_(old.with_for_update(skip_locked=True)))
    return len(owner.session.scalars(statement.returning(WebhookEvent.serial)).all())


def signing_secrets(owner: Owner, vault: Vault, client_id: UUID) -> list[str]:
    """The secrets to sign with now: the current one, and the one before while their overlap lasts."""
    statement = owner.rows(Webhook).where(Webhook.client_id == client_id, Webhook.previous_secret_until > func.now())
    fields = ("secret", "previous_secret") if owner.session.scalar(statement) else ("secret",)
    return [sealed_values.get(owner, vault, _subject(client_id), field).decode() for field in fields]


def _renew_secret(owner: Owner, vault: Vault, client: Client, overlap_seconds: int) -> str:
    """A new secret in place of the one that now becomes the previous one. The webhook's row is locked by the caller."""
    subject = _subject(client.id)
    with suppress(NotFound):
        sealed_values.put(owner, vault, subject, "previous_secret", sealed_values.get(owner, vault, subject, "secret"))
        ours = (Webhook.tenant_id == owner.tenant, Webhook.client_id == client.id)
        until = func.now() + timedelta(seconds=overlap_seconds)
        owner.session.execute(update(Webhook).where(*ours).values(previous_secret_until=until))
    fresh = SECRET_PREFIX + base64.b64encode(randomness.token_bytes(SECRET_BYTES)).decode()
    sealed_values.put(owner, vault, subject, "secret", fresh.encode())
    return fresh


def _subject(client_id: UUID) -> str:
    return f"webhook:{client_id}"
