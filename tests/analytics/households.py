"""Made-up households for the analyses of users: bookings as they are after tagging, drawn as few lines of a story each."""

from datetime import date, timedelta
from itertools import count
from typing import Any

import numpy as np
import polars as pl

from analytics.analyses.snapshot import Snapshot, snapshot
from analytics.frames import AS_OF, PRODUCTS, TAGGED, TRANSACTIONS

AS_OF_DAY = date(2026, 6, 16)
TAGGED_BOOKINGS = pl.Schema({**TRANSACTIONS, **TAGGED})
USUAL_COLUMNS: dict[str, Any] = {
    "product": "giro",
    "currency": "EUR",
    "purpose": "",
    "booking_text": "",
    "pending": False,
    "channel": "CARD",
    "insurance": "UNRELATED_OTHER",
    "partner": "UNKNOWN",
}
HABITS = (
    ("LIVING_GROCERIES", "REWE", 6_500, 8),
    ("LIVING_DRUGSTORE", "DM", 1_900, 3),
    ("MOBILITY_FUEL", "ARAL", 5_500, 2),
    ("RECREATION_ENTERTAINMENTFOOD", "UNKNOWN", 2_800, 4),
    ("SHOPPING_CLOTHINGACCESSORIES", "ZALANDO", 7_000, 1),
    ("BANKFINANCE_INVESTMENT", "UNKNOWN", 20_000, 0.3),
    ("TRANSFER_SAVINGS", "UNKNOWN", 30_000, 0.5),
    ("BANKFINANCE_CREDITINCOME", "UNKNOWN", -500_000, 0.05),
    ("BANKFINANCE_CASHDEPOSIT", "UNKNOWN", -20_000, 0.1),
    ("OTHER_INCOME", "UNKNOWN", -4_000, 0.4),
)
"""Category, partner, usual cents, and how often in a month."""


def book(days: list[date], cents: int | list[int], category: str, user: str = "anna", **columns: Any) -> pl.DataFrame:
    """Bookings on these days, alike but for what is said."""
    amounts = [cents] * len(days) if isinstance(cents, int) else cents
    row = {**USUAL_COLUMNS, "user": user, "category": category, "effective_category": category, **columns}
    party = row.setdefault("counterparty_key", f"{row['partner']}-{category}")
    rows = [
        {**row, "id": f"{user}-{party}-{category}-{number:04}", "booked_on": day, "amount_cents": amount}
        for number, day, amount in zip(count(), days, amounts, strict=False)
    ]
    return pl.DataFrame(rows, schema=TAGGED_BOOKINGS)


def monthly(count: int, day: int = 3, last: tuple[int, int] = (2026, 6)) -> list[date]:
    """The same day in so many months, the last one in that month."""
    months = [last[0] * 12 + last[1] - 1 - back for back in reversed(range(count))]
    return [date(month // 12, month % 12 + 1, day) for month in months]


def salary(
    user: str = "anna", months: int = 18, cents: int = 250_000, day: int = 1, last: tuple[int, int] = (2026, 6)
) -> pl.DataFrame:
    """A salary on the same day of every month."""
    columns = {"channel": "TRANSFER", "partner": "UNKNOWN", "counterparty_name": "Muster GmbH", "purpose": "Lohn Gehalt"}
    return book(monthly(months, day, last), cents, "INCOME_SALARY", user, **columns)


def rent(
    user: str = "anna", months: int = 18, cents: int = -80_000, day: int = 3, last: tuple[int, int] = (2026, 6)
) -> pl.DataFrame:
    """A rent by standing order."""
    columns = {"channel": "STANDINGORDER", "counterparty_key": "DE02120300000000202051", "counterparty_name": "Hausverwaltung"}
    return book(monthly(months, day, last), cents, "HOUSING_RENT", user, **columns)


def household(user: str, seed: int, months: int = 18) -> pl.DataFrame:
    """Salary, rent and an ETF plan, and what people buy, borrow and put aside, drawn by chance; some of it comes back."""
    chance = np.random.default_rng(seed)
    begin = AS_OF_DAY - timedelta(days=30 * months)
    parts = [
        salary(user, months),
        rent(user, months),
        book(monthly(months, 5), -10_000, "SAVINGS_SECURITIES", user, partner="UNKNOWN"),
    ]
    for category, partner, cents, often in HABITS:
        number = int(chance.poisson(often * months))
        days = [begin + timedelta(days=int(day)) for day in np.sort(chance.integers(0, 30 * months + 1, number))]
        amounts = [-int(amount) for amount in np.round(cents * chance.uniform(0.3, 1.7, number))]
        parts.append(book(days, amounts, category, user, partner=partner))
    back = (
        parts[3]
        .head(2)
        .with_columns(id=pl.col("id") + "-back", amount_cents=-pl.col("amount_cents"), category=pl.lit("TRANSFER_REFUND"))
    )
    return pl.concat([*parts, back])


def households(users: int = 10) -> pl.DataFrame:
    """So many households."""
    return pl.concat([household(f"user-{seed:02}", seed) for seed in range(users)])


def take_snapshot(bookings: pl.DataFrame, as_of: date = AS_OF_DAY, *more_users: str) -> Snapshot:
    """What can be seen in the bookings on one day."""
    users = sorted({*bookings["user"], *more_users})
    return snapshot(bookings, PRODUCTS.to_frame(), pl.DataFrame({"user": users, "as_of": [as_of] * len(users)}, schema=AS_OF))
