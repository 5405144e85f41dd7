"""Erasing rows from the lake, as when a user is deleted: every file that has some is written again without them."""

from collections.abc import Collection
from itertools import accumulate
from typing import NamedTuple

import polars as pl

from warehouse.errors import BackfillNeeded, KontorError
from warehouse.lake import landing, parquet
from warehouse.lake.lake import File, Lake
from warehouse.lake.parquet import LakeTable, is_table_name

FORMER_COLUMNS = pl.Schema({"user": pl.String})


class ErasureCounts(NamedTuple):
    """The files that were read, the rows that were removed from them, and the removed files of killed writers."""

    files: int = 0
    rows: int = 0
    leftovers: int = 0


def rewrite_without(
    lake: Lake, table: LakeTable, column: str, values: Collection[object], buckets: Collection[int] | None = None
) -> ErasureCounts:
    """Removes the rows whose column has one of the values, from some buckets or all, with all that killed writers left there.

    Safe to repeat after a crash. If a file cannot be read, the others are rewritten first, and the error is raised then.
    """
    erased_values = pl.Series(list(values), dtype=table.schema[column])
    removed_rows: list[int] = []
    leftovers = 0
    errors: list[KontorError] = []
    for folder in lake.folders(table, buckets):
        with lake.storage.lock(folder):
            leftovers += lake.remove_leftovers(table, folder)
            for file in _files(lake, table, folder, errors):
                try:
                    removed_rows.append(_rewrite(lake, file, column, erased_values))
                except KontorError as error:
                    errors.append(error)
    if errors:
        raise errors[0]
    return ErasureCounts(len(removed_rows), sum(removed_rows), leftovers)


def former_tables(lake: Lake, tables: Collection[LakeTable]) -> list[LakeTable]:
    """The tables that an older version of Kontor has left in the lake, by the column `user` of their files."""
    names = set(lake.storage.entries()) - {table.name for table in tables}
    folders = [LakeTable(name, FORMER_COLUMNS) for name in sorted(names) if is_table_name(name)]
    return [table for table in folders if _has_users(lake, table)]


def _has_users(lake: Lake, table: LakeTable) -> bool:
    files = lake.all_files(table)
    return bool(files) and all(table.schema.keys() <= parquet.columns_of(lake.storage, file.path).keys() for file in files)


def _files(lake: Lake, table: LakeTable, folder: str, errors: list[KontorError]) -> list[File]:
    """The files of a folder. Pieces that were compacted are left out, unless a damaged file hides which these are."""
    if not table.landing:
        return lake.files(table, folder)
    try:
        return landing.remove_compacted_pieces(lake, table, folder)
    except KontorError as error:
        errors.append(error)
        return lake.all_files(table, folder)


def _rewrite(lake: Lake, file: File, column: str, erased_values: pl.Series) -> int:
    """Rewrites one file with the columns that it has, since erasing does not wait for a backfill; returns the removed rows."""
    if column not in parquet.columns_of(lake.storage, file.path):
        raise BackfillNeeded(f"{file.path} has no column {column}: backfill this bucket, then erase again")
    file_values = parquet.read_raw(lake.storage, file.path, [column])[column]
    is_erased = file_values.is_in(erased_values.implode(), nulls_equal=True)
    removed_rows = int(is_erased.sum())
    if removed_rows == file_values.len():
        lake.storage.remove(file.path)
    elif removed_rows:
        footer, frame = lake.footer(file), parquet.read_raw(lake.storage, file.path)
        pieces = _remaining_pieces(footer.pieces, is_erased)
        lake.storage.put(file.path, parquet.encode(frame.filter(~is_erased), footer.about, pieces))
    return removed_rows


def _remaining_pieces(pieces: list[tuple[str, int]], is_erased: pl.Series) -> list[tuple[str, int]]:
    """The pieces of a compacted file with their remaining rows. An empty one keeps its name, so that it is not landed again."""
    starts = accumulate((rows for _, rows in pieces), initial=0)
    return [(name, rows - int(is_erased.slice(start, rows).sum())) for (name, rows), start in zip(pieces, starts, strict=False)]
