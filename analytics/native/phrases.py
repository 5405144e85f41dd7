"""Words and phrases inside canonical texts: sets to look a word up in, and tables of phrases to look for.

A phrase is found whatever stands between its letters, because line breaks insert and eat blanks; a whole phrase only from the
beginning of a word to the end of one.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analytics.native.compiling import inner, peek, peek32, peek64, poke

BASIS, _PRIME = 0xCBF29CE484222325, 0x100000001B3
ANYWHERE, START, WHOLE = 0, 1, 3
"""Where a phrase counts: anywhere, from the beginning of a word on, or only as whole words."""
Hashes = npt.NDArray[np.uint64]


def word_table(kinds: Mapping[int, str]) -> tuple[Hashes, npt.NDArray[np.uint8]]:
    """A hash table of words: their hashes, and the bits of what each is; a place without bits is free."""
    bits: dict[int, int] = {}
    for bit, words in kinds.items():
        for word in words.split():
            h = BASIS
            for byte in word.encode():
                h = (h ^ byte) * _PRIME % 2**64
            bits[h] = bits.get(h, 0) | bit
    size = 1 << (4 * len(bits)).bit_length()
    hashes, masks = np.zeros(size, np.uint64), np.zeros(size, np.uint8)
    for h, mask in bits.items():
        at = h % size
        while masks[at]:
            at = (at + 1) % size
        hashes[at], masks[at] = h, mask
    return hashes, masks


class Phrase(NamedTuple):
    """A phrase in rich canonical form, what it stands for, and where it counts."""

    text: str
    meaning: int
    mode: int


class Phrases:
    """A table of phrases in memory: of several at one place the longest counts, of equals the last."""

    def __init__(self, phrases: Iterable[Phrase]) -> None:
        last = {"".join(c for c in phrase.text if c.isalnum() or c in "&*"): phrase for phrase in phrases}
        order = sorted((pair, letters) for letters in last for pair in _pairs(letters))
        self._letters = np.frombuffer("".join(letters for _, letters in order).encode() or b" ", np.uint8)
        self._borders = np.cumsum([0, *(len(letters) for _, letters in order)]).astype(np.int64)
        self._from = np.searchsorted([pair for pair, _ in order], np.arange(128 * 128 + 1)).astype(np.uint32)
        self._meanings = np.array([4 * last[letters].meaning + last[letters].mode for _, letters in order] or [0], np.int64)
        self._first = _bits([pair for pair, _ in order])
        self._inside = _bits([pair for pair, letters in order if last[letters].mode == ANYWHERE])
        parts = (self._letters, self._borders, self._from, self._meanings, self._first, self._inside)
        self._table = np.array([part.ctypes.data for part in parts], np.int64)
        self._table[5] *= bool(self._inside.any())  # else nothing is looked for inside words
        self.address = int(self._table.ctypes.data)


def _pairs(letters: str) -> list[int]:
    """The two letters with which a phrase begins, as one number; a single letter begins with any two."""
    return [ord(letters[0]) << 7 | second for second in ([ord(letters[1])] if len(letters) > 1 else range(128))]


def _bits(pairs: list[int]) -> npt.NDArray[np.uint8]:
    """A bit for any two letters."""
    bits = np.zeros(128 * 128, np.uint8)
    bits[pairs] = 1
    return np.packbits(bits, bitorder="little")


@inner
def _pair(i: int, end: int) -> int:
    """The two letters that stand here, as one number; -1 where a star or the end of the text leaves the second one open."""
    j = i + 1
    while j < end and not is_word(peek(j)):
        if peek(j) == 42:
            return -1
        j += 1
    return peek(i) << 7 | peek(j) if j < end else -1


@inner
def _may_begin(bits: int, pair: int) -> bool:
    """Whether a phrase begins with two letters: nearly always none does, which this tells at once."""
    return pair < 0 or (peek(bits + (pair >> 3)) >> (pair & 7)) & 1 == 1


@inner
def phrase_at(table: int, i: int, begin: int, end: int) -> tuple[int, int, int]:
    """The longest phrase from here on: its meaning, where it ends and its letters; -1 if there is none."""
    pair = _pair(i, end)
    return _longest(table, pair, i, begin, end) if _may_begin(peek64(table + 32), pair) else (-1, i, 0)


@inner
def _longest(table: int, pair: int, i: int, begin: int, end: int) -> tuple[int, int, int]:
    letters, borders = peek64(table), peek64(table + 8)
    low = pair if pair >= 0 else peek(i) << 7
    high = pair + 1 if pair >= 0 else low + 128
    best, after, size = -1, i, 0
    for k in range(peek32(peek64(table + 16) + 4 * low), peek32(peek64(table + 16) + 4 * high)):
        low, high = letters + peek64(borders + 8 * k), letters + peek64(borders + 8 * k + 8)
        j, p = i, low
        while p < high and j < end:
            if peek(j) == peek(p):
                p += 1
            elif is_word(peek(j)) or peek(p) == 42:
                break
            j += 1
        if p < high or high - low <= size:
            continue
        meaning = peek64(peek64(table + 24) + 8 * k)
        inside = meaning & START and i > begin and is_word(peek(i - 1))
        if inside or (meaning & 2 and j < end and is_word(peek(j)) and peek(j - 1) != 42):
            continue
        best, after, size = meaning >> 2, j, high - low
    return best, after, size


@inner
def longest_phrase(table: int, begin: int, end: int) -> int:
    """What the longest phrase in a text means, of equals the first; -1 if there is none."""
    best, size = -1, 0
    first, inside = peek64(table + 32), peek64(table + 40)
    bits = first
    for i in range(begin, end):
        if is_word(peek(i)):
            pair = _pair(i, end) if bits else 0
            if bits and _may_begin(bits, pair):
                meaning, _, letters = _longest(table, pair, i, begin, end)
                if letters > size:
                    best, size = meaning, letters
            bits = inside
        else:
            bits = first
    return best


@inner
def first_phrase(table: int, begin: int, end: int) -> tuple[int, int, int]:
    """The first phrase in a text: its meaning, where it begins and where it ends; -1 if there is none."""
    first, inside = peek64(table + 32), peek64(table + 40)
    bits = first
    for i in range(begin, end):
        if is_word(peek(i)):
            pair = _pair(i, end) if bits else 0
            if bits and _may_begin(bits, pair):
                meaning, after, _ = _longest(table, pair, i, begin, end)
                if meaning >= 0:
                    return meaning, i, after
            bits = inside
        else:
            bits = first
    return -1, end, end


@inner
def is_word(c: int) -> bool:
    """Whether a byte of a canonical text belongs to a word."""
    return 97 <= c <= 122 or 48 <= c <= 57 or c == 38


@inner
def word_end(i: int, end: int) -> int:
    """Where the word that begins here ends."""
    while i < end and is_word(peek(i)):
        i += 1
    return i


@inner
def word_start(begin: int, i: int) -> int:
    """Where the word that ends here begins."""
    while i > begin and is_word(peek(i - 1)):
        i -= 1
    return i


@inner
def next_word(i: int, end: int) -> int:
    """Where the next word begins."""
    while i < end and not is_word(peek(i)):
        i += 1
    return i


@inner
def begins(phrases: int, begin: int, end: int) -> int:
    """The row with which a text begins, or -1."""
    if begin >= end:
        return -1
    row, _, _ = phrase_at(peek64(phrases), begin, begin, end)
    return row


@inner
def behind(phrases: int, begin: int, end: int) -> int:
    """Where a text goes on behind words that say nothing."""
    while begin < end:
        row, after, _ = phrase_at(peek64(phrases), begin, begin, end)
        following = next_word(after, end)
        if row < 0 or following >= end:
            break
        begin = following
    return begin


@inner
def last_end(begin: int, end: int) -> int:
    """Where the last word ends."""
    while end > begin and not is_word(peek(end - 1)):
        end -= 1
    return end


@inner
def same(one: int, other: int, size: int) -> bool:
    """Whether so many bytes at two places are the same."""
    i = 0
    while i < size and peek(one + i) == peek(other + i):
        i += 1
    return i == size


@inner
def copy(begin: int, size: int, at: int) -> int:
    """Writes so many bytes again, and says where they end."""
    for i in range(begin, begin + size):
        poke(at, peek(i))
        at += 1
    return at


@inner
def hashed(h: np.uint64, c: int) -> np.uint64:
    """The hash with one more letter."""
    return (h ^ np.uint64(c)) * np.uint64(_PRIME)
