"""Subscribers of webhooks in a database of their own, and senders that deliver to them."""

import asyncio
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from sqlalchemy import make_url

from pipelines.webhooks.notify import deliver_forever
from pipelines.webhooks.outbound import Resolve
from tests.support.databases import UNUSED_DATABASE
from tests.support.stack import Stack, wait_until
from warehouse import scopes
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.tables import Access
from warehouse.settings import Settings
from warehouse.stores import clients, tenants, users, webhooks
from warehouse.stores.webhooks import Event, NewEvent
from warehouse.webhook_types import EventType

PRIVATE = Settings(webhook_private_addresses=True)
SECONDS = 60


@contextmanager
def separate_house(stack: Stack, name: str) -> Iterator[Stack]:
    """A database apart, so that no sender but those of these tests sees their events."""
    admin = make_url(stack.where.service).set(username="postgres", database="postgres").render_as_string(hide_password=False)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {UNUSED_DATABASE}")
    database = Database(make_url(stack.where.service).set(database=name).render_as_string(hide_password=False), pool=10)
    yield replace(stack, database=database)
    database.close()


@dataclass
class Subscriber:
    """A tenant whose client `app` has a webhook, and one access of one user."""

    house: Stack
    tenant: str
    tenant_id: uuid.UUID
    user_id: uuid.UUID
    access_id: uuid.UUID
    access_key: str
    secret: str

    def announce(self) -> None:
        with self.house.database.acting_for(self.tenant_id, self.user_id) as owner:
            webhooks.announce(owner, NewEvent(EventType.NEW_TRANSACTIONS, self.user_id, self.access_id))

    def register(self, url: str) -> str:
        with self.house.database.acting_for(self.tenant_id) as owner:
            return webhooks.register(owner, self.house.vault, clients.find(owner, "app"), url, PRIVATE)

    def rotate(self) -> str:
        with self.house.database.acting_for(self.tenant_id) as owner:
            return webhooks.rotate_secret(owner, self.house.vault, clients.find(owner, "app"), 3600)

    def rows(self) -> list[Any]:
        statement = "SELECT *, extract(epoch FROM next_attempt_at - now()) AS pause FROM webhook_events WHERE tenant_id = :tenant"
        return self.house.sql(f"{statement} ORDER BY serial", tenant=self.tenant_id)

    def states(self) -> list[str]:
        return [row.state for row in self.rows()]

    def replay(self, from_serial: int = 1) -> list[Event]:
        with self.house.database.acting_for(self.tenant_id) as owner:
            client = clients.find(owner, "app")
            return webhooks.events(owner, client, from_serial=from_serial, limit=100, days=30)

    def change(self, assignment: str, table: str = "webhook_events") -> None:
        self.house.sql(f"UPDATE {table} SET {assignment} WHERE tenant_id = :tenant", tenant=self.tenant_id)


def subscribe(house: Stack, url: str, settings: Settings = PRIVATE) -> Subscriber:
    """A fresh subscriber, without what webhooks do not need of a tenant: making its certificate takes long."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    with house.database.operating() as operator:
        tenant = tenants.create(operator, name, regulated=True)
        owner = operator.for_tenant(tenant.id)
        for client in ("admin", "app"):
            clients.create(owner, client, scopes.MANAGEMENT)
        user = users.create(owner, "erika", "no hash")
        access = new_access(owner, user.id)
        secret = webhooks.register(owner, house.vault, clients.find(owner, "app"), url, settings)
    return Subscriber(house, name, tenant.id, user.id, access.id, access.key, secret)


def new_access(owner: Owner, user_id: uuid.UUID) -> Access:
    access = Access(tenant_id=owner.tenant, user_id=user_id, key=uuid.uuid4().hex, provider_id=uuid.UUID(int=0))
    access.login_hash, access.sync, access.status = b"", True, "COMPLETE"
    return owner.add(access, "access")


@dataclass
class Sender:
    """A running delivery, with the means to stop it."""

    loop: asyncio.AbstractEventLoop
    told_to_stop: asyncio.Event

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.told_to_stop.set)


@contextmanager
def delivering(house: Stack, *, resolve: Resolve | None = None, look_seconds: float = 0.02, **settings: Any) -> Iterator[Sender]:
    """Delivery in a thread of its own, until the block ends or it is stopped."""
    asked = {"webhook_private_addresses": True, "webhook_retry_seconds": (0, 0.05), "base_url": house.base_url, **settings}
    running: list[Sender] = []

    async def run() -> None:
        running.append(Sender(asyncio.get_running_loop(), asyncio.Event()))
        stop = running[0].told_to_stop
        await deliver_forever(house.database, house.vault, Settings(**asked), stop, resolve=resolve, look_seconds=look_seconds)

    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(asyncio.run, run())
        wait_until(lambda: running or done.done(), SECONDS)
        try:
            yield running[0]
        finally:
            if not done.done():
                running[0].stop()
            done.result()
