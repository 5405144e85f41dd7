"""Validation of bank answers: an implausible answer is refused as a whole before anything is stored."""

import re
from dataclasses import replace
from datetime import date, timedelta

import polars as pl
import pycountry

from analytics.frames import BOOKINGS, SchemaDiffers, checked
from pipelines.banks.base import FetchedBookings, FetchedProduct, Header, Holdings, Unusable

ROWS_LIMIT = 200_000
PRODUCTS_LIMIT = 200
POSITIONS_LIMIT = 5_000
AMOUNT_LIMIT_CENTS = 10**13
TEXT_LIMIT = 4_000
EARLIEST_DAY = date(1970, 1, 1)
MAX_TIME_AHEAD = timedelta(days=400)
KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
NOT_A_TEXT = r"(?i)[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|<(?:!doctype|html|body|script)"
IS_NOT_A_TEXT = re.compile(NOT_A_TEXT)
CURRENCIES = frozenset(currency.alpha_3 for currency in pycountry.currencies)
TEXTS = [name for name, kind in BOOKINGS.items() if kind == pl.String and name != "currency"]


def check_header(header: Header) -> Header:
    """The header, if its products have distinct keys and plausible values; raises `Unusable` otherwise."""
    keys = [product.key for product in header.products]
    if len(set(keys)) != len(keys) or len(keys) > PRODUCTS_LIMIT or not all(KEY.fullmatch(key) for key in keys):
        raise Unusable
    if not all(_is_sensible(product) for product in header.products):
        raise Unusable
    return header


def _is_sensible(product: FetchedProduct) -> bool:
    amounts = (product.balance_cents, product.overdraft_limit_cents, product.credit_line_cents, product.credit_drawn_cents)
    texts = (product.name, product.owner_name, product.account_number, product.bank_name, product.iban, product.bic)
    return (
        all(amount is None or abs(amount) <= AMOUNT_LIMIT_CENTS for amount in amounts)
        and product.currency in CURRENCIES
        and not any(IS_NOT_A_TEXT.search(text) or len(text) > TEXT_LIMIT for text in texts if text)
    )


def check_bookings(bookings: FetchedBookings, today: date) -> FetchedBookings:
    """The bookings with trimmed texts, empty ones as null; raises `Unusable` if any booking is implausible."""
    if bookings.frame.height > ROWS_LIMIT:
        raise Unusable
    try:
        frame = checked(bookings.frame, BOOKINGS)
    except SchemaDiffers as error:
        raise Unusable from error
    absurd = frame.select(
        (
            ~pl.col("booked_on").is_between(max(EARLIEST_DAY, bookings.complete_from), today + MAX_TIME_AHEAD)
            | ~pl.col("value_on").is_between(EARLIEST_DAY, today + MAX_TIME_AHEAD).fill_null(True)
            | (pl.col("amount_cents").abs() > AMOUNT_LIMIT_CENTS)
            | ~pl.col("currency").is_in(list(CURRENCIES))
            | pl.any_horizontal(pl.col(TEXTS).str.contains(NOT_A_TEXT).fill_null(False))
            | pl.any_horizontal((pl.col(TEXTS).str.len_chars() > TEXT_LIMIT).fill_null(False))
            | pl.any_horizontal(pl.col("booked_on", "amount_cents", "currency", "pending").is_null())
        )
        .fill_null(True)
        .any()
    ).item()
    if absurd:
        raise Unusable
    trimmed = pl.col(TEXTS).str.strip_chars().replace("", None)
    return replace(bookings, frame=frame.with_columns(trimmed))


def check_holdings(holdings: Holdings) -> Holdings:
    """The positions; raises `Unusable` if any of them is implausible."""
    for position in holdings.positions:
        values = (position.quantity, position.price, position.exchange_rate)
        if any(value is not None and (not value.is_finite() or abs(value) > AMOUNT_LIMIT_CENTS) for value in values):
            raise Unusable
        if position.currency is not None and position.currency not in CURRENCIES:
            raise Unusable
        if position.total_cents is not None and abs(position.total_cents) > AMOUNT_LIMIT_CENTS:
            raise Unusable
    if len(holdings.positions) > POSITIONS_LIMIT:
        raise Unusable
    return holdings
