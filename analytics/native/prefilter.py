"""Whether texts have one of a few parts, in any case.

Here belongs what is asked before regular expressions read the few texts that may match. What the parts mean is decided there.

Polars looks at every byte. Here only every second or third place of a text is looked at: wherever a part stands, one of its
first letters stands at such a place, and only where three letters there can be those of a part the bytes are read one by one.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.native.columns import text_at, texts
from analytics.native.compiling import compiled, peek
from analytics.native.word_scan import ALPHABET, Bytes, Steps, letters_of, linked

LOOK = 3
"""So many letters are looked at together."""
_SIZE = len(ALPHABET)


class Stems(NamedTuple):
    """Every how many bytes to look, whether three letters there may be a part's, and the automaton of the parts."""

    stride: int
    likely: NDArray[np.bool_]
    symbols: Bytes
    step: Steps
    ends: NDArray[np.bool_]


def any_of(column: pl.Series, stems: tuple[str, ...]) -> pl.Series:
    """Whether each text has one of the stems, of small letters, digits and blanks; a blank stands for all that is neither.

    A stem has at least four letters.
    """
    source, known = texts(column), _known(stems)
    found = np.zeros(source.rows, np.bool_)
    _search(source.address, *known, found)
    return pl.Series(column.name, found)


@cache
def _known(stems: tuple[str, ...]) -> Stems:
    symbols = letters_of()
    step, ending = linked(stems, symbols)
    stride = min(map(len, stems)) - LOOK + 1
    likely = np.zeros(_SIZE**LOOK, np.bool_)
    for stem in stems:
        one, two, three = (symbols[np.frombuffer(stem.encode(), np.uint8)[at : at + stride]].astype(int) for at in range(LOOK))
        likely[(one * _SIZE + two) * _SIZE + three] = True
    return Stems(stride, likely, symbols, step, np.array([bool(words) for words in ending]))


@compiled
def _search(
    table: int,
    stride: int,
    likely: NDArray[np.bool_],
    symbols: Bytes,
    step: Steps,
    ends: NDArray[np.bool_],
    found: NDArray[np.bool_],
) -> None:
    for row in range(found.size):
        begin, end = text_at(table, row)
        at = begin
        while at + LOOK <= end:
            one, two, three = int(symbols[peek(at)]), int(symbols[peek(at + 1)]), int(symbols[peek(at + 2)])
            if likely[(one * _SIZE + two) * _SIZE + three]:
                state, i = 0, max(begin, at - stride + 1)
                while i < end and (i <= at or state) and not ends[state]:
                    state = int(step[state, symbols[peek(i)]])
                    i += 1
                if ends[state]:
                    found[row] = True
                    break
            at += stride
