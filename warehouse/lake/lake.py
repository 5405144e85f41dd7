"""The lake: Parquet files, a folder per table and a file per bucket, `transactions/bucket=017/part.parquet`.

Readers see the old file or the new one, never half of one; of two writers the last one wins. The tables are listed in
`warehouse/lake/tables.py`. `warehouse/lake/landing.py` fills the landings, which keep pieces; `warehouse/lake/erasure.py` erases
rows; `warehouse/lake/sql.py` answers queries.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

import polars as pl

from analytics.frames import checked
from warehouse.errors import Invalid
from warehouse.lake import parquet
from warehouse.lake.parquet import ALL_USERS, Footer, LakeTable, PieceEncoder, UserRange
from warehouse.lake.storage import Storage, retry_read

MAX_BUCKETS = 1000
"""Folders have three digits for the bucket."""
STATISTICS = pl.Schema([("bucket", pl.Int64), ("rows", pl.Int64), ("bytes", pl.Int64), ("written_at", pl.Datetime("us", "UTC"))])
BUCKET_COUNT_FILE = "buckets.txt"
"""Holds the number of buckets of this lake."""
SPLIT_FILE = "splitting.txt"
"""Exists while the buckets of this lake are being split; `warehouse/lake/splitting.py` writes it."""
COMPACTED_PREFIX = "compacted."
"""Of the names of compacted files. No piece has a dot in its name."""
_FOLDER = re.compile(r"[^/]+/(slot=[^/]+/)?bucket=(?P<bucket>\d{3})")
_PART = re.compile(r"[^/]+/bucket=(?P<bucket>\d{3})/(?P<name>part)\.parquet")
_PIECE = re.compile(r"[^/]+/slot=(?P<slot>[^/]+)/bucket=(?P<bucket>\d{3})/(?P<name>[^/]+)\.parquet")


class WriteSummary(NamedTuple):
    rows: int
    bytes: int


@dataclass(frozen=True, order=True)
class File:
    """A file of a table."""

    slot: str
    name: str
    bucket: int
    path: str

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def compacted(self) -> bool:
        return self.name.startswith(COMPACTED_PREFIX)


class Lake:
    """A location for Parquet files, one folder per table."""

    def __init__(self, location: str | Storage) -> None:
        self.storage = location if isinstance(location, Storage) else Storage.of(location)

    def folder(self, path: str) -> "Lake":
        """A lake of its own in a folder of this one."""
        return Lake(self.storage.folder(path))

    def prepare(self, buckets: int) -> None:
        """Creates the folder if it is missing. The number of buckets is fixed then, since files are found by it."""
        self.storage.prepare()
        if (split := self.storage.read_text(SPLIT_FILE)) is not None:
            raise Invalid(f"this lake is being split: end that with 'kontor buckets split --into {split.split()[1]}'")
        bucket_count = self.storage.read_text(BUCKET_COUNT_FILE) or self.storage.put_if_absent(BUCKET_COUNT_FILE, str(buckets))
        if bucket_count != str(buckets):
            raise Invalid(
                f"this lake has {bucket_count} buckets, KONTOR_BUCKETS says {buckets}: set it to {bucket_count}; "
                "'kontor buckets split' makes more of them"
            )

    def check(self) -> None:
        """Raises `OSError` if no file can be written here now."""
        self.storage.probe()

    def write(self, table: LakeTable, bucket: int, frame: pl.DataFrame, about: Mapping[str, str]) -> WriteSummary:
        """Replaces the rows of a bucket. `about` says what they were computed from, and can be read without them."""
        with self.writing(table, bucket) as writer:
            writer.add(frame)
            return writer.finish(about)

    @contextmanager
    def writing(self, table: LakeTable, bucket: int) -> Iterator["BucketWriter"]:
        """Replaces the rows of a bucket by rows that come in pieces, once the writer has finished."""
        with PieceEncoder(table.schema) as encoder:
            yield BucketWriter(self.storage, table, bucket, encoder)

    def about(self, table: LakeTable, bucket: int) -> dict[str, str]:
        """The `about` with which a bucket was written; empty where there is no file."""
        return self._footer_of(table, bucket).about

    def rows(self, table: LakeTable, bucket: int) -> int:
        """The number of rows of a bucket, without reading them."""
        return self._footer_of(table, bucket).rows

    def _footer_of(self, table: LakeTable, bucket: int) -> Footer:
        try:
            return parquet.footer(self.storage, part_path(table, bucket))
        except FileNotFoundError:
            return Footer(0, {}, [])

    def delete(self, table: LakeTable, bucket: int) -> bool:
        """Removes a bucket; returns whether there was one."""
        path = part_path(table, bucket)
        with self.storage.lock(path.rpartition("/")[0]):
            return bool(self.storage.remove(path))

    def read(
        self,
        table: LakeTable,
        buckets: Iterable[int] | None = None,
        columns: Sequence[str] | None = None,
        users: UserRange = ALL_USERS,
    ) -> pl.DataFrame:
        """The rows of some buckets or of all, sorted by bucket; those of a landing by slot. No rows where there is no file. Of a
        range of users only the parts of files that may have some are read.
        """
        numbers = None if buckets is None else frozenset(buckets)
        names = table.schema.names() if columns is None else columns
        return retry_read(
            lambda: parquet.read(self.storage, [file.path for file in self.files(table, buckets=numbers)], table, names, users)
        )

    def user_ranges(self, table: LakeTable, bucket: int, max_rows: int) -> list[UserRange]:
        """All users in ranges with about this number of rows of a table in a bucket; a user is never divided."""
        if self.rows(table, bucket) <= max_rows:
            return [ALL_USERS]
        path = part_path(table, bucket)
        users = retry_read(
            lambda: parquet.scan(self.storage, [path], table.schema).group_by("user").len().collect(engine="streaming")
        ).sort("user")
        numbered = users.with_columns(range=(pl.col("len").cum_sum() - pl.col("len")) // max_rows)
        lasts = numbered.group_by("range", maintain_order=True).agg(pl.col("user").last())["user"]
        return ranges_until(lasts.to_list())

    def scan(self, table: LakeTable) -> pl.LazyFrame:
        """All rows of a table, lazily. Only the columns have been checked."""

        def checked_paths() -> list[str]:
            paths = [file.path for file in self.files(table)]
            parquet.require(self.storage, paths, table)
            return paths

        return parquet.scan(self.storage, retry_read(checked_paths), table.schema)

    def buckets(self, table: LakeTable) -> list[int]:
        """The buckets that have files."""
        return sorted({file.bucket for file in self.all_files(table)})

    def statistics(self, table: LakeTable, buckets: Collection[int] | None = None) -> pl.DataFrame:
        """Rows, bytes and age of some buckets or of all, without reading the rows."""

        def rows() -> list[tuple[int, int, int, datetime]]:
            return [
                (
                    file.bucket,
                    parquet.footer(self.storage, file.path).rows,
                    self.storage.size(file.path),
                    self.storage.written_at(file.path),
                )
                for file in self.files(table, buckets=buckets)
            ]

        frame = pl.DataFrame(retry_read(rows), schema=STATISTICS, orient="row")
        return frame.group_by("bucket").agg(pl.sum("rows", "bytes"), pl.max("written_at")).sort("bucket")

    def last_written_at(self, table: LakeTable) -> datetime | None:
        """When a file of a table was last written; None if it has no file."""
        return self.storage.last_written_at(table.name)

    def sweep(self, older_than: datetime) -> int:
        """Removes the files that crashed writers left before a moment; returns how many."""
        return self.storage.sweep(older_than)

    def all_files(self, table: LakeTable, folder: str = "", buckets: Collection[int] | None = None) -> list[File]:
        """The files of a table, of one of its folders, or of some buckets, including pieces that a compacted file contains."""
        shape, find = (_PIECE, self.storage.find_stable) if table.landing else (_PART, self.storage.find)
        folders = [folder or table.name]
        if buckets is not None and not table.landing:  # a landing has its slots above the buckets
            folders = [f"{table.name}/{bucket_folder(bucket)}" for bucket in buckets]
        matches = [match for folder in folders for path in find(folder) if (match := shape.fullmatch(path))]
        files = [File(match.groupdict().get("slot", ""), match["name"], int(match["bucket"]), match.string) for match in matches]
        return sorted(file for file in files if buckets is None or file.bucket in buckets)

    def folders(self, table: LakeTable, buckets: Collection[int] | None = None) -> list[str]:
        """The folders of some buckets or of all, also those in which a killed writer has left nothing but an unfinished file."""
        tops = [table.name]
        if buckets is not None and not table.landing:
            tops = [f"{table.name}/{bucket_folder(bucket)}" for bucket in buckets]
        matches = [match for top in tops for path in self.storage.find_folders(top) if (match := _FOLDER.fullmatch(path))]
        return [match.string for match in matches if buckets is None or int(match["bucket"]) in buckets]

    def remove_leftovers(self, table: LakeTable, folder: str) -> int:
        """Removes what is in a folder of a bucket and no file of the table; returns how many files that were.

        The caller holds the lock of the folder: all writers do while they write, so these files are of killed ones.
        """
        own_paths = {file.path for file in self.all_files(table, folder)}
        return self.storage.remove(*(path for path in self.storage.find_all(folder) if path not in own_paths))

    def files(self, table: LakeTable, folder: str = "", buckets: Collection[int] | None = None) -> list[File]:
        """The files to read: pieces that a compacted file contains are left out, even where they still exist."""
        files = self.all_files(table, folder, buckets)
        if not any(file.compacted for file in files):
            return files
        by_folder = groupby(sorted(files, key=lambda file: file.path), key=lambda file: file.folder)
        return sorted(file for _, group in by_folder for file in self._uncovered(list(group)))

    def _uncovered(self, files: list[File]) -> list[File]:
        """Of the files of one folder, those which together have every piece once.

        Every compaction takes in all files that it finds, so the larger of two compacted files contains the other one.
        """
        compacted_files = [file for file in files if file.compacted]
        if not compacted_files or len(files) == 1:
            return files
        contents = {file: {name for name, _ in self.footer(file).pieces} for file in compacted_files}
        largest = max(compacted_files, key=lambda file: (len(contents[file]), file.name))
        return [largest, *(file for file in files if not file.compacted and file.name not in contents[largest])]

    def footer(self, file: File) -> Footer:
        """The footer of a file."""
        return parquet.footer(self.storage, file.path)


@dataclass(frozen=True)
class BucketWriter:
    """Takes the rows of a bucket in pieces."""

    _storage: Storage
    _table: LakeTable
    _bucket: int
    _encoder: PieceEncoder

    def add(self, frame: pl.DataFrame) -> int:
        """Adds rows after those before; returns their number."""
        self._encoder.add(checked(frame, self._table.schema))
        return frame.height

    def finish(self, about: Mapping[str, str]) -> WriteSummary:
        """Replaces the file of the bucket."""
        path = part_path(self._table, self._bucket)
        content = self._encoder.encode(about)
        with self._storage.lock(path.rpartition("/")[0]):
            self._storage.put(path, content)
        return WriteSummary(self._encoder.rows, len(content))


def ranges_until(lasts: Sequence[str]) -> list[UserRange]:
    """All users in ranges that end with these, the last one open."""
    after = [f"{last}!" for last in lasts[:-1]]  # the first text behind an id that no other id comes before
    firsts = [ALL_USERS.first, *after]
    return [UserRange(first, last) for first, last in zip(firsts, [*lasts[:-1], ALL_USERS.last], strict=True)]


def part_path(table: LakeTable, bucket: int) -> str:
    """The path of the file of a bucket."""
    if table.landing:
        raise Invalid(f"{table.name} is a landing: its rows come in pieces")
    return f"{table.name}/{bucket_folder(bucket)}/part.parquet"


def bucket_folder(bucket: int) -> str:
    """The name of the folder of a bucket."""
    if not 0 <= bucket < MAX_BUCKETS:
        raise Invalid(f"{bucket} is no bucket: 0 to {MAX_BUCKETS - 1}")
    return f"bucket={bucket:03}"
