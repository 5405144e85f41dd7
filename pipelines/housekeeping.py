"""Housekeeping: removes rows and files that have expired."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pipelines.fetching.slots import SLOT_FORMAT, slot_of
from warehouse.lake import landing
from warehouse.lake.core_tables import LANDING
from warehouse.lake.lake import Lake
from warehouse.postgres import audit_log, console_accounts
from warehouse.postgres.database import Database
from warehouse.settings import Settings
from warehouse.stores import accesses, bank_logins, changes, dialogues, providers, redirect_sessions, throttles, tokens, webhooks

DIALOGUE_DAYS = 30
UNFINISHED_FILE_AGE = timedelta(days=1)
"""Temporary files of this age have no writer any more."""


@dataclass(frozen=True)
class SweepCounts:
    """Removed rows by table."""

    tokens: int
    throttles: int
    webhook_events: int = 0
    redirect_sessions: int = 0
    accesses: int = 0
    dialogues: int = 0
    unattended_sessions: int = 0
    removals: int = 0
    refused_logins: int = 0
    login_attempts: int = 0
    fetch_days: int = 0
    console_sessions: int = 0
    audit_entries: int = 0


@dataclass(frozen=True)
class LakeSweepCounts:
    """Removed files."""

    retired: int
    unfinished: int


def sweep(database: Database, settings: Settings) -> SweepCounts:
    """Deletes what has expired: tokens, login counters, redirect sessions, accesses without sync, webhook events, dialogues,
    counts of unattended sessions, removals that no client asks for any more, refusals of logins and attempts with
    them, counts of fetches by day, sessions of the console, old entries of its audit log.
    """
    with database.operating() as owner:
        return SweepCounts(
            tokens=tokens.purge_expired(owner),
            throttles=throttles.purge_ended(owner),
            webhook_events=webhooks.purge_old(owner, settings.webhook_replay_days),
            redirect_sessions=redirect_sessions.purge_expired(owner),
            accesses=accesses.remove_expired(owner),
            dialogues=dialogues.purge(owner, DIALOGUE_DAYS),
            unattended_sessions=bank_logins.purge_old_counts(owner),
            removals=changes.purge_old(owner),
            refused_logins=bank_logins.purge_old_refusals(owner),
            login_attempts=bank_logins.purge_old_attempts(owner),
            fetch_days=providers.purge_old_days(owner),
            console_sessions=console_accounts.purge_ended_sessions(owner, settings.console_idle_seconds),
            audit_entries=audit_log.purge_old(owner, settings.audit_days),
        )


def sweep_lake(lake: Lake, settings: Settings, now: datetime) -> LakeSweepCounts:
    """Removes landed pieces past their retention, and temporary files of crashed writers."""
    first = slot_of(now - timedelta(days=settings.landing_days), settings.zone).strftime(SLOT_FORMAT)
    return LakeSweepCounts(retired=landing.retire(lake, LANDING, first), unfinished=lake.sweep(now - UNFINISHED_FILE_AGE))
