"""Backfills: repeats the steps of some buckets from one asset on, for everybody or for what landed in a period."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from pipelines.context import Context
from pipelines.engine.executors import keeping_executor
from pipelines.engine.run import OnProgress
from pipelines.fetching import landing
from pipelines.fetching.slots import day_of
from pipelines.results import tasks
from warehouse.errors import Invalid
from warehouse.lake import landing as pieces
from warehouse.lake.tables import ANALYSES, LANDING, TRANSACTION_TAGS, TRANSACTIONS, USERS

STEPS: Mapping[str, Any] = {
    "ledger": tasks.replay_buckets,
    "transactions": tasks.export_buckets,
    "transaction_tags": tasks.tag_buckets,
    "analyses": tasks.analyse_buckets,
    "served_results": tasks.publish_buckets,
}
"""The assets, each after those that it depends on, with the task that updates it. One task updates all analyses."""


@dataclass(frozen=True)
class PlannedStep:
    """The number of buckets, users and bookings that a backfill would process for one asset."""

    asset: str
    buckets: int
    users: int
    bookings: int


@dataclass(frozen=True)
class LandingPeriod:
    """The days on which data landed that a backfill is about, both included; None means without limit."""

    since: date | None = None
    until: date | None = None

    @property
    def is_limited(self) -> bool:
        return self.since is not None or self.until is not None


def steps_from(asset: str, *, only: bool = False) -> list[str]:
    """The asset and, unless `only` is set, all assets that depend on it."""
    step = "analyses" if asset in ANALYSES else asset
    if step not in STEPS:
        raise Invalid(f"no asset {asset}; there are {', '.join(STEPS)}")
    names = list(STEPS)
    return [step] if only else names[names.index(step) :]


def buckets_with_landings(context: Context, buckets: Sequence[int], period: LandingPeriod) -> list[int]:
    """The buckets of which something landed in the period; all of them, if it has neither a beginning nor an end."""
    if not period.is_limited:
        return list(buckets)
    landed_pieces = landing.pieces_of(context.lake, buckets, period.since)
    return sorted({piece.bucket for piece in landed_pieces if period.until is None or day_of(piece.slot) <= period.until})


def plan(context: Context, assets: Sequence[str], buckets: Sequence[int], period: LandingPeriod) -> list[PlannedStep]:
    """The work that a backfill would do, counted without doing it. In a limited period it is at most this much: only users who
    have changed are computed again.
    """
    users = context.lake.read(USERS, buckets, ["user"]).height
    booking_count = int(context.lake.statistics(TRANSACTIONS, buckets)["rows"].sum())
    tagged_count = int(context.lake.statistics(TRANSACTION_TAGS, buckets)["rows"].sum())
    landed_rows = (
        pieces.read_pieces(context.lake, LANDING, landing.pieces_of(context.lake, buckets, period.since))
        if "ledger" in assets
        else None
    )
    counts = {
        "ledger": (0, 0) if landed_rows is None else (landed_rows["user"].n_unique(), landed_rows.height),
        "transactions": (users, booking_count),
        "transaction_tags": (users, booking_count),
        "analyses": (users, tagged_count),
        "served_results": (users, tagged_count),
    }
    return [PlannedStep(asset, len(buckets), *counts[asset]) for asset in assets]


def run(
    assets: Sequence[str], buckets: Sequence[int], period: LandingPeriod, on_progress: OnProgress
) -> Iterator[tuple[str, int]]:
    """Processes the buckets asset by asset; yields each asset with the number of users or bookings that changed.

    Without a limited period all users are computed again. With one, what landed in it is merged again, and only users who have
    changed are computed again.
    """
    with keeping_executor():
        for asset in assets:
            options: dict[str, Any] = {}
            if asset == "ledger":
                options = {"everything": True, "since": period.since, "until": period.until}
            elif asset != "served_results":
                options = {"everything": not period.is_limited}
            counts_by_bucket = tasks.run_on_buckets(STEPS[asset], buckets, on_progress, **options)
            yield asset, sum(counts.changed for counts in counts_by_bucket.values())
