"""When a start, an end or a first is one, how sure that is, and how far apart events of one kind must lie."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.analyses.life_events.evidence import EventEvidence, until
from analytics.frames import LIFE_EVENTS
from analytics.native.compiling import compiled

LEAST_CONFIDENCE = 0.7
COOLDOWN_DAYS = 180
NEW_DAYS, NEW_PERIODS = 45, 1.5
ALIVE_DAYS, ALIVE = 60, 10
YEAR = 365
RESUMED_DAYS = 400
"""Within so many days the same payee is not a new one: the contract rested."""


def guarded(base: EventEvidence) -> pl.DataFrame:
    """The runs with `new`, `over` and `resumed`, as the guards START and END want it."""
    runs = base.runs
    since = pl.max_horizontal(pl.lit(NEW_DAYS), (pl.col("length") * NEW_PERIODS).ceil().cast(pl.Int64))
    upto, before, total, expected = until(base, runs, *_alive(pl.col("first")), pl.col("as_of"), pl.col("due"))
    old_enough = (pl.col("first") - pl.col("start")).dt.total_days() >= since
    flagged = runs.with_columns(new=old_enough & (upto - before >= ALIVE), over=~pl.col("active") & (total - expected >= ALIVE))
    return _resting(flagged)


def alive_before(base: EventEvidence, frame: pl.DataFrame, day: pl.Expr) -> pl.Series:
    """How many bookings there were in the 60 days before that day."""
    upto, before = until(base, frame, *_alive(day))
    return upto - before


def _alive(day: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    return day.dt.offset_by("-1d"), day.dt.offset_by(f"-{ALIVE_DAYS + 1}d")


def _resting(runs: pl.DataFrame) -> pl.DataFrame:
    """What the same payee goes on with has neither ended nor begun anew."""
    same = ["user", "kind", "payee"]
    ordered = runs.sort(*same, "first", "contract")
    gap = (pl.col("first") - pl.col("last").shift(1).over(same)).dt.total_days()
    resumed = gap.is_between(1, RESUMED_DAYS).fill_null(False)
    continued = ordered.with_columns(resumed=resumed).with_columns(
        goes_on=pl.col("resumed").shift(-1).over(same).fill_null(False)
    )
    return continued.with_columns(new=pl.col("new") & ~pl.col("resumed"), over=pl.col("over") & ~pl.col("goes_on")).sort(
        "user", "first", "contract"
    )


def sureness() -> pl.Expr:
    """How sure a run is by itself: by how often it was paid."""
    rare = pl.col("length") > 31
    once = pl.when(rare).then(0.75).otherwise(0.65)
    return pl.when(pl.col("count") >= 3).then(0.95).when(pl.col("count") == 2).then(0.85).otherwise(once)


def events(
    frame: pl.DataFrame,
    item: str | pl.Expr,
    day: pl.Expr,
    what: str | pl.Expr,
    bookings: pl.Expr,
    confidence: pl.Expr | None = None,
    amount: pl.Expr | None = None,
) -> pl.DataFrame:
    """The rows as events; the reason says what happened, with whom, and since when."""
    if frame.is_empty():
        return LIFE_EVENTS.to_frame()
    said = pl.lit(what) if isinstance(what, str) else what
    who = pl.when(pl.col("name") != "").then(pl.format(" ({})", pl.col("name"))).otherwise(pl.lit(""))
    return frame.select(
        "user",
        item=pl.lit(item) if isinstance(item, str) else item,
        event_date=day,
        confidence=sureness() if confidence is None else confidence.cast(pl.Float64),
        reason=pl.format("{}{} am {}", said, who, day.dt.strftime("%d.%m.%Y")),
        bookings=bookings,
        amount=pl.col("latest").abs() if amount is None else amount,
    ).cast(LIFE_EVENTS)


def spaced(found: pl.DataFrame) -> pl.DataFrame:
    """Sure events only, each once, and those of one item at least half a year apart."""
    sure = found.filter(pl.col("confidence") >= LEAST_CONFIDENCE)
    ordered = sure.sort("user", "item", "event_date", -pl.col("confidence"), pl.col("bookings").list.first())
    group = ordered.select(pl.struct("user", "item").rle_id()).to_series().cast(pl.Int64)
    keep = np.zeros(ordered.height, np.bool_)
    _space(group.to_numpy(), ordered["event_date"].to_physical().cast(pl.Int64).to_numpy(), keep)
    return ordered.filter(pl.Series(keep)).sort("user", "event_date", "item")


@compiled
def _space(group: NDArray[np.int64], day: NDArray[np.int64], keep: NDArray[np.bool_]) -> None:
    latest = 0
    for place in range(group.size):
        other = place == 0 or group[place] != group[place - 1]
        if other or day[place] - latest >= COOLDOWN_DAYS:
            keep[place] = True
            latest = day[place]
