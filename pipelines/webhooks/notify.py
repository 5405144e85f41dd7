"""Delivery of webhook events: what was announced is sent, signed, and sent again until it is taken or too old.

At least once: an event whose sender dies between sending and recording is sent again, with the same `webhook-id`. Any number
of processes may run this beside each other.
"""

import asyncio
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Concatenate, ParamSpec, TypeVar

import httpx
import structlog

from pipelines.webhooks import notices, outbound
from warehouse import logs
from warehouse.errors import AddressRefused
from warehouse.postgres.async_connections import announcements
from warehouse.postgres.database import DATABASE_ERRORS, Database, Owner
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores import deliveries, webhooks
from warehouse.stores.deliveries import Delivery

AT_ONCE = 50
THREADS = 4
LOOK_SECONDS = 1.0
LEASE_MARGIN_SECONDS = 30  # for what surrounds the call: reading the secret, recording, a database that restarts
JITTER_RATIO = 0.2
GONE = 410
P = ParamSpec("P")
T = TypeVar("T")
log = structlog.get_logger("webhooks")


@dataclass(frozen=True)
class DeliveryContext:
    """What delivery works with. The bell rings when there may be something to do."""

    database: Database
    vault: Vault
    settings: Settings
    gate: outbound.OutboundPolicy
    threads: ThreadPoolExecutor
    bell: asyncio.Event
    look_seconds: float

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of work on the database, done beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, lambda: work(*args, **kwargs))

    def operate(self, work: Callable[Concatenate[Owner, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a store function in a transaction over all tenants."""
        with self.database.operating() as owner:
            return work(owner, *args, **kwargs)


async def deliver_forever(
    database: Database,
    vault: Vault,
    settings: Settings,
    stop: asyncio.Event,
    *,
    resolve: outbound.Resolve | None = None,
    look_seconds: float = LOOK_SECONDS,
) -> None:
    """Delivers events until told to stop; what is under way then is finished."""
    bell = asyncio.Event()
    with ThreadPoolExecutor(THREADS, "webhooks") as threads, outbound.open_gate(settings, AT_ONCE) as gate:
        gate = replace(gate, resolve=resolve or gate.resolve)
        office = DeliveryContext(database, vault, settings, gate, threads, bell, look_seconds)
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(work) for work in (_listen(office), _drop(office), _ring_when(stop, bell))]
            await _send_until(stop, office, tasks)
            for task in beside:
                task.cancel()


async def _send_until(stop: asyncio.Event, office: DeliveryContext, tasks: asyncio.TaskGroup) -> None:
    """Keeps up to `AT_ONCE` deliveries under way, each to another receiver. One that ends makes room and rings."""
    under_way: set[asyncio.Task[None]] = set()

    def ended(task: asyncio.Task[None]) -> None:
        under_way.discard(task)
        office.bell.set()

    while not stop.is_set():
        office.bell.clear()
        claimed = await _claim(office, AT_ONCE - len(under_way))
        for delivery in claimed:
            task = tasks.create_task(_deliver(office, delivery))
            under_way.add(task)
            task.add_done_callback(ended)
        if not claimed:
            await _wait(office)
    if under_way:
        await asyncio.wait(under_way)


async def _claim(office: DeliveryContext, limit: int) -> list[Delivery]:
    """Up to so many deliveries; none while the database is away."""
    settings = office.settings
    lease_seconds = settings.webhook_timeout_seconds + LEASE_MARGIN_SECONDS
    first_pause_seconds = settings.webhook_retry_seconds[0]
    if limit == 0:
        return []
    try:
        return await office.run(
            office.operate, deliveries.claim, limit=limit, lease_seconds=lease_seconds, first_pause_seconds=first_pause_seconds
        )
    except DATABASE_ERRORS as error:
        log.warning("database_away", error=type(error).__name__)
        return []


async def _deliver(office: DeliveryContext, delivery: Delivery) -> None:
    """Sends one event and records what became of it. What cannot be recorded is sent again when the lease ends."""
    facts = {"client": str(delivery.client_id), "serial": delivery.serial, "attempt": delivery.attempts + 1}
    try:
        secrets = await office.run(_secrets, office, delivery)
        outcome = await _send(office, delivery, secrets)
        await office.run(_record, office, delivery, outcome)
    except Exception as error:  # one event must not end the delivery of all others
        log.warning("webhook_not_recorded", error=logs.describe(error), **facts)
    else:
        log.info("webhook", outcome=outcome, **facts)


def _secrets(office: DeliveryContext, delivery: Delivery) -> list[str]:
    with office.database.acting_for(delivery.tenant_id) as owner:
        return webhooks.signing_secrets(owner, office.vault, delivery.client_id)


async def _send(office: DeliveryContext, delivery: Delivery, secrets: list[str]) -> int | str:
    """The status that the receiver answered, or the kind of error that came instead."""
    content = notices.body(delivery, office.settings)
    try:
        return await outbound.post(office.gate, delivery.url, content, notices.headers(delivery, content, secrets))
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, AddressRefused) as error:
        return type(error).__name__


def _record(office: DeliveryContext, delivery: Delivery, outcome: int | str) -> None:
    """Only 2xx means that the event was taken. A redirect is not followed: it could lead where we must not call."""
    with office.database.acting_for(delivery.tenant_id) as owner:
        if isinstance(outcome, int) and 200 <= outcome < 300:
            deliveries.record_delivered(owner, delivery)
        elif outcome == GONE:
            deliveries.record_gone(owner, delivery)
        else:
            deliveries.record_failed(owner, delivery, _pause_seconds(office.settings, delivery.attempts + 1))


def _pause_seconds(settings: Settings, attempts: int) -> float:
    """The pause after so many attempts, a little shorter or longer so that receivers are not called in step."""
    pauses = settings.webhook_retry_seconds
    return pauses[min(attempts, len(pauses) - 1)] * random.SystemRandom().uniform(1 - JITTER_RATIO, 1 + JITTER_RATIO)


async def _drop(office: DeliveryContext) -> None:
    """Gives up, every now and then, what nobody will take any more."""
    while True:
        with suppress(*DATABASE_ERRORS):
            if dropped := await office.run(office.operate, deliveries.drop_lost, office.settings.webhook_drop_seconds):
                log.warning("webhook_events_dropped", count=dropped)
        await asyncio.sleep(office.look_seconds)


async def _listen(office: DeliveryContext) -> None:
    """Rings when an event was announced, and after every time that PostgreSQL was away."""
    async for _ in announcements(office.database.url, webhooks.CHANNEL):
        office.bell.set()


async def _ring_when(stop: asyncio.Event, bell: asyncio.Event) -> None:
    await stop.wait()
    bell.set()


async def _wait(office: DeliveryContext) -> None:
    """Returns when the bell rings, or in time for an attempt that has become due."""
    with suppress(TimeoutError):
        async with asyncio.timeout(office.look_seconds):
            await office.bell.wait()
