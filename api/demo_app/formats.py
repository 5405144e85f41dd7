"""How the demo writes numbers and days: in German, as its readers do."""

import re
from datetime import date
from decimal import Decimal
from typing import Any

SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
MONTHS = (
    *("Januar", "Februar", "März", "April", "Mai", "Juni"),
    *("Juli", "August", "September", "Oktober", "November", "Dezember"),
)
WITH_COMMA = re.compile(r"(\d+|\d{1,3}(?:\.\d{3})+)(?:,(\d{1,2}))?")
WITH_POINT = re.compile(r"(\d+)\.(\d{1,2})")
SIGNS = {"EUR": "€", "USD": "$", "GBP": "£"}


def cents(amount: Any) -> int:
    """An amount of the wire in cents."""
    return int((Decimal(str(amount)) * 100).to_integral_value())


def money(amount_cents: int, currency: str = "EUR", *, signed: bool = False) -> str:
    """An amount to the cent: 1.234,56 €."""
    whole, rest = divmod(abs(amount_cents), 100)
    return f"{_sign(amount_cents, signed)}{_grouped(whole)},{rest:02d}{SPACE}{SIGNS.get(currency, currency)}"


def whole_money(amount_cents: int, *, signed: bool = False) -> str:
    """An amount to the euro, and from a million on to a tenth of it."""
    for size, name in ((100_000_000_000, "Mrd."), (100_000_000, "Mio.")):
        if abs(amount_cents) >= size:
            tenths = round(abs(amount_cents) * 10 / size)
            text = _grouped(tenths // 10) + (f",{tenths % 10}" if tenths % 10 else "")
            return f"{_sign(amount_cents, signed)}{text}{SPACE}{name}{SPACE}€"
    euros = round(amount_cents / 100)
    return f"{_sign(euros, signed)}{_grouped(abs(euros))}{SPACE}€"


def amount(text: str) -> float | None:
    """An amount that somebody typed: 1.234,56 or 1234.56; none if it is no such thing."""
    plain = text.replace("€", "").replace(SPACE, " ").strip()
    match = WITH_COMMA.fullmatch(plain) or WITH_POINT.fullmatch(plain)
    return float(f"{match[1].replace('.', '')}.{match[2] or 0}") if match else None


def percent(ratio: float) -> str:
    """A share of one: 68 %."""
    return f"{round(ratio * 100)}{SPACE}%"


def day(value: str | date) -> str:
    """A day, given as on the wire: 16.11.2026."""
    found = value if isinstance(value, date) else date.fromisoformat(value[:10])
    return found.strftime("%d.%m.%Y")


def month(year: int, number: int) -> str:
    """A month: November 2026."""
    return f"{MONTHS[number - 1]} {year}"


def _sign(amount: int, signed: bool) -> str:
    return MINUS if amount < 0 else "+" if signed and amount > 0 else ""


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", ".")
