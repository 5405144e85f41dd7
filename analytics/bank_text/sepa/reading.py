"""Reads the SEPA fields of whole columns of purposes."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from analytics.bank_text.sepa.cutting import segment
from analytics.bank_text.sepa.layout import COLUMNS
from analytics.bank_text.sepa.values import write_value
from analytics.native.columns import Bytes, Offsets, room, strings, text_column
from analytics.native.compiling import compiled


def fields(purposes: pl.Series, only: Sequence[str] = COLUMNS) -> pl.DataFrame:
    """The fields of each purpose, all or only those listed, in a column each; null where a purpose does not have the field.

    `party` is the other side as the purpose names it, `note` are words of the bank behind its references, `remittance` is what
    the payer is told.
    """
    data, source_offsets = strings(purposes)
    numbers = np.array([COLUMNS.index(name) for name in only], np.int64)
    out = np.empty((len(only), room(data, 0)), np.uint8)
    offsets = np.zeros((len(only), len(purposes) + 1), np.int64)
    _cut(data, source_offsets, numbers, out.reshape(-1), offsets)
    columns = pl.DataFrame([text_column(name, out[k], offsets[k]) for k, name in enumerate(only)])
    return columns.select(pl.when(pl.col(name) != "").then(name) for name in only)


@compiled
def _cut(data: Bytes, source_offsets: Offsets, numbers: Offsets, out: Bytes, offsets: Offsets) -> None:
    """Writes field `numbers[k]` of each purpose into the k-th of equal parts of `out`."""
    spans = np.zeros((len(COLUMNS), 2), np.int64)
    size = out.size // max(numbers.size, 1)
    for row in range(offsets.shape[1] - 1):
        low, high = source_offsets[row], source_offsets[row + 1]
        present = segment(data, low, high, spans)
        for k in range(numbers.size):
            at = k * size + offsets[k, row]
            if present >> numbers[k] & 1:
                at = write_value(data, low, spans, numbers[k], out, at)
            offsets[k, row + 1] = at - k * size
