"""Delivery of webhook events: signs and sends announced events, and repeats until they are accepted or too old.

At least once: an event whose sender dies between sending and recording is sent again, with the same `webhook-id`. Any number of
processes may deliver at the same time.
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

MAX_DELIVERIES = 50
DATABASE_THREADS = 4
LOOK_SECONDS = 1.0
LEASE_MARGIN_SECONDS = 30  # for reading the secret, recording the outcome, and a restart of the database
JITTER_RATIO = 0.2
GONE_STATUS = 410
P = ParamSpec("P")
T = TypeVar("T")
log = structlog.get_logger("webhooks")


@dataclass(frozen=True)
class DeliveryContext:
    """The context of delivery. `bell` is set when there may be an event to send."""

    database: Database
    vault: Vault
    settings: Settings
    policy: outbound.OutboundPolicy
    threads: ThreadPoolExecutor
    bell: asyncio.Event
    look_seconds: float

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs work on the database in a thread and returns its result."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, lambda: work(*args, **kwargs))

    def operate(self, work: Callable[Concatenate[Owner, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a store function in a transaction over all tenants and returns its result."""
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
    """Delivers events until `stop` is set; deliveries in progress are finished."""
    bell = asyncio.Event()
    with ThreadPoolExecutor(DATABASE_THREADS, "webhooks") as threads, outbound.open_policy(settings, MAX_DELIVERIES) as policy:
        policy = replace(policy, resolve=resolve or policy.resolve)
        context = DeliveryContext(database, vault, settings, policy, threads, bell, look_seconds)
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(work) for work in (_listen(context), _drop(context), _ring_when(stop, bell))]
            await _send_until(stop, context, tasks)
            for task in beside:
                task.cancel()


async def _send_until(stop: asyncio.Event, context: DeliveryContext, tasks: asyncio.TaskGroup) -> None:
    """Keeps up to `MAX_DELIVERIES` deliveries in progress, each to another receiver. A finished delivery sets the bell."""
    under_way: set[asyncio.Task[None]] = set()

    def ended(task: asyncio.Task[None]) -> None:
        under_way.discard(task)
        context.bell.set()

    while not stop.is_set():
        context.bell.clear()
        claimed = await _claim(context, MAX_DELIVERIES - len(under_way))
        for delivery in claimed:
            task = tasks.create_task(_deliver(context, delivery))
            under_way.add(task)
            task.add_done_callback(ended)
        if not claimed:
            await _wait(context)
    if under_way:
        await asyncio.wait(under_way)


async def _claim(context: DeliveryContext, limit: int) -> list[Delivery]:
    """Up to `limit` deliveries; none while the database is unavailable."""
    settings = context.settings
    lease_seconds = settings.webhook_timeout_seconds + LEASE_MARGIN_SECONDS
    first_pause_seconds = settings.webhook_retry_seconds[0]
    if limit == 0:
        return []
    try:
        return await context.run(
            context.operate, deliveries.claim, limit=limit, lease_seconds=lease_seconds, first_pause_seconds=first_pause_seconds
        )
    except DATABASE_ERRORS as error:
        log.warning("database_away", error=type(error).__name__)
        return []


async def _deliver(context: DeliveryContext, delivery: Delivery) -> None:
    """Sends one event and records the outcome. An event whose outcome cannot be recorded is sent again when the lease ends."""
    facts = {"client": str(delivery.client_id), "serial": delivery.serial, "attempt": delivery.attempts + 1}
    try:
        secrets = await context.run(_secrets, context, delivery)
        outcome = await _send(context, delivery, secrets)
        await context.run(_record, context, delivery, outcome)
    except Exception as error:  # one event must not end the delivery of all others
        log.warning("webhook_not_recorded", error=logs.describe(error), **facts)
    else:
        log.info("webhook", outcome=outcome, **facts)


def _secrets(context: DeliveryContext, delivery: Delivery) -> list[str]:
    with context.database.acting_for(delivery.tenant_id) as owner:
        return webhooks.signing_secrets(owner, context.vault, delivery.client_id)


async def _send(context: DeliveryContext, delivery: Delivery, secrets: list[str]) -> int | str:
    """The status of the receiver's response, or the kind of error."""
    content = notices.body(delivery, context.settings)
    try:
        return await outbound.post(context.policy, delivery.url, content, notices.headers(delivery, content, secrets))
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, AddressRefused) as error:
        return type(error).__name__


def _record(context: DeliveryContext, delivery: Delivery, outcome: int | str) -> None:
    """Records the outcome; only 2xx means accepted. Redirects are not followed: they could lead to addresses that we must not
    call.
    """
    with context.database.acting_for(delivery.tenant_id) as owner:
        if isinstance(outcome, int) and 200 <= outcome < 300:
            deliveries.record_delivered(owner, delivery)
        elif outcome == GONE_STATUS:
            deliveries.record_gone(owner, delivery)
        else:
            deliveries.record_failed(owner, delivery, _pause_seconds(context.settings, delivery.attempts + 1))


def _pause_seconds(settings: Settings, attempts: int) -> float:
    """The pause after this number of attempts, varied at random so that receivers are not called in step."""
    pauses = settings.webhook_retry_seconds
    return pauses[min(attempts, len(pauses) - 1)] * random.SystemRandom().uniform(1 - JITTER_RATIO, 1 + JITTER_RATIO)


async def _drop(context: DeliveryContext) -> None:
    """Drops events regularly that no receiver will accept any more."""
    while True:
        with suppress(*DATABASE_ERRORS):
            if dropped := await context.run(context.operate, deliveries.drop_lost, context.settings.webhook_drop_seconds):
                log.warning("webhook_events_dropped", count=dropped)
        await asyncio.sleep(context.look_seconds)


async def _listen(context: DeliveryContext) -> None:
    """Sets the bell when an event is announced, and whenever PostgreSQL is reachable again."""
    async for _ in announcements(context.database.url, webhooks.CHANNEL):
        context.bell.set()


async def _ring_when(stop: asyncio.Event, bell: asyncio.Event) -> None:
    await stop.wait()
    bell.set()


async def _wait(context: DeliveryContext) -> None:
    """Returns when the bell is set, or after `look_seconds`, in time for attempts that have become due."""
    with suppress(TimeoutError):
        async with asyncio.timeout(context.look_seconds):
            await context.bell.wait()
