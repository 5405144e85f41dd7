"""The SEPA fields inside a purpose: one pass cuts them out, whatever separators, order and line breaks the bank uses.

Here belong the tags and labels of the banks and the rules for their values. What a line means belongs to the channels and the
taggers, numbers of contracts and customers to `analytics.references`.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from analytics.buffers import Offsets, Texts, text_at, texts, written
from analytics.kernels import compiled
from analytics.sepa.cutting import segment
from analytics.sepa.layout import ABWA, ABWE, COLUMNS, CRED, FIELDS, NOTE, PARTY, PURP, REMITTANCE, SPANS
from analytics.sepa.values import value

__all__ = [
    "ABWA",
    "ABWE",
    "COLUMNS",
    "CRED",
    "FIELDS",
    "NOTE",
    "PARTY",
    "PURP",
    "REMITTANCE",
    "SPANS",
    "fields",
    "segment",
    "value",
]


def fields(purposes: pl.Series, only: Sequence[str] = COLUMNS) -> pl.DataFrame:
    """Every field of each purpose, or only those that are asked for, in a column of its own; null where there is none.

    `party` is the other side as the purpose names it, `note` are words of the bank behind its references, `remittance` is what
    the payer is told.
    """
    source = texts(purposes)
    spans = np.zeros((source.rows, SPANS), np.int64)
    found = np.zeros(source.rows, np.int64)
    _segments(source.address, spans.ctypes.data, found)
    return pl.DataFrame([_column(source, spans, found, COLUMNS.index(name)) for name in only])


def _column(source: Texts, spans: Offsets, found: Offsets, field: int) -> pl.Series:
    sizes = np.where(found >> field & 1, spans[:, 2 * field + 1] - spans[:, 2 * field], 0)
    out = np.empty(int(sizes.sum()) + 8, np.uint8)
    offsets = np.zeros(source.rows + 1, np.int64)
    _values(source.address, spans.ctypes.data, found, field, out.ctypes.data, offsets)
    return written(COLUMNS[field], out, offsets).replace("", None)


@compiled
def _segments(table: int, spans: int, found: Offsets) -> None:
    for row in range(len(found)):
        low, high = text_at(table, 0, row)
        found[row] = segment(low, high, spans + 8 * SPANS * row)


@compiled
def _values(table: int, spans: int, found: Offsets, field: int, out: int, offsets: Offsets) -> None:
    at = out
    for row in range(len(found)):
        if found[row] >> field & 1:
            low, _ = text_at(table, 0, row)
            at = value(low, spans + 8 * SPANS * row, field, at)
        offsets[row + 1] = at - out
