"""Housekeeping: what has ended is removed."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pipelines.fetching.slots import SLOT, slot_of
from warehouse.lake import landing
from warehouse.lake.lake import Lake
from warehouse.lake.tables import LANDING
from warehouse.postgres.database import Database
from warehouse.settings import Settings
from warehouse.stores import accesses, dialogues, redirect_sessions, throttles, tokens, webhooks

DIALOGUES_FOR_DAYS = 30
UNFINISHED_FOR = timedelta(days=1)
"""So old is no file that somebody still writes."""


@dataclass(frozen=True)
class Swept:
    """How many rows were removed."""

    tokens: int
    throttles: int
    webhook_events: int = 0
    redirect_sessions: int = 0
    accesses: int = 0
    dialogues: int = 0


@dataclass(frozen=True)
class SweptLake:
    """How many files were removed."""

    retired: int
    unfinished: int


def sweep(database: Database, settings: Settings) -> Swept:
    """Deletes what has expired: tokens, login counters, redirect sessions, accesses without sync, webhook events, dialogues."""
    with database.operating() as owner:
        return Swept(
            tokens=tokens.purge_expired(owner),
            throttles=throttles.purge_ended(owner),
            webhook_events=webhooks.purge_old(owner, settings.webhook_replay_days),
            redirect_sessions=redirect_sessions.purge_expired(owner),
            accesses=accesses.remove_expired(owner),
            dialogues=dialogues.purge(owner, DIALOGUES_FOR_DAYS),
        )


def sweep_lake(lake: Lake, settings: Settings, now: datetime) -> SweptLake:
    """Removes what the banks said too long ago to be merged again, and what crashed writers left."""
    first = slot_of(now - timedelta(days=settings.landing_days), settings.zone).strftime(SLOT)
    return SweptLake(retired=landing.retire(lake, LANDING, first), unfinished=lake.sweep(now - UNFINISHED_FOR))
