"""Words and phrases inside canonical texts: lists of phrases to look for, and the borders of words.

A phrase matches whatever stands between its letters, because line breaks insert and eat blanks; a whole phrase only from the
beginning of a word to the end of one.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analytics.native.characters import AMPERSAND, NINE, SMALL_A, SMALL_Z, STAR, ZERO, byte
from analytics.native.columns import Bytes, Offsets
from analytics.native.compiling import uncounted

FROM_WORD_START, TO_WORD_END = 1, 2
ANYWHERE, START, WHOLE = 0, FROM_WORD_START, FROM_WORD_START | TO_WORD_END
"""Where a phrase counts: anywhere, from the beginning of a word on, or only as whole words."""
LETTER_BITS = 7
PAIR_BITS = 2 * LETTER_BITS
NO_PHRASE = -1
OPEN_PAIR = -1
"""The pair of letters where a star or the end of the text leaves the second one open."""


class Phrase(NamedTuple):
    """A phrase in rich canonical form, the number that stands for its meaning, and where it counts."""

    text: str
    meaning: int
    mode: int


class PhraseLists(NamedTuple):
    """Several lists of phrases; of several phrases at one position the longest counts, of equal ones the last.

    The phrases are ordered by their list and their first two letters, which together are a key: `starts[key]` is the first
    phrase of a key, and the bits of a key say whether any phrase begins so, and whether one may begin inside a word.
    """

    letters: Bytes
    borders: Offsets
    starts: npt.NDArray[np.uint32]
    meanings: Offsets
    modes: Bytes
    first_bits: Bytes
    inside_bits: Bytes
    looks_inside: npt.NDArray[np.bool_]


def phrase_lists(*lists: Iterable[Phrase]) -> PhraseLists:
    """The lists, each phrases by its place among the arguments."""
    entries = [
        (number << PAIR_BITS | pair, spelling, phrase)
        for number, phrases in enumerate(lists)
        for spelling, phrase in {_spelling(phrase.text): phrase for phrase in phrases}.items()
        for pair in _pairs(spelling)
    ]
    entries.sort(key=lambda entry: entry[:2])
    keys = [key for key, _, _ in entries]
    inside = [key for key, _, phrase in entries if phrase.mode == ANYWHERE]
    size = len(lists) << PAIR_BITS
    return PhraseLists(
        letters=np.array(list("".join(spelling for _, spelling, _ in entries).encode()), np.uint8),
        borders=np.cumsum([0, *(len(spelling) for _, spelling, _ in entries)]).astype(np.int64),
        starts=np.searchsorted(keys, np.arange(size + 1)).astype(np.uint32),
        meanings=np.array([phrase.meaning for _, _, phrase in entries], np.int64),
        modes=np.array([phrase.mode for _, _, phrase in entries], np.uint8),
        first_bits=_bits(keys, size),
        inside_bits=_bits(inside, size),
        looks_inside=np.isin(np.arange(len(lists)), np.array(inside, np.int64) >> PAIR_BITS),
    )


def _spelling(text: str) -> str:
    return "".join(c for c in text if c.isalnum() or c in "&*")


def _pairs(spelling: str) -> list[int]:
    """The two letters with which a phrase begins, as one number; a single letter begins with any two."""
    seconds = [ord(spelling[1])] if len(spelling) > 1 else range(1 << LETTER_BITS)
    return [ord(spelling[0]) << LETTER_BITS | second for second in seconds]


def _bits(keys: list[int], size: int) -> Bytes:
    """A bit for each key."""
    bits = np.zeros(size, np.uint8)
    bits[keys] = 1
    return np.packbits(bits, bitorder="little")


@uncounted
def _pair(text: Bytes, i: int, end: int) -> int:
    """The two letters from here on as one number, or `OPEN_PAIR`."""
    j = i + 1
    while j < end and not is_word(byte(text, j)):
        if byte(text, j) == STAR:
            return OPEN_PAIR
        j += 1
    return byte(text, i) << LETTER_BITS | byte(text, j) if j < end else OPEN_PAIR


@uncounted
def _may_begin(bits: Bytes, number: int, pair: int) -> bool:
    """Whether a phrase of a list begins with two letters: mostly none does, and one bit is enough to know."""
    key = number << PAIR_BITS | max(pair, 0)
    return pair == OPEN_PAIR or (byte(bits, key >> 3) >> (key & 7)) & 1 == 1


@uncounted
def phrase_at(phrases: PhraseLists, number: int, text: Bytes, i: int, begin: int, end: int) -> tuple[int, int, int]:
    """The longest phrase of a list from here on: its meaning or `NO_PHRASE`, where it ends, and its number of letters."""
    pair = _pair(text, i, end)
    return (
        _longest(phrases, number, pair, text, i, begin, end)
        if _may_begin(phrases.first_bits, number, pair)
        else (NO_PHRASE, i, 0)
    )


@uncounted
def _longest(phrases: PhraseLists, number: int, pair: int, text: Bytes, i: int, begin: int, end: int) -> tuple[int, int, int]:
    letters, borders = phrases.letters, phrases.borders
    key = number << PAIR_BITS | (byte(text, i) << LETTER_BITS if pair == OPEN_PAIR else pair)
    last_key = key + (1 << LETTER_BITS if pair == OPEN_PAIR else 1)
    best, after, size = NO_PHRASE, i, 0
    for phrase in range(phrases.starts[key], phrases.starts[last_key]):
        p, last = borders[phrase], borders[phrase + 1]
        length, j = last - p, i
        while p < last and j < end:
            if byte(text, j) == byte(letters, p):
                p += 1
            elif is_word(byte(text, j)) or byte(letters, p) == STAR:
                break
            j += 1
        if p < last or length <= size:
            continue
        mode = byte(phrases.modes, phrase)
        if mode & FROM_WORD_START and i > begin and is_word(byte(text, i - 1)):
            continue
        if mode & TO_WORD_END and j < end and is_word(byte(text, j)) and byte(text, j - 1) != STAR:
            continue
        best, after, size = phrases.meanings[phrase], j, length
    return best, after, size


@uncounted
def longest_phrase(phrases: PhraseLists, number: int, text: Bytes, begin: int, end: int) -> int:
    """The meaning of the longest phrase of a list in a text, of equally long ones the first; `NO_PHRASE` if there is none."""
    best, size = NO_PHRASE, 0
    inside = phrases.looks_inside[number]
    at_word_start = True
    for i in range(begin, end):
        if not is_word(byte(text, i)):
            at_word_start = True
            continue
        if at_word_start or inside:
            pair = _pair(text, i, end)
            if _may_begin(phrases.first_bits if at_word_start else phrases.inside_bits, number, pair):
                meaning, _, length = _longest(phrases, number, pair, text, i, begin, end)
                if length > size:
                    best, size = meaning, length
        at_word_start = False
    return best


@uncounted
def first_phrase(phrases: PhraseLists, number: int, text: Bytes, begin: int, end: int) -> tuple[int, int, int]:
    """The first phrase of a list in a text: its meaning or `NO_PHRASE`, where it begins and where it ends."""
    inside = phrases.looks_inside[number]
    at_word_start = True
    for i in range(begin, end):
        if not is_word(byte(text, i)):
            at_word_start = True
            continue
        if at_word_start or inside:
            pair = _pair(text, i, end)
            if _may_begin(phrases.first_bits if at_word_start else phrases.inside_bits, number, pair):
                meaning, after, _ = _longest(phrases, number, pair, text, i, begin, end)
                if meaning != NO_PHRASE:
                    return meaning, i, after
        at_word_start = False
    return NO_PHRASE, end, end


@uncounted
def opening_phrase(phrases: PhraseLists, number: int, text: Bytes, begin: int, end: int) -> int:
    """The meaning of the phrase of a list with which a text begins, or `NO_PHRASE`."""
    if begin >= end:
        return NO_PHRASE
    meaning, _, _ = phrase_at(phrases, number, text, begin, begin, end)
    return meaning


@uncounted
def behind_phrases(phrases: PhraseLists, number: int, text: Bytes, begin: int, end: int) -> int:
    """Where a text goes on behind the phrases of a list with which it begins; the last word of a text stays."""
    while begin < end:
        meaning, after, _ = phrase_at(phrases, number, text, begin, begin, end)
        following = next_word(text, after, end)
        if meaning == NO_PHRASE or following >= end:
            break
        begin = following
    return begin


@uncounted
def is_word(c: int) -> bool:
    """Whether a byte of a canonical text belongs to a word."""
    return SMALL_A <= c <= SMALL_Z or ZERO <= c <= NINE or c == AMPERSAND


@uncounted
def word_end(text: Bytes, i: int, end: int) -> int:
    """Where the word that begins here ends."""
    while i < end and is_word(byte(text, i)):
        i += 1
    return i


@uncounted
def word_start(text: Bytes, begin: int, i: int) -> int:
    """Where the word that ends here begins."""
    while i > begin and is_word(byte(text, i - 1)):
        i -= 1
    return i


@uncounted
def next_word(text: Bytes, i: int, end: int) -> int:
    """Where the next word begins."""
    while i < end and not is_word(byte(text, i)):
        i += 1
    return i


@uncounted
def last_word_end(text: Bytes, begin: int, end: int) -> int:
    """Where the last word ends."""
    while end > begin and not is_word(byte(text, end - 1)):
        end -= 1
    return end
