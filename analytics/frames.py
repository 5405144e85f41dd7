"""The schema of every frame, and the check where a frame enters or leaves. One name per result: frame, asset, folder, noun."""

import polars as pl

BOOKINGS = pl.Schema(
    {
        "booked_on": pl.Date,
        "value_on": pl.Date,
        "amount_cents": pl.Int64,
        "currency": pl.String,
        "purpose": pl.String,
        "booking_text": pl.String,
        "gv_code": pl.String,
        "primanota": pl.String,
        "counterparty_name": pl.String,
        "counterparty_iban": pl.String,
        "counterparty_bic": pl.String,
        "ultimate_name": pl.String,
        "pending": pl.Boolean,
    }
)
"""Bookings of one product as a bank tells them, in the bank's order, the oldest first."""
STORED = pl.Schema([("id", pl.String), *BOOKINGS.items()])
"""The same bookings with the id that we gave them, in the order in which they came."""


class SchemaDiffers(ValueError):
    """A frame does not have the columns that its name promises."""


def checked(frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """The frame with its columns in order, after checking names and types."""
    if frame.schema != schema:
        found = {name: frame.schema.get(name) for name in (*schema, *frame.schema) if frame.schema.get(name) != schema.get(name)}
        if found:
            raise SchemaDiffers(f"columns that differ: {', '.join(sorted(found))}")
    return frame.select(schema.names())
