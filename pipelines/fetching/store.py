"""Publishing a fetch: the header as soon as it arrives, then everything else in one transaction.

Readers see the state before or after, never a mixture: balances and bookings are of one moment. A void fetch (the access was
deleted, its time is over, another fetch has begun, or somebody for whom it runs was deactivated) publishes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

import structlog
from pydantic import TypeAdapter

from pipelines.banks.base import (
    MAX_MEMORY_BYTES,
    Balance,
    Code,
    FetchedBookings,
    FetchedProduct,
    Header,
    Holdings,
    HomeSavings,
    LoginFate,
    Medium,
    Method,
    ProductFailure,
    SameBookings,
    Unusable,
    message,
)
from pipelines.context import Context, PublishResults
from pipelines.fetching import attempts, facts, merge
from pipelines.fetching.attempts import LoginUse
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access
from warehouse.postgres.tables import Product as Row
from warehouse.stores import accesses, ledger, products, webhooks

log = structlog.get_logger("publish")

_STORED: TypeAdapter[Method | Medium | HomeSavings | Balance] = TypeAdapter(Method | Medium | HomeSavings | Balance)


@dataclass(frozen=True)
class FetchJob:
    """The ids of one fetch of one access."""

    tenant: UUID
    user: UUID
    access: UUID
    fetch: UUID


ProductPart: TypeAlias = FetchedBookings | SameBookings | Holdings | ProductFailure


@dataclass
class BankAnswer:
    """Everything that a bank delivered in one session."""

    header: Header
    bookings: list[FetchedBookings] = field(default_factory=list)
    holdings: list[Holdings] = field(default_factory=list)
    failures: list[ProductFailure] = field(default_factory=list)
    unchanged: list[SameBookings] = field(default_factory=list)

    @property
    def parts(self) -> list[ProductPart]:
        """Everything but the header."""
        return [*self.bookings, *self.unchanged, *self.holdings, *self.failures]


def without_digests(answer: BankAnswer) -> BankAnswer:
    """The answer whose bookings will not be recognised the next time."""
    return replace(answer, bookings=[replace(bookings, digest=None) for bookings in answer.bookings])


def publish_header(context: Context, job: FetchJob, bank_header: Header, now: datetime, login: LoginUse | None = None) -> bool:
    """Stores the products of the header; returns False and drops it if the fetch is void. An access that was complete before only
    shows progress: its data stay of one moment. In any case the bank has accepted the login.

    A login does not lose all of its products: an empty list after a fuller one is a fault of the bank, and raises `Unusable`.
    """
    with context.database.acting_for(job.tenant, job.user) as owner:
        access = _lock_wanted(owner, job)
        if login is not None:
            attempts.settle(owner, login, LoginFate.ACCEPTED)
        if access is None:
            return False
        if not bank_header.products and access.status != accesses.STARTED and _stored_products(owner, access):
            raise Unusable
        if access.status != accesses.COMPLETE:
            stored_products = _stored_products(owner, access)
            for ordinal, product in enumerate(_selected_products(access, bank_header)):
                products.put(owner, access, stored_products, **_columns(product, ordinal), status=accesses.HEADER, fetched_at=now)
            # Before the first complete fetch of a login, products that it lacks belong to the login before it.
            products.keep_only(owner, access, [product.key for product in bank_header.products])
            _describe(access, bank_header, now)
            access.status = accesses.HEADER
            accesses.touch(owner)
        elif access.fetch_phase is None:
            return True  # nothing has changed, and nobody waits
        if access.fetch_phase is not None:
            access.fetch_phase = accesses.HEADER
        owner.session.flush()
        accesses.notify(owner, access.id)
    return True


def publish_fetch(
    context: Context, job: FetchJob, answer: BankAnswer, now: datetime, publish_results: PublishResults | None = None
) -> bool:
    """Stores the whole answer, with the results of the user if they are to be made at once, and announces new bookings; returns
    False and drops it if the fetch is void.
    """
    with context.database.acting_for(job.tenant, job.user) as owner:
        access = _lock_wanted(owner, job)
        if access is None:
            log.info("late_answer_dropped", access=str(job.access))
            return False
        first = access.status != accesses.COMPLETE
        changes = _store_answer(owner, access, answer, now)
        if changes.differs or first:
            accesses.touch(owner)
        if (new_memory := storable_memory(answer.header.memory)) is not None:
            accesses.remember(owner, context.vault, access, new_memory)
        is_complete = _complete_access(context, access, answer, now)
        accesses.end_fetch(owner, access, _issues(answer), now)
        if is_complete:
            accesses.record_refresh_day(owner, now.astimezone(context.settings.zone).date())
        events = facts.of_answer(access, answer.failures, has_news=bool(changes.added) and not first and access.sync)
        if publish_results is not None:
            events += publish_results(owner)
        webhooks.announce(owner, *events)  # last, since it locks the rows of the receivers
    return True


def storable_memory(content: bytes | None) -> bytes | None:
    """What a connector wants to remember; None if that is nothing new, or too much to be stored."""
    if content is not None and len(content) > MAX_MEMORY_BYTES:
        log.error("memory_too_large", bytes=len(content))
        return None
    return content


def merge_again(owner: Owner, access: Access, bookings: Sequence[FetchedBookings]) -> int:
    """Merges earlier answers into the ledger again; returns the number of changed bookings. Deleted products stay deleted."""
    rows, changed = _stored_products(owner, access), 0
    for product in bookings:
        if (row := rows.get(product.product)) is not None:
            changed += _merge(owner, row, product)[1]
    if changed:
        accesses.touch(owner)
    return changed


def _lock_wanted(owner: Owner, job: FetchJob) -> Access | None:
    """The access, locked. None if its fetch is void; a fetch for somebody who was deactivated becomes so."""
    access = accesses.lock_fetching(owner, job.access, job.fetch)
    if access is not None and not accesses.may_fetch(owner, access):
        accesses.void_fetch(owner, access)
        return None
    return access


@dataclass
class _FetchChanges:
    differs: bool = False
    added: int = 0


def _store_answer(owner: Owner, access: Access, answer: BankAnswer, now: datetime) -> _FetchChanges:
    """Updates products, bookings and positions from the answer. Products that failed stay as they were."""
    changes = _FetchChanges()
    rows = _store_products(owner, access, answer, changes, now)
    for bookings in answer.bookings:
        if (row := rows.get(bookings.product)) is not None:
            added, changed = _merge(owner, row, bookings)
            changes.differs |= bool(changed)
            changes.added += added
    for depot in answer.holdings:
        if (row := rows.get(depot.product)) is not None:
            changes.differs |= products.put_positions(owner, row, [asdict(position) for position in depot.positions])
    return changes


def _merge(owner: Owner, row: Row, bookings: FetchedBookings) -> tuple[int, int]:
    """Updates the bookings of a product; returns the number of new ones, and of all that changed in any way."""
    unchanged = ledger.unchanged_rows(owner, row, bookings.complete_from, bookings.frame)
    if unchanged is None:
        booking_changes = merge.reconcile(ledger.window(owner, row, bookings.complete_from), bookings.frame)
    else:
        booking_changes = merge.appended(bookings.frame, unchanged)
    ledger.add(owner, row, booking_changes.added)
    ledger.change(owner, row, booking_changes.changed)
    ledger.drop(owner, row, booking_changes.gone)
    row.answer_digest = bookings.digest
    row.complete_from = min(bookings.complete_from, row.complete_from or bookings.complete_from)
    return booking_changes.added.height, booking_changes.added.height + booking_changes.changed.height + len(booking_changes.gone)


def _store_products(owner: Owner, access: Access, answer: BankAnswer, changes: _FetchChanges, now: datetime) -> Mapping[str, Row]:
    """The rows of the products that this fetch updates."""
    stored_products = _stored_products(owner, access)
    failures = {failure.product: failure for failure in answer.failures}
    rows = {}
    for ordinal, product in enumerate(_selected_products(access, answer.header)):
        failure = failures.get(product.key)
        if failure is None:
            columns = _columns(product, ordinal)
            rows[product.key], differs = products.put(
                owner, access, stored_products, **columns, status=accesses.COMPLETE, fetched_at=now, messages=[]
            )
            changes.differs |= differs
        elif product.key in stored_products and stored_products[product.key].status != accesses.COMPLETE:
            stored_products[product.key].messages = [message(failure.code)]
    if access.selected is not None:
        changes.differs |= products.keep_only(owner, access, access.selected)
    return rows


def _complete_access(context: Context, access: Access, answer: BankAnswer, now: datetime) -> bool:
    """Updates an access after a fetch; returns False, without a change, if a complete access received nothing but failures."""
    if access.status == accesses.COMPLETE and answer.failures and len(answer.failures) == len(answer.parts):
        return False
    _describe(access, answer.header, now)
    access.status = accesses.COMPLETE
    access.wrong_logins = 0
    access.waits_for_customer = False
    access.expires_at = None if access.sync else accesses.end_after(context.settings.unsynced_lifetime_seconds)
    return True


def _describe(access: Access, bank_header: Header, now: datetime) -> None:
    access.fetched_at = now
    access.methods = [_json(method) for method in bank_header.methods]
    access.active_method = bank_header.active_method
    access.media = [_json(medium) for medium in bank_header.media]
    access.consent_ends_at = bank_header.consent_ends_at
    keys = {product.key for product in bank_header.products}
    unknown_keys = [key for key in access.selected or [] if key not in keys]
    access.messages = [
        *(message(Code.NOTICE, notice) for notice in bank_header.notices),
        *(message(Code.PRODUCT_FAILED, f"selectedBankProducts: {key} gibt es nicht") for key in unknown_keys),
    ]


def _issues(answer: BankAnswer) -> list[dict[str, Any]]:
    """The failures of an answer as messages: one for the access, then one for each product."""
    if not answer.failures:
        return []
    return [message(Code.INCOMPLETE), *(message(failure.code, failure.product) for failure in answer.failures)]


def _stored_products(owner: Owner, access: Access) -> dict[str, Row]:
    return {product.key: product for product in products.visible(owner, [access])[access.id]}


def _selected_products(access: Access, bank_header: Header) -> list[FetchedProduct]:
    return [product for product in bank_header.products if access.selected is None or product.key in access.selected]


def _columns(product: FetchedProduct, ordinal: int) -> dict[str, Any]:
    """The columns of a product's row."""
    fields = {name: getattr(product, name) for name in product.__dataclass_fields__}
    return fields | {
        "ordinal": ordinal,
        "category": str(product.category),
        "home_savings": None if product.home_savings is None else _json(product.home_savings),
        "balances": [_json(balance) for balance in product.balances],
    }


def _json(value: Method | Medium | HomeSavings | Balance) -> dict[str, Any]:
    """The fields of a value as JSON values, without empty ones."""
    fields: dict[str, Any] = _STORED.dump_python(value, mode="json", exclude_none=True)
    return fields
