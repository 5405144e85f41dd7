"""Doing it again: the steps of a bucket from one asset on, for some buckets, however much of it has been done before."""

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
"""The assets in the order in which one follows from the other, and what is done for each. The analyses are made together."""


@dataclass(frozen=True)
class Planned:
    """What a backfill would do for one asset."""

    asset: str
    buckets: int
    users: int
    bookings: int


def following(asset: str, *, only: bool = False) -> list[str]:
    """The asset and, unless it is to stand alone, all that follows from it."""
    step = "analyses" if asset in ANALYSES else asset
    if step not in STEPS:
        raise Invalid(f"no asset {asset}; there are {', '.join(STEPS)}")
    names = list(STEPS)
    return [step] if only else names[names.index(step) :]


def plan(house: Context, assets: Sequence[str], buckets: Sequence[int], since: date | None) -> list[Planned]:
    """What would be worked on, counted without touching it."""
    users = house.lake.read(USERS, buckets, ["user"]).height
    stored = int(house.lake.statistics(TRANSACTIONS, buckets)["rows"].sum())
    tagged = int(house.lake.statistics(TRANSACTION_TAGS, buckets)["rows"].sum())
    said = pieces.read_pieces(house.lake, LANDING, landing.pieces_of(house.lake, buckets, since)) if "ledger" in assets else None
    counts = {
        "ledger": (0, 0) if said is None else (said["user"].n_unique(), said.height),
        "transactions": (users, stored),
        "transaction_tags": (users, stored),
        "analyses": (users, tagged),
        "served_results": (users, tagged),
    }
    return [Planned(asset, len(buckets), *counts[asset]) for asset in assets]


def run(assets: Sequence[str], buckets: Sequence[int], since: date | None, on_progress: OnProgress) -> Iterator[tuple[str, int]]:
    """Works on the buckets, asset by asset; tells of each how many users or bookings are other ones now."""
    for asset in assets:
        given: dict[str, Any] = {} if asset == "served_results" else {"everything": True}
        given |= {"since": since} if asset == "ledger" else {}
        found = tasks.on_buckets(STEPS[asset], buckets, on_progress, **given)
        yield asset, sum(done.changed for done in found.values())
