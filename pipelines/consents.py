"""Notices of consents that end: 30, 7 and 1 days before the end, and at the end, each once for a consent.

What was told is noted in the access. After an outage only the nearest notice is sent: whoever learns that a consent ends tomorrow
need not learn that it ends within a month.
"""

from datetime import datetime, timedelta

import structlog

from warehouse.postgres.database import Database
from warehouse.postgres.tables import Access
from warehouse.stores import fetches, webhooks
from warehouse.stores.fetches import NOTICE_DAYS
from warehouse.stores.webhooks import NewEvent
from warehouse.webhook_types import EventType

BATCH_ACCESSES = 500
log = structlog.get_logger("consents")


def announce_ends(database: Database, now: datetime) -> int:
    """Announces the consents that have come to a notice since the last call; returns how many. A second call adds nothing."""
    total = 0
    while True:
        with database.operating() as operator:
            accesses = fetches.lock_ending_consents(operator, now, BATCH_ACCESSES)
            webhooks.announce(operator, *(_note(access, now) for access in accesses))
        total += len(accesses)
        if len(accesses) < BATCH_ACCESSES:
            break
    if total:
        log.info("consents_end", accesses=total)
    return total


def _note(access: Access, now: datetime) -> NewEvent:
    """The nearest notice of an access whose consent ends, noted in it."""
    ends_at = access.consent_ends_at or now
    days_left = min((days for days in NOTICE_DAYS if ends_at <= now + timedelta(days)), default=max(NOTICE_DAYS))
    access.consent_told_end, access.consent_told_days = ends_at, days_left
    if days_left == 0:
        return NewEvent(EventType.CONSENT_ENDED, access.user_id, access.id)
    return NewEvent(EventType.CONSENT_ENDING, access.user_id, access.id, details={"daysLeft": days_left})
