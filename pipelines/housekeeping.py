"""Housekeeping: what has ended is removed."""

from dataclasses import dataclass

from warehouse import throttles, tokens, webhooks
from warehouse.database import Database
from warehouse.settings import Settings


@dataclass(frozen=True)
class Swept:
    """How many rows were removed."""

    tokens: int
    throttles: int
    webhook_events: int = 0


def sweep(database: Database, settings: Settings) -> Swept:
    """Deletes expired tokens, login counters whose window has ended, and webhook events that are too old to be read again."""
    with database.operating() as owner:
        return Swept(
            tokens=tokens.purge_expired(owner),
            throttles=throttles.purge_ended(owner),
            webhook_events=webhooks.purge_old(owner, settings.webhook_replay_days),
        )
