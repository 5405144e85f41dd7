"""Answers that differ from one fetch to the next, or are simply large."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import polars as pl

from analytics.frames import BOOKINGS, checked
from models.simulator.scripted.chance import mix
from pipelines.banks.demo.answers import CustomerData
from pipelines.banks.demo.histories import START


def with_one_for_each(customer_data: CustomerData, days: Sequence[str]) -> CustomerData:
    """One more booking for every fetch, on its day, always with the same text."""
    number = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
    extra = pl.DataFrame({"booked_on": days}).select(
        pl.col("booked_on").str.to_date(), amount_cents=-(1000 + number), purpose=pl.format("SVWZ+Neue Buchung {}", number)
    )
    return _with(customer_data, _shaped(extra))


def with_purchase(customer_data: CustomerData, bought_on: str, *, pending: bool) -> CustomerData:
    """A purchase that is pending at first and then booked with more words."""
    text = "VORGEMERKT MEDIAMARKT" if pending else f"MEDIAMARKT//FRANKFURT/DE {bought_on}T17:12:44 Debitk.0 2028-12"
    row = pl.DataFrame(
        {"booked_on": [date.fromisoformat(bought_on)], "amount_cents": [-24_900], "purpose": [text], "pending": [pending]}
    )
    booked = pl.lit(None if pending else "9290", dtype=pl.String)
    return _with(customer_data, _shaped(row).with_columns(primanota=booked, counterparty_name=pl.lit("MEDIAMARKT")))


def with_rows(customer_data: CustomerData, rows: int, until: date) -> CustomerData:
    """`rows` bookings, spread evenly over the history."""
    number, days = pl.col("number"), (until - START).days + 1
    frame = pl.DataFrame({"number": pl.int_range(rows, eager=True)}).select(
        booked_on=pl.lit(START) + pl.duration(days=number * days // max(rows, 1)),
        amount_cents=(mix(number) % 20_000).cast(pl.Int64) - 12_000,
        purpose=pl.format("SVWZ+Buchung {}", number),
        counterparty_name=pl.format("Partner {}", mix(number, 1) % 500),
    )
    return replace(customer_data, bookings=dict.fromkeys(customer_data.bookings, _shaped(frame)))


def with_other_words(customer_data: CustomerData, before: int) -> CustomerData:
    """The same bookings in other words and in another order within the day, as banks do after an update."""
    purpose, number = pl.col("purpose"), pl.int_range(pl.len(), dtype=pl.UInt64)
    words = (
        purpose,
        purpose.str.to_uppercase(),
        purpose.str.replace_all(" ", "", literal=True),
        pl.format("{} DATUM {}", purpose, pl.col("value_on").dt.strftime("%d.%m.%Y")),
    )[before % 4]
    return replace(
        customer_data,
        bookings={
            key: frame.with_columns(purpose=words).sort("booked_on", mix(number, before))
            for key, frame in customer_data.bookings.items()
        },
    )


def _with(customer_data: CustomerData, extra: pl.DataFrame) -> CustomerData:
    bookings = {
        key: pl.concat([frame, extra]).sort("booked_on", maintain_order=True) for key, frame in customer_data.bookings.items()
    }
    return replace(customer_data, bookings=bookings)


def _shaped(frame: pl.DataFrame) -> pl.DataFrame:
    """Bookings from the few columns that matter here."""
    defaults = {
        "value_on": pl.col("booked_on"),
        "currency": pl.lit("EUR"),
        "pending": pl.lit(False),
        "booking_text": pl.lit("KARTENZAHLUNG"),
    }
    full = frame.with_columns(**{name: value for name, value in defaults.items() if name not in frame.columns})
    empty = [pl.lit(None, dtype=kind).alias(name) for name, kind in BOOKINGS.items() if name not in full.columns]
    return checked(full.with_columns(empty).select(BOOKINGS.names()), BOOKINGS)
