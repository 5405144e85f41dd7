"""What the taggers and analyses say about households, beside what is true: a frame of outcomes for each subject.

Every frame has a row for each case that is compared, with its `user`. Figures over these rows are in
`models.evaluation.blind_households`, the rows that are wrong in `models.evaluation.households.faults`.
"""

from dataclasses import dataclass

import polars as pl

from analytics.analyses.suite import Frames, analyse
from analytics.tagging import tag
from analytics.tagging.tag import Tagger
from models.evaluation.households.documents import FLAGS, LANDLORD
from models.evaluation.households.frames import BlindHouseholds
from models.evaluation.life_events import MAX_DAYS_OFF, UNMEASURED_ITEMS, YEAR_DAYS
from models.evaluation.single_lines import NO_CORRECTIONS

MIN_BOOKINGS = 2
"""Contracts with fewer regular bookings are not measured."""
MIN_COVERED, MAX_STRANGERS = 0.8, 0.2
"""A true contract is recognised by one that has at least the first share of its regular bookings, if at most the second share of
the bookings of that one belong elsewhere."""
FIRST_DAYS, LAST_DAYS = 60, 30
"""The truth knows events from so many days after the first booking until so many days before the as-of date."""


@dataclass(frozen=True)
class AnalysedHouseholds:
    """Tagged bookings of households, and the results of all analyses on their as-of dates."""

    tagged_bookings: pl.DataFrame
    frames: Frames


def analyse_households(households: BlindHouseholds, tagger: Tagger) -> AnalysedHouseholds:
    """The households as the platform sees them: only bookings and products are used, never the truth."""
    tags = tag.tag_bookings(households.transactions, households.products, *NO_CORRECTIONS, tagger)
    tagged_bookings = households.transactions.hstack(tags.drop("id", "user", "product"))
    return AnalysedHouseholds(tagged_bookings, analyse(tagged_bookings, households.products, households.as_of))


def category_outcomes(households: BlindHouseholds, analysed: AnalysedHouseholds) -> pl.DataFrame:
    """Every booking: `truth`, `prediction`, `amount_cents`, `effective_category`, `booked_on`."""
    columns = ["user", "id", "amount_cents", "booked_on", "effective_category"]
    tagged = analysed.tagged_bookings.select(*columns, prediction="category")
    return households.categories.join(tagged, on=["user", "id"], maintain_order="left")


def contract_pairs(households: BlindHouseholds, analysed: AnalysedHouseholds) -> pl.DataFrame:
    """`true_contract` and the `contract` that recognises it, each at most once."""
    shares = contract_shares(households, analysed)
    same = (pl.col("covered") >= MIN_COVERED * pl.col("true_regular")) & (pl.col("strangers") <= MAX_STRANGERS * pl.col("size"))
    pairs = shares.filter(same, pl.col("true_regular") > 0).sort("covered", "true_contract", descending=[True, False])
    unique_pairs = pairs.unique("true_contract", keep="first", maintain_order=True)
    return unique_pairs.unique("contract", keep="first", maintain_order=True).select("true_contract", "contract")


def contract_shares(households: BlindHouseholds, analysed: AnalysedHouseholds) -> pl.DataFrame:
    """Contracts and true contracts that share bookings: how many regular ones of `true_regular` are `covered`, and how many of
    all bookings (`size`) are `strangers`.
    """
    members, true_members = analysed.frames["contract_bookings"], households.contract_bookings
    sizes = members.group_by("contract").agg(size=pl.len().cast(pl.Int64))
    true_sizes = true_members.group_by("true_contract").agg(true_regular=pl.sum("true_regular").cast(pl.Int64))
    shared_bookings = members.join(true_members, on=["user", "id"])
    shares = shared_bookings.group_by("user", "contract", "true_contract").agg(
        shared=pl.len().cast(pl.Int64), covered=pl.sum("true_regular").cast(pl.Int64)
    )
    counts = shares.join(sizes, on="contract").join(true_sizes, on="true_contract")
    return counts.with_columns(strangers=pl.col("size") - pl.col("shared"))


def contract_outcomes(households: BlindHouseholds, analysed: AnalysedHouseholds) -> pl.DataFrame:
    """Contracts with enough bookings: `there` if they are true, `recognised` if they were recognised, with their ids.

    A recognised contract that is a true one with fewer bookings is neither right nor wrong.
    """
    pairs = contract_pairs(households, analysed)
    counts = households.contract_bookings.filter("true_regular").group_by("true_contract").len("true_count")
    frequent = households.contracts.join(counts, on="true_contract").filter(pl.col("true_count") >= MIN_BOOKINGS)
    true_rows = frequent.select("user", "true_contract").join(pairs, on="true_contract", how="left").with_columns(there=True)
    unpaired = analysed.frames["contracts"].rename({"id": "contract"}).join(pairs, on="contract", how="anti")
    false_rows = unpaired.filter(pl.col("regular_count") >= MIN_BOOKINGS).select(
        "user", "contract", true_contract=pl.lit(None, pl.String), there=pl.lit(value=False)
    )
    rows = pl.concat([true_rows, false_rows.select(true_rows.columns)])
    return rows.with_columns(recognised=pl.col("contract").is_not_null()).sort("user", "true_contract", "contract")


def compared_contracts(households: BlindHouseholds, analysed: AnalysedHouseholds) -> pl.DataFrame:
    """The recognised true contracts with enough bookings: the columns of both, and whether period, status, next date and next
    amount are right; the latter two are null where the truth does not know them.
    """
    pairs = contract_outcomes(households, analysed).filter("there", "recognised").select("true_contract", "contract")
    contracts = analysed.frames["contracts"].rename({"id": "contract"}).drop("user")
    both = pairs.join(households.contracts, on="true_contract").join(contracts, on="contract")
    is_active = pl.col("true_status") == "ACTIVE"
    days_off = (pl.col("date_next") - pl.col("true_next")).dt.total_days().abs()
    cents_off = (pl.col("amount_next") - pl.col("true_amount_next")).abs()
    return both.with_columns(
        category_right=pl.col("category") == pl.col("true_category"),
        period_right=pl.col("period") == pl.col("true_period"),
        status_right=pl.col("status") == pl.col("true_status"),
        next_right=pl.when(is_active & pl.col("true_next").is_not_null()).then((days_off <= 3).fill_null(value=False)),
        amount_right=pl.when(is_active & pl.col("true_amount_next").is_not_null()).then(
            (100 * cents_off <= pl.col("true_amount_next").abs()).fill_null(value=False)
        ),
    ).sort("user", "true_contract")


def event_outcomes(households: BlindHouseholds, analysed: AnalysedHouseholds) -> pl.DataFrame:
    """Events that are `there` or `recognised`, with `item`, `date` and `reason`.

    Recognised ones count as false only in the time of which the truth knows all events.
    """
    is_measured = ~pl.col("item").is_in(UNMEASURED_ITEMS)
    true_events = households.events.filter(is_measured).with_row_index("true_event")
    events = analysed.frames["life_events"].select("user", "item", "event_date", "reason").filter(is_measured)
    recognised_events = events.with_row_index("event")
    off = (pl.col("event_date") - pl.col("date")).dt.total_days().abs()
    near = true_events.join(recognised_events, on=["user", "item"]).with_columns(off=off).filter(pl.col("off") <= MAX_DAYS_OFF)
    closest = near.sort("off", "true_event", "event").unique("true_event", keep="first", maintain_order=True)
    pairs = closest.unique("event", keep="first", maintain_order=True)
    spurious = recognised_events.join(pairs, on="event", how="anti").join(measured_days(households), on="user")
    false_events = spurious.filter(pl.col("event_date").is_between("first", "last"))
    true_rows = true_events.join(pairs.select("true_event", "event", "reason"), on="true_event", how="left")
    columns = ["user", "item", "date", "reason", "there", "recognised"]
    return pl.concat(
        [
            true_rows.with_columns(there=True, recognised=pl.col("event").is_not_null()).select(columns),
            false_events.with_columns(date="event_date", there=False, recognised=True).select(columns),
        ]
    ).sort("user", "date", "item")


def measured_days(households: BlindHouseholds) -> pl.DataFrame:
    """The `first` and `last` day of each household of which the truth knows all events, and the `years` between them."""
    starts = households.transactions.group_by("user").agg(first=pl.min("booked_on").dt.offset_by(f"{FIRST_DAYS}d"))
    days = starts.join(households.as_of.select("user", last=pl.col("as_of").dt.offset_by(f"-{LAST_DAYS}d")), on="user")
    return days.with_columns(years=((pl.col("last") - pl.col("first")).dt.total_days() / YEAR_DAYS).clip(0)).sort("user")


def stage_outcomes(households: BlindHouseholds, analysed: AnalysedHouseholds) -> pl.DataFrame:
    """Every household and dimension, and whether it lets: `truth`, `prediction`, `reason`."""
    stages = analysed.frames["life_stages"]
    is_landlord = pl.col("item").str.ends_with("_LANDLORD")
    stage_rows = stages.filter(~is_landlord).select("user", "dimension", "reason", prediction="item")
    rows = households.stages.join(stage_rows, on=["user", "dimension"], how="left", maintain_order="left")
    landlords = stages.filter(is_landlord)["user"].implode()
    lets = pl.col("user").is_in(landlords).cast(pl.String)
    return rows.with_columns(prediction=pl.when(pl.col("dimension") == LANDLORD).then(lets).otherwise("prediction"))


def flag_outcomes(households: BlindHouseholds, analysed: AnalysedHouseholds) -> pl.DataFrame:
    """Every household and flag of affordability: `truth`, `prediction`, null without a result."""
    results = analysed.frames["affordability"].with_columns(gambling=pl.col("gambling") > 0)
    flags = results.select("user", *FLAGS.values()).unpivot(index="user", variable_name="flag", value_name="prediction")
    return households.flags.join(flags, on=["user", "flag"], how="left", maintain_order="left")


def amount_outcomes(households: BlindHouseholds, analysed: AnalysedHouseholds) -> pl.DataFrame:
    """Every household: monthly `income` and `expenses` in cents, the predicted ones with the prefix `predicted_`, and their
    relative errors with the suffix `_error`, at most 1.
    """
    names = ("income", "expenses")
    results = analysed.frames["affordability"].select("user", **{f"predicted_{name}": pl.col(name) for name in names})
    both = households.amounts.join(results, on="user", how="left", maintain_order="left")
    return both.with_columns(
        ((pl.col(f"predicted_{name}") - pl.col(name)).abs() / pl.col(name).clip(1))
        .clip(0, 1)
        .fill_null(1.0)
        .alias(f"{name}_error")
        for name in names
    )
