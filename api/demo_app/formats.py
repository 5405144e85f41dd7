"""Numbers and days in German notation, for the pages of the demo."""

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
    """The cents of an amount of the wire."""
    return int((Decimal(str(amount)) * 100).to_integral_value())


def money(amount_cents: int, currency: str = "EUR", *, signed: bool = False) -> str:
    """An amount with cents: 1.234,56 €."""
    whole, rest = divmod(abs(amount_cents), 100)
    return f"{_sign(amount_cents, signed)}{_grouped(whole)},{rest:02d}{SPACE}{SIGNS.get(currency, currency)}"


def whole_money(amount_cents: int, *, signed: bool = False) -> str:
    """An amount rounded to euros; from a million on, to tenths of a million."""
    for size, name in ((100_000_000_000, "Mrd."), (100_000_000, "Mio.")):
        if abs(amount_cents) >= size:
            tenths = round(abs(amount_cents) * 10 / size)
            text = _grouped(tenths // 10) + (f",{tenths % 10}" if tenths % 10 else "")
            return f"{_sign(amount_cents, signed)}{text}{SPACE}{name}{SPACE}€"
    euros = round(amount_cents / 100)
    return f"{_sign(euros, signed)}{_grouped(abs(euros))}{SPACE}€"


def amount(text: str) -> float | None:
    """The euros of an amount that a visitor typed, as 1.234,56 or 1234.56; None if it is no amount."""
    plain = text.replace("€", "").replace(SPACE, " ").strip()
    match = WITH_COMMA.fullmatch(plain) or WITH_POINT.fullmatch(plain)
    return float(f"{match[1].replace('.', '')}.{match[2] or 0}") if match else None


def percent(ratio: float) -> str:
    """A ratio as a percentage: 68 %."""
    return f"{round(ratio * 100)}{SPACE}%"


def day(value: str | date) -> str:
    """A date or timestamp of the wire as a day: 16.11.2026."""
    on = value if isinstance(value, date) else date.fromisoformat(value[:10])
    return on.strftime("%d.%m.%Y")


def month(year: int, number: int) -> str:
    """A month: November 2026."""
    return f"{MONTHS[number - 1]} {year}"


def _sign(amount: int, signed: bool) -> str:
    return MINUS if amount < 0 else "+" if signed and amount > 0 else ""


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", ".")
