"""Columns of texts as memory: where kernels find the texts of a Polars column, and how what they wrote becomes one again."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from analytics.native.compiling import inner, peek, peek32, peek64

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]

WIDTH = 32
"""Bytes of one column's entry in a table of columns: views, their buffers, which are there, and the row to begin with."""


class TextColumns(NamedTuple):
    """Columns of texts, where they lie. Nothing is copied; the memory is good while this is held."""

    table: Offsets
    held: list[object]
    rows: int

    @property
    def address(self) -> int:
        return int(self.table.ctypes.data)


def texts(*columns: pl.Series) -> TextColumns:
    """The columns, to be read row by row with `text_at`: the entries lie one behind the other."""
    table = np.zeros((len(columns), 4), np.int64)
    held: list[object] = []
    for entry, column in zip(table, columns, strict=True):
        array = column.cast(pl.String).rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        present, views, *buffers = array.cast(pa.string_view()).buffers()
        addresses = np.array([buffer.address for buffer in buffers] or [0], np.int64)
        entry[:] = views.address if views else 0, addresses.ctypes.data, present.address if present else 0, array.offset
        held += [array, addresses]
    return TextColumns(table, held, len(columns[0]))


@inner
def text_at(entry: int, row: int) -> tuple[int, int]:
    """Where a text of the column with this entry begins and ends; equal where there is none."""
    row += peek64(entry + 24)
    present = peek64(entry + 16)
    if present and not peek(present + (row >> 3)) >> (row & 7) & 1:
        return 0, 0
    view = peek64(entry) + 16 * row
    size = peek32(view)
    if size <= 12:
        return view + 4, view + 4 + size
    begin = peek64(peek64(entry + 8) + 8 * peek32(view + 8)) + peek32(view + 12)
    return begin, begin + size


def strings(column: pl.Series) -> tuple[Bytes, Offsets]:
    """The bytes of all texts of a column one behind the other, and where each begins; what is missing is empty."""
    array = column.cast(pl.String).fill_null("").rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    if data is None or data.size == 0:
        return np.zeros(0, np.uint8), np.zeros(len(column) + 1, np.int64)
    starts = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(column) + 1]
    return np.frombuffer(data, np.uint8), starts


def written(name: str, data: Bytes, offsets: Offsets) -> pl.Series:
    """The texts that a kernel wrote one behind the other, as a Polars column."""
    array = pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))
    return pl.Series(name, array, pl.String)


def room(*columns: pl.Series) -> int:
    """Bytes that all texts of the columns take, with some to spare for each."""
    return sum(int(column.str.len_bytes().sum()) + 8 * len(column) for column in columns) + 64
