"""What the bank answers in a session: a customer's data as a value, which special user ids can change, and its parts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from analytics.products import ProductCategory
from pipelines.banks.base import (
    Balance,
    FetchedBookings,
    FetchedPosition,
    FetchedProduct,
    FetchRequest,
    Header,
    Holdings,
    HomeSavings,
    Part,
)
from pipelines.banks.demo.histories import START, Customer, DemoAccount, Histories

if TYPE_CHECKING:
    import polars as pl

BERLIN = ZoneInfo("Europe/Berlin")
SHORT_HISTORY = timedelta(days=90)
"""How far back bookings go where the whole history is not requested."""


@dataclass(frozen=True)
class CustomerData:
    """Everything that the bank knows of a customer on a day."""

    customer: Customer
    bookings: Mapping[str, "pl.DataFrame"]
    positions: Mapping[str, tuple[FetchedPosition, ...]]
    consent_ends_at: datetime | None = None
    notices: tuple[str, ...] = ()


def today(now: datetime) -> date:
    """The bank's day: the one in Germany."""
    return now.astimezone(BERLIN).date()


def answer(histories: Histories, customer: Customer, now: datetime, consent_ends_at: datetime | None = None) -> CustomerData:
    """The data of a customer now; before the first day of all histories, those of that day."""
    day = max(today(now), START)
    return CustomerData(customer, histories.bookings(customer, day), histories.positions(customer, day), consent_ends_at)


def parts(customer_data: CustomerData, request: FetchRequest) -> Iterator[Part]:
    """The whole session."""
    yield header(customer_data, request.now)
    yield from details(customer_data, request)


def header(customer_data: CustomerData, now: datetime) -> Header:
    """All products with their balances, and how the customer confirms."""
    methods = customer_data.customer.methods
    return Header(
        products=tuple(_with_balance(account, customer_data, now) for account in customer_data.customer.accounts),
        methods=methods,
        active_method=methods[0].code if methods else None,
        media=customer_data.customer.media,
        consent_ends_at=customer_data.consent_ends_at,
        notices=customer_data.notices,
    )


def details(customer_data: CustomerData, request: FetchRequest) -> Iterator[FetchedBookings | Holdings]:
    """Positions or bookings of every requested product."""
    import polars as pl

    for account in customer_data.customer.accounts:
        key = account.product.key
        if request.wanted is not None and key not in request.wanted:
            continue
        if key in customer_data.positions:
            yield Holdings(key, customer_data.positions[key])
        else:
            since = request.since.get(key) or _first_day(account.product.category, request)
            yield FetchedBookings(key, since, customer_data.bookings[key].filter(pl.col("booked_on") >= since))


def _first_day(category: ProductCategory, request: FetchRequest) -> date:
    """The first day of the bookings of a product for which no day is requested."""
    whole = request.whole_history_of is None or category in request.whole_history_of
    return START if whole else max(START, today(request.now) - SHORT_HISTORY)


def _with_balance(account: DemoAccount, customer_data: CustomerData, now: datetime) -> FetchedProduct:
    product = account.product
    if product.key in customer_data.positions:
        total = sum(position.total_cents or 0 for position in customer_data.positions[product.key])
        return replace(product, balance_cents=total, balance_at=now, balance_by_statement=False)
    booked = _booked_cents(customer_data.bookings[product.key])
    balance = account.opening_cents + booked.get(product.currency, 0)
    further = tuple(
        replace(entry, balance_cents=entry.balance_cents + booked.get(entry.currency, 0), balance_at=now)
        for entry in account.further
    )
    return replace(
        product,
        balance_cents=balance,
        balance_at=now,
        balances=(Balance(product.currency, balance, now), *further) if further else (),
        home_savings=product.home_savings and _with_progress(product.home_savings, balance),
    )


def _booked_cents(frame: "pl.DataFrame") -> dict[str, int]:
    import polars as pl

    sums = frame.filter(~pl.col("pending")).group_by("currency").agg(pl.col("amount_cents").sum())
    return dict(sums.iter_rows())


def _with_progress(contract: HomeSavings, balance_cents: int) -> HomeSavings:
    """The contract with the percentage of its sum that is saved."""
    if not contract.contract_sum_cents:
        return contract
    return replace(contract, saving_progress=round(Decimal(balance_cents * 100) / contract.contract_sum_cents, 2))
