"""Housekeeping: what has ended is removed."""

from dataclasses import dataclass

from warehouse import accesses, redirect_sessions, throttles, tokens, webhooks
from warehouse.database import Database
from warehouse.settings import Settings


@dataclass(frozen=True)
class Swept:
    """How many rows were removed."""

    tokens: int
    throttles: int
    webhook_events: int = 0
    redirect_sessions: int = 0
    accesses: int = 0


def sweep(database: Database, settings: Settings) -> Swept:
    """Deletes what has expired: tokens, login counters, redirect sessions, accesses without sync, and old webhook events."""
    with database.operating() as owner:
        return Swept(
            tokens=tokens.purge_expired(owner),
            throttles=throttles.purge_ended(owner),
            webhook_events=webhooks.purge_old(owner, settings.webhook_replay_days),
            redirect_sessions=redirect_sessions.purge_expired(owner),
            accesses=accesses.remove_expired(owner),
        )
