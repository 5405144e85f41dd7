"""What webhooks are told of a fetch: the end of the first one, new bookings, and a login that no longer works.

Each function notes in the access what is told, so that nothing is told twice. The caller has locked the access, and announces the
events at the end of its transaction.
"""

from collections.abc import Sequence

from pipelines.banks.base import Code, ProductFailure
from warehouse.postgres.tables import Access
from warehouse.stores.webhooks import NewEvent
from warehouse.webhook_types import EventType

FAILED, DONE = "FAILED", "DONE"
FAULT = "fault"


def of_answer(access: Access, failures: Sequence[ProductFailure], *, has_news: bool) -> list[NewEvent]:
    """The events of a fetch that brought data."""
    first = _of_first_fetch(access, DONE, Code.INCOMPLETE if failures else None)
    news = [NewEvent(EventType.NEW_TRANSACTIONS, access.user_id, access.id)] if has_news else []
    return first + news


def of_fault(access: Access, code: str, *, waits_for_customer: bool) -> list[NewEvent]:
    """The events of a fetch that ended without data. `waits_for_customer` says whether the access waited for its customer before.

    A login is broken when the access begins to wait. Until it works again, that is not told again.
    """
    first = _of_first_fetch(access, FAILED, code)
    breaks = access.waits_for_customer and not waits_for_customer
    return first + ([_event(EventType.LOGIN_BROKEN, access, code)] if breaks else [])


def _of_first_fetch(access: Access, end: str, code: str | None) -> list[NewEvent]:
    """The end of the first fetch, and the first one with data if that was not the first."""
    if access.first_fetch_end == DONE or access.first_fetch_end == end:
        return []
    access.first_fetch_end = end
    return [_event(EventType.FIRST_FETCH_DONE, access, code)]


def _event(event_type: EventType, access: Access, code: str | None) -> NewEvent:
    return NewEvent(event_type, access.user_id, access.id, details={} if code is None else {FAULT: str(code)})
