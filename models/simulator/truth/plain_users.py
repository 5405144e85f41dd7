"""The truth about single users as plain Python values, for truths that follow a written rule row by row.

It shares no code with the analyses that it evaluates, and is not optimised.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import NamedTuple

import polars as pl

from models.simulator.base.corpus import Corpus
from models.simulator.truth.affordability import SAVING_PRODUCTS, past_bookings, troubles

DIFFICULTIES = ("return_debits", "debt_collection_payments", "seizure_payments")


class Booking(NamedTuple):
    """A booking as it truly is; `difficulty` marks signs of financial difficulties."""

    day: date
    cents: int
    category: str
    insurance: str
    payer: str
    on_savings_product: bool
    difficulty: bool


class TrueContract(NamedTuple):
    """A contract as it truly is on the as-of date."""

    category: str
    insurance: str
    active: bool


@dataclass(frozen=True)
class TrueLife:
    """A user on the as-of date: bookings until then, contracts, dated life events, and the stage on the labour market."""

    user: str
    as_of: date
    bookings: tuple[Booking, ...]
    contracts: tuple[TrueContract, ...]
    events: tuple[tuple[str, date], ...]
    work: str

    @cached_property
    def start(self) -> date:
        """The day of the first booking."""
        return min(booking.day for booking in self.bookings)

    @cached_property
    def full_months(self) -> tuple[int, ...]:
        """The months that lie wholly between the first booking and the as-of date, in order."""
        first = month_of(self.start) + (self.start.day > 1)
        return tuple(range(first, month_of(self.as_of + timedelta(days=1))))

    @cached_property
    def incomes(self) -> Mapping[int, int]:
        """Effective income in cents, by month."""
        return self.sums(booking for booking in self.bookings if booking.category.startswith("INCOME_"))

    @cached_property
    def all_incomes(self) -> Mapping[int, int]:
        """Income in cents, by month, with what private people give."""
        return self.sums(booking for booking in self.bookings if booking.category.startswith(("INCOME_", "OTHER_INCOME")))

    def sums(self, bookings: Iterable[Booking]) -> Mapping[int, int]:
        """The sum of the bookings of each month, in cents."""
        totals: dict[int, int] = defaultdict(int)
        for booking in bookings:
            totals[month_of(booking.day)] += booking.cents
        return totals


def month_of(day: date) -> int:
    """The number of a month, counted through all years."""
    return day.year * 12 + day.month - 1


def months_before(day: date, months: int) -> date:
    """The same day `months` months earlier, or the last day of that month."""
    year, month = divmod(month_of(day) - months, 12)
    after = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return min(date(year, month + 1, 1) + timedelta(days=day.day - 1), after - timedelta(days=1))


def true_lives(corpus: Corpus) -> list[TrueLife]:
    """All users who have a booking."""
    bookings, contracts, events = _bookings(corpus), _contracts(corpus), _events(corpus)
    now = corpus.stages.filter(
        pl.col("dimension") == "LABOURMARKET",
        pl.col("since") <= corpus.as_of,
        pl.col("until").is_null() | (pl.col("until") >= corpus.as_of),
    )
    work = dict(now.select("user", "item").iter_rows())
    return [
        TrueLife(f"u{user:07}", corpus.as_of, tuple(rows), tuple(contracts[user]), tuple(events[user]), work.get(user, ""))
        for user, rows in sorted(bookings.items())
    ]


def _bookings(corpus: Corpus) -> dict[int, list[Booking]]:
    booked_rows = past_bookings(corpus).join(corpus.transactions.select("id", "counterparty_iban"), on="id")
    signs = troubles()
    rows = booked_rows.select(
        "user",
        "booked_on",
        "amount_cents",
        "effective_category",
        "insurance",
        payer=pl.coalesce("counterparty_name", "counterparty_iban", pl.lit("")),
        on_savings_product=pl.col("on").is_in(SAVING_PRODUCTS),
        difficulty=pl.any_horizontal(signs[name] for name in DIFFICULTIES),
    )
    bookings: dict[int, list[Booking]] = defaultdict(list)
    for user, *values in rows.iter_rows():
        bookings[user].append(Booking(*values))
    return bookings


def _contracts(corpus: Corpus) -> dict[int, list[TrueContract]]:
    contracts: dict[int, list[TrueContract]] = defaultdict(list)
    for user, category, insurance, status in corpus.contracts.select("user", "category", "insurance", "status").iter_rows():
        contracts[user].append(TrueContract(category, insurance, status == "ACTIVE"))
    return contracts


def _events(corpus: Corpus) -> dict[int, list[tuple[str, date]]]:
    events: dict[int, list[tuple[str, date]]] = defaultdict(list)
    for user, item, day in corpus.events.filter(pl.col("date") <= corpus.as_of).select("user", "item", "date").iter_rows():
        events[user].append((item, day))
    return events
