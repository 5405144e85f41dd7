"""Fetching an access: the one flow behind a new access, `refresh=true` and the schedule.

A fetch begins as a job that the store puts down (`accesses.begin_fetch`). Here the worker plans it, talks to the bank without
holding a transaction, and publishes what came in one transaction: products, balances, bookings, positions, revision and webhook
events together, or nothing. What a bank fails to give leaves everything as it was; only the issues say so.
"""

import itertools
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import partial
from typing import TypeVar

import structlog

from analytics.products import PAYMENT_ACCOUNTS, ProductCategory
from pipelines.banks.base import (
    BankFault,
    CatalogueBank,
    Code,
    Connector,
    FetchedBookings,
    FetchRequest,
    Header,
    Holdings,
    ProductFailure,
    Unreachable,
    Unusable,
    message,
)
from pipelines.context import Context
from pipelines.fetching import landing, store, validation
from pipelines.fetching.slots import slot_of
from pipelines.fetching.store import FetchJob, Received
from warehouse import patience
from warehouse.errors import Busy, DatabaseUnavailable
from warehouse.logs import describe
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access
from warehouse.stores import accesses, fetches, products, providers

OVERLAP = timedelta(days=30)
"""How far a refresh looks back: banks correct texts and days for weeks."""
HISTORIES: dict[str, frozenset[ProductCategory]] = {"none": frozenset(), "paymentAccounts": PAYMENT_ACCOUNTS}
"""Of which products bookings older than 90 days are wanted, by what the customer has chosen; of all where nothing stands here."""
WRONG_LOGINS_ALLOWED = 3
TOLD_THE_CUSTOMER = frozenset({Code.LOCKED, Code.WRONG_CREDENTIALS, Code.FIELDS_MISSING, Code.METHOD_NEEDED})
"""What the customer can act on stands in the access itself; everything else only in its issues."""
AT_ONCE = 500
PUBLISH_ATTEMPTS = 3
ATTEMPTS = 3
Done = TypeVar("Done")
log = structlog.get_logger("refresh")


def fetch_access(house: Context, job: FetchJob, now: datetime) -> None:
    """Carries out a fetch, unless it has become void. Never raises for what a bank does."""
    plan = _plan(house, job, now)
    if plan is None:
        return
    connector, request = plan
    try:
        received = _receive(house, job, connector, request)
    except BankFault as fault:
        _fail(house, job, fault, now)
    except (DatabaseUnavailable, Busy):
        raise
    except Exception as error:
        log.error("connector_failed", access=str(job.access), connector=connector.name, error=describe(error))  # noqa: TRY400
        _fail(house, job, BankFault(), now)
    else:
        landing.land(house, job, received, now)
        if not _insist(partial(store.everything, house, job, received, now)):
            landing.take_back(house, job)  # its access may be gone for good, and with it who would remove this
        log.info("fetched", access=str(job.access), products=len(received.header.products), failures=len(received.failures))


def _insist(work: Callable[[], Done]) -> Done:
    """Does work on the database again if it was cut off: what a bank has said should not be asked for twice."""
    return patience.retry(work, (DatabaseUnavailable, Busy), itertools.repeat(0, PUBLISH_ATTEMPTS - 1))


def give_up(house: Context, job: FetchJob, now: datetime) -> None:
    """Ends a fetch that went wrong by our own fault."""
    _fail(house, job, BankFault(), now)


def enqueue_due(house: Context, now: datetime) -> int:
    """Puts down a fetch for every access that the current slot should refresh; answers how many. Again adds nothing."""
    slot = slot_of(now, house.settings.zone)
    total = 0
    while True:
        with house.database.operating() as operator:
            due = fetches.due_accesses(operator, slot, AT_ONCE)
            for access in due:
                access.slot_at = slot
                accesses.begin_fetch(Owner(operator.session, access.tenant_id, access.user_id), access, is_awaited=False)
        total += len(due)
        if len(due) < AT_ONCE:
            return total


def _plan(house: Context, job: FetchJob, now: datetime) -> tuple[Connector, FetchRequest] | None:
    """How to ask the bank; None if the fetch is void, or must not reach the bank, which ends it."""
    with house.database.acting_for(job.tenant, job.user) as owner:
        access = accesses.lock_fetching(owner, job.access, job.fetch)
        if access is None:
            return None
        if access.fetch_attempts >= ATTEMPTS:  # it was lost again and again: the bank is not asked for ever
            _end(owner, access, BankFault(), now)
            return None
        row = providers.find(owner, access.provider_id)
        connector = house.connectors.get(row.connector)
        provider = CatalogueBank(row.id, row.name, row.connector, row.blz, row.bic)
        if not row.enabled or connector is None or (offer := connector.offer(provider)) is None:
            _end(owner, access, Unreachable(), now)
            return None
        credentials = accesses.credentials(owner, house.vault, access)
        if any(field.key not in credentials for field in offer.fields) or access.wrong_logins >= WRONG_LOGINS_ALLOWED:
            accesses.end_fetch(owner, access, access.messages, now)
            return None
        attended = access.fetch_from is not None
        if not attended and accesses.seconds_until_allowed(owner, access, house.settings.unattended_sessions_per_day):
            accesses.end_fetch(owner, access, access.issues, now)
            return None
        accesses.open_session(owner, access, attended=attended)
        return connector, FetchRequest(
            provider=provider,
            credentials=credentials,
            now=now,
            since=_since(owner, access, house),
            wanted=None if access.selected is None else frozenset(access.selected),
            attended_from=access.fetch_from,
            whole_history_of=HISTORIES.get(access.history or "all"),
        )


def _since(owner: Owner, access: Access, house: Context) -> dict[str, date]:
    """From which day on each product that is known completely is asked for again."""
    return {
        product.key: product.fetched_at.astimezone(house.settings.zone).date() - OVERLAP
        for product in products.visible(owner, [access])[access.id]
        if product.status == accesses.COMPLETE
    }


def _receive(house: Context, job: FetchJob, connector: Connector, request: FetchRequest) -> Received:
    """Everything the bank gives, checked. The header is published as soon as it is there, for who waits for it."""
    today = request.now.astimezone(house.settings.zone).date()
    parts = house.lines.listen(request.provider.id, connector.fetch(request), house.settings.bank_timeout_seconds)
    received: Received | None = None
    for part in parts:
        if isinstance(part, Header):
            received = Received(validation.check_header(part))
            _insist(partial(store.header, house, job, received.header, request.now))
        elif received is None:
            raise Unusable
        else:
            _take(received, part, today)
    if received is None:
        raise Unusable
    _require_each_once(received, request.wanted)
    return received


def _take(received: Received, part: FetchedBookings | Holdings | ProductFailure, today: date) -> None:
    """Adds a part to what was received; one that makes no sense is a failure of its product."""
    try:
        if isinstance(part, FetchedBookings):
            received.bookings.append(validation.check_bookings(part, today))
        elif isinstance(part, Holdings):
            received.holdings.append(validation.check_holdings(part))
        else:
            received.failures.append(part)
    except Unusable:
        code = Code.BOOKINGS_FAILED if isinstance(part, FetchedBookings) else Code.POSITIONS_FAILED
        received.failures.append(ProductFailure(part.product, code))


def _require_each_once(received: Received, wanted: frozenset[str] | None) -> None:
    """Refuses an answer that tells a product twice, or one that the header does not know; one that was left out has failed."""
    parts: list[FetchedBookings | Holdings | ProductFailure] = [*received.bookings, *received.holdings, *received.failures]
    told = [part.product for part in parts]
    known = [product.key for product in received.header.products]
    if len(set(told)) != len(told) or not set(known).issuperset(told):
        raise Unusable
    left_out = [key for key in known if key not in told and (wanted is None or key in wanted)]
    received.failures += [ProductFailure(key, Code.PRODUCT_FAILED) for key in left_out]


def _fail(house: Context, job: FetchJob, fault: BankFault, now: datetime) -> None:
    """Ends a fetch that brought nothing. Stable data stay; wrong logins are counted."""
    with house.database.acting_for(job.tenant, job.user) as owner:
        access = accesses.lock_fetching(owner, job.access, job.fetch)
        if access is not None:
            _end(owner, access, fault, now)
            log.info("fetch_failed", access=str(job.access), code=fault.code)


def _end(owner: Owner, access: Access, fault: BankFault, now: datetime) -> None:
    code = fault.code
    if code is Code.WRONG_CREDENTIALS:
        access.wrong_logins += 1
        code = Code.LOCKED if access.wrong_logins >= WRONG_LOGINS_ALLOWED else code
    elif code is Code.LOCKED:
        access.wrong_logins = WRONG_LOGINS_ALLOWED
    issues = [message(code, fault.details)]
    if code in TOLD_THE_CUSTOMER:
        access.messages = issues
        access.waits_for_customer = True
    accesses.end_fetch(owner, access, issues, now)
