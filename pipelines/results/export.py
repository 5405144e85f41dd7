"""Export from the ledger to the lake: the input of tagging and analyses, read in one transaction for each bucket.

Only users whose revision has changed are read again, and of their bookings only those that have changed since the last export,
if the ledger remembers all changes since then. The table of users is written last: after a crash in between, users are exported
again, and none is wrong.
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
DATED = [*REVISED, "as_of"]
MAX_BOOKINGS = 200_000
FIRST_USERS, MAX_GROWTH = 250, 4
"""The users of the first part of a bucket, whose number of bookings is not known; later parts grow at most so many times."""
PRODUCT = ["user", "product"]
SORTED_TABLES = ((TRANSACTIONS, ["user", "sequence"]), (PRODUCTS, PRODUCT), (CATEGORY_CHOICES, ["user", "id"]))
"""The tables with rows of single users, and how they are sorted."""


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
    changed_users = pl.concat([_rows_not_in(*pair, DATED) for pair in pairs])["user"]
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
        writers = [stack.enter_context(lake.writing(table, bucket)) for table, _ in SORTED_TABLES]
        with database.surveying() as operator:
            current_users = _current_users(operator, bounds(bucket, count))
            changed_users, gone_users = (
                _rows_not_in(current_users, lake_users, REVISED),
                _rows_not_in(lake_users, current_users, ["user"]),
            )
            exported_users = _with_serials_of(current_users, lake_users)
            if not everything and changed_users.is_empty() and gone_users.is_empty():  # only days have changed
                _vouch(lake, bucket, exported_users)
                return ExportCounts(current_users.height, 0, 0, lake.rows(TRANSACTIONS, bucket))
            update = _Update(operator, lake, bucket, changed_users, _serials(operator, lake, bucket, changed_users, lake_users))
            bookings = 0
            for users, report in _parts(current_users, max_bookings):
                rows = update.add(users, writers)
                bookings += rows
                report(rows)
            rule_rows = rules.of_users(operator, _ids(current_users))
        for writer in writers:
            writer.finish({STATE: state_of(current_users)[STATE]})
    lake.write(CATEGORY_RULES, bucket, rule_rows.select(CATEGORY_RULES.schema.names()), {})
    _vouch(lake, bucket, exported_users)
    return ExportCounts(current_users.height, changed_users.height, gone_users.height, bookings)


def _with_serials_of(current_users: pl.DataFrame, lake_users: pl.DataFrame) -> pl.DataFrame:
    """The users; those whose data have not changed keep the serial of which the lake has all changes."""
    exported = lake_users.select(*REVISED, exported_serial="serial")
    users = current_users.join(exported, on=REVISED, how="left", nulls_equal=True, maintain_order="left")
    return users.with_columns(serial=pl.coalesce("exported_serial", "serial")).select(USERS.schema.names())


def _serials(operator: Owner, lake: Lake, bucket: int, changed_users: pl.DataFrame, lake_users: pl.DataFrame) -> pl.DataFrame:
    """The changed users whose rows in the lake are complete up to a serial, and whose later changes the ledger remembers."""
    state = lake.about(USERS, bucket).get(STATE)
    if any(lake.about(table, bucket).get(STATE) != state for table, _ in SORTED_TABLES):  # of an export that was killed
        return ledger.SERIALS.to_frame()
    return ledger.with_remembered_changes(operator, lake_users.join(changed_users, on="user", how="semi"))


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


@dataclass(frozen=True)
class _Update:
    """The update of a bucket: the changed users, and those of them whose rows in the lake are complete up to a serial."""

    operator: Owner
    lake: Lake
    bucket: int
    changed_users: pl.DataFrame
    serials: pl.DataFrame

    def add(self, users: pl.DataFrame, writers: Sequence[BucketWriter]) -> int:
        """Adds the rows of some users to all tables; returns the number of their bookings."""
        changed_users = users.join(self.changed_users, on="user", how="semi", maintain_order="left")
        unchanged_users = _rows_not_in(users, changed_users, ["user"])
        changed_ids = _ids(changed_users)
        current_products = products.of_users(self.operator, changed_ids)
        rows = (
            self._bookings(users, changed_users, current_products),
            pl.concat([self._rows(PRODUCTS, unchanged_users), current_products]),
            pl.concat([self._rows(CATEGORY_CHOICES, unchanged_users), choices.of_users(self.operator, changed_ids)]),
        )
        counts = [writer.add(frame.sort(order)) for writer, frame, (_, order) in zip(writers, rows, SORTED_TABLES, strict=True)]
        return counts[0]

    def _bookings(self, users: pl.DataFrame, changed_users: pl.DataFrame, current_products: pl.DataFrame) -> pl.DataFrame:
        """Of users with a serial, what has changed since; of all other changed users, what they have."""
        serials = self.serials.join(users, on="user", how="semi")
        stored_products = self._rows(PRODUCTS, users.join(serials, on="user", how="semi", maintain_order="left"))
        new_products = _rows_not_in(current_products, stored_products, PRODUCT)
        serials = _rows_not_in(serials, new_products, ["user"])
        whole_users = _rows_not_in(changed_users, serials, ["user"])
        changes = ledger.changed_since(self.operator, serials).join(
            current_products, on=PRODUCT, how="semi", maintain_order="left"
        )
        outdated_ids = pl.concat([changes.select("id"), ledger.removed_since(self.operator, serials)])
        gone_products = _rows_not_in(stored_products, current_products, PRODUCT)
        stored_bookings = self._rows(TRANSACTIONS, _rows_not_in(users, whole_users, ["user"]))
        remaining_bookings = _rows_not_in(_rows_not_in(stored_bookings, outdated_ids, ["id"]), gone_products, PRODUCT)
        return pl.concat([remaining_bookings, changes, ledger.of_users(self.operator, _ids(whole_users))])

    def _rows(self, table: LakeTable, users: pl.DataFrame) -> pl.DataFrame:
        """The stored rows of users. Without users no file is read: it may have been written by an older version."""
        if users.is_empty():
            return table.schema.to_frame()
        ids = UserRange(users["user"][0], users["user"][-1])
        return self.lake.read(table, [self.bucket], users=ids).join(users, on="user", how="semi")


def _ids(users: pl.DataFrame) -> list[UUID]:
    return [UUID(user) for user in users["user"]]


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


def _rows_not_in(frame: pl.DataFrame, than: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """The rows of a frame that do not occur in another one, compared by these columns."""
    return frame.join(than, on=columns, how="anti", nulls_equal=True, maintain_order="left")


@cache
def _columns_digest() -> str:
    return sha256(repr([(table.name, table.schema) for table, _ in SORTED_TABLES]).encode()).hexdigest()


def _digest(frame: pl.DataFrame) -> str:
    return sha256(frame.write_csv(include_header=False).encode()).hexdigest()
