"""The analysis of contracts: calls the steps in order, from streams of bookings to the described contracts."""

from typing import NamedTuple

import numpy as np
import polars as pl

from analytics.analyses.contracts import amounts, dates
from analytics.analyses.contracts.details import describe_contracts
from analytics.analyses.contracts.recognition import recognise_contracts
from analytics.analyses.contracts.regular import find_regular
from analytics.analyses.contracts.rhythm import period_names, periods, starts_of
from analytics.analyses.contracts.streams import OWN_SAVINGS, GatheredStreams, gather_streams
from analytics.analyses.keys import user_key
from analytics.frames import CONTRACT_BOOKINGS, CONTRACTS, collected

NO_ROWS = pl.Series("row", dtype=pl.UInt32)


class Contracts(NamedTuple):
    """The contracts (frame `CONTRACTS`), their bookings (frame `CONTRACT_BOOKINGS`), and the rows of these among all bookings.

    Regular transfers to own savings have the same frames, but are no contracts: nobody else has a claim to them.
    """

    contracts: pl.DataFrame
    bookings: pl.DataFrame
    payment_rows: pl.Series
    savings_plans: pl.DataFrame = CONTRACTS.to_frame()
    savings_plan_bookings: pl.DataFrame = CONTRACT_BOOKINGS.to_frame()
    savings_plan_rows: pl.Series = NO_ROWS


def contracts(bookings: pl.DataFrame) -> Contracts:
    """The contracts in the bookings of users (frame `SNAPSHOT_BOOKINGS`)."""
    streams = gather_streams(bookings)
    recognised_streams = recognise_contracts(streams, bookings)
    payments = _payments(streams, recognised_streams, bookings)
    return _split_savings_plans(*describe_contracts(_forecast(payments), payments, streams.others, bookings))


def _split_savings_plans(contracts: pl.DataFrame, contract_bookings: pl.DataFrame, payment_rows: pl.Series) -> Contracts:
    """The contracts, and the savings plans apart from them."""
    is_plan = contracts["category"].is_in(OWN_SAVINGS)
    if not is_plan.any():
        return Contracts(contracts, contract_bookings, payment_rows)
    plan_keys = contracts.filter(is_plan).select(user_key("id")).to_series()
    is_plan_booking = contract_bookings.select(user_key("contract").is_in(plan_keys.implode())).to_series()
    return Contracts(
        contracts.filter(~is_plan),
        contract_bookings.filter(~is_plan_booking),
        payment_rows.filter(~is_plan_booking),
        contracts.filter(is_plan),
        contract_bookings.filter(is_plan_booking),
        payment_rows.filter(is_plan_booking),
    )


def _payments(streams: GatheredStreams, recognised_streams: pl.DataFrame, bookings: pl.DataFrame) -> pl.DataFrame:
    """The bookings of the contracts, with whether each is a regular one."""
    slot_rows = streams.rows.with_columns(slot=pl.Series(streams.rhythm.slot), inlier=pl.Series(streams.rhythm.inlier))
    phases = streams.rows.select(pl.col("stream").unique(maintain_order=True)).with_columns(phase=pl.Series(streams.rhythm.phase))
    with_phases = recognised_streams.lazy().join(phases.lazy(), on="stream")
    rows = collected(slot_rows.lazy().join(with_phases, on="stream", how="inner", maintain_order="left"))
    is_regular = pl.Series(find_regular(rows, starts_of(rows["stream"]), bookings["purpose"][rows["row"]]))
    # Fees of the bank have no payee: a single one for something else is no payment of this contract.
    is_nameless = bookings["counterparty_key"][rows["row"]].fill_null("") == ""
    return rows.with_columns(regular=is_regular).filter(is_regular | ~is_nameless)


def _forecast(payments: pl.DataFrame) -> pl.DataFrame:
    """By contract: its date rule, the day on which it is due next, and the next amount in cents."""
    regular_payments = payments.filter("regular")
    contract_rows = regular_payments.group_by("stream", maintain_order=True).agg(
        pl.first("period", "phase", "period_confidence", "score")
    )
    starts, period = starts_of(regular_payments["stream"]), contract_rows["period"].to_numpy()
    day = regular_payments["booked_on"].to_physical().cast(pl.Int64).to_numpy()
    due_dates = dates.due_dates(starts, day, period, contract_rows["phase"].to_numpy(), regular_payments["slot"].to_numpy())
    months = periods().months[period]
    yearly = np.where(months > 0, 12 / np.maximum(months, 1), 0).astype(np.int64)
    amount_next, basis = amounts.next_amounts(starts, regular_payments["cents"].to_numpy(), yearly)
    return contract_rows.with_columns(
        amount_next=pl.Series(amount_next),
        next_amount_reason=pl.Series(amounts.NEXT_AMOUNT_REASONS, dtype=pl.String).gather(basis),
        due=pl.Series(due_dates.due, dtype=pl.Int64).cast(pl.Int32).cast(pl.Date),
        grace=pl.Series(due_dates.grace, dtype=pl.Int64),
        rule_kind=pl.Series(due_dates.kind, dtype=pl.Int64),
        rule_number=pl.Series(due_dates.number, dtype=pl.Int64),
        period=pl.Series(period_names()).gather(period),
    )
