"""The schemas of the simulated world: acts (bookings before rendering), the truth about them, and the truths about users."""

import polars as pl

ACTS = pl.Schema(
    {
        "row": pl.UInt32,
        "user": pl.UInt32,
        "account": pl.UInt8,
        "format": pl.String,
        "kind": pl.String,
        "booked_on": pl.Date,
        "value_on": pl.Date,
        "amount_cents": pl.Int64,
        "party": pl.String,
        "party_iban": pl.String,
        "party_bic": pl.String,
        "creditor_id": pl.String,
        "mandate": pl.String,
        "end_to_end": pl.String,
        "purpose_code": pl.String,
        "purpose": pl.String,
        "city": pl.String,
        "street": pl.String,
        "store": pl.String,
        "via": pl.String,
        "ultimate": pl.String,
        "currency_original": pl.String,
        "amount_original_cents": pl.Int64,
        "booked_at_minute": pl.Int32,
        "pending": pl.Boolean,
    }
)
"""One row per true booking, before any bank has put it into its own words. `kind` is a value of
`analytics.bank_text.channels.Channel`; the `value_on` of a card payment is the day at the till; `account` is its role: 0
current, 1 savings, 2 card, 3 depot, 4 second current, 5 wallet, 6 loan."""

TRUTH = pl.Schema(
    {
        "row": pl.UInt32,
        "user": pl.UInt32,
        "account": pl.UInt8,
        "id": pl.String,
        "category": pl.String,
        "effective_category": pl.String,
        "brand": pl.String,
        "insurance": pl.String,
        "freelancer": pl.String,
        "contract_id": pl.UInt32,
        "regular": pl.Boolean,
        "pair_id": pl.UInt32,
        "refund_of": pl.UInt32,
        "merchant_split": pl.String,
        "wording_split": pl.String,
        "format": pl.String,
        "via": pl.String,
        "future": pl.Boolean,
    }
)
"""The truth about each act, in the same order. `brand` is empty where there is none; `pair_id` is shared by the two legs and
unique within a user; `refund_of` is the row of the purchase; `future` marks bookings after the as-of date."""

CONTRACTS = pl.Schema(
    {
        "contract_id": pl.UInt32,
        "user": pl.UInt32,
        "template": pl.String,
        "category": pl.String,
        "insurance": pl.String,
        "product_held": pl.String,
        "brand": pl.String,
        "period": pl.String,
        "day_rule": pl.String,
        "status": pl.String,
        "date_start": pl.Date,
        "date_first": pl.Date,
        "date_latest": pl.Date,
        "date_next": pl.Date,
        "date_end": pl.Date,
        "amount_first_cents": pl.Int64,
        "amount_latest_cents": pl.Int64,
        "amount_next_cents": pl.Int64,
        "amount_minimum_cents": pl.Int64,
        "amount_maximum_cents": pl.Int64,
        "amount_mean": pl.Float64,
        "amount_median": pl.Float64,
        "standard_deviation": pl.Float64,
        "amount_total_cents": pl.Int64,
        "amount_total_regular_cents": pl.Int64,
        "amount_total_non_regular_cents": pl.Int64,
        "growth_rate": pl.Float64,
        "days_age": pl.Int32,
        "regular_count": pl.UInt32,
        "non_regular_count": pl.UInt32,
        "counterparty_name": pl.String,
        "counterparty_iban": pl.String,
        "counterparty_bic": pl.String,
        "instalments": pl.UInt32,
    }
)
"""Contracts with at least one regular booking until the as-of date, as they are on that date. Amounts are signed, means in cents.
`product_held` is the insurance product even where no booking shows it; `date_end` is the last payment of a contract that has
ended or is known to end; next date and amount are the true ones, null where nothing follows; `instalments` is 0 for open-ended
ones."""

EVENTS = pl.Schema({"user": pl.UInt32, "item": pl.String, "date": pl.Date})
"""Life events on the date by which the bookings show them."""

STAGES = pl.Schema({"user": pl.UInt32, "dimension": pl.String, "item": pl.String, "since": pl.Date, "until": pl.Date})
"""Life stages over time; `until` is null for the last one."""

USERS = pl.Schema(
    {
        "user": pl.UInt32,
        "persona": pl.String,
        "income_cents": pl.Int64,
        "income_class": pl.UInt8,
        "start_on": pl.Date,
        "as_of": pl.Date,
    }
)
"""Who is simulated. Income is a household's monthly net; the classes end below 1,100, 1,700, 2,600 and 4,000 euros."""
