"""What a bank said, kept as it was said: a piece for every fetch, which can be merged again without asking the bank.

A piece is landed before it is merged into the ledger. To merge it again changes nothing, so a replay may be repeated.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

import polars as pl
import structlog

from analytics.frames import BOOKINGS
from pipelines.banks.base import FetchedBookings
from pipelines.context import Context
from pipelines.fetching import merge, store
from pipelines.fetching.slots import SLOT, slot_of
from pipelines.fetching.store import FetchJob, Received
from warehouse.lake import landing
from warehouse.lake.buckets import bucket_of
from warehouse.lake.erasure import rewrite_without
from warehouse.lake.lake import Lake
from warehouse.lake.landing import Piece
from warehouse.lake.tables import LANDING
from warehouse.logs import describe
from warehouse.stores import accesses, tombstones

log = structlog.get_logger("landing")


@dataclass(frozen=True)
class Replayed:
    """What a replay did."""

    pieces: int = 0
    bookings: int = 0
    changed: int = 0
    buried: int = 0


def land(house: Context, job: FetchJob, received: Received, now: datetime) -> None:
    """Keeps what a fetch has brought. A lake that cannot be written to does not keep the customer's data from the customer."""
    rows = [
        told.frame.with_columns(
            tenant=pl.lit(str(job.tenant)),
            user=pl.lit(str(job.user)),
            access=pl.lit(str(job.access)),
            fetch=pl.lit(str(job.fetch)),
            product=pl.lit(told.product),
            fetched_at=pl.lit(now, pl.Datetime("us", "UTC")),
            complete_from=pl.lit(told.complete_from, pl.Date),
        ).select(LANDING.schema.names())
        for told in received.bookings
    ]
    if not rows:
        return
    slot = slot_of(now, house.settings.zone).strftime(SLOT)
    name = f"{now:%Y%m%dT%H%M%S%f}-{job.fetch}"
    try:
        landing.append(house.lake, LANDING, slot, bucket_of(job.user, house.settings.buckets), name, pl.concat(rows))
    except Exception as error:  # stores have errors of their own
        log.error("not_landed", access=str(job.access), error=describe(error))  # noqa: TRY400 (its text may name files)


def take_back(house: Context, job: FetchJob) -> None:
    """Removes what a fetch has landed."""
    bucket = bucket_of(job.user, house.settings.buckets)
    try:
        removed = rewrite_without(house.lake, LANDING, "fetch", [str(job.fetch)], [bucket])
    except Exception as error:  # stores have errors of their own
        log.error("not_taken_back", access=str(job.access), error=describe(error))  # noqa: TRY400 (its text may name files)
    else:
        log.info("taken_back", access=str(job.access), rows=removed)


def replay(house: Context, pieces: Iterable[Piece], *, everything: bool = False) -> Replayed:
    """Merges into the ledger what has landed later than the ledger knows, or everything. No bank is asked, and what was erased or
    deleted meanwhile stays away.

    What an access said over time is first put together apart, so that the ledger goes from its state to the right one in one
    step, and no booking loses its id on the way.
    """
    ordered = sorted(pieces)
    rows = landing.read_pieces(house.lake, LANDING, ordered)
    with house.database.operating() as operator:
        buried = [str(stone.id) for stone in tombstones.all_tombstones(operator)]
        known = accesses.fetch_times(operator, [UUID(access) for access in rows["access"].unique()])
    kept = rows.filter(~pl.col("user").is_in(buried), ~pl.col("access").is_in(buried)).join(
        known, on="access", maintain_order="left"
    )
    wanted = kept if everything else kept.filter(pl.col("fetched_at") > pl.col("known_at"))
    changed = sum(_merge(house, of_access) for of_access in wanted.partition_by("access", maintain_order=True))
    return Replayed(len(ordered), wanted.height, changed, rows.height - kept.height)


def pieces_of(lake: Lake, buckets: Iterable[int], since: date | None = None) -> list[Piece]:
    """The pieces of some buckets, from a day on."""
    first = "" if since is None else since.isoformat()
    return [piece for bucket in buckets for piece in landing.list_pieces(lake, LANDING, bucket=bucket) if piece.slot >= first]


def _merge(house: Context, rows: pl.DataFrame) -> int:
    """Merges what an access said; answers how many bookings are other ones now."""
    about = rows.row(0, named=True)
    with house.database.acting_for(UUID(about["tenant"]), UUID(about["user"])) as owner:
        access = accesses.lock(owner, UUID(about["access"]))
        if access is None:
            return 0
        told = [_told(of_product) for of_product in rows.partition_by("product", maintain_order=True)]
        return store.again(owner, access, told)


def _told(rows: pl.DataFrame) -> FetchedBookings:
    """What a bank said of a product over time, as if it said it now."""
    said = [
        (told["complete_from"][0], told.select(BOOKINGS.names()))
        for told in rows.partition_by("fetched_at", "fetch", maintain_order=True)
    ]
    return FetchedBookings(rows["product"][0], min(first for first, _ in said), merge.fold(said))
