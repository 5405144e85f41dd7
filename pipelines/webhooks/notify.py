"""Delivery of webhook events: signs and sends announced events, and repeats until they are accepted or too old.

At least once: an event whose sender dies between sending and recording is sent again, with the same `webhook-id`. Any number of
processes may deliver at the same time.

Tenants share the calls evenly. A receiver that was slow at its latest call gets its next ones in a lane of its own, so that
receivers that hang never take the slots of quick ones.
"""

import asyncio
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

import httpx
import structlog

from pipelines.webhooks import notices, outbound
from warehouse.errors import AddressRefused
from warehouse.postgres.async_connections import announcements
from warehouse.postgres.database import DATABASE_ERRORS, Database, Owner
from warehouse.runtime import logs
from warehouse.runtime.fair_slots import FairSlots
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores import deliveries, webhooks
from warehouse.stores.deliveries import Delivery, DueReceiver

DATABASE_THREADS = 4
LOOK_SECONDS = 1.0
LOST_RACE_SECONDS = 0.05
TENANT_SHARE = 2  # of the calls of a lane, one tenant has at most one in so many
SPARE_SHARE = 5  # one in so many is left for tenants that have none
LEASE_MARGIN_SECONDS = 30  # for reading the secret, recording the outcome, and a restart of the database
JITTER_RATIO = 0.2
GONE_STATUS = 410
P = ParamSpec("P")
T = TypeVar("T")
log = structlog.get_logger("webhooks")


@dataclass(frozen=True)
class CallLane:
    """How receivers of one kind are called: the slots of the calls, and a policy with threads of its own for their names."""

    slots: FairSlots
    policy: outbound.OutboundPolicy


@dataclass(frozen=True)
class DeliveryContext:
    """The context of delivery. `bell` is set when there may be an event to send; `slow_receivers` belong into the slow lane."""

    database: Database
    vault: Vault
    settings: Settings
    quick: CallLane
    slow: CallLane
    threads: ThreadPoolExecutor
    bell: asyncio.Event
    look_seconds: float
    slow_receivers: set[UUID] = field(default_factory=set)

    def lane_of(self, receiver: DueReceiver) -> CallLane:
        return self.slow if receiver.slow else self.quick

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
    with (
        ThreadPoolExecutor(DATABASE_THREADS, "webhooks") as threads,
        _open_lane(settings, settings.webhook_calls_at_once, resolve) as quick,
        _open_lane(settings, settings.webhook_slow_calls_at_once, resolve) as slow,
    ):
        context = DeliveryContext(database, vault, settings, quick, slow, threads, asyncio.Event(), look_seconds)
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(work) for work in (_listen(context), _drop(context), _ring_when(stop, context.bell))]
            await _send_until(stop, context, tasks)
            for task in beside:
                task.cancel()


@contextmanager
def _open_lane(settings: Settings, calls: int, resolve: outbound.Resolve | None) -> Iterator[CallLane]:
    """A lane for so many calls at once."""
    spare = calls // SPARE_SHARE
    slots = FairSlots(calls - spare, spare=spare, per_tenant=max(1, calls // TENANT_SHARE))
    with outbound.open_policy(settings, calls) as policy:
        yield CallLane(slots, replace(policy, resolve=resolve or policy.resolve))


async def _send_until(stop: asyncio.Event, context: DeliveryContext, tasks: asyncio.TaskGroup) -> None:
    """Keeps deliveries in progress while slots are free, each to another receiver. A finished delivery sets the bell."""
    under_way: set[asyncio.Task[None]] = set()

    def begin(lane: CallLane, delivery: Delivery) -> None:
        def ended(task: asyncio.Task[None]) -> None:
            under_way.discard(task)
            lane.slots.give_back(delivery.tenant_id, delivery.client_id)
            context.bell.set()

        task = tasks.create_task(_deliver(context, lane.policy, delivery))
        under_way.add(task)
        task.add_done_callback(ended)

    while not stop.is_set():
        context.bell.clear()
        receivers = await _due_receivers(context)
        claimed_deliveries = await _claim(context, receivers) if receivers else []
        for lane, delivery in claimed_deliveries:
            begin(lane, delivery)
        if not claimed_deliveries:
            await _wait(context, LOST_RACE_SECONDS if receivers else context.look_seconds)
    if under_way:
        await asyncio.wait(under_way)


async def _due_receivers(context: DeliveryContext) -> list[DueReceiver]:
    """Receivers to call now, each with a slot of its lane; tenants with the fewest calls under way come first."""
    slow_receivers = frozenset(context.slow_receivers)
    per_tenant = max(context.quick.slots.capacity, context.slow.slots.capacity)
    pause = context.settings.webhook_retry_seconds[0]
    try:
        receivers = await context.run(
            context.operate, deliveries.due_receivers, slow_receivers, per_tenant=per_tenant, first_pause_seconds=pause
        )
    except DATABASE_ERRORS as error:
        log.warning("database_away", error=type(error).__name__)
        return []
    receivers.sort(key=lambda receiver: context.lane_of(receiver).slots.in_use_of(receiver.tenant_id) + receiver.place)
    return [one for one in receivers if context.lane_of(one).slots.take(one.tenant_id, one.client_id)]


async def _claim(context: DeliveryContext, receivers: list[DueReceiver]) -> list[tuple[CallLane, Delivery]]:
    """Deliveries to these receivers, with their lanes. Slots of receivers that another process serves by now are given back."""
    lanes = {receiver.client_id: context.lane_of(receiver) for receiver in receivers}
    lease_seconds = context.settings.webhook_timeout_seconds + LEASE_MARGIN_SECONDS
    pause = context.settings.webhook_retry_seconds[0]
    try:
        claimed_deliveries = await context.run(
            context.operate, deliveries.claim, lanes.keys(), lease_seconds=lease_seconds, first_pause_seconds=pause
        )
    except DATABASE_ERRORS as error:
        log.warning("database_away", error=type(error).__name__)
        claimed_deliveries = []
    claimed_receivers = {delivery.client_id for delivery in claimed_deliveries}
    for receiver in receivers:
        if receiver.client_id not in claimed_receivers:
            context.lane_of(receiver).slots.give_back(receiver.tenant_id, receiver.client_id)
    return [(lanes[delivery.client_id], delivery) for delivery in claimed_deliveries]


async def _deliver(context: DeliveryContext, policy: outbound.OutboundPolicy, delivery: Delivery) -> None:
    """Sends one event and records the outcome. An event whose outcome cannot be recorded is sent again when the lease ends."""
    facts = {"client": str(delivery.client_id), "serial": delivery.serial, "attempt": delivery.attempts + 1}
    try:
        secrets = await context.run(_secrets, context, delivery)
        outcome = await _send(context, policy, delivery, secrets)
        await context.run(_record, context, delivery, outcome)
    except Exception as error:  # one event must not end the delivery of all others
        log.warning("webhook_not_recorded", error=logs.describe(error), **facts)
    else:
        log.info("webhook", outcome=outcome, slow=delivery.client_id in context.slow_receivers, **facts)


def _secrets(context: DeliveryContext, delivery: Delivery) -> list[str]:
    with context.database.acting_for(delivery.tenant_id) as owner:
        return webhooks.signing_secrets(owner, context.vault, delivery.client_id)


async def _send(context: DeliveryContext, policy: outbound.OutboundPolicy, delivery: Delivery, secrets: list[str]) -> int | str:
    """The status of the receiver's response, or the kind of error. How long it takes decides the lane of the next call."""
    settings, clock = context.settings, asyncio.get_running_loop().time
    content = notices.body(delivery, settings)
    started_at = clock()
    try:
        return await outbound.post(policy, delivery.url, content, notices.headers(delivery, content, secrets))
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, AddressRefused) as error:
        return type(error).__name__
    finally:
        if clock() - started_at >= min(settings.webhook_slow_seconds, settings.webhook_timeout_seconds):
            context.slow_receivers.add(delivery.client_id)
        else:
            context.slow_receivers.discard(delivery.client_id)


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


async def _wait(context: DeliveryContext, seconds: float) -> None:
    """Returns when the bell is set, or after so long, in time for attempts that have become due."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await context.bell.wait()
