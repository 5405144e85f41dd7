"""Bytes of texts by their names, and words compared with the bytes of a text.

A text is an array of bytes with two positions: where it begins, and where it ends.
"""

import numpy as np

from analytics.native.columns import Bytes
from analytics.native.compiling import uncounted

BLANK, AMPERSAND, STAR, PLUS, HYPHEN, DOT, SLASH = (ord(character) for character in " &*+-./")
COLON, SEMICOLON, QUESTION_MARK, BAR = (ord(character) for character in ":;?|")
ZERO, NINE, SMALL_A, SMALL_Z, CAPITAL_A, CAPITAL_Z = (ord(character) for character in "09azAZ")
CASE_BIT = 0x20
"""Set in small letters, not set in capitals."""
BEYOND_ASCII = 0x80
"""The first byte value that belongs to a character of several bytes."""

_ONE, _TWO, _THREE, _FOUR, _FIVE, _SIX, _SEVEN = (np.uint64(count) for count in range(1, 8))


def letters(word: str) -> Bytes:
    """The bytes of a word."""
    return np.frombuffer(word.encode(), np.uint8)


def packed(word: str) -> int:
    """A word of at most eight bytes as one number, its first byte lowest: what `four_bytes` reads from a text."""
    return int.from_bytes(word.encode(), "little")


def repeated(byte: int) -> np.uint64:
    """A byte eight times, to be compared with `eight_bytes`."""
    return np.uint64(0x0101010101010101 * byte)


@uncounted
def byte(text: Bytes, i: int) -> int:
    """The byte at a position, as a number to compute with. A negative position is a mistake: it does not count from the end."""
    return widened(text[np.uint64(i)])


@uncounted
def put(out: Bytes, at: int, c: int) -> None:
    """Writes a byte at a position."""
    out[np.uint64(at)] = c


@uncounted
def widened(c: int) -> int:
    """A byte as a number of 64 bits, to compute with."""
    return c + 0


@uncounted
def four_bytes(text: Bytes, i: int) -> int:
    """Four bytes as one number, the first one lowest."""
    return byte(text, i) | byte(text, i + 1) << 8 | byte(text, i + 2) << 16 | byte(text, i + 3) << 24


@uncounted
def eight_bytes(text: Bytes, i: int) -> np.uint64:
    """Eight bytes as one number, the first one lowest; the compiler makes one load of it, since the position has no sign."""
    at = np.uint64(i)
    low = np.uint64(text[at]) | np.uint64(text[at + _ONE]) << np.uint64(8)
    low |= np.uint64(text[at + _TWO]) << np.uint64(16) | np.uint64(text[at + _THREE]) << np.uint64(24)
    high = np.uint64(text[at + _FOUR]) << np.uint64(32) | np.uint64(text[at + _FIVE]) << np.uint64(40)
    return low | high | np.uint64(text[at + _SIX]) << np.uint64(48) | np.uint64(text[at + _SEVEN]) << np.uint64(56)


@uncounted
def is_digit(c: int) -> bool:
    """Whether a byte is a digit."""
    return ZERO <= c <= NINE


@uncounted
def is_capital(c: int) -> bool:
    """Whether a byte is a capital letter of ASCII."""
    return CAPITAL_A <= c <= CAPITAL_Z


@uncounted
def is_letter(c: int) -> bool:
    """Whether a byte is a letter of ASCII or belongs to a character beyond it."""
    return CAPITAL_A <= c <= CAPITAL_Z or SMALL_A <= c <= SMALL_Z or c >= BEYOND_ASCII


@uncounted
def is_character_start(c: int) -> bool:
    """Whether a character begins with this byte of UTF-8."""
    return c & 0xC0 != 0x80


@uncounted
def stands_at(text: Bytes, i: int, word: Bytes) -> bool:
    """Whether the letters of a word stand at a position."""
    for k in range(word.size):  # noqa: SIM110  compiled
        if byte(text, i + k) != word[k]:
            return False
    return True


@uncounted
def stands_in_any_case(text: Bytes, i: int, word: Bytes) -> bool:
    """Whether the letters of a word, given in small letters, stand at a position in whatever case."""
    for k in range(word.size):  # noqa: SIM110  compiled
        if byte(text, i + k) | CASE_BIT != word[k]:
            return False
    return True


@uncounted
def same(text: Bytes, i: int, other: Bytes, j: int, size: int) -> bool:
    """Whether `size` bytes at two positions are the same."""
    k = 0
    while k < size and byte(text, i + k) == byte(other, j + k):
        k += 1
    return k == size


@uncounted
def copy(text: Bytes, begin: int, end: int, out: Bytes, at: int) -> int:
    """Writes the bytes of a text, and returns the position behind them."""
    for i in range(begin, end):
        put(out, at, byte(text, i))
        at += 1
    return at
