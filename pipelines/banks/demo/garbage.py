"""Answers that make no sense, one for each way in which a bank can break its own rules."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import polars as pl

from pipelines.banks.base import FetchedBookings, FetchRequest, Header, Part
from pipelines.banks.demo import answers
from pipelines.banks.demo.answers import CustomerData
from pipelines.banks.demo.changing import with_rows
from pipelines.banks.demo.histories import START

GARBAGE_ROWS = 1_000_000
HUGE_CENTS = 10**14
MARKUP = "<script>alert(1)</script>\x00\x1b[31m\r\n\u202e&amp;'\";--"


def parts(customer_data: CustomerData, request: FetchRequest, kind: str) -> Iterator[Part]:
    """A header and all bookings with the fault, whatever the request asks for."""
    header = answers.header(customer_data, request.now)
    yield _spoilt_header(header, kind)
    for key, frame in customer_data.bookings.items():
        yield FetchedBookings(key, START, _spoilt(customer_data, frame, key, kind, answers.today(request.now)))


def _spoilt_header(header: Header, kind: str) -> Header:
    first = header.products[0]
    match kind:
        case "twice":
            return replace(header, products=(first, replace(first, name="Zweitkonto")))
        case "currency":
            return replace(header, products=(replace(first, currency="XQZ"),))
        case "html":
            return replace(header, products=(replace(first, name=MARKUP, owner_name=MARKUP),), notices=(MARKUP,))
        case "huge":
            return replace(header, products=(replace(first, balance_cents=HUGE_CENTS),))
    return header


def _spoilt(customer_data: CustomerData, frame: pl.DataFrame, key: str, kind: str, until: date) -> pl.DataFrame:
    match kind:
        case "year":
            days = [date(1, 1, 1), *frame["booked_on"][1:-1], date(9999, 12, 31)]
            return frame.with_columns(booked_on=pl.Series(days), value_on=pl.Series(days))
        case "rows":
            return with_rows(customer_data, GARBAGE_ROWS, until).bookings[key]
        case "html":
            return frame.with_columns(purpose=pl.lit(MARKUP), counterparty_name=pl.lit(MARKUP))
        case "currency":
            return frame.with_columns(currency=pl.lit("XQZ"))
        case "huge":
            return frame.with_columns(amount_cents=pl.lit(HUGE_CENTS))
        case "schema":
            return frame.drop("amount_cents")
    return frame
