"""Life stages: how a user earns, lives and saves on the as-of date, and how old the youngest child is. One item per dimension.

Of the rules of a dimension the first that holds decides; what cannot be told is unknown. Nothing sensitive is evidence.
"""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence, gather_evidence
from analytics.analyses.life_events.months import sums
from analytics.analyses.life_events.saving import saved, savings
from analytics.analyses.life_events.signs import COLUMNS, active
from analytics.analyses.life_events.standing import Rules, housing, parenthood, work
from analytics.analyses.snapshot import Snapshot
from analytics.frames import LIFE_STAGES, checked

DECIDED = pl.Schema(
    {
        "user": pl.String(),
        "item": pl.String(),
        "confidence": pl.Float64(),
        "bookings": pl.List(pl.String),
        "reason": pl.String(),
        "since": pl.Date(),
    }
)
"""What is decided in one dimension, of users for whom something is."""
LANDLORD = "HOUSING_LANDLORD"
LEAST_MONTHS = 3


def life_stages(
    seen: Snapshot, events: pl.DataFrame, base: EventEvidence | None = None, summed: pl.DataFrame | None = None
) -> pl.DataFrame:
    """The stages of all users (frame `LIFE_STAGES`), given their events; what is worked out already can be handed in."""
    known = gather_evidence(seen) if base is None else base
    monthly = sums(seen) if summed is None else summed
    earning = _decided(work(known))
    found = {
        "LABOURMARKET": earning,
        "PARENTHOOD": _decided(parenthood(known, events)),
        "HOUSING": _decided(housing(known, earning)),
        "SAVINGS": savings(saved(seen, known, monthly), known),
    }
    stages = pl.concat([_complete(known, dimension, frame) for dimension, frame in found.items()])
    landlords = _decided([(LANDLORD, active(known, "Mieteinnahmen", "RENTAL"), 0.9)])
    short = _short(known)
    overlay = _placed("HOUSING", landlords)
    whole = pl.concat([stages, overlay])
    if not short.is_empty():
        unknown = stages.join(short, on="user", how="semi").select("user", "dimension").pipe(_unknown, known)
        whole = pl.concat([whole.join(short, on="user", how="anti"), unknown])
    return checked(whole.cast(LIFE_STAGES).sort("user", "dimension", "item"), LIFE_STAGES)


def _short(base: EventEvidence) -> pl.DataFrame:
    """Users with less than three full months of history."""
    months = base.months.group_by("user").len()
    return base.histories.join(months.filter(pl.col("len") >= LEAST_MONTHS), on="user", how="anti").select("user")


def _decided(rules: Rules) -> pl.DataFrame:
    """For each user the first item that holds; of its signs the largest, and since the earliest."""
    frames = [
        frame.select(*COLUMNS, item=pl.lit(item), rank=pl.lit(rank), confidence=pl.lit(sure))
        for rank, (item, frame, sure) in enumerate(rules)
        if not frame.is_empty()
    ]
    if not frames:
        return DECIDED.to_frame()
    signs = pl.concat(frames).sort("user", "rank", -pl.col("cents"), "since", pl.col("bookings").list.first())
    best = signs.filter(pl.col("rank") == pl.col("rank").min().over("user"))
    return best.group_by("user", maintain_order=True).agg(
        pl.first("item", "confidence", "bookings"), reason=pl.first("what"), since=pl.col("since").min()
    )


def _complete(base: EventEvidence, dimension: str, found: pl.DataFrame) -> pl.DataFrame:
    """The stages of a dimension, unknown for users without one."""
    stages = _placed(dimension, found)
    rest = base.histories.join(found, on="user", how="anti").select("user", dimension=pl.lit(dimension))
    return stages if rest.is_empty() else pl.concat([stages, _unknown(rest, base)])


def _placed(dimension: str, found: pl.DataFrame) -> pl.DataFrame:
    return found.select(pl.lit(dimension).alias(name) if name == "dimension" else name for name in LIFE_STAGES)


def _unknown(users: pl.DataFrame, base: EventEvidence) -> pl.DataFrame:
    return users.join(base.histories, on="user").select(
        "user",
        "dimension",
        item=pl.format("{}_UNKNOWN", "dimension"),
        since="start",
        confidence=pl.lit(0.5),
        reason=pl.lit("Die Buchungen reichen für eine Aussage nicht aus"),
        bookings=pl.lit([], pl.List(pl.String)),
    )
