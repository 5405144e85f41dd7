"""Numbers and days in German and English notation, for the pages of the demo."""

import re
from datetime import date
from decimal import Decimal
from typing import Any

from api.schemas.languages import Language

SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
MONTHS: dict[Language, tuple[str, ...]] = {
    "de": (
        *("Januar", "Februar", "März", "April", "Mai", "Juni"),
        *("Juli", "August", "September", "Oktober", "November", "Dezember"),
    ),
    "en": (
        *("January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    ),
}
WEEKDAYS: dict[Language, tuple[str, ...]] = {
    "de": ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"),
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}
WITH_COMMA = re.compile(r"(\d+|\d{1,3}(?:\.\d{3})+)(?:,(\d{1,2}))?")
WITH_POINT = re.compile(r"(\d+|\d{1,3}(?:,\d{3})+)\.(\d{1,2})")
SIGNS = {"EUR": "€", "USD": "$", "GBP": "£"}
LARGE: dict[Language, tuple[tuple[int, str], ...]] = {
    "de": ((100_000_000_000, f"{SPACE}Mrd."), (100_000_000, f"{SPACE}Mio.")),
    "en": ((100_000_000_000, "bn"), (100_000_000, "m")),
}


def cents(amount: Any) -> int:
    """The cents of an amount of the wire."""
    return int((Decimal(str(amount)) * 100).to_integral_value())


def money(amount_cents: int, currency: str = "EUR", *, signed: bool = False, language: Language = "de") -> str:
    """An amount with cents: 1.234,56 € or €1,234.56."""
    whole, rest = divmod(abs(amount_cents), 100)
    return _sign(amount_cents, signed) + _in_currency(
        f"{_grouped(whole, language)}{_point(language)}{rest:02d}", currency, language
    )


def whole_money(amount_cents: int, *, signed: bool = False, language: Language = "de") -> str:
    """An amount rounded to euros; from a million on, to tenths of a million."""
    for size, name in LARGE[language]:
        if abs(amount_cents) >= size:
            tenths = round(abs(amount_cents) * 10 / size)
            text = _grouped(tenths // 10, language) + (f"{_point(language)}{tenths % 10}" if tenths % 10 else "")
            return _sign(amount_cents, signed) + _in_currency(text + name, "EUR", language)
    euros = round(amount_cents / 100)
    return _sign(euros, signed) + _in_currency(_grouped(abs(euros), language), "EUR", language)


def amount(text: str) -> float | None:
    """The euros of an amount that a visitor typed, as 1.234,56 or 1234.56; None if it is no amount."""
    plain = text.replace("€", "").replace(SPACE, " ").strip()
    if match := WITH_COMMA.fullmatch(plain):
        return float(f"{match[1].replace('.', '')}.{match[2] or 0}")
    if match := WITH_POINT.fullmatch(plain):
        return float(f"{match[1].replace(',', '')}.{match[2]}")
    return None


def signed(number: int) -> str:
    """A whole number with its sign: +4."""
    return f"{_sign(number, with_plus=True)}{abs(number)}"


def percent(ratio: float, *, language: Language = "de") -> str:
    """A ratio as a percentage: 68 % or 68%."""
    return f"{round(ratio * 100)}{SPACE if language == 'de' else ''}%"


def day(value: str | date, *, language: Language = "de") -> str:
    """A date or timestamp of the wire as a day: 16.11.2026 or 16 Nov 2026."""
    on = value if isinstance(value, date) else date.fromisoformat(value[:10])
    return on.strftime("%d.%m.%Y") if language == "de" else f"{on.day} {MONTHS['en'][on.month - 1][:3]} {on.year}"


def short_day(on: date, *, language: Language = "de") -> str:
    """A day without its year: 16.11. or 16 Nov."""
    return f"{on.day}.{on.month}." if language == "de" else f"{on.day} {MONTHS['en'][on.month - 1][:3]}"


def long_day(value: str | date, *, language: Language = "de") -> str:
    """A day with its weekday: Montag, 16. November."""
    on = value if isinstance(value, date) else date.fromisoformat(value[:10])
    point = "." if language == "de" else ""
    return f"{WEEKDAYS[language][on.weekday()]}, {on.day}{point} {MONTHS[language][on.month - 1]}"


def month(year: int, number: int, *, language: Language = "de") -> str:
    """A month: November 2026."""
    return f"{MONTHS[language][number - 1]} {year}"


def _sign(amount: int, with_plus: bool) -> str:
    return MINUS if amount < 0 else "+" if with_plus and amount > 0 else ""


def _point(language: Language) -> str:
    return "," if language == "de" else "."


def _grouped(number: int, language: Language) -> str:
    return f"{number:,}".replace(",", ".") if language == "de" else f"{number:,}"


def _in_currency(text: str, currency: str, language: Language) -> str:
    sign = SIGNS.get(currency, currency)
    if language == "de":
        return f"{text}{SPACE}{sign}"
    return f"{sign}{text}" if currency in SIGNS else f"{sign}{SPACE}{text}"
