"""Rows that must go from the lake, as when a user is deleted: every file that has some is written again without them."""

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
    """Removes the rows whose column has one of the values, from some buckets or all, and says how many that were.

    Safe to begin again after a crash. A file that cannot be read stops only itself: the others are done before this is said.
    What crashed writers left may have such rows as well: `Lake.sweep` removes it.
    """
    doomed = pl.Series(list(values), dtype=table.schema[column])
    removed = 0
    troubles: list[KontorError] = []
    for folder in dict.fromkeys(file.folder for file in lake.found(table, buckets=buckets)):
        with lake.place.alone(folder):
            for file in _files(lake, table, folder, troubles):
                try:
                    removed += _rewrite(lake, file, column, doomed)
                except KontorError as trouble:
                    troubles.append(trouble)
    if troubles:
        raise troubles[0]
    return removed


def _files(lake: Lake, table: LakeTable, folder: str, troubles: list[KontorError]) -> list[File]:
    """The files of a folder; of a landing without those that were compacted, or all where nobody can say which these are."""
    if not table.landing:
        return lake.files(table, folder)
    try:
        return landing.remove_compacted_pieces(lake, table, folder)
    except KontorError as trouble:
        troubles.append(trouble)
        return lake.found(table, folder)


def _rewrite(lake: Lake, file: File, column: str, doomed: pl.Series) -> int:
    """Rewrites one file, with the columns that it has: erasing does not wait for a backfill."""
    if column not in parquet.columns_of(lake.place, file.path):
        raise BackfillNeeded(f"{file.path} has no column {column}: backfill this bucket, then erase again")
    found = parquet.read_raw(lake.place, file.path, [column])[column]
    goes = found.is_in(doomed.implode(), nulls_equal=True)
    removed = int(goes.sum())
    if removed == found.len():
        lake.place.remove(file.path)
    elif removed:
        told, frame = lake.footer(file), parquet.read_raw(lake.place, file.path)
        lake.place.put(file.path, parquet.encode(frame.filter(~goes), told.about, _left(told.pieces, goes)))
    return removed


def _left(pieces: list[tuple[str, int]], goes: pl.Series) -> list[tuple[str, int]]:
    """The pieces of a compacted file with the rows that stay; one without rows keeps its name, so that nobody lands it again."""
    starts = accumulate((rows for _, rows in pieces), initial=0)
    return [(name, rows - int(goes.slice(start, rows).sum())) for (name, rows), start in zip(pieces, starts, strict=False)]
