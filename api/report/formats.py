"""Numbers and days of the report in German notation."""

from datetime import date

from pipelines.results.month_report import ReportMonth

SPACE, MINUS = "\N{NO-BREAK SPACE}", "\N{MINUS SIGN}"
MONTHS = (
    *("Januar", "Februar", "März", "April", "Mai", "Juni"),
    *("Juli", "August", "September", "Oktober", "November", "Dezember"),
)


def money(cents: int, *, signed: bool = False) -> str:
    """An amount: 1.234,56 €."""
    sign = MINUS if cents < 0 else "+" if signed and cents > 0 else ""
    return f"{sign}{abs(cents) // 100:,}".replace(",", ".") + f",{abs(cents) % 100:02}{SPACE}€"


def day(value: date) -> str:
    """A day: 16.11.2026."""
    return value.strftime("%d.%m.%Y")


def month_name(month: ReportMonth) -> str:
    """A month: November 2026."""
    return f"{MONTHS[month.number - 1]} {month.year}"


def percent(share: float) -> str:
    """A share: 34 %."""
    return f"{round(share * 100)}{SPACE}%"
