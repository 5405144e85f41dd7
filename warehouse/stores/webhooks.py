"""The store of webhooks: the address of a client, its secrets, and the numbered events. `deliveries.py` claims them for sending.

An event is written in the transaction that causes it, and numbered under the lock of its receiver's row: a rollback announces
nothing, and the numbers have no gaps.
"""

import base64
import secrets as randomness
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Select, Text, cast, delete, func, select, tuple_, update
from sqlalchemy.dialects.postgresql import ARRAY, insert

from warehouse.errors import NotFound
from warehouse.inputs.addresses import receiver_url
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Client, Dialogue, User, Webhook, WebhookEvent
from warehouse.secrets import sealed_values
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.webhook_types import DEFAULT_TYPES, TYPES, EventSubject, EventType

CHANNEL = "kontor_webhooks"
SECRET_PREFIX = "whsec_"  # noqa: S105  # how Standard Webhooks marks a secret
SECRET_BYTES = 32
BATCH_EVENTS = 1_000


class EventState(StrEnum):
    """The state of an event."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    DROPPED = "DROPPED"


@dataclass(frozen=True)
class NewEvent:
    """A fact to announce, with its references. `details` has codes, counts and names of analyses, never personal data."""

    type: EventType
    user_id: UUID
    access_id: UUID | None = None
    dialogue_id: UUID | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EventNotice:
    """What an event says. References are missing if their objects are gone."""

    serial: int
    type: str
    user_id: UUID | None
    access_key: str | None
    payment_id: UUID | None
    details: Mapping[str, Any]
    created_at: datetime

    @property
    def has_subject(self) -> bool:
        """Whether what the event is about still exists."""
        references = {
            EventSubject.ACCESS: self.access_key,
            EventSubject.PAYMENT: self.payment_id,
            EventSubject.USER: self.user_id,
        }
        return self.user_id is not None and references[TYPES[EventType(self.type)].subject] is not None


@dataclass(frozen=True)
class Event(EventNotice):
    """An event for reading it again."""

    state: str


NOTICE_COLUMNS = (
    WebhookEvent.serial,
    WebhookEvent.type,
    WebhookEvent.user_id,
    Access.key.label("access_key"),
    Dialogue.payment_id,
    WebhookEvent.details,
    WebhookEvent.created_at,
)
"""The columns of a notice. The statement joins the references with `with_references`."""


def with_references(statement: Select[Any]) -> Select[Any]:
    """A statement on events, joined with the objects that they refer to."""
    with_access = statement.join(Access, Access.id == WebhookEvent.access_id, isouter=True)
    return with_access.join(Dialogue, Dialogue.id == WebhookEvent.dialogue_id, isouter=True)


def register(
    owner: Owner, vault: Vault, client: Client, url: str, settings: Settings, types: Iterable[EventType] | None = None
) -> str:
    """Sets the address of a client and the types of events that it receives; returns a new secret.

    The numbering of an existing webhook continues. Without types, it keeps its own; a new one receives `DEFAULT_TYPES`.
    """
    address = receiver_url(url, private=settings.webhook_private_addresses)
    chosen_types = None if types is None else _in_order(types)
    row = insert(Webhook).values(
        tenant_id=owner.tenant, client_id=client.id, url=address, types=chosen_types or _in_order(DEFAULT_TYPES)
    )
    new_values = {"url": address, "enabled": True, **({"types": chosen_types} if chosen_types else {})}
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


def announce(owner: Owner, *events: NewEvent) -> None:
    """Adds events for every enabled webhook that receives their types, in the transaction of the facts that they report.
    Nothing is announced about inactive users.

    Call it last and once: the receivers stay locked until the end. They are locked in one order, so that two transactions cannot
    wait for each other.
    """
    tenants = _tenants_of_active(owner, {event.user_id for event in events}) if events else {}
    events_by_tenant: dict[UUID, list[NewEvent]] = {}
    for event in events:
        if event.user_id in tenants:
            events_by_tenant.setdefault(tenants[event.user_id], []).append(event)
    rows: list[dict[str, Any]] = []
    for receiver in _lock_receivers(owner, events_by_tenant.keys(), {event.type for event in events}):
        received = [event for event in events_by_tenant[receiver.tenant_id] if event.type in receiver.types]
        rows += [_event_row(receiver, number, event) for number, event in enumerate(received, receiver.serial + 1)]
        serial = {"serial": receiver.serial + len(received)}
        owner.session.execute(update(Webhook).where(Webhook.client_id == receiver.client_id).values(serial))
    for begin in range(0, len(rows), BATCH_EVENTS):
        owner.session.execute(insert(WebhookEvent).values(rows[begin : begin + BATCH_EVENTS]))
    if rows:
        owner.session.execute(select(func.pg_notify(CHANNEL, "")))


def users_with_receivers(owner: Owner, users: Collection[UUID], types: Iterable[EventType]) -> set[UUID]:
    """Those of the users whose tenant has an enabled webhook that receives some of the types."""
    has_receiver = (Webhook.enabled, Webhook.types.overlap(_text_array(types)))
    statement = select(User.id).join(Webhook, Webhook.tenant_id == User.tenant_id).where(User.id.in_(users), *has_receiver)
    return set(owner.session.scalars(statement.distinct()))


def events(owner: Owner, client: Client, *, from_serial: int, limit: int, days: int) -> list[Event]:
    """The events of the webhook of a client from a number on, in order, not older than `days`."""
    find(owner, client)
    statement = (
        with_references(select(*NOTICE_COLUMNS, WebhookEvent.state))
        .where(WebhookEvent.tenant_id == owner.tenant, WebhookEvent.client_id == client.id)
        .where(WebhookEvent.serial >= from_serial, WebhookEvent.created_at > func.now() - timedelta(days))
        .order_by(WebhookEvent.serial)
        .limit(limit)
    )
    return [Event(**row) for row in owner.session.execute(statement).mappings()]


@dataclass(frozen=True)
class WebhookSummary:
    """A webhook of a client, with the numbers of its events that wait, and of those that were dropped within a time."""

    webhook: Webhook
    client: str
    pending: int
    dropped: int


def summaries(owner: Owner, *, dropped_days: int) -> list[WebhookSummary]:
    """The webhooks that the owner may see, by the name of the client."""
    of_webhook = WebhookEvent.client_id == Webhook.client_id
    is_recent = WebhookEvent.created_at > func.now() - timedelta(dropped_days)
    pending = select(func.count()).where(of_webhook, WebhookEvent.state == EventState.PENDING).scalar_subquery()
    dropped = select(func.count()).where(of_webhook, is_recent, WebhookEvent.state == EventState.DROPPED).scalar_subquery()
    statement = owner.rows(Webhook).join(Client, Client.id == Webhook.client_id).add_columns(Client.name, pending, dropped)
    return [WebhookSummary(*row) for row in owner.session.execute(statement.order_by(Client.name))]


@dataclass(frozen=True)
class SentEvent(Event):
    """An event with what became of it."""

    attempts: int
    replayed_at: datetime | None


def latest_events(owner: Owner, client: Client, *, offset: int, limit: int) -> list[SentEvent]:
    """The events of the webhook of a client, newest first."""
    find(owner, client)
    statement = (
        with_references(select(*NOTICE_COLUMNS, WebhookEvent.state, WebhookEvent.attempts, WebhookEvent.replayed_at))
        .where(WebhookEvent.tenant_id == owner.tenant, WebhookEvent.client_id == client.id)
        .order_by(WebhookEvent.serial.desc())
        .offset(offset)
        .limit(limit)
    )
    return [SentEvent(**row) for row in owner.session.execute(statement).mappings()]


def forget(owner: Owner, accesses: list[UUID]) -> None:
    """Removes what events say about deleted accesses; the numbers stay."""
    of_accesses = (WebhookEvent.tenant_id == owner.tenant, WebhookEvent.access_id.in_(accesses))
    owner.session.execute(update(WebhookEvent).where(*of_accesses).values(user_id=None, access_id=None, details={}))


def forget_user(owner: Owner, user_id: UUID) -> None:
    """Removes what events say about a user who is erased; the numbers stay."""
    of_user = (WebhookEvent.tenant_id == owner.tenant, WebhookEvent.user_id == user_id)
    emptied: dict[str, Any] = {"user_id": None, "access_id": None, "dialogue_id": None, "details": {}}
    owner.session.execute(update(WebhookEvent).where(*of_user).values(emptied))


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


def _in_order(types: Iterable[EventType]) -> list[str]:
    """The types, each once, in the order of their table."""
    chosen_types = set(types)
    return [str(name) for name in TYPES if name in chosen_types]


def _text_array(types: Iterable[EventType]) -> Any:
    return cast([str(name) for name in types], ARRAY(Text))


def _tenants_of_active(owner: Owner, users: Collection[UUID]) -> dict[UUID, UUID]:
    """The tenants of those of the users who are active, by user."""
    statement = select(User.id, User.tenant_id).where(User.id.in_(users), User.active)
    return dict(owner.session.execute(statement).tuples().all())


def _lock_receivers(owner: Owner, tenants: Collection[UUID], types: Iterable[EventType]) -> Sequence[Any]:
    """The enabled webhooks of tenants that receive some of the types, locked in the order of their clients."""
    if not tenants:
        return []
    statement = select(Webhook.client_id, Webhook.tenant_id, Webhook.serial, Webhook.types).where(
        Webhook.tenant_id.in_(tenants), Webhook.enabled, Webhook.types.overlap(_text_array(types))
    )
    return owner.session.execute(statement.order_by(Webhook.client_id).with_for_update()).all()


def _event_row(receiver: Any, serial: int, event: NewEvent) -> dict[str, Any]:
    return {
        "tenant_id": receiver.tenant_id,
        "client_id": receiver.client_id,
        "serial": serial,
        "type": str(event.type),
        "user_id": event.user_id,
        "access_id": event.access_id,
        "dialogue_id": event.dialogue_id,
        "details": dict(event.details),
    }


def _subject(client_id: UUID) -> str:
    return f"webhook:{client_id}"
