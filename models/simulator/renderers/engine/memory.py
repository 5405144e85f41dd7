"""Strings between Polars and the kernels: columns into one array of bytes, and bytes into columns."""

from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa

from models.simulator.renderers.engine.fill import Bytes, Numbers


@dataclass
class Memory:
    """Bytes that grow by what they are given to hold."""

    pieces: list[Bytes] = field(default_factory=list)
    size: int = 0

    def keep(self, piece: Bytes) -> int:
        """Keeps bytes and returns where they begin."""
        self.pieces.append(piece)
        self.size += piece.size
        return self.size - piece.size

    def hold(self, strings: pl.Series) -> tuple[Numbers, Numbers]:
        """Keeps a column and returns where each of its strings begins and ends; a null is empty."""
        array = strings.fill_null("").rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
        _, ends, data = array.buffers()
        edges = np.frombuffer(ends, np.int64)[array.offset : array.offset + len(array) + 1]
        base = self.keep(np.frombuffer(data, np.uint8)[edges[0] : edges[-1]] if data else np.empty(0, np.uint8))
        moved = edges + (base - edges[0])
        return moved[:-1], moved[1:]

    def whole(self, space: int) -> Bytes:
        """All bytes in one array, with so much free space behind them."""
        return np.concatenate([*self.pieces, np.empty(space, np.uint8)])


def column(data: Bytes, ends: Numbers) -> pl.Series:
    """A column from bytes and the ends of its strings; what is empty is null."""
    valid = pa.py_buffer(np.packbits(ends[1:] > ends[:-1], bitorder="little"))
    content = pa.py_buffer(data[: ends[-1]].tobytes())
    return pl.Series(pa.LargeStringArray.from_buffers(ends.size - 1, pa.py_buffer(np.ascontiguousarray(ends)), content, valid))
