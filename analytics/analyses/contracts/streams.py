"""Which bookings of a user may be payments of one contract: those with the same partner or counterparty, the same insurance and
mandate and, where several contracts run side by side, the same contract number or about the same amount.

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
    Streams,
    periods,
    rhythm,
    starts_of,
    streams,
)
from analytics.bank_text import references, sepa
from analytics.bank_text.channels import Channel
from analytics.native.compiling import compiled
from analytics.native.dense_ids import Numbering
from analytics.native.hashing import Numbers

UNKNOWN, UNRELATED = "UNKNOWN", "UNRELATED_OTHER"
PAY_OUT = "BANKFINANCE_CREDITINCOME"
"""The money of a loan would outweigh its instalments."""
POINTS = 1000
"""Of a prior that is certain."""
STEADY = (Channel.STANDINGORDER, Channel.SALARY, Channel.LOAN)
"""Channels that by themselves speak for a contract."""
HABIT = 0.2
"""Categories whose prior is not higher are habits, unless a mandate, a standing order or equal amounts say otherwise."""
LIKELY = 0.9
"""From this prior on a single booking may be a contract."""
MOST_SPREAD = 0.3
CROWDED = 1.5
"""So many bookings in a slot are several contracts."""
LEAST_GAP, RELATIVE_GAP = 200, 0.08
"""Amounts that lie further apart, in cents and as a share, belong to different contracts."""
ROTATING = 0.5
"""A creditor that gives more new mandates than this for each booking gives one to each payment."""
REPEATS = ("folge", "wiederhol", "rcur")
"""How banks say that a direct debit follows others."""
OVERLAP_DAYS, PAUSE = 15, 2.2
MOST_STEP = 1.67
"""What follows a contract at another price, so many times as high or low, after a pause of so many periods."""
ROWS = ("row", "user", "base", "booked_on", "cents", "tie", "prior", "steady", "repeated", "mandate")


class Gathered(NamedTuple):
    """Bookings with their `stream`, by stream and day, the rhythm of the streams, and the bookings of the other sign."""

    rows: pl.DataFrame
    rhythm: Rhythm
    others: pl.DataFrame


class Groups(NamedTuple):
    """By group: how many rows it has, the points of their priors, how many are firm, and the smallest and largest amount."""

    rows: Integers
    points: Integers
    firm: Integers
    least: Integers
    most: Integers


def gathered(bookings: pl.DataFrame) -> Gathered:
    """The streams of all users."""
    split = _by_mandate(_with_mandates(_candidates(bookings), bookings))
    rows = _with_main_sign(split)
    main = ordered(rows.filter("main").with_columns(stream="base"))
    of = streams(main, "stream")
    main, found = _split(main, of, rhythm(of), bookings)
    return Gathered(main, found, rows.filter(~pl.col("main")).select(ROWS))


def _split(rows: pl.DataFrame, of: Streams, found: Rhythm, bookings: pl.DataFrame) -> tuple[pl.DataFrame, Rhythm]:
    """The rows with the crowded streams taken apart, those behind the others, and the rhythm of all."""
    lengths = np.diff(of.starts)
    crowded = (lengths >= 4) & (lengths > CROWDED * found.slots)
    if not crowded.any():
        return rows, found
    inside = np.repeat(crowded, lengths)
    apart = ordered(_by_amount(_by_number(rows.filter(inside), bookings)).select(rows.columns))
    others, new = found.kept(~crowded, ~inside), rhythm(streams(apart, "stream"))
    return pl.concat([rows.filter(~inside), apart]), Rhythm(*(np.concatenate(both) for both in zip(others, new, strict=True)))


def ordered(rows: pl.DataFrame, by: str = "stream") -> pl.DataFrame:
    """The rows by stream and day. One number is sorted fastest; inside a stream most rows are in order already."""
    order = rows[by].arg_sort().to_numpy().astype(np.int64)
    day, tie = rows["booked_on"].to_physical().to_numpy().astype(np.int64), rows["tie"].to_numpy().astype(np.uint64)
    _order_days(starts_of(rows[by].gather(order)), day, tie, order)
    return rows[order]


@compiled
def _order_days(starts: Integers, day: Integers, tie: NDArray[np.uint64], order: Integers) -> None:
    """Puts the rows of each stream, given by their places, in the order of their days, and of ties where these are equal."""
    for stream in range(starts.size - 1):
        for place in range(starts[stream] + 1, starts[stream + 1]):
            row, at = order[place], place
            while at > starts[stream]:
                before = order[at - 1]
                if day[before] < day[row] or (day[before] == day[row] and tie[before] <= tie[row]):
                    break
                order[at] = before
                at -= 1
            order[at] = row


def _candidates(bookings: pl.DataFrame) -> pl.DataFrame:
    """All booked bookings but own transfers, without those that are habits at first sight."""
    rows = _keyed(bookings)
    group, first = Numbering().of(rows["base"].to_numpy().astype(np.uint64))
    firm = (rows["steady"] | rows["debit"]).to_numpy().astype(np.bool_)
    found = Groups(*(np.zeros(first.size, np.int64) for _ in Groups._fields))
    points = rows.select((pl.col("prior") * POINTS).round().cast(pl.Int64)).to_series()  # sums of whole numbers have no order
    _gather(group, points.to_numpy().astype(np.int64), firm, np.abs(rows["cents"].to_numpy()), found)
    even = found.most - found.least <= MOST_SPREAD * found.most
    several = (found.rows > 1) & ((found.points > HABIT * POINTS * found.rows) | (2 * found.firm > found.rows) | even)
    kept = several | (found.points >= LIKELY * POINTS * found.rows)
    chosen = rows.filter(kept[group])
    return chosen.with_columns(tie=bookings["id"][chosen["row"]].hash())


@compiled
def _gather(group: Numbers, points: Integers, firm: Flags, size: Integers, found: Groups) -> None:
    rows, whole, certain, least, most = found  # in the loop it would count references each time
    for row in range(group.size):
        at = group[row]
        least[at] = size[row] if rows[at] == 0 else min(least[at], size[row])
        most[at] = max(most[at], size[row])
        rows[at] += 1
        whole[at] += points[row]
        certain[at] += firm[row]


def _keyed(bookings: pl.DataFrame) -> pl.DataFrame:
    """The bookings that may be payments, by their `party` and by what one contract has in common (`base`)."""
    category = pl.col("effective_category")
    named = (
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
        party=named,
        insurance=pl.col("insurance").hash(),
        earned=category.str.starts_with("INCOME_"),  # who shops at the employer's does not pay wages back
        cents="amount_cents",
        steady=pl.any_horizontal(pl.col("channel") == channel for channel in STEADY),
        debit=pl.col("channel") == Channel.DIRECTDEBIT,
        paid=~category.str.starts_with("TRANSFER_") & (pl.col("amount_cents") != 0) & (category != PAY_OUT),
    )
    nameless = rows["party"].is_null().arg_true()
    kinds = bookings.select("product", "category")[nameless].select(pl.struct(pl.all()).hash(3)).to_series()
    rows = rows.with_columns(party=rows["party"].scatter(nameless, kinds)).filter("paid")
    return rows.select(
        "row", "user", "booked_on", "prior", "party", "cents", "steady", "debit",
        base=pl.struct("user", "party", "insurance", "earned").hash(),
    )  # fmt: skip


def _priors(categories: pl.Series) -> NDArray[np.float64]:
    """How likely each booking is one of a contract by its category alone: looked up by hash, since there are few."""
    known, priors = _known_priors()
    return priors[known.known(categories.hash().to_numpy().astype(np.uint64))]


@cache
def _known_priors() -> tuple[Numbering, NDArray[np.float64]]:
    """The numbers of all categories, and their priors by number; the last one is that of others."""
    known, numbers = trees.categories_frame(), Numbering()
    numbers.of(known["system_name"].hash().to_numpy().astype(np.uint64))
    return numbers, np.r_[known["contract_prior"].cast(pl.Float64).fill_null(0.0).to_numpy(), 0.0]


def _with_mandates(rows: pl.DataFrame, bookings: pl.DataFrame) -> pl.DataFrame:
    """Direct debits with their mandate, and with whether they say that they follow others.

    A mandate under which several parties are paid is one of an intermediary and says nothing.
    """
    places = rows["debit"].arg_true()
    debits = rows.select("row", "user", "party", "base")[places]
    said = bookings.select("purpose", "booking_text")[debits["row"]]
    given = sepa.fields(said["purpose"], ("mref",))["mref"]
    told = debits.with_columns(mandate=pl.when(given.is_not_null()).then(pl.struct(pl.col("user"), given).hash()))
    parties = told.filter(pl.col("mandate").is_not_null()).group_by("mandate").agg(one=pl.min("party"), other=pl.max("party"))
    shared = parties.filter(pl.col("one") != pl.col("other"))["mandate"]
    own = told.with_columns(mandate=pl.when(~pl.col("mandate").is_in(shared.implode())).then("mandate"))
    again = own.select(pl.col("mandate").is_not_null() & pl.struct("base", "mandate").hash().is_duplicated()).to_series()
    repeats = said["booking_text"].str.contains_any(list(REPEATS), ascii_case_insensitive=True).fill_null(value=False)
    nothing = pl.repeat(None, rows.height, dtype=pl.UInt64, eager=True)
    never = pl.repeat(False, rows.height, dtype=pl.Boolean, eager=True)
    return rows.with_columns(mandate=nothing.scatter(places, own["mandate"]), repeated=never.scatter(places, again | repeats))


def _by_mandate(rows: pl.DataFrame) -> pl.DataFrame:
    """Mandates apart, where a creditor keeps them for several payments."""
    given = rows.filter(pl.col("mandate").is_not_null()).group_by("base").agg(n=pl.len(), mandates=pl.n_unique("mandate"))
    kept = given.filter(pl.col("mandates") > 1, pl.col("mandates") <= ROTATING * pl.col("n"))["base"]
    apart = pl.when(pl.col("mandate").is_not_null(), pl.col("base").is_in(kept.implode()))
    return rows.with_columns(base=apart.then(pl.struct("base", "mandate").hash()).otherwise("base"))


def _with_main_sign(rows: pl.DataFrame) -> pl.DataFrame:
    """Whether a booking has the sign that holds most of the money of its group."""
    group, _ = Numbering().of(rows["base"].to_numpy().astype(np.uint64))
    cents = rows["cents"].to_numpy()
    net = np.bincount(group, cents)
    return rows.select(*ROWS, main=pl.Series((cents > 0) == (net[group] > 0)))


def _by_number(rows: pl.DataFrame, bookings: pl.DataFrame) -> pl.DataFrame:
    """Contract numbers apart, where at least two are named at least twice."""
    number = references.contract_number(bookings["purpose"][rows["row"]]).alias("number")
    numbered = rows.with_columns(number)
    named = numbered.filter(pl.col("number").is_not_null()).group_by("stream", "number").len().filter(pl.col("len") > 1)
    several = named.group_by("stream").len().filter(pl.col("len") > 1).select("stream", apart=True)
    joined = numbered.join(several, on="stream", how="left", maintain_order="left")
    apart = pl.when("apart", pl.col("number").is_not_null())
    return joined.with_columns(stream=apart.then(pl.struct("stream", "number").hash()).otherwise("stream")).drop(
        "number", "apart"
    )


def _levels(rows: pl.DataFrame) -> pl.Series:
    """Numbers for the amounts of each stream that lie near to each other, in the order of streams and amounts."""
    size = pl.col("size")
    gap = (size - size.shift()) > pl.max_horizontal(pl.lit(LEAST_GAP), size.shift() * RELATIVE_GAP)
    begins = (pl.col("stream") != pl.col("stream").shift()).fill_null(value=True) | gap
    narrow = rows.select("stream", size=pl.col("cents").abs(), place=pl.int_range(pl.len(), dtype=pl.UInt32))
    found = narrow.sort("stream", "size").select("place", level=begins.cum_sum())
    return pl.zeros(rows.height, found["level"].dtype, eager=True).scatter(found["place"], found["level"])


def _by_amount(rows: pl.DataFrame) -> pl.DataFrame:
    """Amounts apart that lie far from each other, unless one follows the other: that is a contract with a new price."""
    size = pl.col("cents").abs()
    sized = ordered(rows.with_columns(level=_levels(rows)), "level").set_sorted("level")
    found = rhythm(streams(sized, "level"))
    levels = sized.group_by("level", maintain_order=True).agg(
        pl.first("stream"), first=pl.min("booked_on"), last=pl.max("booked_on"), size=size.median()
    )
    dated = levels.with_columns(days=pl.Series(periods().days[np.maximum(found.period, 0)])).sort("stream", "first", "level")
    before = pl.col("last").shift()
    follows = (
        (pl.col("stream") == pl.col("stream").shift())
        & (pl.col("first") > before - pl.duration(days=OVERLAP_DAYS))
        & ((pl.col("first") - before).dt.total_days() < PAUSE * pl.col("days"))
        & (pl.col("size") / pl.col("size").shift()).is_between(1 / MOST_STEP, MOST_STEP)
    )
    chains = dated.select("level", chain=(~follows.fill_null(value=False)).cum_sum()).sort("level")["chain"]
    chain = chains.gather(sized["level"] - 1)  # levels are numbered from one
    return sized.with_columns(stream=pl.struct("stream", chain).hash()).drop("level")
