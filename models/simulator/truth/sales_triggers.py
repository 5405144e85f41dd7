"""The true sales triggers and large incomes: the written rules, applied to the truth about each user.

Written from the table of rules alone, one function per rule, to evaluate the analysis that follows the same table.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

import polars as pl

from models.simulator.truth.plain_users import Booking, TrueLife, months_before

TRIGGER_TRUTH = pl.Schema({"user": pl.String, "item": pl.String, "trigger_date": pl.Date, "amount": pl.Int64})
"""The triggers that should be there: since when, and about how many cents, where the rule speaks of an amount."""
LARGE_TRUTH = pl.Schema({"user": pl.String, "date": pl.Date})
COOLDOWN_DAYS = 25
EVENT_TRIGGERS = {
    "LIFEEVENT_FIRSTAPARTMENT": (("TENANCY_FIRST",), 90),
    "LIFEEVENT_NEWAPARTMENT": (("TENANCY_START", "TENANCY_CHANGE"), 90),
    "LIFEEVENT_FIRSTEMPLOYMENT": (("EMPLOYMENT_FIRST",), 90),
    "LIFEEVENT_NEWEMPLOYMENT": (("EMPLOYMENT_START", "EMPLOYMENT_CHANGE"), 90),
    "LIFEEVENT_FIRSTCHILD": (("CHILD_FIRST",), 180),
    "FINANCIAL_SALARYINCREASE": (("SALARY_INCREASE",), 90),
}
"""Trigger, the events that set it off, and for how many days."""
UNCOUNTED_CATEGORIES = ("BANKFINANCE_ATMDEPOSIT", "BANKFINANCE_CASHDEPOSIT", "BANKFINANCE_CREDITINCOME", "BANKFINANCE_INVESTMENT")


class Trigger(NamedTuple):
    """A trigger that should be there."""

    item: str
    day: date
    amount: int | None


class LargeIncome(NamedTuple):
    """The sum that one payer paid on one day, large compared with the months before."""

    day: date
    cents: int


def trigger_truth(lives: list[TrueLife], unseen_days: int = 0) -> pl.DataFrame:
    """The frame `TRIGGER_TRUTH` of these users, where an event is known at most `unseen_days` after its day."""
    rows = [(life.user, *trigger) for life in lives for trigger in _triggers(life, unseen_days)]
    return pl.DataFrame(rows, schema=TRIGGER_TRUTH, orient="row")


def large_income_truth(lives: list[TrueLife]) -> pl.DataFrame:
    """The frame `LARGE_TRUTH`: the days of large incomes, none within `COOLDOWN_DAYS` of the one before."""
    rows = []
    for life in lives:
        last = date.min
        for day in sorted({large.day for large in _large_incomes(life)}):
            if last == date.min or (day - last).days >= COOLDOWN_DAYS:
                rows.append((life.user, day))
                last = day
    return pl.DataFrame(rows, schema=LARGE_TRUTH, orient="row")


def _triggers(life: TrueLife, unseen_days: int) -> Iterator[Trigger]:
    yield from _liability(life)
    yield from _disability(life)
    yield from _private_health(life)
    yield from _after_events(life, unseen_days)
    yield from _savings_potential(life)
    yield from _large_income(life)


def _liability(life: TrueLife) -> Iterator[Trigger]:
    if _has_basic_contracts(life) and not _has_insurance(
        life, "LIABILITY_PRIVATE", "OTHER_BUNDLE", "LIABILITY_OTHER", "OTHER_OTHER"
    ):
        yield Trigger("MISSINGINSURANCE_PRIVATELIABILITY", life.as_of, None)


def _disability(life: TrueLife) -> Iterator[Trigger]:
    types = ("INCAPACITY_OCCUPATIONAL", "INCAPACITY_SERVICE", "INCAPACITY_EARNING", "INCAPACITY_BASICABILITY")
    working = life.work in ("LABOURMARKET_EMPLOYED", "LABOURMARKET_TRAINEE", "LABOURMARKET_SELFEMPLOYED")
    if _has_basic_contracts(life) and working and not _has_insurance(life, *types):
        yield Trigger("MISSINGINSURANCE_OCCUPATIONALDISABILITY", life.as_of, None)


def _private_health(life: TrueLife) -> Iterator[Trigger]:
    if len(life.full_months) < 3:
        return
    income = sum(life.incomes.get(month, 0) for month in life.full_months[-3:]) / 3
    excluded = life.work in ("LABOURMARKET_RETIRED", "LABOURMARKET_STUDENT", "LABOURMARKET_UNEMPLOYED")
    if income >= 3_200_00 and not excluded and not _has_insurance(life, "HEALTH_PRIVATE"):
        yield Trigger("MISSINGINSURANCE_PRIVATEHEALTH", life.as_of, round(income))


def _has_basic_contracts(life: TrueLife) -> bool:
    """A year of history, an active salary or pension, three active contracts."""
    active = [contract for contract in life.contracts if contract.active]
    has_income = any(contract.category in ("INCOME_SALARY", "INCOME_PENSION") for contract in active)
    return life.start <= months_before(life.as_of, 12) and has_income and len(active) >= 3


def _has_insurance(life: TrueLife, *types: str) -> bool:
    """Whether there is an active contract of these types, or a booking of them in thirteen months."""
    since = months_before(life.as_of, 13)
    return any(contract.active and contract.insurance in types for contract in life.contracts) or any(
        booking.insurance in types and booking.day >= since for booking in life.bookings
    )


def _after_events(life: TrueLife, unseen_days: int) -> Iterator[Trigger]:
    for trigger, (items, days) in EVENT_TRIGGERS.items():
        young = [day for item, day in life.events if item in items and 0 <= (life.as_of - day).days <= days + unseen_days]
        if young:
            yield Trigger(trigger, max(young), None)


def _savings_potential(life: TrueLife) -> Iterator[Trigger]:
    months = life.full_months[-6:]
    since = months_before(life.as_of, 6)
    if len(months) < 6 or any(booking.difficulty and booking.day > since for booking in life.bookings):
        return
    flows = [booking for booking in life.bookings if _counts(booking)]
    net = life.sums(flows)
    income = life.sums(booking for booking in flows if booking.category.startswith(("INCOME_", "OTHER_INCOME")))
    mean, earned = (sum(sums.get(month, 0) for month in months) / 6 for sums in (net, income))
    positive = sum(net.get(month, 0) > 0 for month in months)
    if mean >= max(100_00, 0.05 * earned) and positive >= 5:
        yield Trigger("FINANCIAL_SAVINGSPOTENTIAL", life.as_of, round(mean))


def _counts(booking: Booking) -> bool:
    """Whether a booking is part of the net before savings: neither own or borrowed money nor savings."""
    return not booking.category.startswith(("TRANSFER_", "SAVINGS_")) and booking.category not in UNCOUNTED_CATEGORIES


def _large_income(life: TrueLife) -> Iterator[Trigger]:
    young = [large for large in _large_incomes(life) if life.as_of - large.day <= timedelta(days=60)]
    if young:
        yield Trigger("FINANCIAL_LARGEINCOME", *max(young))


def _large_incomes(life: TrueLife) -> list[LargeIncome]:
    """Incomes of at least twice the mean of up to twelve full months before; none if that mean is not positive."""
    incomes: dict[tuple[date, str], int] = defaultdict(int)
    for booking in life.bookings:
        if booking.category.startswith(("INCOME_", "OTHER_INCOME")) and booking.cents > 0:
            incomes[booking.day, booking.payer] += booking.cents
    large_incomes = []
    for (day, _), cents in incomes.items():
        months = [month for month in life.full_months if month < day.year * 12 + day.month - 1][-12:]
        total = sum(life.all_incomes.get(month, 0) for month in months)
        if len(months) >= 3 and total > 0 and cents >= 2 * total / len(months):
            large_incomes.append(LargeIncome(day, cents))
    return large_incomes
