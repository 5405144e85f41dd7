"""Making public what a fetch has brought: the header as soon as it is there, then everything else in one transaction.

Whoever reads sees the state before or after, never something between: balances and bookings are of one moment. A fetch that was
overtaken (the access deleted, its time over, another fetch begun) publishes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import structlog

from pipelines.banks.base import Code, FetchedBookings, FetchedProduct, Header, Holdings, ProductFailure, message
from pipelines.context import Context
from pipelines.fetching import merge
from warehouse.postgres.database import Owner
from warehouse.postgres.tables import Access
from warehouse.postgres.tables import Product as Row
from warehouse.stores import accesses, ledger, products, webhooks

log = structlog.get_logger("publish")


@dataclass(frozen=True)
class FetchJob:
    """Which fetch of which access."""

    tenant: UUID
    user: UUID
    access: UUID
    fetch: UUID


@dataclass
class Received:
    """What a bank has given in one session."""

    header: Header
    bookings: list[FetchedBookings] = field(default_factory=list)
    holdings: list[Holdings] = field(default_factory=list)
    failures: list[ProductFailure] = field(default_factory=list)


def header(house: Context, job: FetchJob, told: Header, now: datetime) -> None:
    """Shows the header data. Of an access that was complete before, only the progress is shown: its data stay of one moment."""
    with house.database.acting_for(job.tenant, job.user) as owner:
        access = accesses.lock_fetching(owner, job.access, job.fetch)
        if access is None:
            return
        if access.status != accesses.COMPLETE:
            known = _known(owner, access)
            for ordinal, product in enumerate(_wanted(access, told)):
                products.put(owner, access, known, **_columns(product, ordinal), status=accesses.HEADER, fetched_at=now)
            # Before the first complete fetch of a login, what it does not know is of another login, and not its own.
            products.keep_only(owner, access, [product.key for product in told.products])
            _describe(access, told, now)
            access.status = accesses.HEADER
            accesses.touch(owner)
        if access.fetch_phase is not None:
            access.fetch_phase = accesses.HEADER
        owner.session.flush()
        accesses.notify(owner, access.id)


def everything(house: Context, job: FetchJob, received: Received, now: datetime) -> bool:
    """Stores what a fetch has brought, whole, and says so; drops it if the fetch is void."""
    with house.database.acting_for(job.tenant, job.user) as owner:
        access = accesses.lock_fetching(owner, job.access, job.fetch)
        if access is None:
            log.info("late_answer_dropped", access=str(job.access))
            return False
        first = access.status != accesses.COMPLETE
        written = _store(owner, access, received, now)
        if written.differs or first:
            accesses.touch(owner)
        if _complete(house, access, received, now):
            accesses.record_refresh_day(owner, now.astimezone(house.settings.zone).date())
        accesses.end_fetch(owner, access, _issues(received), now)
        if written.added and not first and access.sync:
            webhooks.announce(owner, access.id, access.user_id)  # last, since it holds the rows of the receivers
    return True


def again(owner: Owner, access: Access, told: Sequence[FetchedBookings]) -> int:
    """Brings the ledger to what a bank has said before; answers how many bookings that changed. Products that are not there any
    more stay away.
    """
    rows, changed = _known(owner, access), 0
    for product in told:
        if (row := rows.get(product.product)) is not None:
            changed += _merge(owner, row, product)[1]
    if changed:
        accesses.touch(owner)
    return changed


@dataclass
class _Written:
    differs: bool = False
    added: int = 0


def _store(owner: Owner, access: Access, received: Received, now: datetime) -> _Written:
    """Brings products, bookings and positions to what the bank says. Products that failed stay as they were."""
    written = _Written()
    rows = _store_products(owner, access, received, written, now)
    for told in received.bookings:
        if (row := rows.get(told.product)) is not None:
            added, changed = _merge(owner, row, told)
            written.differs |= bool(changed)
            written.added += added
    for depot in received.holdings:
        if (row := rows.get(depot.product)) is not None:
            written.differs |= products.put_positions(owner, row, [asdict(position) for position in depot.positions])
    return written


def _merge(owner: Owner, row: Row, told: FetchedBookings) -> tuple[int, int]:
    """Brings the bookings of a product to what the bank says; answers how many are new, and how many have changed in any way."""
    changes = merge.reconcile(ledger.window(owner, row, told.complete_from), told.frame)
    ledger.add(owner, row, changes.added)
    ledger.change(owner, row, changes.changed)
    ledger.drop(owner, row, changes.gone)
    row.complete_from = min(told.complete_from, row.complete_from or told.complete_from)
    return changes.added.height, changes.added.height + changes.changed.height + len(changes.gone)


def _store_products(owner: Owner, access: Access, received: Received, written: _Written, now: datetime) -> Mapping[str, Row]:
    """The products that this fetch brings up to date."""
    known = _known(owner, access)
    failed = {failure.product: failure for failure in received.failures}
    rows = {}
    for ordinal, product in enumerate(_wanted(access, received.header)):
        failure = failed.get(product.key)
        if failure is None:
            columns = _columns(product, ordinal)
            rows[product.key], differs = products.put(
                owner, access, known, **columns, status=accesses.COMPLETE, fetched_at=now, messages=[]
            )
            written.differs |= differs
        elif product.key in known and known[product.key].status != accesses.COMPLETE:
            known[product.key].messages = [message(failure.code)]
    if access.selected is not None:
        written.differs |= products.keep_only(owner, access, access.selected)
    return rows


def _complete(house: Context, access: Access, received: Received, now: datetime) -> bool:
    """The stable columns of an access after a fetch. One that brought nothing but failures changes no time, and is told apart."""
    if access.status == accesses.COMPLETE and received.failures and not (received.bookings or received.holdings):
        return False
    _describe(access, received.header, now)
    access.status = accesses.COMPLETE
    access.wrong_logins = 0
    access.waits_for_customer = False
    access.expires_at = None if access.sync else accesses.end_after(house.settings.unsynced_lifetime_seconds)
    return True


def _describe(access: Access, told: Header, now: datetime) -> None:
    access.fetched_at = now
    access.methods = [_plain(method) for method in told.methods]
    access.active_method = told.active_method
    access.media = [_plain(medium) for medium in told.media]
    access.consent_ends_at = told.consent_ends_at
    access.messages = [message(Code.NOTICE, notice) for notice in told.notices]


def _issues(received: Received) -> list[dict[str, Any]]:
    """What could not be fetched: that something is missing, then each product with what is missing of it."""
    if not received.failures:
        return []
    return [message(Code.INCOMPLETE), *(message(failure.code, failure.product) for failure in received.failures)]


def _known(owner: Owner, access: Access) -> dict[str, Row]:
    return {product.key: product for product in products.visible(owner, [access])[access.id]}


def _wanted(access: Access, told: Header) -> list[FetchedProduct]:
    return [product for product in told.products if access.selected is None or product.key in access.selected]


def _columns(product: FetchedProduct, ordinal: int) -> dict[str, Any]:
    """A product as the values of its row."""
    plain = {name: getattr(product, name) for name in product.__dataclass_fields__}
    return plain | {
        "ordinal": ordinal,
        "category": str(product.category),
        "home_savings": None if product.home_savings is None else _plain(product.home_savings),
        "balances": [_plain(balance) for balance in product.balances],
    }


def _plain(value: Any) -> dict[str, Any]:
    """A value's fields as JSON can hold them."""

    def plain(item: Any) -> Any:
        if isinstance(item, Decimal):
            return format(item, "f")
        return item.isoformat() if isinstance(item, date) else item

    return {name: plain(item) for name, item in asdict(value).items() if item is not None}
