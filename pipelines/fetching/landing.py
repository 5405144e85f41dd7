"""Landing: keeps the bookings of every fetch as the bank delivered them, to be merged again without asking the bank.

A piece lands before it is merged into the ledger. Merging it again changes nothing, so a replay may be repeated.
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
from pipelines.fetching.slots import SLOT_FORMAT, day_of, slot_of
from pipelines.fetching.store import BankAnswer, FetchJob
from warehouse.lake import landing
from warehouse.lake.buckets import bucket_of
from warehouse.lake.core_tables import LANDING
from warehouse.lake.erasure import rewrite_without
from warehouse.lake.lake import Lake
from warehouse.lake.landing import Piece
from warehouse.runtime.logs import describe
from warehouse.stores import accesses, tombstones

log = structlog.get_logger("landing")


@dataclass(frozen=True)
class ReplayCounts:
    """The pieces and bookings of a replay, the bookings that changed, and the rows that were left out because of tombstones."""

    pieces: int = 0
    bookings: int = 0
    changed: int = 0
    buried: int = 0


def land(context: Context, job: FetchJob, answer: BankAnswer, now: datetime) -> bool:
    """Keeps the bookings of a fetch; those that the bank has sent before, byte for byte, landed then. Returns False if the lake
    cannot be written; the fetch goes on, so that the customer sees the data.

    The access cannot be deleted meanwhile, and nothing lands for one that was: an erasure that has begun finds all pieces.
    """
    rows = [
        bookings.frame.with_columns(
            tenant=pl.lit(str(job.tenant)),
            user=pl.lit(str(job.user)),
            access=pl.lit(str(job.access)),
            fetch=pl.lit(str(job.fetch)),
            product=pl.lit(bookings.product),
            fetched_at=pl.lit(now, pl.Datetime("us", "UTC")),
            complete_from=pl.lit(bookings.complete_from, pl.Date),
        ).select(LANDING.schema.names())
        for bookings in answer.bookings
    ]
    if not rows:
        return True
    slot = slot_of(now, context.settings.zone).strftime(SLOT_FORMAT)
    name = f"{now:%Y%m%dT%H%M%S%f}-{job.fetch}"
    bucket = bucket_of(job.user, context.settings.buckets)
    with context.database.acting_for(job.tenant, job.user) as owner:
        if not accesses.hold_fetching(owner, job.access, job.fetch):
            return True
        try:
            landing.append(context.lake, LANDING, slot, bucket, name, pl.concat(rows))
        except Exception as error:  # object stores raise errors of their own
            log.error("not_landed", access=str(job.access), error=describe(error))  # noqa: TRY400 (its text may name files)
            return False
    return True


def take_back(context: Context, job: FetchJob) -> None:
    """Removes the landed bookings of a fetch."""
    bucket = bucket_of(job.user, context.settings.buckets)
    try:
        with context.database.locking_buckets([bucket]):
            removed = rewrite_without(context.lake, LANDING, "fetch", [str(job.fetch)], [bucket])
    except Exception as error:  # object stores raise errors of their own
        log.error("not_taken_back", access=str(job.access), error=describe(error))  # noqa: TRY400 (its text may name files)
    else:
        log.info("taken_back", access=str(job.access), rows=removed.rows)


def replay(context: Context, pieces: Iterable[Piece], *, everything: bool = False, until: date | None = None) -> ReplayCounts:
    """Merges landed pieces into the ledger: those newer than its last fetch, or everything. No bank is asked, and erased data
    stay erased. With `until`, only accesses count of which something landed until that day, with all that landed later: without
    it, an old answer would take back what newer ones brought.

    The pieces of an access are first folded into one state, so that the ledger changes in one step and bookings keep their ids.
    """
    ordered = sorted(pieces)
    rows = landing.read_pieces(context.lake, LANDING, ordered)
    if until is not None:
        early_pieces = [piece for piece in ordered if day_of(piece.slot) <= until]
        early_rows = landing.read_pieces(context.lake, LANDING, early_pieces)
        rows = rows.join(early_rows.select("access").unique(), on="access", how="semi", maintain_order="left")
    with context.database.operating() as operator:
        buried = [str(stone.id) for stone in tombstones.all_tombstones(operator)]
        fetched_accesses = accesses.fetch_times(operator, [UUID(access) for access in rows["access"].unique()])
    standing_rows = rows.filter(~pl.col("user").is_in(buried), ~pl.col("access").is_in(buried)).join(
        fetched_accesses, on="access", maintain_order="left"
    )
    rows_to_merge = standing_rows if everything else standing_rows.filter(pl.col("fetched_at") > pl.col("known_at"))
    changed = sum(_merge(context, of_access) for of_access in rows_to_merge.partition_by("access", maintain_order=True))
    return ReplayCounts(len(ordered), rows_to_merge.height, changed, rows.height - standing_rows.height)


def pieces_of(lake: Lake, buckets: Iterable[int], since: date | None = None) -> list[Piece]:
    """The pieces of some buckets, from a day on."""
    first = "" if since is None else since.isoformat()
    return [piece for bucket in buckets for piece in landing.list_pieces(lake, LANDING, bucket=bucket) if piece.slot >= first]


def _merge(context: Context, rows: pl.DataFrame) -> int:
    """Merges the rows of one access; returns the number of changed bookings."""
    about = rows.row(0, named=True)
    with context.database.acting_for(UUID(about["tenant"]), UUID(about["user"])) as owner:
        access = accesses.lock(owner, UUID(about["access"]))
        if access is None:
            return 0
        bookings = [_merged_bookings(of_product) for of_product in rows.partition_by("product", maintain_order=True)]
        return store.merge_again(owner, access, bookings)


def _merged_bookings(rows: pl.DataFrame) -> FetchedBookings:
    """The bookings of a product after all of its pieces."""
    answers = [
        (answer["complete_from"][0], answer.select(BOOKINGS.names()))
        for answer in rows.partition_by("fetched_at", "fetch", maintain_order=True)
    ]
    return FetchedBookings(rows["product"][0], min(first for first, _ in answers), merge.fold_answers(answers))
