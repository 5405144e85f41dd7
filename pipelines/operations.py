"""The state of an installation for people on call: what stands still, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from itertools import groupby

from pipelines.banks.base import Code
from pipelines.fetching.pulls import MAX_DATA_AGE
from pipelines.fetching.refresh import FETCHED, INCOMPLETE, NOT_ASKED, STOPPED
from pipelines.fetching.slots import slot_of
from warehouse.errors import KeysMissing
from warehouse.lake.lake import Lake
from warehouse.postgres import server_state, watched, work_state
from warehouse.postgres.database import Database
from warehouse.postgres.server_state import ServerState
from warehouse.postgres.watched import Watched
from warehouse.postgres.work_state import AWAITED, SCHEDULED, WEBHOOKS, WorkState
from warehouse.secrets.vault import Vault
from warehouse.settings import Settings
from warehouse.stores import fetches, providers
from warehouse.stores.fetches import DataAge, FailingProvider, SlotFetches
from warehouse.stores.providers import OutcomeTotal

SURVEY_SECONDS = 3.0
"""How long each statement of a survey may take."""
DROP_GRACE_SECONDS = 60.0
"""Workers drop events after a while; an event that is older by this has no worker that looks at it."""


@dataclass(frozen=True)
class InstallationState:
    """Workers and queues, how far the refresh of the current slot has come, how old data are, and where fetches fail."""

    work: WorkState
    standstills: Mapping[str, str]
    slot: datetime
    slot_fetches: SlotFetches
    data_age: DataAge
    failing_providers: list[FailingProvider]


@dataclass(frozen=True)
class Survey:
    """How fresh data and results are, and the state of the database's server. It costs more than a look at workers and queues."""

    slot_fetches: SlotFetches
    data_age: DataAge
    server: ServerState
    watched: Watched
    written_at: Mapping[str, datetime]
    """When the pipelines have last written a file of a table of the lake, by its name; without tables that have none."""


def read_survey(database: Database, lake: Lake, vault: Vault, settings: Settings, now: datetime) -> Survey:
    """How fresh everything is at this moment."""
    from warehouse.lake.tables import ANALYSED, TRANSACTION_TAGS, TRANSACTIONS  # load numba, which `kontor status` does not need

    with database.surveying() as operator:
        server_state.bound_statements(operator, SURVEY_SECONDS)
        slot = fetches.slot_fetches(operator, slot_of(now, settings.zone))
        age = fetches.data_age(operator, now - MAX_DATA_AGE)
        server = server_state.read(operator)
        watched_state = watched.read(operator, _active_key(vault))
    moments = {table.name: lake.last_written_at(table) for table in (TRANSACTIONS, TRANSACTION_TAGS, ANALYSED)}
    return Survey(slot, age, server, watched_state, {name: moment for name, moment in moments.items() if moment is not None})


def _active_key(vault: Vault) -> str:
    """The id of the key that seals; empty without keys, which `/ready` reports."""
    try:
        return vault.ring().active
    except KeysMissing:
        return ""


def read_work(database: Database, settings: Settings) -> WorkState:
    """The state of workers and queues."""
    with database.operating() as operator:
        return work_state.read(operator, settings.worker_lost_seconds)


def read_installation(database: Database, settings: Settings, now: datetime) -> InstallationState:
    """The state of everything that people on call look at."""
    slot = slot_of(now, settings.zone)
    with database.surveying() as operator:
        work = work_state.read(operator, settings.worker_lost_seconds)
        return InstallationState(
            work,
            standstills(work, settings, now),
            slot,
            fetches.slot_fetches(operator, slot),
            fetches.data_age(operator, now - MAX_DATA_AGE),
            fetches.failing_providers(operator),
        )


def standstills(work: WorkState, settings: Settings, now: datetime) -> dict[str, str]:
    """What stands still, with the reason, by the name of the part; empty while work goes on.

    Jobs of the schedule may wait for hours behind each other, so they stand still only if no fetch has ended either.
    """
    reasons = {}
    late_seconds = settings.work_late_seconds
    waiting = sum(queue.waiting for queue in work.queues.values())
    if not work.workers:
        silence = (
            "none has started" if work.heartbeat_seconds is None else f"the last one {work.heartbeat_seconds:.0f} seconds ago"
        )
        reasons["workers"] = f"no worker gives signs of life, {silence}; {waiting} jobs and events wait"
    if (awaited_queue := work.queues[AWAITED]).oldest_seconds > late_seconds:
        reasons[AWAITED] = (
            f"customers wait for {awaited_queue.waiting} jobs, the oldest for {awaited_queue.oldest_seconds:.0f} seconds"
        )
    last_fetch_at = work.last_fetch_at
    has_ended_fetches = last_fetch_at is not None and now - last_fetch_at <= timedelta(seconds=late_seconds)
    if (scheduled_queue := work.queues[SCHEDULED]).oldest_seconds > late_seconds and not has_ended_fetches:
        reasons[SCHEDULED] = (
            f"{scheduled_queue.waiting} scheduled fetches wait, one for {scheduled_queue.oldest_seconds:.0f} s, and none ends"
        )
    if (webhooks := work.queues[WEBHOOKS]).oldest_seconds > settings.webhook_drop_seconds + DROP_GRACE_SECONDS:
        reasons[WEBHOOKS] = f"{webhooks.waiting} events wait for delivery, the oldest for {webhooks.oldest_seconds:.0f} seconds"
    return reasons


HEALTH_DAYS = 7


@dataclass(frozen=True)
class BankHealth:
    """How a bank did in the last days. `sessions` are those in which it was called: all but fetches that ended before."""

    provider: str
    name: str
    sessions: int
    fetched: int
    incomplete: int
    """Sessions of which some products failed."""
    faults: Mapping[str, int]
    """The number of sessions that ended with a fault, by its code."""
    share_sca: float
    """The share of sessions in which the bank wanted the customer to confirm."""
    mean_seconds: float
    last_contact_at: datetime | None
    """When the bank has last answered, with data or a refusal."""
    last_data_at: datetime | None
    paused_at: datetime | None
    retry_at: datetime | None


def read_health(database: Database, settings: Settings, now: datetime, days: int = HEALTH_DAYS) -> list[BankHealth]:
    """How each bank did today and on the days before; banks without a fetch are left out, unless they are paused."""
    first_day = now.astimezone(settings.zone).date() - timedelta(days=days - 1)
    with database.surveying() as operator:
        totals = providers.outcomes_since(operator, first_day)
        counted_ids = {total.provider.id for total in totals}
        rows = [_health(list(members)) for _, members in groupby(totals, lambda total: total.provider.id)]
        return rows + [
            _health([OutcomeTotal(bank, NOT_ASKED, 0, 0.0, now)])
            for bank in providers.paused(operator)
            if bank.id not in counted_ids
        ]


def _health(totals: list[OutcomeTotal]) -> BankHealth:
    """The health of one bank, from the ways in which its fetches ended."""
    bank = totals[0].provider
    sessions = {total.outcome: total for total in totals if total.outcome not in (NOT_ASKED, STOPPED)}
    count = sum(total.fetches for total in sessions.values())
    data = [sessions[outcome] for outcome in (FETCHED, INCOMPLETE) if outcome in sessions]
    answers = [total for total in sessions.values() if total.outcome != Code.UNREACHABLE]
    confirmations = sessions[Code.METHOD_NEEDED].fetches if Code.METHOD_NEEDED in sessions else 0
    return BankHealth(
        provider=str(bank.id),
        name=bank.name,
        sessions=count,
        fetched=sessions[FETCHED].fetches if FETCHED in sessions else 0,
        incomplete=sessions[INCOMPLETE].fetches if INCOMPLETE in sessions else 0,
        faults={total.outcome: total.fetches for total in sessions.values() if total not in data},
        share_sca=confirmations / count if count else 0.0,
        mean_seconds=sum(total.seconds for total in sessions.values()) / count if count else 0.0,
        last_contact_at=max((total.last_at for total in answers), default=None),
        last_data_at=max((total.last_at for total in data), default=None),
        paused_at=bank.paused_at,
        retry_at=bank.retry_at,
    )


def shown_health(health: BankHealth, zone: tzinfo) -> dict[str, str]:
    """The health of a bank as a row of texts."""
    faults = ", ".join(f"{code}: {count}" for code, count in health.faults.items())
    state = "works" if health.paused_at is None else f"paused since {_minute(health.paused_at, zone)}"
    return {
        "bank": health.name,
        "state": state,
        "sessions": str(health.sessions),
        "with data": str(health.fetched + health.incomplete),
        "incomplete": str(health.incomplete),
        "faults": faults or "none",
        "confirmations": f"{health.share_sca:.0%}",
        "seconds": f"{health.mean_seconds:.1f}",
        "last contact": _minute(health.last_contact_at, zone),
        "last data": _minute(health.last_data_at, zone),
        "next attempt": _minute(health.retry_at, zone),
    }


def _minute(moment: datetime | None, zone: tzinfo) -> str:
    return "" if moment is None else f"{moment.astimezone(zone):%Y-%m-%d %H:%M}"
