"""The bookings of credit cards, as DIKKU tells them: the card, its balance, and a group of parts for each booking.

The order DKKKU is no part of the published standard: savings banks and some others offer it, and clients have read its fields off
their answers. A booking names the card, the day of the purchase and of the booking, the amount in the currency of the shop with
its rate and the amount on the card, each with a mark for credit or debit, up to nine lines of text, whether it is booked, a
reference, and since some years the category of the shop.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from pipelines.banks.base import Unusable
from pipelines.banks.fints.syntax import Segment, SyntaxFault, parse
from pipelines.statements.statement import Reason, StatementFault, bookings_of_rows, cents_of

if TYPE_CHECKING:
    import polars as pl

BALANCE, FIRST_BOOKING = 3, 6
"""The places of the balance and of the first booking in DIKKU."""
PURCHASED_ON, BOOKED_ON, ORIGINAL_AMOUNT, ORIGINAL_CURRENCY, AMOUNT, CURRENCY, MARK = 2, 3, 5, 6, 9, 10, 11
FIRST_TEXT, LAST_TEXT, IS_BOOKED = 12, 20, 21
"""The positions of these parts in a booking."""
CREDIT, DEBIT = "C", "D"
BOOKING_TEXT = "Kreditkartenumsatz"


def card_balance(contents: Sequence[bytes]) -> tuple[int, str, date] | None:
    """Balance, currency and day of the last page; None if the bank tells none."""
    for dikku in reversed(list(_segments(contents))):
        mark, amount, currency, day = (dikku.text(BALANCE, position) for position in range(1, 5))
        if amount:
            return _signed(mark, amount), currency or "EUR", _day(day)
    return None


def card_bookings(contents: Sequence[bytes]) -> "pl.DataFrame":
    """The bookings of all pages (segments as bytes), the oldest first. Raises `StatementFault` for one that makes no sense."""
    rows = [
        _row(dikku, place)
        for dikku in _segments(contents)
        for place in range(FIRST_BOOKING, len(dikku.elements) + 1)
        if len(dikku.element(place)) > 1
    ]
    return bookings_of_rows(rows)


def _segments(contents: Sequence[bytes]) -> Iterator[Segment]:
    for content in contents:
        try:
            yield from parse(content)
        except SyntaxFault as fault:
            raise Unusable from fault


def _row(dikku: Segment, place: int) -> tuple[object, ...]:
    """A booking with the columns of `BOOKINGS`."""
    name, *lines = (dikku.text(place, position).strip() for position in range(FIRST_TEXT, LAST_TEXT + 1))
    purchased_on = dikku.text(place, PURCHASED_ON)
    booked_on = _day(dikku.text(place, BOOKED_ON) or purchased_on)
    purpose = [line for line in lines if line]
    if dikku.text(place, ORIGINAL_CURRENCY) not in ("", dikku.text(place, CURRENCY)) and not purpose:
        purpose.append(f"{dikku.text(place, ORIGINAL_AMOUNT)} {dikku.text(place, ORIGINAL_CURRENCY)}")
    return (
        booked_on,
        _day(purchased_on) if purchased_on else booked_on,
        _signed(dikku.text(place, MARK), dikku.text(place, AMOUNT)),
        dikku.text(place, CURRENCY) or "EUR",
        " ".join(purpose) or None,
        BOOKING_TEXT,
        None,
        None,
        name or None,
        None,
        None,
        None,
        dikku.text(place, IS_BOOKED) == "N",
    )


def _signed(mark: str, amount: str) -> int:
    if mark not in (CREDIT, DEBIT):
        raise StatementFault(Reason.AMOUNT)
    return cents_of(amount) * (1 if mark == CREDIT else -1)


def _day(text: str) -> date:
    try:
        return datetime.strptime(text, "%Y%m%d").date()  # noqa: DTZ007 (a day has no zone)
    except ValueError as error:
        raise StatementFault(Reason.DAY) from error
