"""Canonical text: the one definition of how bank texts are compared, as compiled loops over their bytes.

Here belong the plain form (lower case, `ae oe ue ss`, only `a-z0-9&` and single blanks), the digit rule and name keys. What a
text means (SEPA fields, channels, merchants) belongs elsewhere.
"""

import unicodedata
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from analytics.bank_text.name_keys import name_key_at
from analytics.native.columns import Bytes, Offsets, room, text_at, texts, written
from analytics.native.compiling import compiled, inner, peek, poke

GAP = 96
"""The class of everything between words, just below the letters. Rich texts keep slashes, double slashes (as `|`) and stars
there, because merchant and place are told apart by them."""


def plain(column: pl.Series) -> pl.Series:
    """The plain form, digits kept; what is missing is empty."""
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


def _each(column: pl.Series, kernel: Callable[[int, int, Offsets], None]) -> pl.Series:
    """What a kernel writes for each text of a column."""
    column = column.cast(pl.String)
    source = texts(column)
    out = np.empty(room(column), np.uint8)
    offsets = np.zeros(source.rows + 1, np.int64)
    kernel(source.address, out.ctypes.data, offsets)
    return written(column.name, out, offsets)


@compiled
def _plain(table: int, out: int, offsets: Offsets) -> None:
    at = out
    for row in range(len(offsets) - 1):
        begin, end = text_at(table, row)
        at = fold(begin, end, at, True, False)
        offsets[row + 1] = at - out


@compiled
def _canonical(table: int, out: int, offsets: Offsets) -> None:
    at = out
    for row in range(len(offsets) - 1):
        begin, end = text_at(table, row)
        at = fold(begin, end, at, False, False)
        offsets[row + 1] = at - out


@compiled
def _name_keys(table: int, out: int, offsets: Offsets) -> None:
    at = out
    for row in range(len(offsets) - 1):
        begin, end = text_at(table, row)
        at = name_key_at(begin, end, at)
        offsets[row + 1] = at - out


@inner
def fold(i: int, end: int, at: int, digits: bool, rich: bool) -> int:
    """Writes the text between two addresses in its canonical form, and says where it ends."""
    start = token = at
    between = True
    while i < end:
        c = _CLASS[peek(i)]
        if c > GAP:
            while c > GAP:
                poke(at, c)
                at += 1
                i += 1
                c = _CLASS[peek(i)] if i < end else GAP
            between = False
        elif c == GAP:
            poke(at, 32)
            at += not between
            token = at
            between = True
            i += 1
        elif c >= 48 and digits:
            poke(at, c)
            at += 1
            between = False
            i += 1
        elif c >= 48:
            first = i
            while 48 <= c < 58:
                i += 1
                c = _CLASS[peek(i)] if i < end else GAP
            if at == token and 0 < c <= GAP:
                poke(at, 48)
                at += 1
            else:
                at, i = _number(first, end, token, at)
            between = False
        else:
            at, i, between = _rare(i, end, start, token, at, between, digits, rich)
            token = at if between or c == 38 else token
    return at - 1 if between and at > start else at


@inner
def _rare(i: int, end: int, start: int, token: int, at: int, between: bool, digits: bool, rich: bool) -> tuple[int, int, bool]:
    """Writes a mark or a letter beyond ASCII: where it ends here and there, and whether it stands between words."""
    c = _CLASS[peek(i)]
    if c == 38:  # "&" is kept, but belongs to no word
        poke(at, 38)
        return at + 1, i + 1, False
    if c:
        return _mark(start, at, c if rich else 32, between), i + 1, True
    first = i
    code, i = _decode(i, end)
    letters = _letters(code)
    if 48 <= letters & 255 < 58 and not digits:
        at, i = _number(first, end, token, at)
        return at, i, False
    if letters == 0:
        return _mark(start, at, 32, between), i, True
    if letters > 1:
        return _write(at, letters), i, False
    if code == 0x308 and at > token and (peek(at - 1) == 97 or peek(at - 1) == 111 or peek(at - 1) == 117):
        poke(at, 101)  # a diaeresis of its own behind a, o or u
        at += 1
    return at, i, between


@inner
def _mark(start: int, at: int, mark: int, between: bool) -> int:
    """Writes a slash, star or blank; of several marks between two words the strongest stays."""
    if at == start:
        return at
    if not between:
        poke(at, mark)
        return at + 1
    before = peek(at - 1)
    if mark == 42 or (mark == 47 and before == 32):
        poke(at - 1, mark)
    elif mark == 47 and before == 47:
        poke(at - 1, 124)
    return at


@inner
def _write(at: int, letters: int) -> int:
    poke(at, letters & 255)
    poke(at + 1, letters >> 8)
    return at + 1 + (letters > 255)


@inner
def _number(i: int, end: int, token: int, at: int) -> tuple[int, int]:
    """Writes a word from its first digit on, by the digit rule: where it ends here and there."""
    count = 0
    letter = at > token
    runs = int(letter)
    while i < end:
        c, after = int(_CLASS[peek(i)]), i + 1
        if c == 0:
            code, after = _decode(i, end)
            c = _letters(code)
        if c != 1 and (c < 48 or c == GAP):
            break
        i = after
        if c == 1:
            continue
        at = _write(at, c)
        digit = c & 255 < 58
        count += digit
        runs += not digit and not letter
        letter = not digit
    return _collapsed(token, at, count, runs), i


@inner
def _collapsed(token: int, at: int, count: int, runs: int) -> int:
    """The digit rule for a word with this many digits and runs of letters."""
    if runs > 0 and count <= 2:
        return at
    if runs == 0 or runs > 2:
        poke(token, 48)
        return token + 1
    end = token
    for i in range(token, at):
        c = peek(i)
        if c >= 58 or end == token or peek(end - 1) != 48:
            poke(end, c if c >= 58 else 48)
            end += 1
    return end


@inner
def _decode(i: int, end: int) -> tuple[int, int]:
    """The code point that begins here, and where it ends; twice encoded letters are repaired."""
    code, after = _point(i, end)
    if (code == 0xC3 or code == 0xE3 or code == 0xC2) and after < end and peek(after) >= 0x80:
        second, behind = _point(after, end)
        byte = second if 0x80 <= second <= 0xBF else 0
        for k in range(len(_WINDOWS)):
            if _WINDOWS[k] == second:
                byte = 0x80 + k
        if byte and code == 0xC2:
            return byte, behind
        if byte and _FOLDED[0x40 | byte] > 1:
            return 0x40 | byte, behind
    return code, after


@inner
def _point(i: int, end: int) -> tuple[int, int]:
    first = peek(i)
    size = 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if size == 1 or i + size > end:
        return 0x20, i + 1
    code = first & (0xFF >> (size + 1))
    for k in range(1, size):
        code = code << 6 | peek(i + k) & 0x3F
    return code, i + size


@inner
def _letters(code: int) -> int:
    """One or two letters for a code point, in one number; 1 for what is nothing at all, 0 for what stands between words."""
    if code < len(_FOLDED):
        return int(_FOLDED[code])
    if 0xFF01 <= code <= 0xFF5E:
        c = int(_CLASS[code - 0xFEE0])
        return c if c >= 48 and c != GAP else 0
    if 0x200B <= code <= 0x200F or code == 0x2060 or code == 0xFEFF:
        return 1
    return 0


def _classes() -> Bytes:
    """For each byte its folded form; 0 where a longer character begins."""
    table = np.full(256, GAP, np.uint8)
    table[128:] = 0
    for byte in b"abcdefghijklmnopqrstuvwxyz0123456789&":
        table[byte] = byte
        table[ord(chr(byte).upper())] = byte
    table[ord("/")], table[ord("*")] = ord("/"), ord("*")
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
            table[code] = 1
    return table


def _windows() -> npt.NDArray[np.int64]:
    """The code points that the bytes 0x80 to 0x9F are in the Windows encoding."""
    return np.array([ord(bytes([byte]).decode("cp1252", "ignore") or "\0") for byte in range(0x80, 0xA0)], np.int64)


_CLASS = _classes()
_FOLDED = _folds()
_WINDOWS = _windows()
