"""Numbers and durations as people read them."""

from datetime import timedelta

from api.schemas.languages import Language

PERCENT = 100
UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def number(value: int, language: Language) -> str:
    """A whole number with its thousands apart."""
    return f"{value:,}" if language == "en" else f"{value:,}".replace(",", ".")


def percent(share: float, language: Language) -> str:
    """A share as percent."""
    return f"{share * PERCENT:.0f}" + ("%" if language == "en" else "\N{NO-BREAK SPACE}%")


def seconds(value: float, language: Language) -> str:
    """Seconds with one decimal."""
    return f"{value:.1f}\N{NO-BREAK SPACE}s" if language == "en" else f"{value:.1f}\N{NO-BREAK SPACE}s".replace(".", ",")


def duration(length: timedelta, language: Language) -> str:
    """A time in its largest unit."""
    whole = max(int(length.total_seconds()), 0)
    size, unit = next(((size, unit) for size, unit in UNITS if whole >= size), UNITS[-1])
    name = {"de": {"d": "Tagen" if whole // size != 1 else "Tag", "h": "Std.", "min": "Min.", "s": "Sek."}, "en": {"d": "d"}}[
        language
    ].get(unit, unit)
    return f"{whole // size}\N{NO-BREAK SPACE}{name}"
