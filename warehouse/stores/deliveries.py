"""The store of deliveries to webhooks: claiming events that are due, and recording their outcome.

A receiver gets one event at a time over all processes: the sender holds a lease on it (`busy_until`), and an event whose sender
died is due again when the lease ends. Rows of receivers are locked before rows of events, so that deletions of accesses, which
lock events, cause no deadlock.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Uuid, and_, any_, case, cast, func, not_, or_, select, tuple_, update

from warehouse.errors import Invalid, NotFound
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Client, Tenant, Webhook, WebhookEvent
from warehouse.stores.webhooks import CHANNEL, NOTICE_COLUMNS, EventNotice, EventState, find, with_references
from warehouse.webhook_types import EventSubject, types_about


@dataclass(frozen=True)
class DueReceiver:
    """A free receiver with a due event. `place` counts the due receivers of its tenant and lane, least recently served first."""

    tenant_id: UUID
    client_id: UUID
    slow: bool
    place: int


@dataclass(frozen=True)
class Delivery(EventNotice):
    """An event that was claimed for sending, with its receiver and the end of the lease."""

    tenant_id: UUID
    tenant_name: str
    client_id: UUID
    url: str
    attempts: int
    claimed_at: datetime
    leased_until: datetime


def due_receivers(
    owner: Owner, slow_receivers: Collection[UUID], *, per_tenant: int, first_pause_seconds: float
) -> list[DueReceiver]:
    """The receivers that could be called now, up to `per_tenant` slow and as many other ones of each tenant, by their place."""
    slow = Webhook.client_id == any_(cast(list(slow_receivers), ARRAY(Uuid)))
    lane = (Webhook.tenant_id, slow)
    place = func.row_number().over(partition_by=lane, order_by=(Webhook.busy_until.nulls_first(), Webhook.client_id))
    ranked = (
        select(Webhook.tenant_id, Webhook.client_id, slow.label("slow"), place.label("place"))
        .join(Client, Client.id == Webhook.client_id)
        .join(Tenant, Tenant.id == Webhook.tenant_id)
        .where(Webhook.enabled, _is_free(), Client.active, Tenant.active)
        .where(Webhook.client_id.in_(select(WebhookEvent.client_id).where(*_due(first_pause_seconds))))
        .subquery()
    )
    statement = select(ranked).where(ranked.c.place <= per_tenant).order_by(ranked.c.place, ranked.c.client_id)
    return [DueReceiver(**row) for row in owner.session.execute(statement).mappings()]


def claim(owner: Owner, receivers: Collection[UUID], *, lease_seconds: float, first_pause_seconds: float) -> list[Delivery]:
    """The next due event of each of these receivers that is still free. Receivers that another transaction has locked are
    skipped.
    """
    statement = select(Webhook.client_id).where(Webhook.client_id.in_(receivers), Webhook.enabled, _is_free())
    free_receivers = owner.session.scalars(statement.with_for_update(skip_locked=True)).all()
    due = _due(first_pause_seconds)
    claimed_deliveries = _first_due(owner, free_receivers, due, timedelta(seconds=lease_seconds)) if free_receivers else []
    for delivery in claimed_deliveries:
        is_receiver = Webhook.client_id == delivery.client_id
        owner.session.execute(update(Webhook).where(is_receiver).values(busy_until=delivery.leased_until))
    return claimed_deliveries


def record_delivered(owner: Owner, delivery: Delivery) -> None:
    """Records that the receiver accepted the event."""
    _release(owner, delivery)
    values = {"state": EventState.DELIVERED, "attempts": WebhookEvent.attempts + 1}
    owner.session.execute(update(WebhookEvent).where(*_is(delivery)).values(values))


def record_failed(owner: Owner, delivery: Delivery, pause_seconds: float) -> None:
    """Records a failed attempt; the next one is due after a pause."""
    _release(owner, delivery)
    values = {"next_attempt_at": func.now() + timedelta(seconds=pause_seconds), "attempts": WebhookEvent.attempts + 1}
    owner.session.execute(update(WebhookEvent).where(*_is(delivery)).values(values))


def record_gone(owner: Owner, delivery: Delivery) -> None:
    """Records that the receiver wants no more events: disables its webhook and drops its waiting events."""
    _release(owner, delivery)
    is_receiver = (Webhook.tenant_id == owner.tenant, Webhook.client_id == delivery.client_id, Webhook.url == delivery.url)
    if owner.session.scalar(update(Webhook).where(*is_receiver).values(enabled=False).returning(Webhook.client_id)):
        _drop(owner, WebhookEvent.client_id == delivery.client_id)


def drop_lost(owner: Owner, drop_seconds: float) -> int:
    """Drops events that are too old or whose subject is gone; returns how many."""
    waits_since = func.coalesce(WebhookEvent.replayed_at, WebhookEvent.created_at)
    too_old = waits_since <= func.now() - timedelta(seconds=drop_seconds)
    return _drop(owner, or_(too_old, not_(_has_subject())))


def replay(owner: Owner, client: Client, serial: int) -> None:
    """Lets an event of a client that was delivered or dropped be sent again, with its number. Raises `NotFound` if there is none
    whose subject still exists, and `Invalid` if the webhook is disabled or the event still waits.
    """
    webhook = find(owner, client, lock=True)
    is_event = (WebhookEvent.tenant_id == owner.tenant, WebhookEvent.client_id == client.id, WebhookEvent.serial == serial)
    state = owner.session.scalar(select(WebhookEvent.state).where(*is_event, _has_subject()))
    if state is None:
        raise NotFound("event")
    if not webhook.enabled or state == EventState.PENDING:
        raise Invalid("the webhook is disabled, or the event waits already")
    owner.session.execute(update(WebhookEvent).where(*is_event).values(_replayed()))
    owner.session.execute(select(func.pg_notify(CHANNEL, "")))


def replay_dropped(owner: Owner, client: Client, days: int) -> int:
    """Lets all events of a client of the last days that were dropped, and whose subject still exists, be sent again; returns how
    many. Raises `Invalid` if the webhook is disabled.
    """
    if not find(owner, client, lock=True).enabled:
        raise Invalid("the webhook is disabled")
    is_dropped = (
        WebhookEvent.tenant_id == owner.tenant,
        WebhookEvent.client_id == client.id,
        WebhookEvent.state == EventState.DROPPED,
        WebhookEvent.created_at > func.now() - timedelta(days),
        _has_subject(),
    )
    serials = owner.session.scalars(update(WebhookEvent).where(*is_dropped).values(_replayed()).returning(WebhookEvent.serial))
    count = len(serials.all())
    owner.session.execute(select(func.pg_notify(CHANNEL, "")))
    return count


def _replayed() -> dict[str, Any]:
    """The values of an event that is sent again."""
    return {"state": EventState.PENDING, "attempts": 0, "next_attempt_at": func.now(), "replayed_at": func.now()}


def _is_free() -> ColumnElement[bool]:
    return or_(Webhook.busy_until.is_(None), Webhook.busy_until <= func.now())


def _due(first_pause_seconds: float) -> tuple[ColumnElement[bool], ...]:
    """The conditions of a due event. The first pause is not stored: the code that announces events does not know the schedule."""
    pause = case((WebhookEvent.attempts == 0, timedelta(seconds=first_pause_seconds)), else_=timedelta())
    return (
        WebhookEvent.state == EventState.PENDING,
        WebhookEvent.next_attempt_at <= func.now(),
        WebhookEvent.next_attempt_at + pause <= func.now(),
        _has_subject(),
    )


def _has_subject() -> ColumnElement[bool]:
    """Whether what an event is about still exists, and its user."""
    has_access = or_(WebhookEvent.type.not_in(types_about(EventSubject.ACCESS)), WebhookEvent.access_id.is_not(None))
    has_payment = or_(WebhookEvent.type.not_in(types_about(EventSubject.PAYMENT)), WebhookEvent.dialogue_id.is_not(None))
    return and_(WebhookEvent.user_id.is_not(None), has_access, has_payment)


def _first_due(owner: Owner, receivers: Sequence[UUID], due: tuple[ColumnElement[bool], ...], lease: timedelta) -> list[Delivery]:
    """The due event with the lowest number of each receiver. The caller has locked the receivers."""
    lease_columns = (func.now().label("claimed_at"), (func.now() + lease).label("leased_until"))
    statement = (
        select(Webhook.tenant_id, Tenant.name.label("tenant_name"), Webhook.client_id, Webhook.url)
        .add_columns(*NOTICE_COLUMNS, WebhookEvent.attempts, *lease_columns)
        .distinct(Webhook.client_id)
        .join(WebhookEvent, WebhookEvent.client_id == Webhook.client_id)
        .join(Tenant, Tenant.id == Webhook.tenant_id)
        .where(Webhook.client_id.in_(receivers), *due)
        .order_by(Webhook.client_id, WebhookEvent.serial)
    )
    return [Delivery(**row) for row in owner.session.execute(with_references(statement)).mappings()]


def _release(owner: Owner, delivery: Delivery) -> None:
    """Ends the lease, unless another sender holds one by now. `busy_until` then tells when the receiver was last served."""
    is_receiver = (Webhook.tenant_id == owner.tenant, Webhook.client_id == delivery.client_id)
    has_lease = Webhook.busy_until == delivery.leased_until
    owner.session.execute(update(Webhook).where(*is_receiver, has_lease).values(busy_until=func.now()))


def _drop(owner: Owner, condition: ColumnElement[bool]) -> int:
    """Drops waiting events; returns how many. Locked ones are left for the next call."""
    waiting = select(WebhookEvent.client_id, WebhookEvent.serial).where(WebhookEvent.state == EventState.PENDING, condition)
    key = tuple_(WebhookEvent.client_id, WebhookEvent.serial)
    statement = update(WebhookEvent).where(key.in_(waiting.with_for_update(skip_locked=True))).values(state=EventState.DROPPED)
    return len(owner.session.scalars(statement.returning(WebhookEvent.serial)).all())


def _is(delivery: Delivery) -> tuple[ColumnElement[bool], ...]:
    return (WebhookEvent.client_id == delivery.client_id, WebhookEvent.serial == delivery.serial)
