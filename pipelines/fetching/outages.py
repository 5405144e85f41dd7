"""Fetching accesses again after an outage of their bank, before the next slot.

Each fetch counts as an unattended session, so the limits of the bank hold, and accesses that wait for their customer are left
out. A fetch covers the time of the outage, so no data are lost.
"""

from uuid import UUID

from warehouse.postgres.database import Database, Owner
from warehouse.stores import accesses, fetches

BATCH_ACCESSES = 500


def fetch_again(database: Database, provider_id: UUID) -> int:
    """Enqueues a fetch for every access of a provider whose last fetch failed; returns their number."""
    total, last_id = 0, UUID(int=0)
    while True:
        with database.operating() as operator:
            failed_accesses = fetches.failed_accesses(operator, provider_id, last_id, BATCH_ACCESSES)
            ids = [access.id for access in failed_accesses]
            for access in failed_accesses:
                accesses.begin_fetch(Owner(operator.session, access.tenant_id, access.user_id), access, is_awaited=False)
        total += len(failed_accesses)
        if len(failed_accesses) < BATCH_ACCESSES:
            return total
        last_id = ids[-1]
