"""The analysis of life stages: decides one item per dimension, by the first rule that has a sign."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence, gather_evidence
from analytics.analyses.life_events.months import sum_months
from analytics.analyses.life_stages.rules import StageRules, housing, parenthood, work
from analytics.analyses.life_stages.saving import saving_stages
from analytics.analyses.life_stages.signs import SIGN_COLUMNS, active_contracts
from analytics.analyses.savers import Savers, find_savers
from analytics.analyses.snapshot import Snapshot
from analytics.frames import LIFE_STAGES, checked, collected

DECISIONS = pl.Schema(
    {
        "user": pl.String(),
        "item": pl.String(),
        "confidence": pl.Float64(),
        "bookings": pl.List(pl.String),
        "reason": pl.String(),
        "since": pl.Date(),
    }
)
"""The decisions in one dimension, for users to whom a rule applies."""
LANDLORD = "HOUSING_LANDLORD"
MIN_MONTHS = 3


def life_stages(
    snapshot: Snapshot, events: pl.DataFrame, evidence: EventEvidence | None = None, user_savers: Savers | None = None
) -> pl.DataFrame:
    """The stages of all users (frame `LIFE_STAGES`), given their events; evidence and savers are computed if not passed."""
    evidence = gather_evidence(snapshot) if evidence is None else evidence
    user_savers = find_savers(snapshot, sum_months(snapshot)) if user_savers is None else user_savers
    work_decisions = _decide(work(evidence))
    decisions = {
        "LABOURMARKET": work_decisions,
        "PARENTHOOD": _decide(parenthood(evidence, events)),
        "HOUSING": _decide(housing(evidence, work_decisions)),
        "SAVINGS": saving_stages(evidence, user_savers),
    }
    stages = pl.concat([_complete(evidence, dimension, frame) for dimension, frame in decisions.items()])
    landlords = _decide([(LANDLORD, active_contracts(evidence, "Mieteinnahmen", "RENTAL"), 0.9)])
    short_histories = _users_with_short_history(evidence)
    landlord_stages = _in_dimension("HOUSING", landlords)
    all_stages = pl.concat([stages, landlord_stages])
    if not short_histories.is_empty():
        unknown = stages.join(short_histories, on="user", how="semi").select("user", "dimension").pipe(_unknown, evidence)
        all_stages = pl.concat([all_stages.join(short_histories, on="user", how="anti"), unknown])
    return checked(all_stages.cast(LIFE_STAGES).sort("user", "dimension", "item"), LIFE_STAGES)


def _users_with_short_history(evidence: EventEvidence) -> pl.DataFrame:
    """Users with fewer than `MIN_MONTHS` full months of history."""
    months = evidence.months.group_by("user").len()
    return evidence.histories.join(months.filter(pl.col("len") >= MIN_MONTHS), on="user", how="anti").select("user")


def _decide(rules: StageRules) -> pl.DataFrame:
    """For each user the first item that has a sign; confidence and bookings of its largest sign, `since` of its earliest."""
    frames = [
        frame.lazy().select(*SIGN_COLUMNS, item=pl.lit(item), rank=pl.lit(rank), confidence=pl.lit(confidence))
        for rank, (item, frame, confidence) in enumerate(rules)
        if not frame.is_empty()
    ]
    if not frames:
        return DECISIONS.to_frame()
    evidence = pl.col("bookings").list.join(" ", ignore_nulls=True)
    signs = pl.concat(frames).sort("user", "rank", -pl.col("cents"), "since", evidence, "description")
    best = signs.filter(pl.col("rank") == pl.col("rank").min().over("user"))
    return collected(
        best.group_by("user", maintain_order=True).agg(
            pl.first("item", "confidence", "bookings"), reason=pl.first("description"), since=pl.col("since").min()
        )
    )


def _complete(evidence: EventEvidence, dimension: str, decisions: pl.DataFrame) -> pl.DataFrame:
    """The stages of a dimension, with an unknown one for each user without a decision."""
    stages = _in_dimension(dimension, decisions)
    undecided_users = evidence.histories.join(decisions, on="user", how="anti").select("user", dimension=pl.lit(dimension))
    return stages if undecided_users.is_empty() else pl.concat([stages, _unknown(undecided_users, evidence)])


def _in_dimension(dimension: str, decisions: pl.DataFrame) -> pl.DataFrame:
    return decisions.select(pl.lit(dimension).alias(name) if name == "dimension" else name for name in LIFE_STAGES)


def _unknown(users: pl.DataFrame, evidence: EventEvidence) -> pl.DataFrame:
    return users.join(evidence.histories, on="user").select(
        "user",
        "dimension",
        item=pl.format("{}_UNKNOWN", "dimension"),
        since="start",
        confidence=pl.lit(0.5),
        reason=pl.lit("Die Buchungen reichen für eine Aussage nicht aus"),
        bookings=pl.lit([], pl.List(pl.String)),
    )
