"""From the ledger to the lake: what the analyses of a bucket rest on, seen at one moment.

Only users whose revision has changed are read again. The table of users is written last: it vouches for the others, so that a
crash in between leaves users that are exported again, and none that are wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

import polars as pl

from warehouse.errors import BackfillNeeded
from warehouse.lake.buckets import Range, bounds, bucket_of, span
from warehouse.lake.lake import Lake
from warehouse.lake.parquet import LakeTable
from warehouse.lake.tables import CATEGORY_CHOICES, CATEGORY_RULES, PRODUCTS, TRANSACTIONS, USERS
from warehouse.postgres.database import Database, Owner
from warehouse.stores import choices, ledger, products, revisions, rules

STATE, DAYS = "state", "days"
"""What the table of users says about itself: names for the state of all of them, and for their days. Who works with it says the
same names."""
REVISED = ["user", "tenant", "revision"]
Read = Callable[[Owner, Sequence[UUID]], pl.DataFrame]
BY_USER: tuple[tuple[LakeTable, Read, tuple[str, ...]], ...] = (
    (TRANSACTIONS, ledger.of_users, ("user", "sequence")),
    (PRODUCTS, products.of_users, ("user", "product")),
    (CATEGORY_CHOICES, choices.of_users, ("user", "id")),
)
"""Each table of which a user has rows of its own, how they are read, and in which order they lie."""


@dataclass(frozen=True)
class Exported:
    """What an export did."""

    users: int
    changed: int
    gone: int
    bookings: int


def unchanged(database: Database, lake: Lake, buckets: Sequence[int], count: int) -> dict[int, Exported]:
    """The buckets for which there is nothing to do, found with one look at all of them."""
    known = _known(lake, buckets)
    with database.operating() as operator:
        now = _now(operator, span(buckets, count))
    differ = pl.concat([_others(known, now, USERS.schema.names()), _others(now, known, USERS.schema.names())])["user"]
    changed = {bucket_of(UUID(user), count) for user in differ}
    return {
        bucket: Exported(lake.rows(USERS, bucket), 0, 0, lake.rows(TRANSACTIONS, bucket))
        for bucket in buckets
        if bucket not in changed
    }


def export_bucket(database: Database, lake: Lake, bucket: int, count: int, *, everything: bool = False) -> Exported:
    """Brings the lake's tables of a bucket to what the ledger says now."""
    known = USERS.schema.to_frame() if everything else _known(lake, [bucket])
    with database.surveying() as operator:
        now = _now(operator, bounds(bucket, count))
        changed, gone = _others(now, known, REVISED), _others(known, now, ["user"])
        if not everything and changed.is_empty() and gone.is_empty():  # only days are other ones
            _vouch(lake, bucket, now)
            return Exported(now.height, 0, 0, lake.rows(TRANSACTIONS, bucket))
        kept = _others(now, changed, ["user"])
        wanted = [UUID(user) for user in changed["user"]]
        frames = [_frame(_kept(lake, table, bucket, kept), read(operator, wanted), order) for table, read, order in BY_USER]
        ruled = rules.of_users(operator, [UUID(user) for user in now["user"]])
    for (table, _, _), frame in zip(BY_USER, frames, strict=True):
        lake.write(table, bucket, frame, {})
    lake.write(CATEGORY_RULES, bucket, ruled.select(CATEGORY_RULES.schema.names()), {})
    _vouch(lake, bucket, now)
    return Exported(now.height, changed.height, gone.height, frames[0].height)


def _known(lake: Lake, buckets: Sequence[int]) -> pl.DataFrame:
    """The users of the lake. Files of an older version know nobody: everything is exported anew."""
    try:
        return lake.read(USERS, buckets)
    except BackfillNeeded:
        return USERS.schema.to_frame()


def _now(operator: Owner, ids: Range) -> pl.DataFrame:
    return revisions.between(operator, ids).select(USERS.schema.names())


def _vouch(lake: Lake, bucket: int, users: pl.DataFrame) -> None:
    lake.write(USERS, bucket, users, {STATE: _digest(users.select(REVISED)), DAYS: _digest(users.select("user", "as_of"))})


def _kept(lake: Lake, table: LakeTable, bucket: int, users: pl.DataFrame) -> pl.DataFrame:
    """The rows of users who have not changed. Where there are none, no file is read: it may be of an older version."""
    if users.is_empty():
        return table.schema.to_frame()
    return lake.read(table, [bucket]).join(users, on="user", how="semi")


def _others(frame: pl.DataFrame, than: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """The rows that are not among others, by these columns."""
    return frame.join(than, on=columns, how="anti", nulls_equal=True, maintain_order="left")


def _digest(frame: pl.DataFrame) -> str:
    return sha256(frame.write_csv(include_header=False).encode()).hexdigest()


def _frame(before: pl.DataFrame, now: pl.DataFrame, order: tuple[str, ...]) -> pl.DataFrame:
    return pl.concat([before, now.select(before.columns)]).sort(order)
