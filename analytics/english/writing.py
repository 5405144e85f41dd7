"""Numbers, amounts and dates of German sentences as English writes them: `1.234,56` is `1,234.56`, `03.11.2026` is
`3 November 2026`.
"""

from datetime import date

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_SWAP_MARKS = str.maketrans(".,", ",.")


def english_number(german: str) -> str:
    """A number with the marks of English: `1.234,5` becomes `1,234.5`."""
    return german.translate(_SWAP_MARKS)


def english_euros(german: str) -> str:
    """An amount in euros: `-1.234,56` becomes `-€1,234.56`."""
    sign, size = ("-", german[1:]) if german.startswith("-") else ("", german)
    return f"{sign}€{english_number(size)}"


def english_date(german: str) -> str:
    """A date: `03.11.2026` becomes `3 November 2026`."""
    day, month, year = german.split(".")
    return f"{int(day)} {MONTHS[int(month) - 1]} {year}"


def write_date(day: date) -> str:
    """A date in English: `3 November 2026`."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def capitalised(text: str) -> str:
    """The text with a capital at its beginning."""
    return text[:1].upper() + text[1:]
