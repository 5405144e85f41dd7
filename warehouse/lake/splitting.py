"""Splitting buckets: each becomes several new ones, file by file, and nothing is lost wherever it is killed.

Buckets are split from the last to the first. The new numbers of bucket `b` begin at `b` times the factor, so they are free when
its turn comes; only bucket 0 is also one of its own new ones, and is cut last. A file is removed or cut once all its rows lie in
new files, and writing these again changes nothing. `splitting.txt` in the lake says which buckets are still to be split; while it
exists, the lake does not open.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

import polars as pl

from warehouse.errors import Invalid
from warehouse.lake import landing, parquet
from warehouse.lake.buckets import bucket_of
from warehouse.lake.lake import BUCKET_COUNT_FILE, MAX_BUCKETS, SPLIT_FILE, File, Lake, bucket_folder
from warehouse.lake.parquet import Footer, LakeTable

USER = "user"


@dataclass(frozen=True)
class Split:
    """How far a lake has come from one number of buckets to another: the buckets below `remaining` are still the old ones."""

    before: int
    after: int
    remaining: int

    @property
    def factor(self) -> int:
        return self.after // self.before

    def targets(self, bucket: int) -> range:
        """The new buckets of an old one."""
        return range(bucket * self.factor, (bucket + 1) * self.factor)


def find(lake: Lake) -> Split | None:
    """The split that has begun and has not ended."""
    text = lake.storage.read_text(SPLIT_FILE)
    return Split(*map(int, text.split())) if text else None


def begin(lake: Lake, after: int) -> Split:
    """The split of the lake into this number of buckets, new or begun before; raises `Invalid` for a number that cannot be."""
    unfinished, text = find(lake), lake.storage.read_text(BUCKET_COUNT_FILE)
    if text is None:
        raise Invalid("there is no lake to split: KONTOR_BUCKETS decides when it is begun")
    if unfinished is not None and unfinished.after != after:
        raise Invalid(f"this lake is being split into {unfinished.after} buckets: go on with that number")
    if unfinished is not None:
        return unfinished
    before = int(text)
    if after % before or not before < after <= MAX_BUCKETS:
        raise Invalid(f"{before} buckets can be split into a multiple of {before}, at most {MAX_BUCKETS}")
    split = Split(before, after, before)
    _write(lake, split)
    return split


def advance(lake: Lake, split: Split) -> Split:
    """The split after one more bucket."""
    further = Split(split.before, split.after, split.remaining - 1)
    _write(lake, further)
    return further


def end(lake: Lake, split: Split) -> None:
    """Lets the lake have its new number of buckets."""
    lake.storage.put(BUCKET_COUNT_FILE, str(split.after).encode())
    lake.storage.remove(SPLIT_FILE)


def split_file(
    lake: Lake,
    split: Split,
    table: LakeTable,
    bucket: int,
    users: Mapping[int, pl.DataFrame],
    abouts: Mapping[int, Mapping[str, str]],
) -> None:
    """Splits the file of a table with one file for each bucket. A new bucket with users has a file, also without rows.

    `users` are those of each new bucket, `abouts` the metadata of its file.
    """
    for file in lake.all_files(table, buckets=[bucket]):
        frame = parquet.read_raw(lake.storage, file.path)
        parts = _parts(frame, split)
        for target in _last_first(split, bucket):
            path, part = _path(file, target), parts.get(target, frame.clear())
            is_missing = target in users and not lake.all_files(table, buckets=[target])
            if part.height or is_missing or (target == bucket and target in users):
                _put(lake, path, parquet.encode(part, abouts[target]))
            elif target == bucket:
                lake.storage.remove(path)
        if bucket not in split.targets(bucket):
            lake.storage.remove(file.path)
    _sweep(lake, table, bucket)


def split_landing(lake: Lake, split: Split, table: LakeTable, bucket: int) -> None:
    """Splits the pieces of a landing. A piece without rows belongs to nobody, and stays in the first of the new buckets."""
    for folder in lake.folders(table, [bucket]):
        for file in landing.remove_compacted_pieces(lake, table, folder):
            footer, frame = lake.footer(file), parquet.read_raw(lake.storage, file.path)
            parts = _parts(frame, split)
            for target in _last_first(split, bucket):
                part, is_first = parts.get(target, frame.clear()), target == split.targets(bucket).start
                pieces = _pieces(footer, frame, split, target, keep_empty=is_first)
                if part.height or (is_first and (pieces or not footer.pieces)):
                    _put(lake, _path(file, target), parquet.encode(part, footer.about, pieces))
                elif target == bucket:
                    lake.storage.remove(file.path)
            if bucket not in split.targets(bucket):
                lake.storage.remove(file.path)
    _sweep(lake, table, bucket)


def _parts(frame: pl.DataFrame, split: Split) -> dict[int, pl.DataFrame]:
    """The rows of each new bucket, in their order."""
    ids = frame.select(pl.col(USER).unique())
    numbers = ids.with_columns(target=pl.Series([bucket_of(UUID(id_), split.after) for id_ in ids[USER]], dtype=pl.Int64))
    marked = frame.join(numbers, on=USER, how="left", maintain_order="left")
    parts = marked.partition_by("target", as_dict=True, include_key=False, maintain_order=True)
    return {int(target): part for (target,), part in parts.items()}


def _pieces(footer: Footer, frame: pl.DataFrame, split: Split, target: int, *, keep_empty: bool) -> list[tuple[str, int]]:
    """The pieces of a compacted file with their rows in a new bucket."""
    pieces, start = [], 0
    for name, rows in footer.pieces:
        own = _parts(frame.slice(start, rows), split).get(target)
        start += rows
        if own is not None or (keep_empty and not rows):
            pieces.append((name, 0 if own is None else own.height))
    return pieces


def _last_first(split: Split, bucket: int) -> Iterator[int]:
    """The new buckets of an old one, the first of them last: it may be the old one itself."""
    return reversed(split.targets(bucket))


def _path(file: File, target: int) -> str:
    """Where the rows of a file lie that belong to a new bucket."""
    folder, _, name = file.path.rpartition("/")
    return f"{folder.rpartition('/')[0]}/{bucket_folder(target)}/{name}"


def _put(lake: Lake, path: str, content: bytes) -> None:
    with lake.storage.lock(path.rpartition("/")[0]):
        lake.storage.put(path, content)


def _sweep(lake: Lake, table: LakeTable, bucket: int) -> None:
    """Removes what killed writers have left in the folders of a bucket."""
    for folder in lake.folders(table, [bucket]):
        lake.remove_leftovers(table, folder)


def _write(lake: Lake, split: Split) -> None:
    lake.storage.put(SPLIT_FILE, f"{split.before} {split.after} {split.remaining}".encode())
