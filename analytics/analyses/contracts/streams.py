"""Streams: bookings of a user that may be payments of one contract. They share the partner or counterparty, the insurance and the
mandate and, where several contracts run side by side, the contract number or about the amount.

Everything is compared by hashes and numbers; texts are read only where they decide.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics import trees
from analytics.analyses.contracts.rhythm import (
    Flags,
    Integers,
    Rhythm,
    StreamDates,
    periods,
    rhythm,
    starts_of,
    stream_dates,
)
from analytics.bank_text import references, sepa
from analytics.bank_text.channels import Channel
from analytics.native.compiling import compiled
from analytics.native.dense_ids import Numbering
from analytics.native.hashing import Numbers

UNKNOWN, UNRELATED = "UNKNOWN", "UNRELATED_OTHER"
PAYOUT_CATEGORY = "BANKFINANCE_CREDITINCOME"
"""Left out: the pay-out of a loan would outweigh its instalments."""
CERTAIN_POINTS = 1000
"""The points of a prior of 1."""
CONTRACT_CHANNELS = (Channel.STANDINGORDER, Channel.SALARY, Channel.LOAN)
"""Channels that are evidence of a contract by themselves."""
MAX_HABIT_PRIOR = 0.2
"""Categories with at most this prior are habits, unless a mandate, a standing order or equal amounts show otherwise."""
MIN_SINGLE_PRIOR = 0.9
"""With at least this prior a single booking may be a contract."""
MAX_SPREAD = 0.3
MAX_BOOKINGS_PER_SLOT = 1.5
"""A stream with more bookings per slot holds several contracts."""
MIN_GAP_CENTS, MIN_GAP_SHARE = 200, 0.08
"""Amounts with a larger gap, in cents and as a share, belong to different contracts."""
MAX_MANDATES_PER_BOOKING = 0.5
"""A creditor with more mandates per booking uses a new one for each payment."""
RECURRING_STEMS = ("folge", "wiederhol", "rcur")
"""Parts of the words by which banks mark a recurring direct debit."""
MAX_OVERLAP_DAYS, MAX_PAUSE_PERIODS = 15, 2.2
MAX_PRICE_FACTOR = 1.67
"""A contract continues at a new price that differs by at most this factor, after a pause of at most `MAX_PAUSE_PERIODS`."""
ROW_COLUMNS = ("row", "user", "group_key", "booked_on", "cents", "tie", "prior", "steady", "repeated", "mandate")


class GatheredStreams(NamedTuple):
    """Bookings with their `stream`, by stream and day, the rhythm of the streams, and the bookings of the other sign."""

    rows: pl.DataFrame
    rhythm: Rhythm
    others: pl.DataFrame


class Groups(NamedTuple):
    """By group: the number of rows, the points of their priors, the number of firm rows, and the smallest and largest amount."""

    rows: Integers
    points: Integers
    firm: Integers
    least: Integers
    most: Integers


def gather_streams(bookings: pl.DataFrame) -> GatheredStreams:
    """The streams of all users."""
    split = _split_by_mandate(_with_mandates(_candidates(bookings), bookings))
    rows = _with_main_sign(split)
    main = sort_by_day(rows.filter("main").with_columns(stream="group_key"))
    dates = stream_dates(main, "stream")
    main, streams_rhythm = _split_crowded(main, dates, rhythm(dates), bookings)
    return GatheredStreams(main, streams_rhythm, rows.filter(~pl.col("main")).select(ROW_COLUMNS))


def _split_crowded(
    rows: pl.DataFrame, dates: StreamDates, streams_rhythm: Rhythm, bookings: pl.DataFrame
) -> tuple[pl.DataFrame, Rhythm]:
    """The rows with crowded streams split, these after the others, and the rhythm of all streams."""
    lengths = np.diff(dates.starts)
    is_crowded = (lengths >= 4) & (lengths > MAX_BOOKINGS_PER_SLOT * streams_rhythm.slots)
    if not is_crowded.any():
        return rows, streams_rhythm
    is_crowded_row = np.repeat(is_crowded, lengths)
    split_rows = sort_by_day(_split_by_amount(_split_by_number(rows.filter(is_crowded_row), bookings)).select(rows.columns))
    kept_rhythm, split_rhythm = streams_rhythm.select(~is_crowded, ~is_crowded_row), rhythm(stream_dates(split_rows, "stream"))
    return pl.concat([rows.filter(~is_crowded_row), split_rows]), Rhythm(
        *(np.concatenate(arrays) for arrays in zip(kept_rhythm, split_rhythm, strict=True))
    )


def sort_by_day(rows: pl.DataFrame, by: str = "stream") -> pl.DataFrame:
    """The rows sorted by stream and day. One number sorts fastest; inside a stream most rows are in order already."""
    order = rows[by].arg_sort().to_numpy().astype(np.int64)
    day, tie = rows["booked_on"].to_physical().to_numpy().astype(np.int64), rows["tie"].to_numpy().astype(np.uint64)
    _order_days(starts_of(rows[by].gather(order)), day, tie, order)
    return rows[order]


@compiled
def _order_days(starts: Integers, day: Integers, tie: NDArray[np.uint64], order: Integers) -> None:
    """Sorts the row numbers in `order` inside each stream by day, and by tie where days are equal."""
    for stream in range(starts.size - 1):
        for position in range(starts[stream] + 1, starts[stream + 1]):
            row, insert_at = order[position], position
            while insert_at > starts[stream]:
                before = order[insert_at - 1]
                if day[before] < day[row] or (day[before] == day[row] and tie[before] <= tie[row]):
                    break
                order[insert_at] = before
                insert_at -= 1
            order[insert_at] = row


def _candidates(bookings: pl.DataFrame) -> pl.DataFrame:
    """All bookings but own transfers, without groups that are obviously habits."""
    rows = _with_keys(bookings)
    group, first_rows = Numbering().of(rows["group_key"].to_numpy().astype(np.uint64))
    firm = (rows["steady"] | rows["debit"]).to_numpy().astype(np.bool_)
    groups = Groups(*(np.zeros(first_rows.size, np.int64) for _ in Groups._fields))
    # Sums of whole numbers do not depend on the order of the rows.
    points = rows.select((pl.col("prior") * CERTAIN_POINTS).round().cast(pl.Int64)).to_series()
    _sum_groups(group, points.to_numpy().astype(np.int64), firm, np.abs(rows["cents"].to_numpy()), groups)
    is_even = groups.most - groups.least <= MAX_SPREAD * groups.most
    is_repeated = (groups.rows > 1) & (
        (groups.points > MAX_HABIT_PRIOR * CERTAIN_POINTS * groups.rows) | (2 * groups.firm > groups.rows) | is_even
    )
    is_candidate = is_repeated | (groups.points >= MIN_SINGLE_PRIOR * CERTAIN_POINTS * groups.rows)
    candidates = rows.filter(is_candidate[group])
    return candidates.with_columns(tie=bookings["id"][candidates["row"]].hash())


@compiled
def _sum_groups(group: Numbers, points: Integers, firm: Flags, size: Integers, groups: Groups) -> None:
    rows, total_points, firm_rows, least, most = groups  # in the loop numba would count references each time
    for row in range(group.size):
        number = group[row]
        least[number] = size[row] if rows[number] == 0 else min(least[number], size[row])
        most[number] = max(most[number], size[row])
        rows[number] += 1
        total_points[number] += points[row]
        firm_rows[number] += firm[row]


def _with_keys(bookings: pl.DataFrame) -> pl.DataFrame:
    """The bookings that may be payments, with their `party` and a hash of what one contract has in common (`group_key`)."""
    category = pl.col("effective_category")
    named_party = (
        pl.when(pl.col("partner") != UNKNOWN)
        .then(pl.col("partner").hash(1))
        .when(pl.col("counterparty_key") != "")
        .then(pl.col("counterparty_key").hash(2))
    )
    rows = bookings.select(
        pl.col("user").hash(),
        "booked_on",
        row=pl.int_range(pl.len(), dtype=pl.UInt32),
        prior=pl.Series(_priors(bookings["category"])),
        party=named_party,
        insurance=pl.col("insurance").hash(),
        earned=category.str.starts_with("INCOME_"),  # who shops at the employer's does not pay wages back
        cents="amount_cents",
        steady=pl.any_horizontal(pl.col("channel") == channel for channel in CONTRACT_CHANNELS),
        debit=pl.col("channel") == Channel.DIRECTDEBIT,
        paid=~category.str.starts_with("TRANSFER_") & (pl.col("amount_cents") != 0) & (category != PAYOUT_CATEGORY),
    )
    nameless_rows = rows["party"].is_null().arg_true()
    nameless_party = bookings.select("product", "category")[nameless_rows].select(pl.struct(pl.all()).hash(3)).to_series()
    rows = rows.with_columns(party=rows["party"].scatter(nameless_rows, nameless_party)).filter("paid")
    return rows.select(
        "row", "user", "booked_on", "prior", "party", "cents", "steady", "debit",
        group_key=pl.struct("user", "party", "insurance", "earned").hash(),
    )  # fmt: skip


def _priors(categories: pl.Series) -> NDArray[np.float64]:
    """By booking the probability of a contract by its category alone; categories are looked up by hash."""
    numbering, priors = _prior_table()
    return priors[numbering.known(categories.hash().to_numpy().astype(np.uint64))]


@cache
def _prior_table() -> tuple[Numbering, NDArray[np.float64]]:
    """The numbers of all categories, and the priors by number; the last one is for unknown categories."""
    categories, numbering = trees.categories_frame(), Numbering()
    numbering.of(categories["system_name"].hash().to_numpy().astype(np.uint64))
    return numbering, np.r_[categories["contract_prior"].cast(pl.Float64).fill_null(0.0).to_numpy(), 0.0]


def _with_mandates(rows: pl.DataFrame, bookings: pl.DataFrame) -> pl.DataFrame:
    """The rows with the mandate of direct debits, and whether they are marked as recurring (`repeated`).

    A mandate under which several parties are paid belongs to an intermediary and is ignored.
    """
    debit_rows = rows["debit"].arg_true()
    debits = rows.select("row", "user", "party", "group_key")[debit_rows]
    texts = bookings.select("purpose", "booking_text")[debits["row"]]
    mandate_references = sepa.fields(texts["purpose"], ("mref",))["mref"]
    with_mandate = debits.with_columns(
        mandate=pl.when(mandate_references.is_not_null()).then(pl.struct(pl.col("user"), mandate_references).hash())
    )
    parties = (
        with_mandate.filter(pl.col("mandate").is_not_null()).group_by("mandate").agg(one=pl.min("party"), other=pl.max("party"))
    )
    shared_mandates = parties.filter(pl.col("one") != pl.col("other"))["mandate"]
    own_mandates = with_mandate.with_columns(mandate=pl.when(~pl.col("mandate").is_in(shared_mandates.implode())).then("mandate"))
    is_repeated = own_mandates.select(
        pl.col("mandate").is_not_null() & pl.struct("group_key", "mandate").hash().is_duplicated()
    ).to_series()
    says_recurring = (
        texts["booking_text"].str.contains_any(list(RECURRING_STEMS), ascii_case_insensitive=True).fill_null(value=False)
    )
    no_mandate = pl.repeat(None, rows.height, dtype=pl.UInt64, eager=True)
    not_repeated = pl.repeat(False, rows.height, dtype=pl.Boolean, eager=True)
    return rows.with_columns(
        mandate=no_mandate.scatter(debit_rows, own_mandates["mandate"]),
        repeated=not_repeated.scatter(debit_rows, is_repeated | says_recurring),
    )


def _split_by_mandate(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with groups split by mandate, where a creditor keeps mandates for several payments."""
    groups = rows.filter(pl.col("mandate").is_not_null()).group_by("group_key").agg(n=pl.len(), mandates=pl.n_unique("mandate"))
    stable_groups = groups.filter(pl.col("mandates") > 1, pl.col("mandates") <= MAX_MANDATES_PER_BOOKING * pl.col("n"))[
        "group_key"
    ]
    apart = pl.when(pl.col("mandate").is_not_null(), pl.col("group_key").is_in(stable_groups.implode()))
    return rows.with_columns(group_key=apart.then(pl.struct("group_key", "mandate").hash()).otherwise("group_key"))


def _with_main_sign(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with `main`: whether a booking has the sign of the net sum of its group."""
    group, _ = Numbering().of(rows["group_key"].to_numpy().astype(np.uint64))
    cents = rows["cents"].to_numpy()
    net = np.bincount(group, cents)
    return rows.select(*ROW_COLUMNS, main=pl.Series((cents > 0) == (net[group] > 0)))


def _split_by_number(rows: pl.DataFrame, bookings: pl.DataFrame) -> pl.DataFrame:
    """The rows with streams split by contract number, where at least two numbers appear at least twice."""
    number = references.contract_number(bookings["purpose"][rows["row"]]).alias("number")
    numbered_rows = rows.with_columns(number)
    repeated_numbers = (
        numbered_rows.filter(pl.col("number").is_not_null()).group_by("stream", "number").len().filter(pl.col("len") > 1)
    )
    split_streams = repeated_numbers.group_by("stream").len().filter(pl.col("len") > 1).select("stream", apart=True)
    with_flag = numbered_rows.join(split_streams, on="stream", how="left", maintain_order="left")
    apart = pl.when("apart", pl.col("number").is_not_null())
    return with_flag.with_columns(stream=apart.then(pl.struct("stream", "number").hash()).otherwise("stream")).drop(
        "number", "apart"
    )


def _amount_levels(rows: pl.DataFrame) -> pl.Series:
    """By row the number of its amount level: amounts of a stream that lie near each other share one. Counted from 1."""
    size = pl.col("size")
    is_gap = (size - size.shift()) > pl.max_horizontal(pl.lit(MIN_GAP_CENTS), size.shift() * MIN_GAP_SHARE)
    is_new_level = (pl.col("stream") != pl.col("stream").shift()).fill_null(value=True) | is_gap
    sizes = rows.select("stream", size=pl.col("cents").abs(), position=pl.int_range(pl.len(), dtype=pl.UInt32))
    levels = sizes.sort("stream", "size").select("position", level=is_new_level.cum_sum())
    return pl.zeros(rows.height, levels["level"].dtype, eager=True).scatter(levels["position"], levels["level"])


def _split_by_amount(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with streams split by amount level, unless one level follows the other: that is a contract with a new price."""
    size = pl.col("cents").abs()
    level_rows = sort_by_day(rows.with_columns(level=_amount_levels(rows)), "level").set_sorted("level")
    level_rhythm = rhythm(stream_dates(level_rows, "level"))
    levels = level_rows.group_by("level", maintain_order=True).agg(
        pl.first("stream"), first=pl.min("booked_on"), last=pl.max("booked_on"), size=size.median()
    )
    dated_levels = levels.with_columns(days=pl.Series(periods().days[np.maximum(level_rhythm.period, 0)])).sort(
        "stream", "first", "level"
    )
    before = pl.col("last").shift()
    follows = (
        (pl.col("stream") == pl.col("stream").shift())
        & (pl.col("first") > before - pl.duration(days=MAX_OVERLAP_DAYS))
        & ((pl.col("first") - before).dt.total_days() < MAX_PAUSE_PERIODS * pl.col("days"))
        & (pl.col("size") / pl.col("size").shift()).is_between(1 / MAX_PRICE_FACTOR, MAX_PRICE_FACTOR)
    )
    chains = dated_levels.select("level", chain=(~follows.fill_null(value=False)).cum_sum()).sort("level")["chain"]
    chain = chains.gather(level_rows["level"] - 1)  # levels are numbered from one
    return level_rows.with_columns(stream=pl.struct("stream", chain).hash()).drop("level")
