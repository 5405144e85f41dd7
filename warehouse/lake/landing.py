"""Landings: the answers of banks, piece by piece, never changed: `landing/slot=2026-11-15T06/bucket=017/<name>.parquet`.

Many small files are slow to read, so the pieces of a slot and bucket are compacted into one. The
compacted file lists the pieces that it contains, and readers prefer it to them. A crash in between leaves both, and neither loses
nor doubles a row.
"""

import re
from collections.abc import Sequence
from hashlib import blake2b
from itertools import accumulate
from typing import NamedTuple

import polars as pl

from analytics.frames import checked
from warehouse.errors import Invalid, NameTaken, NotFound
from warehouse.lake import parquet
from warehouse.lake.lake import COMPACTED_PREFIX, File, Lake, WriteSummary, bucket_folder
from warehouse.lake.parquet import LakeTable
from warehouse.lake.storage import retry_read

_SLOT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


class Piece(NamedTuple):
    """Rows that were appended together. Pieces are ordered by slot and name."""

    slot: str
    name: str
    bucket: int


class _Span(NamedTuple):
    """Where the rows of a piece are: a whole file, or a range of rows of a compacted one."""

    file: File
    start: int = 0
    rows: int | None = None


def append(lake: Lake, table: LakeTable, slot: str, bucket: int, name: str, frame: pl.DataFrame) -> WriteSummary:
    """Adds a piece. Adding it again, after a crash, writes nothing; other rows under the same name are refused."""
    folder = piece_folder(table, slot, bucket)
    if not _NAME.fullmatch(name):
        raise Invalid(f"{name!r} is no name for a piece: letters, digits, - and _")
    rows = checked(frame, table.schema)
    with lake.storage.lock(folder):
        before = _spans(lake, table, folder).get(name)
        if before is not None:
            if not _rows(lake, table, [before])[0].equals(rows):
                raise NameTaken(f"{folder} has a piece {name} with other rows")
            return WriteSummary(0, 0)
        content = parquet.encode(rows, {})
        lake.storage.put(f"{folder}/{name}.parquet", content)
    return WriteSummary(rows.height, len(content))


def list_pieces(lake: Lake, table: LakeTable, slot: str | None = None, bucket: int | None = None) -> list[Piece]:
    """The pieces of a landing, or of one slot, or of one bucket, sorted."""

    def pieces() -> list[Piece]:
        folder = table.name if slot is None else piece_folder(table, slot, bucket)
        files = lake.files(table, folder, None if bucket is None else {bucket})
        return sorted(Piece(file.slot, name, file.bucket) for file in files for name in _names(lake, file))

    return retry_read(pieces)


def read_pieces(lake: Lake, table: LakeTable, pieces: Sequence[Piece]) -> pl.DataFrame:
    """The rows of some pieces, in the order of the pieces."""

    def rows() -> pl.DataFrame:
        folders = {piece_folder(table, piece.slot, piece.bucket) for piece in pieces}
        spans = {folder: _spans(lake, table, folder) for folder in folders}
        piece_spans = [spans[piece_folder(table, piece.slot, piece.bucket)].get(piece.name) for piece in pieces]
        missing = [piece for piece, span in zip(pieces, piece_spans, strict=True) if span is None]
        if missing:
            raise NotFound(f"{table.name} has no piece {missing[0].name} in slot {missing[0].slot}")
        return pl.concat([table.schema.to_frame(), *_rows(lake, table, [span for span in piece_spans if span])])

    return retry_read(rows)


def compact(lake: Lake, table: LakeTable, slot: str, bucket: int) -> int:
    """Merges all pieces of a slot and bucket into one file; returns how many files it replaced."""
    folder = piece_folder(table, slot, bucket)
    with lake.storage.lock(folder):
        files = lake.all_files(table, folder)
        spans = _spans(lake, table, folder)
        if len(files) <= 1:
            return 0
        names = sorted(spans)
        frames = _rows(lake, table, [spans[name] for name in names])
        pieces = [(name, frame.height) for name, frame in zip(names, frames, strict=True)]
        path = f"{folder}/{COMPACTED_PREFIX}{blake2b('/'.join(names).encode(), digest_size=8).hexdigest()}.parquet"
        lake.storage.put(path, parquet.encode(pl.concat(frames), {}, pieces))
        return lake.storage.remove(*(file.path for file in files if file.path != path))


def retire(lake: Lake, table: LakeTable, before: str) -> int:
    """Removes all slots before one; returns how many files that were."""
    return sum(lake.storage.remove(file.path) for file in lake.all_files(table) if file.slot < before)


def remove_compacted_pieces(lake: Lake, table: LakeTable, folder: str) -> list[File]:
    """Removes the pieces that a crashed compaction left behind; returns the files that the folder has then."""
    files = lake.files(table, folder)
    lake.storage.remove(*(file.path for file in set(lake.all_files(table, folder)) - set(files)))
    return files


def piece_folder(table: LakeTable, slot: str, bucket: int | None) -> str:
    """The folder of the pieces of a slot, or of a slot and bucket."""
    if not table.landing:
        raise Invalid(f"{table.name} is no landing: its buckets are written whole")
    if not _SLOT.fullmatch(slot):
        raise Invalid(f"{slot!r} is no slot: a day and an hour, such as 2026-11-15T06")
    return f"{table.name}/slot={slot}" + ("" if bucket is None else f"/{bucket_folder(bucket)}")


def _names(lake: Lake, file: File) -> list[str]:
    return [name for name, _ in lake.footer(file).pieces] if file.compacted else [file.name]


def _spans(lake: Lake, table: LakeTable, folder: str) -> dict[str, _Span]:
    """Where the rows of every piece of a folder are."""
    spans: dict[str, _Span] = {}
    for file in lake.files(table, folder):
        if file.compacted:
            pieces = lake.footer(file).pieces
            starts = accumulate((rows for _, rows in pieces), initial=0)
            spans |= {name: _Span(file, start, rows) for (name, rows), start in zip(pieces, starts, strict=False)}
        else:
            spans[file.name] = _Span(file)
    return spans


def _rows(lake: Lake, table: LakeTable, spans: Sequence[_Span]) -> list[pl.DataFrame]:
    """The rows of each span; every file is read once."""
    files = dict.fromkeys(span.file for span in spans)
    frames = {file: parquet.read(lake.storage, [file.path], table, table.schema.names()) for file in files}
    return [frames[span.file].slice(span.start, span.rows) for span in spans]
