"""Columns of texts as arrays: the bytes and offsets that kernels read, and the Polars column of what they wrote."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]

SPARE_BYTES_A_TEXT = 8
"""What a kernel may write of a text beyond the bytes that it has."""


class TextColumns(NamedTuple):
    """Columns of texts in one array of bytes: text `r` of column `c` is `data[offsets[c, r] : offsets[c, r + 1]]`."""

    data: Bytes
    offsets: Offsets


def texts(*columns: pl.Series) -> TextColumns:
    """The texts of columns of equal length; a missing text is empty."""
    parts, rows = [_buffers(column) for column in columns], len(columns[0])
    offsets, base = np.empty((len(columns), rows + 1), np.int64), 0
    for column, (data, starts) in enumerate(parts):
        np.add(starts, base - starts[0], out=offsets[column])
        base += data.size
    return TextColumns(np.concatenate([data for data, _ in parts]), offsets)


def strings(column: pl.Series) -> tuple[Bytes, Offsets]:
    """The bytes of all texts of a column one behind the other, and where each begins; a missing text is empty."""
    source = texts(column)
    return source.data, source.offsets[0]


def _buffers(column: pl.Series) -> tuple[Bytes, Offsets]:
    """The memory of a column; its offsets need not begin with zero."""
    column = column.cast(pl.String)
    if column.has_nulls():
        column = column.fill_null("")
    array = column.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    if data is None or data.size == 0:
        return np.zeros(0, np.uint8), np.zeros(len(column) + 1, np.int64)
    starts = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(column) + 1]
    return np.frombuffer(data, np.uint8)[starts[0] : starts[-1]], starts


def text_column(name: str, data: Bytes, offsets: Offsets) -> pl.Series:
    """The texts that a kernel wrote one behind the other, as a Polars column."""
    array = pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))
    return pl.Series(name, array, pl.String)


def room(data: Bytes, rows: int) -> int:
    """Bytes that the texts may take when a kernel writes each of them once."""
    return data.size + SPARE_BYTES_A_TEXT * rows + SPARE_BYTES_A_TEXT
