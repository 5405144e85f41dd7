"""Backfills: repeats the steps of some buckets from one asset on, even where nothing has changed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from pipelines.context import Context
from pipelines.engine.run import OnProgress
from pipelines.fetching import landing
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


def steps_from(asset: str, *, only: bool = False) -> list[str]:
    """The asset and, unless `only` is set, all assets that depend on it."""
    step = "analyses" if asset in ANALYSES else asset
    if step not in STEPS:
        raise Invalid(f"no asset {asset}; there are {', '.join(STEPS)}")
    names = list(STEPS)
    return [step] if only else names[names.index(step) :]


def plan(context: Context, assets: Sequence[str], buckets: Sequence[int], since: date | None) -> list[PlannedStep]:
    """The work that a backfill would do, counted without doing it."""
    users = context.lake.read(USERS, buckets, ["user"]).height
    booking_count = int(context.lake.statistics(TRANSACTIONS, buckets)["rows"].sum())
    tagged_count = int(context.lake.statistics(TRANSACTION_TAGS, buckets)["rows"].sum())
    landed_rows = (
        pieces.read_pieces(context.lake, LANDING, landing.pieces_of(context.lake, buckets, since)) if "ledger" in assets else None
    )
    counts = {
        "ledger": (0, 0) if landed_rows is None else (landed_rows["user"].n_unique(), landed_rows.height),
        "transactions": (users, booking_count),
        "transaction_tags": (users, booking_count),
        "analyses": (users, tagged_count),
        "served_results": (users, tagged_count),
    }
    return [PlannedStep(asset, len(buckets), *counts[asset]) for asset in assets]


def run(assets: Sequence[str], buckets: Sequence[int], since: date | None, on_progress: OnProgress) -> Iterator[tuple[str, int]]:
    """Processes the buckets asset by asset; yields each asset with the number of users or bookings that changed."""
    for asset in assets:
        options: dict[str, Any] = {} if asset == "served_results" else {"everything": True}
        options |= {"since": since} if asset == "ledger" else {}
        counts_by_bucket = tasks.run_on_buckets(STEPS[asset], buckets, on_progress, **options)
        yield asset, sum(counts.changed for counts in counts_by_bucket.values())
