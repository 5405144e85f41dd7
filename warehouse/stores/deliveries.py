"""The store of what is on its way to receivers: claiming events that are due, and recording what became of them.

A receiver takes one event at a time over all processes: who claims it holds a lease (`busy_until`), and an event whose sender
died is due again when the lease ends. Rows of receivers are locked before rows of events; deletions of accesses, which
lock events, then never meet a circle.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, case, func, or_, select, tuple_, update

from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Client, Tenant, Webhook, WebhookEvent
from warehouse.stores.webhooks import EventState


@dataclass(frozen=True)
class Delivery:
    """An event that was claimed for sending: what to send, where to, and until when it is ours."""

    tenant_id: UUID
    tenant_name: str
    client_id: UUID
    url: str
    serial: int
    attempts: int
    user_id: UUID
    access_key: str
    created_at: datetime
    claimed_at: datetime
    leased_until: datetime


def claim(owner: Owner, *, limit: int, lease_seconds: float, first_pause_seconds: float) -> list[Delivery]:
    """The next due event of each of up to `limit` free receivers, those first that were served longest ago.

    Receivers that others just claim or number are passed over instead of being waited for.
    """
    due = _due(first_pause_seconds)
    free = or_(Webhook.busy_until.is_(None), Webhook.busy_until <= func.now())
    locked = owner.session.scalars(
        select(Webhook.client_id)
        .join(Client, Client.id == Webhook.client_id)
        .join(Tenant, Tenant.id == Webhook.tenant_id)
        .where(Webhook.enabled, free, Client.active, Tenant.active)
        .where(Webhook.client_id.in_(select(WebhookEvent.client_id).where(*due)))
        .order_by(Webhook.busy_until.nulls_first(), Webhook.client_id)
        .limit(limit)
        .with_for_update(of=Webhook, skip_locked=True)
    ).all()
    found = _first_due(owner, locked, due, timedelta(seconds=lease_seconds)) if locked else []
    for delivery in found:
        held = update(Webhook).where(Webhook.client_id == delivery.client_id)
        owner.session.execute(held.values(busy_until=delivery.leased_until))
    return found


def record_delivered(owner: Owner, delivery: Delivery) -> None:
    """Notes that the receiver took the event."""
    _release(owner, delivery)
    values = {"state": EventState.DELIVERED, "attempts": WebhookEvent.attempts + 1}
    owner.session.execute(update(WebhookEvent).where(*_is(delivery)).values(values))


def record_failed(owner: Owner, delivery: Delivery, pause_seconds: float) -> None:
    """Notes an attempt that failed; the next one follows after a pause."""
    _release(owner, delivery)
    values = {"next_attempt_at": func.now() + timedelta(seconds=pause_seconds), "attempts": WebhookEvent.attempts + 1}
    owner.session.execute(update(WebhookEvent).where(*_is(delivery)).values(values))


def record_gone(owner: Owner, delivery: Delivery) -> None:
    """Notes that the receiver wants no more events: its webhook is disabled, and what waits for it is dropped."""
    _release(owner, delivery)
    ours = (Webhook.tenant_id == owner.tenant, Webhook.client_id == delivery.client_id, Webhook.url == delivery.url)
    if owner.session.scalar(update(Webhook).where(*ours).values(enabled=False).returning(Webhook.client_id)):
        _drop(owner, WebhookEvent.client_id == delivery.client_id)


def drop_lost(owner: Owner, drop_seconds: float) -> int:
    """Gives up events that are too old or whose access is gone; answers how many."""
    too_old = WebhookEvent.created_at <= func.now() - timedelta(seconds=drop_seconds)
    return _drop(owner, or_(too_old, WebhookEvent.access_id.is_(None), WebhookEvent.user_id.is_(None)))


def _due(first_pause_seconds: float) -> tuple[ColumnElement[bool], ...]:
    """Events that wait and whose time has come. The first pause is not in the row: whoever announces knows no schedule."""
    pause = case((WebhookEvent.attempts == 0, timedelta(seconds=first_pause_seconds)), else_=timedelta())
    return (
        WebhookEvent.state == EventState.PENDING,
        WebhookEvent.next_attempt_at <= func.now(),
        WebhookEvent.next_attempt_at + pause <= func.now(),
        WebhookEvent.access_id.is_not(None),
        WebhookEvent.user_id.is_not(None),
    )


def _first_due(owner: Owner, receivers: Sequence[UUID], due: tuple[ColumnElement[bool], ...], lease: timedelta) -> list[Delivery]:
    """The due event with the least number of each receiver, seen under the receivers' locks."""
    statement = (
        select(Webhook.tenant_id, Tenant.name.label("tenant_name"), Webhook.client_id, Webhook.url)
        .add_columns(WebhookEvent.serial, WebhookEvent.attempts, WebhookEvent.user_id, Access.key.label("access_key"))
        .add_columns(WebhookEvent.created_at, func.now().label("claimed_at"), (func.now() + lease).label("leased_until"))
        .distinct(Webhook.client_id)
        .join(WebhookEvent, WebhookEvent.client_id == Webhook.client_id)
        .join(Tenant, Tenant.id == Webhook.tenant_id)
        .join(Access, Access.id == WebhookEvent.access_id)
        .where(Webhook.client_id.in_(receivers), *due)
        .order_by(Webhook.client_id, WebhookEvent.serial)
    )
    return [Delivery(**row) for row in owner.session.execute(statement).mappings()]


def _release(owner: Owner, delivery: Delivery) -> None:
    """Ends our lease, unless it has ended and is somebody else's by now. The time stays: it says who was served last."""
    ours = (Webhook.tenant_id == owner.tenant, Webhook.client_id == delivery.client_id)
    leased = Webhook.busy_until == delivery.leased_until
    owner.session.execute(update(Webhook).where(*ours, leased).values(busy_until=func.now()))


def _drop(owner: Owner, which: ColumnElement[bool]) -> int:
    """Drops waiting events; those that a deletion just holds are left to the next time."""
    waiting = select(WebhookEvent.client_id, WebhookEvent.serial).where(WebhookEvent.state == EventState.PENDING, which)
    key = tuple_(WebhookEvent.client_id, WebhookEvent.serial)
    statement = update(WebhookEvent).where(key.in_(waiting.with_for_update(skip_locked=True))).values(state=EventState.DROPPED)
    return len(owner.session.scalars(statement.returning(WebhookEvent.serial)).all())


def _is(delivery: Delivery) -> tuple[ColumnElement[bool], ...]:
    return (WebhookEvent.client_id == delivery.client_id, WebhookEvent.serial == delivery.serial)
