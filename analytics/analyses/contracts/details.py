"""What is told about a contract: sums, dates, numbers, status, and why it is one."""

import numpy as np
import polars as pl

from analytics import trees
from analytics.analyses.contracts.dates import next_business_day
from analytics.analyses.contracts.modes import most_frequent
from analytics.analyses.contracts.rhythm import starts_of
from analytics.analyses.contracts.streams import ordered
from analytics.bank_text import references
from analytics.frames import CONTRACT_BOOKINGS, CONTRACTS, PRICE_CHANGE, checked

LATEST = 3
"""So many of the latest regular bookings are asked for numbers."""
MOST_NUMBERS = 5
MOST_CHANGES = 1 / 3
"""If a larger share of payments differs from the one before, it is usage and not price."""
FINAL = r"(?i)schlussrechnung|schlussabrechnung|letzte rate|schlussrate|endabrechnung"
ENDINGS = ("rate", "teilzahlung", "rechnung")
"""Parts of which every text has one that names an instalment or the end: they are found faster, and few texts have any."""
OF_BOOKING = ("user", "category", "insurance", "partner", "purpose", "as_of")
COUNTERPARTY = ("counterparty_name", "counterparty_iban", "counterparty_bic", "ultimate_name")


def described(
    heads: pl.DataFrame, payments: pl.DataFrame, others: pl.DataFrame, seen: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.Series]:
    """The contracts (frame `CONTRACTS`), their bookings (frame `CONTRACT_BOOKINGS`), and the places of these among all."""
    members = pl.concat([payments.select("stream", "row", "booked_on", "cents", "regular"), _attached(payments, others)])
    told = _ordered(members, seen["id"])
    told = told.hstack(seen[[*OF_BOOKING, *COUNTERPARTY]][told["row"]])
    regular = told.filter("regular")
    facts = heads.join(_statistics(told, regular), on="stream", how="inner", maintain_order="left")
    for more in (_kinds(regular), _numbers(regular), _ends(told), _price_changes(regular)):
        facts = facts.join(more, on="stream", how="left", maintain_order="left")
    whole = _judged(facts).sort("user", "id")
    ranks = whole.select("stream", contract="id", rank=pl.int_range(pl.len()))
    paid = told.select("stream", "row", "user", "id", "booked_on", "regular", amount_cents="cents")
    ranked = paid.join(ranks, on="stream", how="inner", maintain_order="left")
    bookings = ranked.sort("rank", maintain_order=True)  # inside a contract they are in order
    frame = whole.select(CONTRACTS.names()).cast(dict(CONTRACTS.items()))
    return checked(frame, CONTRACTS), checked(bookings[CONTRACT_BOOKINGS.names()], CONTRACT_BOOKINGS), bookings["row"]


def _ordered(members: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """The bookings by contract, day and id. Texts are compared only where a contract has several on a day: these are few."""
    dated = ordered(members.with_columns(tie=pl.lit(0, pl.UInt64))).drop("tie")
    same = (pl.col("stream") == pl.col("stream").shift()) & (pl.col("booked_on") == pl.col("booked_on").shift())
    alike = dated.select(same | same.shift(-1)).to_series().fill_null(value=False).arg_true()
    told = dated.hstack([ids[dated["row"]]])
    order = told.select("stream", "booked_on", "id", place=pl.int_range(pl.len(), dtype=pl.UInt32))[alike]
    places = pl.int_range(told.height, dtype=pl.UInt32, eager=True).scatter(
        alike, order.sort("stream", "booked_on", "id")["place"]
    )
    return told[places].set_sorted("stream")


def _attached(payments: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Bookings of the other sign, as refunds, each with the contract of its group that was paid last before it."""
    paid = payments.filter("regular").select("base", "stream", paid_on="booked_on")
    before = others.join(paid, on="base", how="inner").filter(pl.col("paid_on") <= pl.col("booked_on"))
    last = before.sort("row", "paid_on", "stream").unique("row", keep="last", maintain_order=True)
    return last.select("stream", "row", "booked_on", "cents", regular=pl.lit(False))


def _statistics(told: pl.DataFrame, regular: pl.DataFrame) -> pl.DataFrame:
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
        **{name: pl.last(name) for name in COUNTERPARTY},
    )
    beside = told.filter(~pl.col("regular")).group_by("stream").agg(amount_total_non_regular=cents.sum())
    started = references.billing_span(sums["first_purpose"])["first"]
    joined = sums.with_columns(date_start=pl.coalesce(started, sums["date_first"])).drop("first_purpose")
    return joined.join(beside, on="stream", how="left", maintain_order="left").with_columns(
        pl.col("amount_total_non_regular").fill_null(0)
    )


def _kinds(regular: pl.DataFrame) -> pl.DataFrame:
    """The most frequent category, insurance type and partner of the regular bookings; of equal ones the latest."""
    starts = starts_of(regular["stream"])
    kinds = [most_frequent(starts, regular[name]) for name in ("category", "insurance", "partner")]
    return pl.DataFrame([regular["stream"].gather(starts[:-1]), *kinds])


def _numbers(regular: pl.DataFrame) -> pl.DataFrame:
    """Numbers of contract and customer that the latest regular bookings name, the most frequent first."""
    starts = starts_of(regular["stream"])
    left = np.repeat(starts[1:], np.diff(starts)) - np.arange(regular.height)
    latest = regular.select("stream", "purpose").filter(left <= LATEST)
    of_contract, of_customer = references.numbers(latest["purpose"])
    found = latest.select("stream", contract_numbers=of_contract, customer_numbers=of_customer)
    lists = latest.select("stream").unique(maintain_order=True)
    for name in ("contract_numbers", "customer_numbers"):
        if found[name].null_count() == found.height:
            lists = lists.with_columns(pl.lit([], pl.List(pl.String)).alias(name))
            continue
        counted = found.filter(pl.col(name).is_not_null()).group_by("stream", name).len().sort("stream", "len", name)
        listed = counted.group_by("stream").agg(pl.col(name).reverse().head(MOST_NUMBERS))
        lists = lists.join(listed, on="stream", how="left", maintain_order="left").with_columns(
            pl.col(name).fill_null(pl.lit([], pl.List(pl.String)))
        )
    return lists


def _ends(told: pl.DataFrame) -> pl.DataFrame:
    """Whether the last booking of a contract says that none follows."""
    last = told.group_by("stream", maintain_order=True).agg(pl.last("purpose").fill_null(""))
    likely = last.filter(pl.col("purpose").str.contains_any(list(ENDINGS), ascii_case_insensitive=True))
    paid, whole = (number.cast(pl.Int32) for number in references.instalment(pl.col("purpose")))
    final = ((paid == whole) & (whole > 1)).fill_null(value=False) | pl.col("purpose").str.contains(FINAL)
    return last.select("stream", ended=pl.col("stream").is_in(likely.filter(final)["stream"].implode()))


def _price_changes(regular: pl.DataFrame) -> pl.DataFrame:
    """When the regular amount became another one, for contracts that keep theirs most of the time."""
    follows = pl.col("stream") == pl.col("stream").shift()
    before = pl.when(follows).then(pl.col("cents").shift())
    steps = regular.select("stream", "booked_on", "cents", before=before)
    steps = steps.with_columns(changed=(pl.col("before") != pl.col("cents")).fill_null(value=False))
    change = pl.struct(date="booked_on", before="before", after="cents")
    found = steps.group_by("stream", maintain_order=True).agg(
        n=pl.len(), changes=pl.sum("changed"), price_changes=change.filter("changed")
    )
    rare = pl.col("changes") <= MOST_CHANGES * (pl.col("n") - 1)
    return found.select("stream", price_changes=pl.when(rare).then("price_changes").otherwise(pl.lit([], pl.List(PRICE_CHANGE))))


def _judged(facts: pl.DataFrame) -> pl.DataFrame:
    """Status, what comes next, and the reason."""
    late = pl.col("due") <= pl.col("as_of")
    active = (pl.col("as_of") <= pl.col("due") + pl.duration(days=pl.col("grace"))) & ~pl.col("ended")
    tomorrow = pl.Series(next_business_day(facts["as_of"].to_physical().cast(pl.Int64).to_numpy())).cast(pl.Int32).cast(pl.Date)
    first, latest = pl.col("amount_first"), pl.col("amount_latest")
    return facts.with_columns(
        status=pl.when(active).then(pl.lit("ACTIVE")).otherwise(pl.lit("INACTIVE")),
        overdue=active & late,
        date_due="due",
        date_next=pl.when(active & late).then(tomorrow).when(active).then("due"),
        amount_next=pl.when(active).then("amount_next"),
        days_age=(pl.col("as_of") - pl.col("date_first")).dt.total_days(),
        growth_rate=pl.when(pl.col("regular_count") > 1).then((latest - first) / first.abs()).otherwise(0.0),
        confidence="score",
        reason=_reason(),
    )


def _reason() -> pl.Expr:
    shown = dict(trees.periods_frame().select("system_name", "display_name").iter_rows())
    rhythm = pl.col("period").replace_strict(shown, return_dtype=pl.String)
    count = pl.col("regular_count")
    equal = pl.when(pl.col("standard_deviation") == 0, count > 1).then(pl.lit(", immer derselbe Betrag")).otherwise(pl.lit(""))
    single = pl.format("eine Zahlung mit Merkmalen eines Vertrags, vermutlich: {}", rhythm)
    return pl.when(count > 1).then(pl.format("{} Zahlungen, {}{}", count, rhythm.str.to_lowercase(), equal)).otherwise(single)
