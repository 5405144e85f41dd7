"""Guards against false starts, ends and first-time events, the confidence of events, and the minimum time between them."""

from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.analyses.contracts.dates import MAX_GRACE_DAYS, MIN_GRACE_DAYS
from analytics.analyses.life_events.evidence import MAX_MONTH_DAYS, EventEvidence, bookings_until, nth_booking_days
from analytics.frames import LIFE_EVENTS, NO_LIFE_EVENTS, collected
from analytics.native.compiling import compiled

MIN_CONFIDENCE = 0.7
COOLDOWN_DAYS = 180
COOLDOWNS = {"SALARY_INCREASE": 60, "SALARY_DECREASE": 60, "LARGEINCOME": 25}
"""Items with another minimum number of days between two events: each of these has a level of its own to be compared with."""
MIN_HISTORY_DAYS, MIN_HISTORY_PERIODS = 45, 1.5
ACTIVITY_DAYS, MIN_ACTIVITY_BOOKINGS = 60, 10
YEAR_DAYS = 365
RENT, MAX_RENT_STEP = "RENT", 0.15
MAX_REST_DAYS = 400
"""A payee that returns within this time is not a new one: the contract rested."""
CARE_KINDS, MAX_CARE_REST_DAYS = ("CHILDCARE", "SCHOOL_CARE"), 100
"""Care of children rests in the holidays only; after a longer time a town takes fees for another child."""


def apply_guards(evidence: EventEvidence) -> pl.DataFrame:
    """The runs with `new`, `over` and `resumed` by the guards START and END, and the day since which an end is known
    (`ended_since`): the next payment stays out longer than its days of grace, while the account goes on being used.
    """
    runs = evidence.runs
    min_days = pl.max_horizontal(pl.lit(MIN_HISTORY_DAYS), (pl.col("length") * MIN_HISTORY_PERIODS).ceil().cast(pl.Int64))
    bookings_to_start, bookings_before_start, bookings_in_total, bookings_to_due = bookings_until(
        evidence, runs, *_days_before(pl.col("first")), pl.col("as_of"), pl.col("due")
    )
    old_enough = (pl.col("first") - pl.col("start")).dt.total_days() >= min_days
    flagged_runs = runs.with_columns(
        new=old_enough & (bookings_to_start - bookings_before_start >= MIN_ACTIVITY_BOOKINGS),
        over=~pl.col("active") & (bookings_in_total - bookings_to_due >= MIN_ACTIVITY_BOOKINGS),
    )
    silent_since = silence_day(pl.col("due"), pl.col("length"))
    in_use_since = nth_booking_days(evidence, runs, pl.col("due"), MIN_ACTIVITY_BOOKINGS)
    return _merge_resumed(flagged_runs.with_columns(ended_since=pl.max_horizontal(_until(silent_since), in_use_since)))


def silence_day(due: pl.Expr, length: pl.Expr) -> pl.Expr:
    """The first day on which a payment due on a day is missing, by the period length of its contract in days."""
    grace = (length * 0.5).floor().clip(MIN_GRACE_DAYS, MAX_GRACE_DAYS).cast(pl.Int64)
    return due + pl.duration(days=grace + 1)


def _until(day: pl.Expr) -> pl.Expr:
    """The day if it has come: a contract that a last payment ended does not wait for it."""
    return pl.when(day <= pl.col("as_of")).then(day)


def bookings_before(evidence: EventEvidence, frame: pl.DataFrame, day: pl.Expr) -> pl.Series:
    """By row the number of bookings of its user in the `ACTIVITY_DAYS` before that day."""
    bookings_to_day, bookings_to_earlier_day = bookings_until(evidence, frame, *_days_before(day))
    return bookings_to_day - bookings_to_earlier_day


def _days_before(day: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    return day.dt.offset_by("-1d"), day.dt.offset_by(f"-{ACTIVITY_DAYS + 1}d")


def _merge_resumed(runs: pl.DataFrame) -> pl.DataFrame:
    """With `resumed`; a run that the same payee continues has neither ended nor begun anew. A rent of another amount is that of
    another home, even if the landlord is the same.
    """
    same = ["user", "kind", "payee"]
    sorted_runs = runs.sort(*same, "first", "contract")
    gap = (pl.col("first") - pl.col("last").shift(1).over(same)).dt.total_days()
    change = (pl.col("median") / pl.col("latest").shift(1).over(same) - 1).abs()
    is_same_home = (pl.col("kind") != RENT) | (change <= MAX_RENT_STEP)
    max_rest = pl.when(pl.col("kind").is_in(CARE_KINDS)).then(MAX_CARE_REST_DAYS).otherwise(MAX_REST_DAYS)
    is_resumed = (gap.is_between(1, max_rest) & is_same_home).fill_null(False)
    continued_runs = sorted_runs.with_columns(resumed=is_resumed).with_columns(
        goes_on=pl.col("resumed").shift(-1).over(same).fill_null(False)
    )
    return continued_runs.with_columns(new=pl.col("new") & ~pl.col("resumed"), over=pl.col("over") & ~pl.col("goes_on")).sort(
        "user", "first", "contract"
    )


@cache
def run_confidence() -> pl.Expr:
    """The confidence of a run by its number of payments."""
    is_rare = pl.col("length") > MAX_MONTH_DAYS
    single_confidence = pl.when(is_rare).then(0.75).otherwise(0.65)
    return pl.when(pl.col("count") >= 3).then(0.95).when(pl.col("count") == 2).then(0.85).otherwise(single_confidence)


def events(
    frame: pl.DataFrame,
    item: str | pl.Expr,
    day: pl.Expr,
    description: str | pl.Expr,
    bookings: pl.Expr,
    confidence: pl.Expr | None = None,
    amount: pl.Expr | None = None,
    known_since: pl.Expr | None = None,
) -> pl.DataFrame:
    """The rows as events (frame `LIFE_EVENTS`); the reason consists of the description, the payee and the day. An event is known
    since its day unless `known_since` says otherwise.
    """
    if frame.is_empty():
        return NO_LIFE_EVENTS
    text = pl.lit(description) if isinstance(description, str) else description
    payee = pl.when(pl.col("name") != "").then(pl.format(" ({})", pl.col("name"))).otherwise(pl.lit(""))
    event_rows = frame.lazy().select(
        "user",
        item=pl.lit(item) if isinstance(item, str) else item,
        event_date=day,
        known_since=day if known_since is None else known_since,
        confidence=run_confidence() if confidence is None else confidence.cast(pl.Float64),
        reason=pl.format("{}{} am {}", text, payee, day.dt.strftime("%d.%m.%Y")),
        bookings=bookings,
        amount=pl.col("latest").abs() if amount is None else amount,
    )
    return collected(event_rows.cast(LIFE_EVENTS))


def space_events(all_events: pl.DataFrame) -> pl.DataFrame:
    """The events with enough confidence, those of one item at least `COOLDOWN_DAYS` or its `COOLDOWNS` apart.

    Of events of one day the most certain one is kept, then the one with the most evidence. No two different events are equal in
    this order, so that chance never decides.
    """
    sure_events = all_events.filter(pl.col("confidence") >= MIN_CONFIDENCE)
    evidence = pl.col("bookings")
    sorted_events = sure_events.sort(
        "user",
        "item",
        "event_date",
        -pl.col("confidence"),
        -evidence.list.len().cast(pl.Int64),
        evidence.list.join(" ", ignore_nulls=True),
        "reason",
        "amount",
    )
    group = sorted_events.select(pl.struct("user", "item").rle_id()).to_series().cast(pl.Int64)
    keep = np.zeros(sorted_events.height, np.bool_)
    cooldown = sorted_events["item"].replace_strict(COOLDOWNS, default=COOLDOWN_DAYS, return_dtype=pl.Int64)
    _space(group.to_numpy(), sorted_events["event_date"].to_physical().cast(pl.Int64).to_numpy(), cooldown.to_numpy(), keep)
    return sorted_events.filter(pl.Series(keep)).sort("user", "event_date", "item")


@compiled
def _space(group: NDArray[np.int64], day: NDArray[np.int64], cooldown: NDArray[np.int64], keep: NDArray[np.bool_]) -> None:
    latest = 0
    for row in range(group.size):
        is_new_group = row == 0 or group[row] != group[row - 1]
        if is_new_group or day[row] - latest >= cooldown[row]:
            keep[row] = True
            latest = day[row]
