"""Events of studies, and the days on which young people begin to stand on their own feet."""

import polars as pl

from analytics.analyses.life_events.evidence import EventEvidence, bookings_until
from analytics.analyses.life_events.guards import MIN_ACTIVITY_BOOKINGS, MIN_HISTORY_DAYS, bookings_before, events

TRAINING_PAY = "TRAINING_PAY"
STUDY_KINDS = ("SEMESTER_FEE", "STUDENT_AID")
SEMESTER_DAYS, MIN_STUDIES_OVER_DAYS = 183, 244
MIN_SEMESTER_HISTORY_DAYS = 274
"""After this many days without a semester fee the next one is the first."""
MAX_ARRIVAL_DAYS = 100
"""A first semester fee, the first student aid and a first rent lie at most this far apart."""
START_COLUMNS = pl.Schema(
    {
        "user": pl.String(),
        "first": pl.Date(),
        "opening": pl.List(pl.String),
        "latest": pl.Int64(),
        "name": pl.String(),
        "count": pl.Int64(),
        "length": pl.Int64(),
        "recognised": pl.Date(),
    }
)


def study_starts(evidence: EventEvidence, runs: pl.DataFrame) -> pl.DataFrame:
    """The first semester fees and student aids of users (`START_COLUMNS`). A fee is the first after a history in which the one
    before would show, or if student aid or a first rent begins with it.
    """
    if evidence.booked_kinds.isdisjoint(STUDY_KINDS):
        return START_COLUMNS.to_frame()
    studying = evidence.rows.filter(pl.col("kind").is_in(STUDY_KINDS))
    new_aid = runs.filter("new", pl.col("kind") == "STUDENT_AID")
    fees = _fees(evidence)
    arrivals = pl.concat(
        [part.select("user", begun="first", arrived="recognised") for part in (new_aid, _first_rents(evidence, runs))]
    )
    is_near = (pl.col("begun") - pl.col("first")).dt.total_days().abs() <= MAX_ARRIVAL_DAYS
    arrived_users = fees.select("user", "first").join(arrivals, on="user").filter(is_near).group_by("user").agg(pl.min("arrived"))
    days = (pl.col("first") - pl.col("start")).dt.total_days()
    is_visible = (days >= MIN_HISTORY_DAYS) & (bookings_before(evidence, fees, pl.col("first")) >= MIN_ACTIVITY_BOOKINGS)
    is_late = days >= MIN_SEMESTER_HISTORY_DAYS
    first_fees = (
        fees.with_columns(is_late=is_late, is_visible=is_visible)
        .join(arrived_users, on="user", how="left", maintain_order="left")
        .filter(pl.col("is_late") | (pl.col("is_visible") & pl.col("arrived").is_not_null()))
        .with_columns(
            opening=pl.concat_list("id"),
            count=pl.lit(3),
            length=pl.lit(1),
            recognised=pl.when("is_late").then("first").otherwise(pl.max_horizontal("first", "arrived")),
        )
    )
    earlier = studying.group_by("user").agg(since=pl.col("booked_on").min())
    starts = pl.concat([part.select(START_COLUMNS.names()).cast(START_COLUMNS) for part in (first_fees, new_aid)])
    starts = starts.join(earlier, on="user", maintain_order="left")
    return starts.filter((pl.col("first") - pl.col("since")).dt.total_days() <= 1).select(START_COLUMNS.names())


def beginnings(runs: pl.DataFrame, starts: pl.DataFrame) -> pl.DataFrame:
    """`user` and `day` of the first sign that somebody begins to stand on their own feet: studies or an apprenticeship."""
    apprenticeships = runs.filter("new", pl.col("kind") == TRAINING_PAY).select("user", day="first")
    return (
        pl.concat([starts.select("user", day="first"), apprenticeships]).group_by("user", maintain_order=True).agg(pl.min("day"))
    )


def studies(evidence: EventEvidence, runs: pl.DataFrame, starts: pl.DataFrame) -> list[pl.DataFrame]:
    """Starts and ends of studies. Semester fees are no contracts: there are only two a year."""
    if evidence.booked_kinds.isdisjoint(STUDY_KINDS):
        return []
    aid = runs.filter(pl.col("kind") == "STUDENT_AID")
    aid_ends = aid.group_by("user").agg(aid_until=(pl.col("last") + pl.duration(days=pl.col("length"))).max())
    ended_studies = (
        _fees(evidence)
        .filter((pl.col("as_of") - pl.col("last")).dt.total_days() >= MIN_STUDIES_OVER_DAYS)
        .join(aid.filter("active"), on="user", how="anti")
        .join(aid_ends, on="user", how="left", maintain_order="left")
    )
    total, before = bookings_until(evidence, ended_studies, pl.col("as_of"), pl.col("last"))
    ended_studies = ended_studies.filter(total - before >= MIN_ACTIVITY_BOOKINGS)
    ending = pl.max_horizontal(pl.col("last") + pl.duration(days=SEMESTER_DAYS), "aid_until")
    return [
        events(
            starts,
            "STUDIES_START",
            pl.col("first"),
            "BAföG oder Semesterbeitrag beginnt",
            pl.col("opening"),
            known_since=pl.col("recognised"),
        ),
        events(
            ended_studies,
            "STUDIES_END",
            ending,
            "Kein Semesterbeitrag mehr",
            pl.concat_list("last_id"),
            pl.lit(0.85),
            known_since=pl.max_horizontal(pl.col("last").dt.offset_by(f"{MIN_STUDIES_OVER_DAYS}d"), "aid_until"),
        ),
    ]


def _fees(evidence: EventEvidence) -> pl.DataFrame:
    """The first and the last semester fee of each user."""
    fees = evidence.rows.filter(pl.col("kind") == "SEMESTER_FEE", pl.col("amount_cents") < 0)
    ends = (
        pl.first("booked_on").alias("first"),
        pl.last("booked_on").alias("last"),
        pl.first("id"),
        pl.last("id").alias("last_id"),
    )
    first_and_last = fees.group_by("user", maintain_order=True).agg(
        *ends, latest=pl.col("amount_cents").last(), name=pl.lit("").first()
    )
    return first_and_last.join(evidence.histories, on="user", maintain_order="left")


def _first_rents(evidence: EventEvidence, runs: pl.DataFrame) -> pl.DataFrame:
    """The new rents of users who paid none before."""
    rents = evidence.rows.filter(pl.col("kind") == "RENT").group_by("user").agg(earliest=pl.col("booked_on").min())
    new_rents = runs.filter("new", pl.col("kind") == "RENT").join(rents, on="user", how="left", maintain_order="left")
    return new_rents.filter(pl.col("earliest").is_null() | (pl.col("earliest") >= pl.col("first")))
