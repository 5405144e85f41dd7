"""What lies in a depot on a day: prices that swing, and pieces that a savings plan adds."""

import math
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from zoneinfo import ZoneInfo

from pipelines.banks.base import FetchedPosition
from pipelines.banks.demo.histories import START
from pipelines.banks.demo.plans import Security

CLOSING = time(17, 35, tzinfo=ZoneInfo("Europe/Berlin"))


def positions(securities: tuple[Security, ...], as_of: date) -> tuple[FetchedPosition, ...]:
    """The securities with pieces, price and value at the close before a day."""
    closed_on = as_of - timedelta(days={0: 3, 6: 2}.get(as_of.weekday(), 1))
    months = (as_of.year - START.year) * 12 + as_of.month - START.month
    return tuple(_valued(security, months, closed_on) for security in securities)


def _valued(security: Security, months: int, closed_on: date) -> FetchedPosition:
    start = security.position
    if start.price is None or start.quantity is None:
        return start
    quantity = start.quantity + security.monthly * months
    price = (start.price * _swing(start.isin or "", closed_on)).quantize(start.price, ROUND_HALF_EVEN)
    return replace(
        start,
        quantity=quantity,
        price=price,
        price_at=datetime.combine(closed_on, CLOSING),
        total_cents=_total_cents(quantity, price, start),
    )


def _total_cents(quantity: Decimal, price: Decimal, position: FetchedPosition) -> int:
    """The value in the depot's currency. Bonds are quoted in percent; the rate says how much of its currency a euro buys."""
    cents = quantity * price * (100 if position.by_piece else 1) / (position.exchange_rate or 1)
    return int(cents.quantize(Decimal(1), ROUND_HALF_EVEN))


def _swing(isin: str, day: date) -> Decimal:
    phase = sum(map(ord, isin))
    years = (day - START).days / 365
    return Decimal(f"{1 + 0.04 * years + 0.06 * math.sin(years * 5 + phase) + 0.01 * math.sin(day.toordinal() + phase):.6f}")
