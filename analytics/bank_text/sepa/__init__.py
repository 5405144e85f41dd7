"""The SEPA fields inside a purpose: one pass cuts them out, whatever separators, order and line breaks the bank uses.

Here belong the tags and labels of the banks and the rules for their values. What a line means belongs to the channels and the
taggers, numbers of contracts and customers to `analytics.bank_text.references`.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from analytics.bank_text.sepa.cutting import segment
from analytics.bank_text.sepa.layout import (
    ABWA,
    ABWE,
    COLUMNS,
    CRED,
    FIELDS,
    NOTE,
    PARTY,
    PURP,
    REMITTANCE,
    SPANS,
)
from analytics.bank_text.sepa.values import value
from analytics.native.columns import Offsets, text_at, texts, written
from analytics.native.compiling import compiled

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
    source, wanted = texts(purposes), np.array([COLUMNS.index(name) for name in only], np.int64)
    most = int(purposes.cast(pl.String).str.len_bytes().sum()) + 8
    out, spans = [np.empty(most, np.uint8) for _ in only], np.empty(SPANS, np.int64)
    offsets = np.zeros((wanted.size, source.rows + 1), np.int64)
    _cut(source.address, wanted, spans.ctypes.data, np.array([data.ctypes.data for data in out], np.int64), offsets)
    columns = pl.DataFrame([written(name, data, ends) for name, data, ends in zip(only, out, offsets, strict=True)])
    return columns.select(pl.when(pl.col(name) != "").then(name) for name in only)


@compiled
def _cut(table: int, wanted: Offsets, spans: int, out: Offsets, offsets: Offsets) -> None:
    for row in range(offsets.shape[1] - 1):
        low, high = text_at(table, row)
        found = segment(low, high, spans)
        for place in range(wanted.size):
            at = out[place] + offsets[place, row]
            if found >> wanted[place] & 1:
                at = value(low, spans, wanted[place], at)
            offsets[place, row + 1] = at - out[place]
