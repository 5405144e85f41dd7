"""Texts that repeat: each of them once, and for each row which one it is.

Polars hashes every text for this. Here a text that lies where one of those before it lies is not read again, and short ones are
compared as two numbers: less than a third of the time.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.native.columns import texts
from analytics.native.compiling import compiled, inner, peek32, peek64, peek_word

WORD = 8
INLINE = 12
"""Bytes of the longest text that stands in its view itself."""
LATELY = 12
"""Bits of the places for what was seen lately: few enough to stay in the processor's cache."""
_MIX, _MIX_TOO, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC6A4A7935BD1E995), np.uint64(32)


class Repeats(NamedTuple):
    """The distinct texts of a column in the order in which they come, and the number of each row's."""

    distinct: pl.Series
    number: NDArray[np.uint32]


def repeats(column: pl.Series, most: int) -> Repeats | None:
    """The texts of a column without missing ones, if no more than so many differ."""
    places = np.full(1 << (2 * most + 2).bit_length(), -1, np.int32)
    first, number = np.empty(most, np.int64), np.empty(len(column), np.uint32)
    source = texts(column)
    count = _number(source.address, source.rows, places, first, number)
    return None if count < 0 else Repeats(column[first[:count]], number)


@compiled
def _number(table: int, rows: int, places: NDArray[np.int32], first: NDArray[np.int64], number: NDArray[np.uint32]) -> int:
    """Writes the number of each text and where each was first seen, and says how many there are; -1 if there is no more room."""
    views, buffers = peek64(table) + 16 * peek64(table + 24), peek64(table + 8)
    mask, count = places.size - 1, 0
    heads, tails = np.zeros(1 << LATELY, np.uint64), np.zeros(1 << LATELY, np.uint64)
    latest = np.full(1 << LATELY, -1, np.int32)
    for row in range(rows):
        view = views + 16 * row
        head, tail = peek_word(view), peek_word(view + WORD)
        at = np.int64((head * _MIX ^ tail) * _MIX_TOO >> np.uint64(64 - LATELY))
        if latest[at] < 0 or head != heads[at] or tail != tails[at]:
            place = _hash(buffers, view) & mask
            while places[place] >= 0 and not _same(buffers, view, views + 16 * first[places[place]]):
                place = (place + 1) & mask
            if places[place] < 0:
                if count == first.size:
                    return -1
                places[place], first[count] = count, row
                count += 1
            latest[at], heads[at], tails[at] = places[place], head, tail
        number[row] = latest[at]
    return count


@inner
def _hash(buffers: int, view: int) -> np.int64:
    size, h = peek32(view), peek_word(view) * _MIX
    if size <= INLINE:
        return np.int64((h ^ peek_word(view + WORD)) * _MIX_TOO >> _HALF)
    begin = _begin(buffers, view)
    for at in range(begin + 4, begin + size - WORD, WORD):
        h = (h ^ (h >> _HALF) ^ peek_word(at)) * _MIX_TOO
    return np.int64((h ^ (h >> _HALF) ^ peek_word(begin + size - WORD)) * _MIX_TOO >> _HALF)


@inner
def _same(buffers: int, view: int, other: int) -> bool:
    if peek_word(view) != peek_word(other):  # the size and the first four bytes
        return False
    if peek_word(view + WORD) == peek_word(other + WORD):
        return True
    size = peek32(view)
    if size <= INLINE:
        return False
    one, two = _begin(buffers, view), _begin(buffers, other)
    for at in range(4, size - WORD, WORD):
        if peek_word(one + at) != peek_word(two + at):
            return False
    return bool(peek_word(one + size - WORD) == peek_word(two + size - WORD))


@inner
def _begin(buffers: int, view: int) -> int:
    return peek64(buffers + 8 * peek32(view + 8)) + peek32(view + 12)
