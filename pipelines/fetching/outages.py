"""After a bank was away: fetching the accesses that wait for it before the next slot does.

Each counts as an unattended session like any other: a bank is not asked more often than it may be, and logins that only their
customer can mend are left alone. A bank's answer reaches back over the time that it was away, so nothing is asked for twice.
"""

from uuid import UUID

from warehouse.postgres.database import Database, Owner
from warehouse.stores import accesses, fetches

AT_ONCE = 500


def fetch_again(database: Database, provider_id: UUID) -> int:
    """Puts down a fetch for every access of a provider whose last one failed; answers how many."""
    total, last = 0, UUID(int=0)
    while True:
        with database.operating() as operator:
            found = fetches.failed_accesses(operator, provider_id, last, AT_ONCE)
            ids = [access.id for access in found]
            for access in found:
                accesses.begin_fetch(Owner(operator.session, access.tenant_id, access.user_id), access, is_awaited=False)
        total += len(found)
        if len(found) < AT_ONCE:
            return total
        last = ids[-1]
