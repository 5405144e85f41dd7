"""Erasing rows from the lake, as when a user is deleted: every file that has some is written again without them."""

from collections.abc import Collection
from itertools import accumulate

import polars as pl

from warehouse.errors import BackfillNeeded, KontorError
from warehouse.lake import landing, parquet
from warehouse.lake.lake import File, Lake
from warehouse.lake.parquet import LakeTable


def rewrite_without(
    lake: Lake, table: LakeTable, column: str, values: Collection[object], buckets: Collection[int] | None = None
) -> int:
    """Removes the rows whose column has one of the values, from some buckets or all; returns how many.

    Safe to repeat after a crash. If a file cannot be read, the others are rewritten first, and the error is raised then. Files
    that crashed writers left may have such rows as well: `Lake.sweep` removes them.
    """
    erased_values = pl.Series(list(values), dtype=table.schema[column])
    removed_rows = 0
    errors: list[KontorError] = []
    for folder in dict.fromkeys(file.folder for file in lake.all_files(table, buckets=buckets)):
        with lake.storage.lock(folder):
            for file in _files(lake, table, folder, errors):
                try:
                    removed_rows += _rewrite(lake, file, column, erased_values)
                except KontorError as error:
                    errors.append(error)
    if errors:
        raise errors[0]
    return removed_rows


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
