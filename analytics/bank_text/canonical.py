"""Canonical text: the one definition of how bank texts are compared, as compiled loops over their bytes.

Here belong the plain form (lower case, `ae oe ue ss`, only `a-z0-9&` and single blanks), the digit rule and name keys. What a
text means (SEPA fields, channels, merchants) belongs elsewhere.
"""

import unicodedata
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from analytics.bank_text.name_keys import write_name_key
from analytics.native.characters import AMPERSAND, BAR, BEYOND_ASCII, BLANK, NINE, SLASH, STAR, ZERO, byte, put, widened
from analytics.native.columns import Bytes, Offsets, room, strings, text_column
from analytics.native.compiling import compiled, uncounted

GAP = ord("a") - 1
"""The class of everything between words, just below the letters. Rich texts keep slashes, double slashes (as `|`) and stars
there, because merchant and place are told apart by them."""
LONGER = 0
"""The class of bytes with which a character beyond ASCII begins."""
BETWEEN_WORDS, NOTHING = 0, 1
"""What a code point is folded to that is no letter or digit: a border of words, or nothing at all."""
DIAERESIS = 0x308
"""A combining character of its own behind a letter."""


def plain(column: pl.Series) -> pl.Series:
    """The plain form, digits kept; a missing text is empty."""
    return _each(column, _plain)


def canonical(column: pl.Series) -> pl.Series:
    """The plain form with digits collapsed as in `LINES`."""
    return _each(column, _canonical)


def squeeze(column: pl.Series) -> pl.Series:
    """The plain form without blanks: line breaks of the bank insert and eat them."""
    return plain(column).str.replace_all(" ", "", literal=True)


def name_key(column: pl.Series) -> pl.Series:
    """Names without legal forms, thanks and numbers of branches, to be compared."""
    return _each(canonical(column), _name_keys)


def _each(column: pl.Series, kernel: Callable[[Bytes, Offsets, Bytes, Offsets], None]) -> pl.Series:
    """What a kernel writes for each text of a column."""
    data, source_offsets = strings(column)
    out, offsets = np.empty(room(data, len(column)), np.uint8), np.zeros(len(column) + 1, np.int64)
    kernel(data, source_offsets, out, offsets)
    return text_column(column.name, out, offsets)


@compiled
def _plain(data: Bytes, source_offsets: Offsets, out: Bytes, offsets: Offsets) -> None:
    for row in range(offsets.size - 1):
        offsets[row + 1] = fold(data, source_offsets[row], source_offsets[row + 1], out, offsets[row], True, False)


@compiled
def _canonical(data: Bytes, source_offsets: Offsets, out: Bytes, offsets: Offsets) -> None:
    for row in range(offsets.size - 1):
        offsets[row + 1] = fold(data, source_offsets[row], source_offsets[row + 1], out, offsets[row], False, False)


@compiled
def _name_keys(data: Bytes, source_offsets: Offsets, out: Bytes, offsets: Offsets) -> None:
    for row in range(offsets.size - 1):
        offsets[row + 1] = write_name_key(data, source_offsets[row], source_offsets[row + 1], out, offsets[row])


@uncounted
def fold(text: Bytes, i: int, end: int, out: Bytes, at: int, digits: bool, rich: bool) -> int:
    """Writes the text between two positions in its canonical form, and returns the position behind it."""
    start = token = at
    between = True
    while i < end:
        c = _CLASS[byte(text, i)]
        if c > GAP:
            while c > GAP:
                put(out, at, c)
                at += 1
                i += 1
                c = _CLASS[byte(text, i)] if i < end else GAP
            between = False
        elif c == GAP:
            put(out, at, BLANK)
            at += not between
            token = at
            between = True
            i += 1
        elif c >= ZERO and digits:
            put(out, at, c)
            at += 1
            between = False
            i += 1
        elif c >= ZERO:
            first = i
            while ZERO <= c <= NINE:
                i += 1
                c = _CLASS[byte(text, i)] if i < end else GAP
            if at == token and LONGER < c <= GAP:
                put(out, at, ZERO)
                at += 1
            else:
                at, i = _number(text, first, end, out, token, at)
            between = False
        else:
            at, i, between = _rare(text, i, end, out, start, token, at, between, digits, rich)
            token = at if between or c == AMPERSAND else token
    return at - 1 if between and at > start else at


@uncounted
def _rare(
    text: Bytes, i: int, end: int, out: Bytes, start: int, token: int, at: int, between: bool, digits: bool, rich: bool
) -> tuple[int, int, bool]:
    """Writes a mark or a character beyond ASCII: where it ends here and there, and whether it stands between words."""
    c = _CLASS[byte(text, i)]
    if c == AMPERSAND:  # is kept, but belongs to no word
        put(out, at, AMPERSAND)
        return at + 1, i + 1, False
    if c != LONGER:
        return _mark(out, start, at, widened(c) if rich else BLANK, between), i + 1, True
    first = i
    code, i = _decode(text, i, end)
    letters = _letters(code)
    if ZERO <= letters & 255 <= NINE and not digits:
        at, i = _number(text, first, end, out, token, at)
        return at, i, False
    if letters == BETWEEN_WORDS:
        return _mark(out, start, at, BLANK, between), i, True
    if letters != NOTHING:
        return _write(out, at, letters), i, False
    if code == DIAERESIS and at > token and _takes_diaeresis(byte(out, at - 1)):
        put(out, at, _E)
        at += 1
    return at, i, between


@uncounted
def _takes_diaeresis(c: int) -> bool:
    return c in (_A, _O, _U)


@uncounted
def _mark(out: Bytes, start: int, at: int, mark: int, between: bool) -> int:
    """Writes a slash, star or blank; of several marks between two words the strongest stays."""
    if at == start:
        return at
    if not between:
        put(out, at, mark)
        return at + 1
    before = byte(out, at - 1)
    if mark == STAR or (mark == SLASH and before == BLANK):
        put(out, at - 1, mark)
    elif mark == SLASH and before == SLASH:
        put(out, at - 1, BAR)
    return at


@uncounted
def _write(out: Bytes, at: int, letters: int) -> int:
    """Writes one or two letters that stand in one number."""
    put(out, at, letters & 255)
    if letters <= 255:
        return at + 1
    put(out, at + 1, letters >> 8)
    return at + 2


@uncounted
def _number(text: Bytes, i: int, end: int, out: Bytes, token: int, at: int) -> tuple[int, int]:
    """Writes a word from its first digit on, by the digit rule: where it ends here and there."""
    digits = 0
    after_letter = at > token
    letter_runs = int(after_letter)
    while i < end:
        c, after = widened(_CLASS[byte(text, i)]), i + 1
        if c == LONGER:
            code, after = _decode(text, i, end)
            c = _letters(code)
        if c != NOTHING and (c < ZERO or c == GAP):
            break
        i = after
        if c == NOTHING:
            continue
        at = _write(out, at, c)
        digit = c & 255 <= NINE
        digits += digit
        letter_runs += not digit and not after_letter
        after_letter = not digit
    return _collapse(out, token, at, digits, letter_runs), i


@uncounted
def _collapse(out: Bytes, token: int, at: int, digits: int, letter_runs: int) -> int:
    """Applies the digit rule to a word with this many digits and runs of letters, and returns the position behind it."""
    if letter_runs > 0 and digits <= _KEPT_DIGITS:
        return at
    if letter_runs == 0 or letter_runs > _KEPT_LETTER_RUNS:
        put(out, token, ZERO)
        return token + 1
    end = token
    for i in range(token, at):
        c = byte(out, i)
        if c > NINE or end == token or byte(out, end - 1) != ZERO:
            put(out, end, c if c > NINE else ZERO)
            end += 1
    return end


@uncounted
def _decode(text: Bytes, i: int, end: int) -> tuple[int, int]:
    """The code point that begins here, and where it ends; letters that were encoded twice are repaired."""
    code, after = _code_point(text, i, end)
    if (code == 0xC3 or code == 0xE3 or code == 0xC2) and after < end and byte(text, after) >= BEYOND_ASCII:
        second, behind = _code_point(text, after, end)
        latin = second if 0x80 <= second <= 0xBF else 0
        for k in range(len(_WINDOWS)):
            if _WINDOWS[k] == second:
                latin = 0x80 + k
        if latin and code == 0xC2:
            return latin, behind
        if latin and _FOLDED[0x40 | latin] > NOTHING:
            return 0x40 | latin, behind
    return code, after


@uncounted
def _code_point(text: Bytes, i: int, end: int) -> tuple[int, int]:
    first = byte(text, i)
    size = 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if size == 1 or i + size > end:
        return BLANK, i + 1
    code = first & (0xFF >> (size + 1))
    for k in range(1, size):
        code = code << 6 | byte(text, i + k) & 0x3F
    return code, i + size


@uncounted
def _letters(code: int) -> int:
    """One or two letters for a code point in one number, or `BETWEEN_WORDS` or `NOTHING`."""
    if code < len(_FOLDED):
        return widened(_FOLDED[code])
    if _FULL_WIDTH <= code <= _FULL_WIDTH_END:
        c = widened(_CLASS[code - _FULL_WIDTH + _EXCLAMATION_MARK])
        return c if c >= ZERO and c != GAP else BETWEEN_WORDS
    if 0x200B <= code <= 0x200F or code == 0x2060 or code == 0xFEFF:
        return NOTHING
    return BETWEEN_WORDS


def _classes() -> Bytes:
    """For each byte its folded form; `LONGER` where a character beyond ASCII begins."""
    table = np.full(256, GAP, np.uint8)
    table[BEYOND_ASCII:] = LONGER
    for character in "abcdefghijklmnopqrstuvwxyz0123456789&":
        table[ord(character)] = table[ord(character.upper())] = ord(character)
    table[SLASH], table[STAR] = SLASH, STAR
    return table


def _folds() -> npt.NDArray[np.uint16]:
    """For each code point of the Latin blocks its one or two letters."""
    special = {
        "ä": "ae",
        "ö": "oe",
        "ü": "ue",
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "đ": "d",
        "ł": "l",
        "þ": "th",
        "ð": "d",
    }
    special |= {"ı": "i", "ħ": "h", "ŋ": "n", "ŧ": "t", "ẞ": "ss"}
    table = np.zeros(0x2000, np.uint16)
    for code in range(0x80, 0x2000):
        lower = chr(code).lower()
        base = special.get(lower) or "".join(c for c in unicodedata.normalize("NFKD", lower) if not unicodedata.combining(c))
        if len(base) == 1 and base in special:
            base = special[base]
        if base and len(base) <= 2 and base.isascii() and base.isalnum():
            table[code] = ord(base[0]) | (ord(base[1]) << 8 if len(base) == 2 else 0)
        elif unicodedata.combining(chr(code)) or code == 0xAD:
            table[code] = NOTHING
    return table


def _windows() -> npt.NDArray[np.int64]:
    """The code points that the bytes 0x80 to 0x9F are in the Windows encoding."""
    return np.array([ord(bytes([byte]).decode("cp1252", "ignore") or "\0") for byte in range(0x80, 0xA0)], np.int64)


_KEPT_DIGITS, _KEPT_LETTER_RUNS = 2, 2
"""A word with letters and at most so many digits stays as it is; with more runs of letters it is a code, and becomes one zero."""
_A, _E, _O, _U, _EXCLAMATION_MARK = (ord(character) for character in "aeou!")
_FULL_WIDTH, _FULL_WIDTH_END = 0xFF01, 0xFF5E
"""The characters of ASCII from the exclamation mark on, as wide as Chinese ones."""
_CLASS = _classes()
_FOLDED = _folds()
_WINDOWS = _windows()
