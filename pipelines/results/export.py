"""Export from the ledger to the lake: the input of tagging and analyses, read in one transaction for each bucket.

Only users whose revision has changed are read again. The table of users is written last: after a crash in between, users are
exported again, and none is wrong.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from uuid import UUID

import polars as pl

from warehouse.errors import BackfillNeeded
from warehouse.lake.buckets import Range, bounds, bucket_of, span
from warehouse.lake.lake import BucketWriter, Lake
from warehouse.lake.parquet import LakeTable, UserRange
from warehouse.lake.tables import CATEGORY_CHOICES, CATEGORY_RULES, PRODUCTS, TRANSACTIONS, USERS
from warehouse.postgres.database import Database, Owner
from warehouse.stores import choices, ledger, products, revisions, rules

STATE, DAYS, COLUMNS = "state", "days", "columns"
"""Keys in the metadata of the table of users: digests of all revisions, of all days, and of the columns of the exported tables.
Tables that are computed from it repeat them.
"""
REVISED = ["user", "tenant", "revision"]
MAX_BOOKINGS = 200_000
FIRST_USERS, MAX_GROWTH = 250, 4
"""The users of the first part of a bucket, whose number of bookings is not known; later parts grow at most so many times."""
Read = Callable[[Owner, Sequence[UUID]], pl.DataFrame]
BY_USER: tuple[tuple[LakeTable, Read, tuple[str, ...]], ...] = (
    (TRANSACTIONS, ledger.of_users, ("user", "sequence")),
    (PRODUCTS, products.of_users, ("user", "product")),
    (CATEGORY_CHOICES, choices.of_users, ("user", "id")),
)
"""The tables with rows of single users: how they are read, and how they are sorted."""


@dataclass(frozen=True)
class ExportCounts:
    """The users of a bucket, those who changed, those who are gone, and the bookings."""

    users: int
    changed: int
    gone: int
    bookings: int


def unchanged_buckets(database: Database, lake: Lake, buckets: Sequence[int], count: int) -> dict[int, ExportCounts]:
    """The buckets in which nothing has changed, found with one query over all of them."""
    lake_users = _lake_users(lake, buckets)
    with database.operating() as operator:
        current_users = _current_users(operator, span(buckets, count))
    pairs = ((lake_users, current_users), (current_users, lake_users))
    changed_users = pl.concat([_rows_not_in(*pair, USERS.schema.names()) for pair in pairs])["user"]
    changed = {bucket_of(UUID(user), count) for user in changed_users}
    return {
        bucket: ExportCounts(lake.rows(USERS, bucket), 0, 0, lake.rows(TRANSACTIONS, bucket))
        for bucket in buckets
        if bucket not in changed
    }


def export_bucket(
    database: Database,
    lake: Lake,
    bucket: int,
    count: int,
    *,
    everything: bool = False,
    max_bookings: int = MAX_BOOKINGS,
) -> ExportCounts:
    """Updates the lake's tables of a bucket from the ledger, with about this number of bookings in memory."""
    lake_users = USERS.schema.to_frame() if everything else _lake_users(lake, [bucket])
    with ExitStack() as stack:
        writers = [stack.enter_context(lake.writing(table, bucket)) for table, _, _ in BY_USER]
        with database.surveying() as operator:
            current_users = _current_users(operator, bounds(bucket, count))
            changed_users, gone_users = (
                _rows_not_in(current_users, lake_users, REVISED),
                _rows_not_in(lake_users, current_users, ["user"]),
            )
            if not everything and changed_users.is_empty() and gone_users.is_empty():  # only days have changed
                _vouch(lake, bucket, current_users)
                return ExportCounts(current_users.height, 0, 0, lake.rows(TRANSACTIONS, bucket))
            bookings = 0
            for users, report in _parts(current_users, max_bookings):
                rows = _add_rows(operator, lake, bucket, users, changed_users, writers)
                bookings += rows
                report(rows)
            rule_rows = rules.of_users(operator, [UUID(user) for user in current_users["user"]])
        for writer in writers:
            writer.finish({})
    lake.write(CATEGORY_RULES, bucket, rule_rows.select(CATEGORY_RULES.schema.names()), {})
    _vouch(lake, bucket, current_users)
    return ExportCounts(current_users.height, changed_users.height, gone_users.height, bookings)


def _parts(users: pl.DataFrame, max_bookings: int) -> Iterator[tuple[pl.DataFrame, Callable[[int], None]]]:
    """The users in parts of about this number of bookings, each with what is to be told how many it had."""
    start, size, bookings = 0, FIRST_USERS, 0

    def report(rows: int) -> None:
        nonlocal bookings
        bookings = rows

    while start < max(1, users.height):
        part = users.slice(start, size)
        yield part, report
        start += size
        size = max(1, min(MAX_GROWTH * size, max_bookings * part.height // max(1, bookings)))


def _add_rows(
    operator: Owner,
    lake: Lake,
    bucket: int,
    users: pl.DataFrame,
    all_changed_users: pl.DataFrame,
    writers: Sequence[BucketWriter],
) -> int:
    """Adds the rows of some users to all tables; returns the number of their bookings."""
    changed_users = users.join(all_changed_users, on="user", how="semi", maintain_order="left")
    unchanged_users = _rows_not_in(users, changed_users, ["user"])
    changed_ids = [UUID(user) for user in changed_users["user"]]
    bookings, *_ = (
        writer.add(_frame(_rows_of(lake, table, bucket, unchanged_users), read(operator, changed_ids), order))
        for writer, (table, read, order) in zip(writers, BY_USER, strict=True)
    )
    return bookings


def _lake_users(lake: Lake, buckets: Sequence[int]) -> pl.DataFrame:
    """The users in the lake. Buckets whose files have other columns count as empty, so that everything is exported again."""
    current_buckets = [bucket for bucket in buckets if lake.about(USERS, bucket).get(COLUMNS) == _columns_digest()]
    try:
        return lake.read(USERS, current_buckets)
    except BackfillNeeded:
        return USERS.schema.to_frame()


def _current_users(operator: Owner, ids: Range) -> pl.DataFrame:
    return revisions.between(operator, ids).select(USERS.schema.names())


def state_of(users: pl.DataFrame) -> dict[str, str]:
    """The digests of the revisions and days of users (`USERS`)."""
    return {STATE: _digest(users.select(REVISED)), DAYS: _digest(users.select("user", "as_of"))}


def _vouch(lake: Lake, bucket: int, users: pl.DataFrame) -> None:
    lake.write(USERS, bucket, users, {**state_of(users), COLUMNS: _columns_digest()})


def _rows_of(lake: Lake, table: LakeTable, bucket: int, users: pl.DataFrame) -> pl.DataFrame:
    """The stored rows of unchanged users. Without such users no file is read: it may have been written by an older version."""
    if users.is_empty():
        return table.schema.to_frame()
    ids = UserRange(users["user"][0], users["user"][-1])
    return lake.read(table, [bucket], users=ids).join(users, on="user", how="semi")


def _rows_not_in(frame: pl.DataFrame, than: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """The rows of a frame that do not occur in another one, compared by these columns."""
    return frame.join(than, on=columns, how="anti", nulls_equal=True, maintain_order="left")


@cache
def _columns_digest() -> str:
    tables = [table for table, _, _ in BY_USER]
    return sha256(repr([(table.name, table.schema) for table in tables]).encode()).hexdigest()


def _digest(frame: pl.DataFrame) -> str:
    return sha256(frame.write_csv(include_header=False).encode()).hexdigest()


def _frame(before: pl.DataFrame, now: pl.DataFrame, order: tuple[str, ...]) -> pl.DataFrame:
    return pl.concat([before, now.select(before.columns)]).sort(order)
