"""Securities on a day: prices that swing, and pieces that a savings plan adds."""

import math
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from zoneinfo import ZoneInfo

from models.simulator.scripted.personas import Security

CLOSING = time(17, 35, tzinfo=ZoneInfo("Europe/Berlin"))


def value(securities: tuple[Security, ...], start: date, as_of: date) -> tuple[Security, ...]:
    """The securities with quantity, price and value at the close before a day; `start` is the first day of the history."""
    closed_on = as_of - timedelta(days={0: 3, 6: 2}.get(as_of.weekday(), 1))
    months = (as_of.year - start.year) * 12 + as_of.month - start.month
    return tuple(_value(security, start, months, closed_on) for security in securities)


def _value(security: Security, start: date, months: int, closed_on: date) -> Security:
    quantity = security.quantity + security.monthly_pieces * months
    price = (security.price * _swing(security.isin, start, closed_on)).quantize(security.price, ROUND_HALF_EVEN)
    # Bonds are quoted in percent; the rate says how much of its currency a euro buys.
    cents = quantity * price * (100 if security.by_piece else 1) / (security.exchange_rate or 1)
    return replace(
        security,
        quantity=quantity,
        price=price,
        price_at=datetime.combine(closed_on, CLOSING),
        total_cents=int(cents.quantize(Decimal(1), ROUND_HALF_EVEN)),
    )


def _swing(isin: str, start: date, day: date) -> Decimal:
    phase = sum(map(ord, isin))
    years = (day - start).days / 365
    return Decimal(f"{1 + 0.04 * years + 0.06 * math.sin(years * 5 + phase) + 0.01 * math.sin(day.toordinal() + phase):.6f}")
