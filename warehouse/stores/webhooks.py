"""The store of webhooks: the address of a client, its secrets, and the numbered events. `deliveries.py` claims them for sending.

An event is written in the transaction that causes it, and numbered under the lock of its receiver's row: a rollback announces
nothing, and the numbers have no gaps.
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

from warehouse.errors import NotFound
from warehouse.inputs.addresses import receiver_url
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Client, Webhook, WebhookEvent
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings

CHANNEL = "kontor_webhooks"
SECRET_PREFIX = "whsec_"  # noqa: S105  # how Standard Webhooks marks a secret
SECRET_BYTES = 32


class EventState(StrEnum):
    """The state of an event."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    DROPPED = "DROPPED"


@dataclass(frozen=True)
class Event:
    """An event for reading it again; without user and access if the access is gone."""

    serial: int
    user_id: UUID | None
    access_key: str | None
    created_at: datetime
    state: str


def register(owner: Owner, vault: Vault, client: Client, url: str, settings: Settings) -> str:
    """Sets the address of a client; returns a new secret. The numbering of an existing webhook continues."""
    address = receiver_url(url, private=settings.webhook_private_addresses)
    row = insert(Webhook).values(tenant_id=owner.tenant, client_id=client.id, url=address)
    new_values = {"url": address, "enabled": True}
    owner.session.execute(row.on_conflict_do_update(index_elements=["client_id"], set_=new_values))
    return _renew_secret(owner, vault, client, settings.webhook_secret_overlap_seconds)


def rotate_secret(owner: Owner, vault: Vault, client: Client, overlap_seconds: int) -> str:
    """A new secret. Until the overlap ends, events are also signed with the old one."""
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
    """Deletes the webhook of a client with its secrets and events. A later one starts at number 1."""
    owner.session.delete(find(owner, client, lock=True))
    owner.session.flush()
    sealed_values.remove(owner, _subject(client.id))


def announce(owner: Owner, access_id: UUID, user_id: UUID) -> None:
    """Adds an event for every enabled webhook of the tenant, in the transaction that stores the new bookings.

    Call it last: the receivers stay locked until the end. They are locked in one order, so that two transactions cannot wait for
    each other.
    """
    is_receiver = (Webhook.tenant_id == owner.tenant, Webhook.enabled)
    statement = select(Webhook.client_id).where(*is_receiver).order_by(Webhook.client_id).with_for_update()
    receivers = owner.session.scalars(statement).all()
    if not receivers:
        return
    increment = update(Webhook).where(Webhook.client_id.in_(receivers)).values(serial=Webhook.serial + 1)
    rows = [
        {"tenant_id": owner.tenant, "client_id": client_id, "serial": serial, "user_id": user_id, "access_id": access_id}
        for client_id, serial in owner.session.execute(increment.returning(Webhook.client_id, Webhook.serial)).all()
    ]
    owner.session.execute(insert(WebhookEvent).values(rows))
    owner.session.execute(select(func.pg_notify(CHANNEL, "")))


def events(owner: Owner, client: Client, *, from_serial: int, limit: int, days: int) -> list[Event]:
    """The events of the webhook of a client from a number on, in order, not older than `days`."""
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
    """Removes the references to deleted accesses from events; the numbers stay."""
    of_accesses = (WebhookEvent.tenant_id == owner.tenant, WebhookEvent.access_id.in_(accesses))
    owner.session.execute(update(WebhookEvent).where(*of_accesses).values(user_id=None, access_id=None))


def purge_old(owner: Owner, days: int) -> int:
    """Deletes events that are older than `days`; returns how many."""
    old_events = select(WebhookEvent.client_id, WebhookEvent.serial).where(
        WebhookEvent.created_at <= func.now() - timedelta(days)
    )
    key = tuple_(WebhookEvent.client_id, WebhookEvent.serial)
    statement = delete(WebhookEvent).where(key.in_(old_events.with_for_update(skip_locked=True)))
    return len(owner.session.scalars(statement.returning(WebhookEvent.serial)).all())


def signing_secrets(owner: Owner, vault: Vault, client_id: UUID) -> list[str]:
    """The secrets to sign with: the current one and, during the overlap, the previous one."""
    statement = owner.rows(Webhook).where(Webhook.client_id == client_id, Webhook.previous_secret_until > func.now())
    fields = ("secret", "previous_secret") if owner.session.scalar(statement) else ("secret",)
    return [sealed_values.get(owner, vault, _subject(client_id), field).decode() for field in fields]


def _renew_secret(owner: Owner, vault: Vault, client: Client, overlap_seconds: int) -> str:
    """A new secret; the current one becomes the previous one. The caller has locked the row of the webhook."""
    subject = _subject(client.id)
    with suppress(NotFound):
        sealed_values.put(owner, vault, subject, "previous_secret", sealed_values.get(owner, vault, subject, "secret"))
        is_webhook = (Webhook.tenant_id == owner.tenant, Webhook.client_id == client.id)
        until = func.now() + timedelta(seconds=overlap_seconds)
        owner.session.execute(update(Webhook).where(*is_webhook).values(previous_secret_until=until))
    new_secret = SECRET_PREFIX + base64.b64encode(randomness.token_bytes(SECRET_BYTES)).decode()
    sealed_values.put(owner, vault, subject, "secret", new_secret.encode())
    return new_secret


def _subject(client_id: UUID) -> str:
    return f"webhook:{client_id}"
