"""The bank's books: a customer's accounts with balances, and their bookings page by page. Loaded with the first login."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache

import polars as pl

from analytics.products import WITH_POSITIONS, ProductCategory
from pipelines.banks.base import FetchedPosition, FetchedProduct
from pipelines.banks.demo import answers, changing
from pipelines.banks.demo.answers import CustomerData
from pipelines.banks.demo.histories import PAYING_CATEGORIES
from pipelines.banks.demo.households import Households
from pipelines.banks.fints.syntax import Segment
from pipelines.banks.fints_bank.accounts import FREE_DAYS, STORED_DAYS, BankAccount
from pipelines.banks.fints_bank.customers import BankCustomer

TOUCHDOWN = re.compile(r"TD\+([0-9]{1,9}):")


@dataclass(frozen=True)
class StatementPage:
    """Booked lines of an account, and the balances around them. `touchdown` continues behind the page."""

    bookings: pl.DataFrame
    pending: pl.DataFrame
    opening_cents: int
    closing_cents: int
    opening_on: date
    closing_on: date
    is_first: bool
    touchdown: str | None


def accounts(customer: BankCustomer, now: datetime) -> list[BankAccount]:
    """All accounts of a customer, with their balances."""
    customer_data = _customer_data(customer, now)
    products = answers.header(customer_data, now).products
    openings = [account.opening_cents for account in customer_data.customer.accounts]
    return [
        BankAccount(product, opening, _orders(product, customer)) for product, opening in zip(products, openings, strict=True)
    ]


def find_account(customer: BankCustomer, order: Segment, now: datetime) -> BankAccount | None:
    """The account that the first element of an order names: by its IBAN, or by its number in old and new segments."""
    names = {str(part) for part in order.element(1) if part}
    return next(
        (
            account
            for account in accounts(customer, now)
            if (account.product.iban and account.product.iban in names) or account.number in names
        ),
        None,
    )


def positions(customer: BankCustomer, account: BankAccount, now: datetime) -> tuple[FetchedPosition, ...]:
    """What lies in a depot."""
    return _customer_data(customer, now).positions.get(account.product.key, ())


def page(
    customer: BankCustomer, account: BankAccount, period: tuple[date | None, date | None], touchdown: str, now: datetime
) -> StatementPage | None:
    """A page of the bookings of a period, from a touchdown point on; None for one that the bank never gave."""
    today = answers.today(now)
    first, last = max(period[0] or date.min, today - timedelta(days=STORED_DAYS)), min(period[1] or today, today)
    frame = _customer_data(customer, now).bookings[account.product.key].filter(currency=account.product.currency)
    booked = frame.filter(~pl.col("pending"))
    in_period = booked.filter(pl.col("booked_on").is_between(first, last))
    start = _start(touchdown)
    if start is None or start > in_period.height or (touchdown and start == 0):
        return None
    end = _page_end(in_period["booked_on"].to_list(), start, customer)
    rows = in_period.slice(start, end - start)
    before = int(booked.filter(pl.col("booked_on") < first)["amount_cents"].sum()) + int(in_period[:start]["amount_cents"].sum())
    opening = account.opening_cents + before
    is_last = end == in_period.height
    with_pending = is_last and first <= today == last and customer.behaviour.sends_pending
    pending = frame.filter(pl.col("pending")) if with_pending else frame.clear()
    if with_pending and customer.behaviour.repeats_booked:
        pending = pl.concat([rows.tail(1).with_columns(pending=True), pending])
    days = rows["booked_on"].to_list() or [last]
    closing = opening + int(rows["amount_cents"].sum())
    return StatementPage(rows, pending, opening, closing, days[0], days[-1], start == 0, None if is_last else f"TD+{end}:")


def is_long_ago(start: date | None, now: datetime) -> bool:
    """Whether a period begins before the days that need no confirmation."""
    return start is None or start < answers.today(now) - timedelta(days=FREE_DAYS)


def _start(touchdown: str) -> int | None:
    match = TOUCHDOWN.fullmatch(touchdown)
    return int(match[1]) if match else None if touchdown else 0


def _page_end(days: Sequence[date], start: int, customer: BankCustomer) -> int:
    """The row behind the page; unless the bank splits days, the page ends with a day."""
    end = min(start + customer.behaviour.page_rows, len(days))
    if customer.behaviour.splits_days:
        return end
    while end < len(days) and days[end] == days[end - 1]:
        end += 1
    return end


def _orders(product: FetchedProduct, customer: BankCustomer) -> tuple[str, ...]:
    """The orders that an account may be used for, as its user parameters list them."""
    if product.category in WITH_POSITIONS:
        return ("HKWPD", "HKPRO", "HKTAN")
    if product.category is ProductCategory.CREDIT_CARD and customer.behaviour.has_card_order:
        return ("DKKKU", "HKPRO", "HKTAN")
    reading = ("HKSAL", "HKKAZ", *(("HKCAZ",) if customer.behaviour.has_camt else ()), "HKSPA", "HKPRO", "HKTAN", "HKTAB")
    if product.category not in PAYING_CATEGORIES:
        return reading
    instant_and_bulk = ("HKIPZ", "HKCCM") if product.category is ProductCategory.CHECKING else ()
    return (*reading, "HKCCS", "HKCSE", *instant_and_bulk, "HKVPP", "HKVPA")


def _customer_data(customer: BankCustomer, now: datetime) -> CustomerData:
    return _data_on(customer.person, customer.behaviour.rows, answers.today(now))


@lru_cache(maxsize=16)
def _data_on(person: str, rows: int | None, day: date) -> CustomerData:
    households = Households()
    customer = households.find(person)
    if customer is None:
        raise ValueError("no such person")  # only `customers` names persons
    customer_data = answers.answer(households, customer, datetime.combine(day, time(12), UTC))
    return customer_data if rows is None else _with_rows(customer_data, rows, day)


def _with_rows(customer_data: CustomerData, rows: int, day: date) -> CustomerData:
    """The first account alone, with made-up bookings."""
    account = customer_data.customer.accounts[0]
    alone = CustomerData(
        type(customer_data.customer)(customer_data.customer.user_id, (account,)),
        {account.product.key: customer_data.bookings[account.product.key]},
        {},
    )
    return changing.with_rows(alone, rows, day)
