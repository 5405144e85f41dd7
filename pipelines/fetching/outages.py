"""Outages of banks: a bank that fails for everybody is paused, tried again by itself, and its accesses are fetched again.

A pause keeps fetches without a customer away from the bank; a customer who waits is let through. Every few minutes one access
tries the bank. The first session that brings an answer, whoever began it, ends the pause, and every access whose fetch failed is
fetched again. Each fetch counts as an unattended session, so the limits of the bank hold, and accesses that wait for their
customer are left out. A fetch covers the time of the outage, so no data are lost.
"""

from datetime import datetime, timedelta
from uuid import UUID

import structlog

from pipelines.banks.base import Code
from pipelines.context import FetchSums
from pipelines.fetching.refresh import FETCHED, INCOMPLETE
from warehouse.postgres.database import Database, Owner
from warehouse.postgres.tables import Provider
from warehouse.stores import accesses, fetches, providers

BATCH_ACCESSES = 500
MIN_FAILING_ACCESSES = 5
"""Of this many accesses the last fetch must have failed by the bank's fault, with no success since, before the bank is paused."""
FAULT_AGE = timedelta(days=1)
"""Older faults do not count."""
BANK_FAULTS = frozenset((Code.UNREACHABLE, Code.INCOMPLETE, Code.INTERNAL))
"""Outcomes that are the bank's or our fault, not a customer's."""
ANSWERS = frozenset((FETCHED, INCOMPLETE, Code.METHOD_NEEDED))
"""Outcomes with which a bank shows that it works. A refused login shows neither that nor the contrary."""
log = structlog.get_logger("outages")


def watch(database: Database, sums: FetchSums, now: datetime) -> None:
    """Pauses and resumes banks after fetches have ended in these ways."""
    answering = {provider for provider, outcome in sums if outcome in ANSWERS}
    failing = {provider: outcome for provider, outcome in sums if outcome in BANK_FAULTS and provider not in answering}
    with database.operating() as operator:
        resumed_ids = providers.resume(operator, answering)
        for provider, code in failing.items():
            _pause_if_failing(operator, provider, code, now)
    for provider in resumed_ids:
        log.info("bank_resumed", provider=str(provider), accesses=fetch_again(database, provider))


def _pause_if_failing(operator: Owner, provider: UUID, code: str, now: datetime) -> None:
    count = fetches.failing_since_success(operator, provider, BANK_FAULTS, {Code.METHOD_NEEDED}, now - FAULT_AGE)
    if count >= MIN_FAILING_ACCESSES and providers.pause(operator, provider, code, now):
        log.error("bank_paused", provider=str(provider), code=str(code), accesses=count)


def try_paused(database: Database, now: datetime) -> int:
    """Begins the fetch of one access at each paused bank whose time has come; returns their number."""
    with database.operating() as operator:
        trials = [_try(operator, provider, now) for provider in providers.lock_for_trial(operator, now)]
    return sum(trial is not None for trial in trials)


def _try(operator: Owner, provider: Provider, now: datetime) -> UUID | None:
    access = fetches.trial_access(operator, provider.id)
    trial_id = None
    if access is not None:
        trial_id = accesses.begin_fetch(Owner(operator.session, access.tenant_id, access.user_id), access, is_awaited=False)
    providers.plan_trial(provider, trial_id, now)
    return trial_id


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
