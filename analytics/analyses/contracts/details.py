"""The description of contracts: sums, dates, reference numbers, price changes, status and reason."""

from functools import cache

import numpy as np
import polars as pl

from analytics import trees
from analytics.analyses.contracts.dates import next_business_day
from analytics.analyses.contracts.modes import most_frequent
from analytics.analyses.contracts.rhythm import starts_of
from analytics.analyses.contracts.streams import sort_by_day
from analytics.analyses.parental_benefit import granted_until
from analytics.bank_text import references
from analytics.frames import CONTRACT_BOOKINGS, CONTRACTS, PRICE_CHANGE, checked, collected

NUMBERED_BOOKINGS = 3
"""Reference numbers are read from this many of the latest regular bookings."""
MAX_NUMBERS = 5
MAX_CHANGE_SHARE = 1 / 3
"""If a larger share of payments differs from the one before, the amounts follow usage and not the price."""
RARE_PERIODS, MAX_YEARLY_CHANGE = ("HALFYEAR_ONE", "YEAR_ONE", "YEAR_TWO"), 0.35
"""Contracts of these periods change their price by at most this share at once; larger differences follow usage."""
FINAL_PAYMENT_WORDS = r"schlussrechnung|schlussabrechnung|letzte rate|schlussrate|endabrechnung"
FINAL_PAYMENT_STEMS = ("rate", "teilzahlung", "rechnung")
"""Every text that names an instalment or a final payment contains one of these: they are searched faster, and few texts match."""
PRIVATE_INCOME = "OTHER_INCOME"
"""What a private person gives back is no refund of a contract."""
NOT_GRANTED_REASON = "weitere Zahlungen gewährt das Gesetz in der Regel nicht"
BOOKING_COLUMNS = ("user", "category", "insurance", "partner", "purpose", "as_of")
COUNTERPARTY_COLUMNS = ("counterparty_name", "counterparty_iban", "counterparty_bic", "ultimate_name")


def describe_contracts(
    forecasts: pl.DataFrame, payments: pl.DataFrame, others: pl.DataFrame, bookings: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.Series]:
    """The contracts (frame `CONTRACTS`), their bookings (frame `CONTRACT_BOOKINGS`), and the rows of these among all bookings."""
    is_gift = bookings["effective_category"][others["row"]] == PRIVATE_INCOME
    refunds = _refunds(payments, others.filter(~is_gift))
    unsorted_members = pl.concat([payments.select("stream", "row", "booked_on", "cents", "regular"), refunds])
    members = _sort_members(unsorted_members, bookings["id"])
    members = members.hstack(bookings[[*BOOKING_COLUMNS, *COUNTERPARTY_COLUMNS]][members["row"]])
    regular = members.filter("regular")
    contract_facts = forecasts.lazy().join(_statistics(members, regular), on="stream", how="inner", maintain_order="left")
    rare_streams = forecasts.filter(pl.col("period").is_in(RARE_PERIODS))["stream"]
    for columns in (
        _kinds(regular).lazy(),
        _numbers(regular),
        _final_payments(members),
        _price_changes(regular, rare_streams),
    ):
        contract_facts = contract_facts.join(columns, on="stream", how="left", maintain_order="left")
    contracts = collected(_with_status(collected(contract_facts)).sort("user", "id"))
    ranks = contracts.lazy().select("stream", contract="id", rank=pl.int_range(pl.len()))
    payment_columns = members.lazy().select("stream", "row", "user", "id", "booked_on", "regular", amount_cents="cents")
    ranked_payments = payment_columns.join(ranks, on="stream", how="inner", maintain_order="left")
    contract_bookings = collected(ranked_payments.sort("rank", maintain_order=True))  # inside a contract they are in order
    frame = contracts.lazy().select(CONTRACTS.names()).cast(dict(CONTRACTS.items()))
    return (
        checked(collected(frame), CONTRACTS),
        checked(contract_bookings[CONTRACT_BOOKINGS.names()], CONTRACT_BOOKINGS),
        contract_bookings["row"],
    )


def _sort_members(members: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """The bookings by contract, day and id. Ids are compared only where a contract has several bookings on a day."""
    by_day = sort_by_day(members.with_columns(tie=pl.lit(0, pl.UInt64))).drop("tie")
    same = (pl.col("stream") == pl.col("stream").shift()) & (pl.col("booked_on") == pl.col("booked_on").shift())
    same_day_rows = by_day.select(same | same.shift(-1)).to_series().fill_null(value=False).arg_true()
    dated_members = by_day.hstack([ids[by_day["row"]]])
    same_day = dated_members.select("stream", "booked_on", "id", position=pl.int_range(pl.len(), dtype=pl.UInt32))[same_day_rows]
    row_order = pl.int_range(dated_members.height, dtype=pl.UInt32, eager=True).scatter(
        same_day_rows, same_day.sort("stream", "booked_on", "id")["position"]
    )
    return dated_members[row_order].set_sorted("stream")


def _refunds(payments: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Bookings of the other sign, such as refunds, each with the contract of its group that was paid last before it."""
    regular_payments = payments.lazy().filter("regular").select("group_key", "stream", paid_on="booked_on")
    payments_before = (
        others.lazy().join(regular_payments, on="group_key", how="inner").filter(pl.col("paid_on") <= pl.col("booked_on"))
    )
    last = payments_before.sort("row", "paid_on", "stream").unique("row", keep="last", maintain_order=True)
    return collected(last.select("stream", "row", "booked_on", "cents", regular=pl.lit(False)))


def _statistics(members: pl.DataFrame, regular: pl.DataFrame) -> pl.LazyFrame:
    cents = pl.col("cents")
    sums = regular.group_by("stream", maintain_order=True).agg(
        pl.first("user", "as_of", "id"),
        date_first=pl.first("booked_on"),
        date_latest=pl.last("booked_on"),
        amount_first=cents.first(),
        amount_latest=cents.last(),
        amount_minimum=cents.min(),
        amount_maximum=cents.max(),
        amount_mean=cents.mean(),
        amount_median=cents.median(),
        standard_deviation=cents.std(ddof=0).fill_null(0.0),
        amount_total_regular=cents.sum(),
        regular_count=pl.len(),
        first_purpose=pl.first("purpose"),
        **{name: pl.last(name) for name in COUNTERPARTY_COLUMNS},
    )
    non_regular = members.lazy().filter(~pl.col("regular")).group_by("stream").agg(amount_total_non_regular=cents.sum())
    start_dates = references.billing_span(sums["first_purpose"])["first"]
    statistics = sums.lazy().with_columns(date_start=pl.coalesce(start_dates, sums["date_first"]))
    return statistics.join(non_regular, on="stream", how="left", maintain_order="left").with_columns(
        pl.col("amount_total_non_regular").fill_null(0)
    )


def _kinds(regular: pl.DataFrame) -> pl.DataFrame:
    """The most frequent category, insurance type and partner of the regular bookings; of equal ones the latest."""
    starts = starts_of(regular["stream"])
    kinds = [most_frequent(starts, regular[name]) for name in ("category", "insurance", "partner")]
    return pl.DataFrame([regular["stream"].gather(starts[:-1]), *kinds])


def _numbers(regular: pl.DataFrame) -> pl.LazyFrame:
    """Contract and customer numbers in the latest regular bookings, the most frequent first.

    A number that only one of several bookings has is that of an invoice, so that the numbers of a contract stay the same.
    """
    starts = starts_of(regular["stream"])
    payments_left = np.repeat(starts[1:], np.diff(starts)) - np.arange(regular.height)
    latest = regular.select("stream", "purpose").filter(payments_left <= NUMBERED_BOOKINGS)
    of_contract, of_customer = references.written_numbers(latest["purpose"])
    numbers = latest.select("stream", contract_numbers=of_contract, customer_numbers=of_customer)
    lists = latest.lazy().select("stream").unique(maintain_order=True)
    for name in ("contract_numbers", "customer_numbers"):
        if numbers[name].null_count() == numbers.height:
            lists = lists.with_columns(pl.lit([], pl.List(pl.String)).alias(name))
            continue
        number_counts = numbers.lazy().filter(pl.col(name).is_not_null()).group_by("stream", name).len()
        is_lasting = (pl.col("len") > 1) | (pl.sum("len").over("stream") == 1)
        ordered_numbers = number_counts.filter(is_lasting).sort("stream", "len", name)
        number_lists = ordered_numbers.group_by("stream").agg(pl.col(name).reverse().head(MAX_NUMBERS))
        lists = lists.join(number_lists, on="stream", how="left", maintain_order="left").with_columns(
            pl.col(name).fill_null(pl.lit([], pl.List(pl.String)))
        )
    return lists


def _final_payments(members: pl.DataFrame) -> pl.LazyFrame:
    """By contract whether the text of its last booking says that none follows (`ended`)."""
    last = members.group_by("stream", maintain_order=True).agg(pl.last("purpose").fill_null("").str.to_lowercase())
    candidates = last.lazy().filter(pl.col("purpose").str.contains_any(list(FINAL_PAYMENT_STEMS)))
    number, total = (number.cast(pl.Int32) for number in references.instalment(pl.col("purpose")))
    is_final = ((number == total) & (total > 1)).fill_null(value=False) | pl.col("purpose").str.contains(FINAL_PAYMENT_WORDS)
    final_streams = collected(candidates.filter(is_final))["stream"]
    return last.lazy().select("stream", ended=pl.col("stream").is_in(final_streams.implode()))


def _price_changes(regular: pl.DataFrame, rare_streams: pl.Series) -> pl.LazyFrame:
    """The changes of the regular amount, for contracts that keep it most of the time, and for those paid rarely: a premium of a
    year may change every year.
    """
    follows = pl.col("stream") == pl.col("stream").shift()
    before = pl.when(follows).then(pl.col("cents").shift())
    steps = regular.lazy().select("stream", "booked_on", "cents", before=before)
    steps = steps.with_columns(changed=(pl.col("before") != pl.col("cents")).fill_null(value=False))
    change = pl.struct(date="booked_on", before="before", after="cents")
    step_share = (pl.col("cents") / pl.col("before") - 1).abs()
    changes = steps.group_by("stream", maintain_order=True).agg(
        n=pl.len(), changes=pl.sum("changed"), largest=step_share.max(), price_changes=change.filter("changed")
    )
    is_yearly_step = pl.col("stream").is_in(rare_streams.implode()) & (pl.col("largest") <= MAX_YEARLY_CHANGE)
    are_rare = (pl.col("changes") <= MAX_CHANGE_SHARE * (pl.col("n") - 1)) | is_yearly_step
    return changes.select(
        "stream", price_changes=pl.when(are_rare).then("price_changes").otherwise(pl.lit([], pl.List(PRICE_CHANGE)))
    )


def _with_status(facts: pl.DataFrame) -> pl.LazyFrame:
    """With status, next date and amount, age, growth and reason. A benefit that the law grants no longer has no next payment."""
    late = pl.col("due") <= pl.col("as_of")
    active = (pl.col("as_of") <= pl.col("due") + pl.duration(days=pl.col("grace"))) & ~pl.col("ended")
    tomorrow = pl.Series(next_business_day(facts["as_of"].to_physical().cast(pl.Int64).to_numpy())).cast(pl.Int32).cast(pl.Date)
    first, latest = pl.col("amount_first"), pl.col("amount_latest")
    follows = active & (pl.col("due") < pl.col("granted_until")).fill_null(value=True)
    dated_facts = facts.lazy().with_columns(granted_until=granted_until(pl.col("first_purpose")))
    return dated_facts.with_columns(
        status=pl.when(active).then(pl.lit("ACTIVE")).otherwise(pl.lit("INACTIVE")),
        overdue=follows & late,
        date_due="due",
        date_next=pl.when(follows & late).then(tomorrow).when(follows).then("due"),
        amount_next=pl.when(follows).then("amount_next"),
        days_age=(pl.col("as_of") - pl.col("date_first")).dt.total_days(),
        growth_rate=pl.when(pl.col("regular_count") > 1).then((latest - first) / first.abs()).otherwise(0.0),
        confidence="score",
        reason=pl.concat_str(
            _reason(),
            pl.when(follows)
            .then(pl.format("; nächster Betrag {}", "next_amount_reason"))
            .when(active)
            .then(pl.lit(f"; {NOT_GRANTED_REASON}"))
            .otherwise(pl.lit("")),
        ),
    )


@cache
def _reason() -> pl.Expr:
    period_labels = dict(trees.periods_frame().select("system_name", "display_name").iter_rows())
    labels = {name: label[:1].lower() + label[1:] for name, label in period_labels.items()}
    rhythm = pl.col("period").replace_strict(labels, return_dtype=pl.String)
    count = pl.col("regular_count")
    equal = pl.when(pl.col("standard_deviation") == 0, count > 1).then(pl.lit(", immer derselbe Betrag")).otherwise(pl.lit(""))
    single = pl.format("eine Zahlung mit Merkmalen eines Vertrags, vermutlich {}", rhythm)
    return pl.when(count > 1).then(pl.format("{} Zahlungen, {}{}", count, rhythm, equal)).otherwise(single)
