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

TRANSACTIONS = pl.Schema([("id", pl.String), ("user", pl.String), ("product", pl.String), *BOOKINGS.items()])
"""Bookings of many users: what the taggers read."""
PRODUCTS = pl.Schema({"user": pl.String, "product": pl.String, "category": pl.String, "iban": pl.String, "owner_name": pl.String})
"""The products of these users; `category` is a value of `analytics.products.Category`."""
LEDGER = pl.Schema([("tenant", pl.String), *TRANSACTIONS.items(), ("sequence", pl.Int64), ("batch", pl.String)])
"""The same as the ledger has them: whose they are, in which order they came, and with which batch they were pushed."""
CHOICES = pl.Schema({"id": pl.String, "item": pl.String})
"""A user's own choice of category for a booking."""
RULES = pl.Schema(
    {
        "tenant": pl.String,
        "user": pl.String,
        "item": pl.String,
        "name_key": pl.String,
        "iban": pl.String,
        "rank": pl.Int64,
        "after": pl.Int64,
    }
)
"""Rules for counterparties; without a user the rule is for all users of the tenant. Empty `name_key` or `iban` is not compared,
the highest rank wins. A rule holds for bookings whose `sequence` in the ledger is greater than `after`: 0 for all of them."""
LINES = pl.Schema(
    {
        "key": pl.UInt64,
        "positive": pl.Boolean,
        "amount_bin": pl.UInt8,
        "channel": pl.String,
        "purpose_code": pl.String,
        "creditor_id": pl.String,
        "booking_text": pl.String,
        "name": pl.String,
        "ultimate": pl.String,
        "purpose": pl.String,
        "merchant": pl.String,
        "city": pl.String,
        "via": pl.String,
    }
)
"""Each distinct line once, read: texts are plain (lower case, `ae oe ue ss`, only `a-z0-9&` and single blanks, digits as
`analytics.bank_text.canonical` has it), and what is missing is empty."""
TAG_PARTS = ("item", "confidence", "source", "reason")
"""The parts of every tag; in `TAGGED` the column of the item is named by the kind of tag, the others `<kind>_<part>`."""
TAG_KINDS = ("category", "insurance", "partner", "freelancer")


def tag_columns(kind: str) -> dict[str, pl.DataType]:
    """The four columns of one kind of tag."""
    return {
        kind: pl.String(),
        f"{kind}_confidence": pl.Float64(),
        f"{kind}_source": pl.String(),
        f"{kind}_reason": pl.String(),
    }


TAGGED = pl.Schema(
    [
        ("id", pl.String),
        ("user", pl.String),
        ("product", pl.String),
        ("key", pl.UInt64),
        ("channel", pl.String),
        ("counterparty_key", pl.String),
        *(column for kind in TAG_KINDS for column in tag_columns(kind).items()),
        ("effective_category", pl.String),
        ("refund_of", pl.String),
        ("pair_of", pl.String),
    ]
)
"""Every booking with its four tags, in the order of the bookings."""

AS_OF = pl.Schema({"user": pl.String, "as_of": pl.Date})
"""The day of which an analysis of a user speaks: bookings after it are not seen."""
PRICE_CHANGE = pl.Struct({"date": pl.Date, "before": pl.Int64, "after": pl.Int64})
CONTRACTS = pl.Schema(
    [
        ("id", pl.String),
        ("user", pl.String),
        ("category", pl.String),
        ("insurance", pl.String),
        ("partner", pl.String),
        ("period", pl.String),
        ("period_confidence", pl.Float64),
        ("confidence", pl.Float64),
        ("reason", pl.String),
        ("status", pl.String),
        ("overdue", pl.Boolean),
        ("counterparty_name", pl.String),
        ("counterparty_iban", pl.String),
        ("counterparty_bic", pl.String),
        ("ultimate_name", pl.String),
        ("contract_numbers", pl.List(pl.String)),
        ("customer_numbers", pl.List(pl.String)),
        ("date_first", pl.Date),
        ("date_latest", pl.Date),
        ("date_start", pl.Date),
        ("date_due", pl.Date),
        ("date_next", pl.Date),
        ("rule_kind", pl.Int64),
        ("rule_number", pl.Int64),
        ("days_age", pl.Int32),
        ("amount_first", pl.Int64),
        ("amount_latest", pl.Int64),
        ("amount_minimum", pl.Int64),
        ("amount_maximum", pl.Int64),
        ("amount_mean", pl.Float64),
        ("amount_median", pl.Float64),
        ("standard_deviation", pl.Float64),
        ("amount_next", pl.Int64),
        ("amount_total_regular", pl.Int64),
        ("amount_total_non_regular", pl.Int64),
        ("growth_rate", pl.Float64),
        ("regular_count", pl.UInt32),
        ("price_changes", pl.List(PRICE_CHANGE)),
    ]
)
"""Contracts as of a day. Amounts are signed cents. The id is that of the first regular booking; `period_confidence` is null where
the period is sure; `date_due` is when the payment after the latest one was or is expected; the next one is null if it is over.
The rule of its days is that of `analytics.analyses.contracts.dates`."""
CONTRACT_BOOKINGS = pl.Schema(
    {
        "contract": pl.String,
        "user": pl.String,
        "id": pl.String,
        "booked_on": pl.Date,
        "amount_cents": pl.Int64,
        "regular": pl.Boolean,
    }
)
"""The bookings of contracts, by contract and day."""


class SchemaDiffers(ValueError):
    """A frame does not have the columns that its name promises."""


def checked(frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """The frame with its columns in order, after checking names and types."""
    given = frame.schema
    if given == schema:
        return frame
    found = {name for name in (*schema, *given) if given.get(name) != schema.get(name)}
    if found:
        raise SchemaDiffers(f"columns that differ: {', '.join(sorted(found))}")
    return frame[schema.names()]


def beside(frame: pl.DataFrame, found: pl.DataFrame, row: str = "line") -> pl.DataFrame:
    """The frame with what was found of some of its rows, by their places; a row is found at most once.

    As a join by row number would have it, but what the frame has is not copied.
    """
    places = pl.int_range(found.height, dtype=pl.UInt32, eager=True)
    at = pl.repeat(None, frame.height, dtype=pl.UInt32, eager=True).scatter(found[row], places)
    return frame.hstack(found[[name for name in found.columns if name != row]][at])


def looked_up(frame: pl.DataFrame, table: pl.DataFrame, key: str) -> pl.DataFrame:
    """The frame with what a table says of its keys, as a left join would have it, but what the frame has is not copied."""
    found = frame[[key]].join(table, on=key, how="left", maintain_order="left")
    return frame.hstack(found[[name for name in found.columns if name != key]])
