"""Fetching an access: the one flow behind a new access, `refresh=true` and the schedule.

A fetch begins as a job (`accesses.begin_fetch`). The worker plans it, talks to the bank without an open transaction, and
publishes the answer in one transaction: products, balances, bookings, positions, revision and webhook events together, or
nothing. Where a bank fails, stored data stay as they were, and only the issues of the access report it.
"""

import itertools
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import TypeVar
from uuid import UUID

import structlog

from analytics.products import PAYMENT_ACCOUNTS, ProductCategory
from pipelines.banks.base import (
    AccessLocked,
    BankFault,
    Code,
    Connector,
    FetchedBookings,
    FetchRequest,
    FieldsMissing,
    Header,
    Holdings,
    Part,
    ProductFailure,
    SameBookings,
    Unreachable,
    Unusable,
    WrongCredentials,
    message,
)
from pipelines.banks.connectors import as_bank
from pipelines.banks.login_attempts import LoginUnclear
from pipelines.context import Context
from pipelines.fetching import attempts, facts, landing, store, validation
from pipelines.fetching.attempts import LoginUse
from pipelines.fetching.slots import slot_of
from pipelines.fetching.store import BankAnswer, FetchJob, ProductPart
from warehouse.errors import Busy, DatabaseUnavailable
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access, Product, Provider
from warehouse.runtime import patience
from warehouse.runtime.logs import describe
from warehouse.secrets import sealed_values
from warehouse.stores import accesses, bank_logins, fetches, products, providers, webhooks
from warehouse.stores.bank_logins import LoginTrace

OVERLAP = timedelta(days=30)
"""How far a refresh reaches back: banks correct texts and days for weeks."""
HISTORIES: dict[str, frozenset[ProductCategory]] = {"none": frozenset(), "paymentAccounts": PAYMENT_ACCOUNTS}
"""The products whose bookings older than 90 days are fetched, by the customer's choice; all products for other values."""
MAX_WRONG_LOGINS = 3
CUSTOMER_CODES = frozenset({Code.LOCKED, Code.WRONG_CREDENTIALS, Code.FIELDS_MISSING, Code.METHOD_NEEDED})
"""Codes that the customer can act on: they appear as messages of the access. All others only appear there until the access has
data, so that a client that waits for the first fetch learns that it has ended, and always among its issues.
"""
BATCH_ACCESSES = 500
FETCHED, INCOMPLETE, STOPPED, NOT_ASKED = "fetched", "incomplete", "stopped", "not_asked"
"""How a fetch can end beside the codes of bank faults: with all data, with failures of products, void, or without a session."""
MAX_PUBLISH_ATTEMPTS = 3
MAX_ATTEMPTS = 3
T = TypeVar("T")
log = structlog.get_logger("refresh")


def fetch_access(context: Context, job: FetchJob, now: datetime) -> None:
    """Runs a fetch unless it is void. Never raises for a fault of the bank."""
    try:
        plan = _plan(context, job, now)
    except FieldsMissing as fault:
        _ask_for_login(context, job, fault, now)
        return
    if plan is None:
        return
    connector, request, began_at = plan.connector, plan.request, time.monotonic()
    try:
        answer = _receive(context, job, plan)
    except _FetchVoid:
        context.tally.add(request.provider.id, STOPPED)
        log.info("fetch_stopped", access=str(job.access))
    except BankFault as fault:
        _retry(partial(_fail, context, job, fault, now, plan.login, time.monotonic() - began_at))
    except (DatabaseUnavailable, Busy):
        raise
    except Exception as error:
        log.error("connector_failed", access=str(job.access), connector=connector.name, error=describe(error))  # noqa: TRY400
        _fail(context, job, BankFault(), now, plan.login)
    else:
        seconds = time.monotonic() - began_at
        if answer.header.memory == request.memory:
            answer.header = replace(answer.header, memory=None)  # which is stored already
        _publish(context, job, answer, now, request.provider.id, is_awaited=plan.is_awaited, seconds=seconds)
        if plan.is_held:
            _retry(partial(_release, context, job, plan.login.login))


@dataclass(frozen=True)
class FetchScope:
    """What of an access is fetched, as in `FetchRequest`."""

    since: dict[str, date]
    wanted: frozenset[str] | None
    whole_history_of: frozenset[ProductCategory] | None


@dataclass(frozen=True)
class _Plan:
    """The call to make at the bank, and the use of the login in it."""

    connector: Connector
    request: FetchRequest
    login: LoginUse
    is_held: bool
    """Whether the login may only be used because the customer waits or has entered it anew."""
    is_awaited: bool


class _FetchVoid(Exception):
    """The fetch was ended while the bank answered."""


def _retry(work: Callable[[], T]) -> T:
    """Repeats work on the database if the connection was lost, so that the bank need not be asked twice."""
    return patience.retry(work, (DatabaseUnavailable, Busy), itertools.repeat(0, MAX_PUBLISH_ATTEMPTS - 1))


def give_up(context: Context, job: FetchJob, now: datetime) -> None:
    """Ends a fetch that failed by an error of ours."""
    _fail(context, job, BankFault(), now)


def enqueue_due(context: Context, now: datetime) -> int:
    """Enqueues a fetch for every access that is due in the current slot; returns their number. A second call adds nothing."""
    slot = slot_of(now, context.settings.zone)
    total = 0
    while True:
        with context.database.operating() as operator:
            due = fetches.due_accesses(operator, slot, BATCH_ACCESSES)
            for access in due:
                access.slot_at = slot
                accesses.begin_fetch(Owner(operator.session, access.tenant_id, access.user_id), access, is_awaited=False)
        total += len(due)
        if len(due) < BATCH_ACCESSES:
            return total


def _plan(context: Context, job: FetchJob, now: datetime) -> _Plan | None:
    """The connector and the request for a fetch. None if the fetch is void or must not reach the bank; then it has been ended.
    Raises `FieldsMissing` if the credentials cannot be opened.
    """
    with context.database.acting_for(job.tenant, job.user) as owner:
        access = accesses.lock_fetching(owner, job.access, job.fetch)
        if access is None:
            return None
        if not accesses.may_fetch(owner, access):  # deactivated while the job waited
            accesses.void_fetch(owner, access)
            context.tally.add(access.provider_id, STOPPED)
            return None
        if access.fetch_attempts >= MAX_ATTEMPTS:  # lost too often: the bank is not asked again
            _end(context, owner, access, BankFault(), now)
            return None
        row = providers.find(owner, access.provider_id)
        connector = context.connectors.get(row.connector)
        provider = as_bank(row)
        if not row.enabled or connector is None or (offer := connector.offer(provider)) is None:
            _end(context, owner, access, Unreachable(), now)
            return None
        if row.paused_at is not None and not _may_reach_paused(access, row):
            _end(context, owner, access, Unreachable(), now, outcome=NOT_ASKED)
            return None
        credentials = accesses.readable_credentials(owner, context.vault, access)
        if credentials is None:
            raise FieldsMissing(", ".join(field.key for field in offer.fields))
        if any(field.key not in credentials for field in offer.fields) or access.wrong_logins >= MAX_WRONG_LOGINS:
            accesses.end_fetch(owner, access, access.messages, now)
            context.tally.add(access.provider_id, NOT_ASKED)
            code = next((item["code"] for item in access.messages), Code.FIELDS_MISSING)
            webhooks.announce(owner, *facts.of_fault(access, code, waits_for_customer=access.waits_for_customer))
            return None
        attended = access.fetch_from is not None
        login = bank_logins.trace(owner, context.vault, access.provider_id, access.login_hash, credentials)
        use = LoginUse(login, access.login_entered_at, access.fetched_at, is_counted=offer.one_attempt)
        refusals = bank_logins.refusals(owner, login)
        if refused := bank_logins.stopping_refusal(refusals, login, access.login_entered_at, attended=attended):
            counts = refused.secret_hash == login.secret_hash
            _end(context, owner, access, AccessLocked() if refused.locked else WrongCredentials(), now, counts=counts)
            return None
        attempt = attempts.look(owner, use)
        if attempt is None:
            _end(context, owner, access, LoginUnclear(), now, outcome=NOT_ASKED)
            return None
        if not attended and not _take_unattended_session(owner, access, context, now):
            accesses.end_fetch(owner, access, access.issues, now)
            context.tally.add(access.provider_id, NOT_ASKED)
            return None
        attempts.begin(owner, attempt)
        accesses.open_session(owner, access, attended=attended)
        product_rows = products.visible(owner, [access])[access.id]
        request = FetchRequest(
            provider=provider,
            credentials=credentials,
            now=now,
            since=_since(product_rows, context),
            digests=_digests(product_rows),
            wanted=None if access.selected is None else frozenset(access.selected),
            attended_from=access.fetch_from,
            whole_history_of=HISTORIES.get(access.history or "all"),
            memory=accesses.memory(owner, context.vault, access),
        )
        is_awaited = access.fetch_phase is not None
        return _Plan(connector, request, use, is_held=any(row.held for row in refusals), is_awaited=is_awaited)


def _may_reach_paused(access: Access, provider: Provider) -> bool:
    """Whether a fetch goes to a provider that is paused: a customer waits for it, or it is the one that tries the provider."""
    return access.fetch_from is not None or access.fetch_phase is not None or access.fetch_id == provider.trial_fetch_id


def _ask_for_login(context: Context, job: FetchJob, fault: FieldsMissing, now: datetime) -> None:
    """Ends a fetch whose credentials cannot be opened: the customer has to enter them again. If all seals are broken, the vault's
    keys are wrong: that is no customer's business, and raises `KeysMissing`.
    """
    with context.database.operating() as operator:
        sealed_values.check_keys(operator, context.vault)
    log.error("seal_broken", access=str(job.access))
    _fail(context, job, fault, now)


def _take_unattended_session(owner: Owner, access: Access, context: Context, now: datetime) -> bool:
    """Counts an unattended session; False if the access has had too many in 24 hours, or its login on this day."""
    limit = context.settings.unattended_sessions_per_day
    if accesses.seconds_until_allowed(owner, access, limit):
        return False
    day = bank_logins.day_of(now, context.settings.zone)
    return bank_logins.take_session(owner, context.vault, access, day, limit)


def _digests(product_rows: Iterable[Product]) -> dict[str, str]:
    """The digests of the answers whose bookings are stored, by product."""
    return {product.key: product.answer_digest for product in product_rows if product.answer_digest is not None}


def _since(product_rows: Iterable[Product], context: Context) -> dict[str, date]:
    """The first day to fetch again for each product that was fetched completely before."""
    return {
        product.key: product.fetched_at.astimezone(context.settings.zone).date() - OVERLAP
        for product in product_rows
        if product.status == accesses.COMPLETE
    }


def _receive(context: Context, job: FetchJob, plan: _Plan) -> BankAnswer:
    """The checked answer of the bank. The header is published as soon as it arrives, for requests that wait for it. After each
    part the session ends if the fetch has become void.
    """
    connector, request = plan.connector, plan.request
    today = request.now.astimezone(context.settings.zone).date()
    parts = context.sessions.listen(request.provider.id, connector.fetch(request), context.settings.bank_timeout_seconds)
    answer: BankAnswer | None = None
    for part in parts:
        if isinstance(part, Header):
            answer = BankAnswer(validation.check_header(part))
            goes_on = _retry(partial(store.publish_header, context, job, answer.header, request.now, plan.login))
        elif answer is None:
            raise Unusable
        else:
            _take(answer, part, today)
            goes_on = _is_answered(answer, request.wanted) or _retry(partial(_is_wanted, context, job))
        if not goes_on:
            raise _FetchVoid
    if answer is None:
        raise Unusable
    _require_each_once(answer, request.wanted)
    return answer


def _is_answered(answer: BankAnswer, requested_keys: frozenset[str] | None) -> bool:
    """Whether the bank has said everything: then publishing looks whether the fetch is still wanted."""
    keys = [product.key for product in answer.header.products if requested_keys is None or product.key in requested_keys]
    return len(answer.parts) >= len(keys)


def answer_of(context: Context, parts: Iterable[Part], request: FetchRequest) -> BankAnswer:
    """The checked answer of parts that have all arrived. Raises `Unusable`."""
    today = request.now.astimezone(context.settings.zone).date()
    header, *details = parts
    if not isinstance(header, Header):
        raise Unusable
    answer = BankAnswer(validation.check_header(header))
    for part in details:
        if isinstance(part, Header):
            raise Unusable
        _take(answer, part, today)
    _require_each_once(answer, request.wanted)
    return answer


def publish_answer(context: Context, job: FetchJob, answer: BankAnswer, now: datetime, provider: UUID) -> None:
    """Publishes an answer that came with a dialogue, as that of the fetch that the dialogue has begun. If that fails, the job of
    the fetch asks the bank.
    """
    try:
        if not _retry(partial(store.publish_header, context, job, answer.header, now)):
            return
    except Unusable:
        return
    _publish(context, job, answer, now, provider, is_awaited=True)


def _publish(
    context: Context,
    job: FetchJob,
    answer: BankAnswer,
    now: datetime,
    provider: UUID,
    *,
    is_awaited: bool,
    seconds: float = 0.0,
) -> None:
    """Lands an answer and publishes it, for a customer who waits with the results of the user. `seconds` is the time that the
    session took.
    """
    if not _retry(partial(landing.land, context, job, answer, now)):
        answer = store.without_digests(answer)  # so that the same answer lands the next time
    with context.results.turn() if context.results is not None and is_awaited else nullcontext() as publish_results:
        is_published = _retry(partial(store.publish_fetch, context, job, answer, now, publish_results))
    if not is_published:
        landing.take_back(context, job)  # the access may be deleted, and nobody else would remove the piece
    context.tally.add(provider, STOPPED if not is_published else INCOMPLETE if answer.failures else FETCHED, seconds)
    log.info(
        "fetched",
        access=str(job.access),
        provider=str(provider),
        products=len(answer.header.products),
        failures=len(answer.failures),
    )


def scope_with_consent(owner: Owner, access: Access, context: Context) -> FetchScope:
    """What a consent fetches of an access within its dialogue: all bookings where the customer wants the whole history, also of
    products whose recent bookings are there.
    """
    whole_history_of = HISTORIES.get(access.history or "all")
    product_rows = products.visible(owner, [access])[access.id]
    categories = {product.key: product.category for product in product_rows}
    since = {
        key: day
        for key, day in _since(product_rows, context).items()
        if whole_history_of is not None and ProductCategory(categories[key]) not in whole_history_of
    }
    return FetchScope(since, None if access.selected is None else frozenset(access.selected), whole_history_of)


def _is_wanted(context: Context, job: FetchJob) -> bool:
    """Whether the fetch is not void."""
    with context.database.acting_for(job.tenant, job.user) as owner:
        return accesses.is_fetching(owner, job.access, job.fetch)


def _take(answer: BankAnswer, part: ProductPart, today: date) -> None:
    """Adds a part to the answer; an invalid part becomes a failure of its product."""
    try:
        if isinstance(part, FetchedBookings):
            answer.bookings.append(validation.check_bookings(part, today))
        elif isinstance(part, Holdings):
            answer.holdings.append(validation.check_holdings(part))
        elif isinstance(part, SameBookings):
            answer.unchanged.append(part)
        else:
            answer.failures.append(part)
    except Unusable:
        code = Code.BOOKINGS_FAILED if isinstance(part, FetchedBookings) else Code.POSITIONS_FAILED
        answer.failures.append(ProductFailure(part.product, code))


def _require_each_once(answer: BankAnswer, requested_keys: frozenset[str] | None) -> None:
    """Refuses an answer with a product twice or with one that the header lacks; a requested product without a part becomes a
    failure.
    """
    answered_keys = [part.product for part in answer.parts]
    header_keys = [product.key for product in answer.header.products]
    if len(set(answered_keys)) != len(answered_keys) or not set(header_keys).issuperset(answered_keys):
        raise Unusable
    left_out = [key for key in header_keys if key not in answered_keys and (requested_keys is None or key in requested_keys)]
    answer.failures += [ProductFailure(key, Code.PRODUCT_FAILED) for key in left_out]


def _release(context: Context, job: FetchJob, login: LoginTrace) -> None:
    """Lets a login be used without its customer again, because the bank has accepted it."""
    with context.database.acting_for(job.tenant, job.user) as owner:
        bank_logins.release(owner, login)


def _fail(
    context: Context, job: FetchJob, fault: BankFault, now: datetime, login: LoginUse | None = None, seconds: float = 0.0
) -> None:
    """Ends a fetch without data. Stored data stay; wrong logins are counted. What became of the login is recorded even if the
    access is gone; one of which nobody knows whether the bank has refused it must be entered again.
    """
    with context.database.acting_for(job.tenant, job.user) as owner:
        access = accesses.lock_fetching(owner, job.access, job.fetch)
        may_use_again = login is None or attempts.settle(owner, login, fault.login_fate) or fault.refuses_login
        if access is not None:
            _end(context, owner, access, fault if may_use_again else LoginUnclear(), now, outcome=fault.code, seconds=seconds)


def _end(
    context: Context,
    owner: Owner,
    access: Access,
    fault: BankFault,
    now: datetime,
    *,
    counts: bool = True,
    outcome: str | None = None,
    seconds: float = 0.0,
) -> None:
    """Ends a fetch with a fault. `counts` is false for a login of which the bank has refused another PIN; `outcome` is what is
    counted, if not the code of the fault.
    """
    context.tally.add(access.provider_id, outcome or fault.code, seconds)
    log.warning("fetch_failed", access=str(access.id), provider=str(access.provider_id), code=fault.code)
    code = fault.code
    if code is Code.WRONG_CREDENTIALS and counts:
        access.wrong_logins += 1
        code = Code.LOCKED if access.wrong_logins >= MAX_WRONG_LOGINS else code
    elif code is Code.LOCKED:
        access.wrong_logins = MAX_WRONG_LOGINS
    issues, waited = [message(code, fault.details)], access.waits_for_customer
    if code in CUSTOMER_CODES or access.status != accesses.COMPLETE:
        access.messages = issues
    access.waits_for_customer |= code in CUSTOMER_CODES
    events = facts.of_fault(access, code, waits_for_customer=waited)
    accesses.end_fetch(owner, access, issues, now)
    webhooks.announce(owner, *events)
