"""After a bank was away: fetching the accesses that wait for it before the next slot does.

Each counts as an unattended session like any other: a bank is not asked more often than it may be, and logins that only their
customer can mend are left alone. A bank's answer reaches back over the time that it was away, so nothing is asked for twice.
"""

from uuid import UUID

from warehouse.postgres.database import Database, Owner
from warehouse.stores import accesses, fetches

BATCH_ACCESSES = 500


def fetch_again(database: Database, provider_id: UUID) -> int:
    """Puts down a fetch for every access of a provider whose last one failed; answers how many."""
    total, last_id = 0, UUID(int=0)
    while True:
        with database.operating() as operator:
            failed_accesses = fetches.failed(operator, provider_id, last_id, BATCH_ACCESSES)
            ids = [access.id for access in failed_accesses]
            for access in failed_accesses:
                accesses.begin_fetch(Owner(operator.session, access.tenant_id, access.user_id), access, awaited=False)
        total += len(failed_accesses)
        if len(failed_accesses) < BATCH_ACCESSES:
            return total
        last_id = ids[-1]
