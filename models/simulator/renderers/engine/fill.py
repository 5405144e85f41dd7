"""The first pass, compiled: one template filled with the words and numbers of one row, and its words spoilt.

All bytes (literals, the words of all rows, room to write) stand in one array, since every array that a compiled function is given
costs it as much as writing several characters. A function takes the place where it writes and returns the place behind.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.native.compiling import compiled, inner
from models.simulator.renderers.engine.vocabulary import REMITTANCE_LENGTH, Fact, Loss, Mark, Step, Word

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]
Keys = NDArray[np.uint64]

ROOM, MARGIN = 3000, 4096
"""Bytes that a text may have, and the space that is kept for it."""
_BASES = np.frombuffer(b"AAAAAAACEEEEIIIIDNOOOOO*OUUUUYTsaaaaaaaceeeeiiiidnooooo/ouuuuyty", np.uint8)
"""The letter below the accent, for the code points from U+00C0."""
_SHARP_S = 0x9F
_CODES = np.frombuffer(b"0123456789ABCDEFGHJKLMNPRSTUVWXY", np.uint8)
_PER_DRAW = 12
"""Characters that one draw of 64 bits is good for."""


@inner
def mixed(key: np.uint64, salt: int) -> np.uint64:
    """64 fresh bits for a key."""
    x = key + np.uint64(salt + 1) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inner
def _accented(memory: Bytes, at: int, end: int, to: int, upper: bool, lost: int) -> int:
    """Writes the letter U+00C0…U+00FF whose second byte stands here."""
    second = memory[at]
    if upper and second >= 0xA0 and second != 0xB7 and second != 0xBF:
        second -= 0x20
    if lost == Loss.QUESTION_MARK:
        memory[to] = 63
        return to + 1
    if second == _SHARP_S and (lost == Loss.WRITTEN_OUT or (lost == Loss.NONE and upper)):
        memory[to] = memory[to + 1] = 83 if upper else 115
        return to + 2
    if lost == Loss.NONE:
        memory[to], memory[to + 1] = 0xC3, second
        return to + 2
    base = _BASES[second - 0x80]
    memory[to] = base - 32 if upper and base >= 97 else base
    if lost == Loss.WRITTEN_OUT and second & 0x1F in (0x04, 0x16, 0x1C):
        before_capital = at + 1 < end and 65 <= memory[at + 1] <= 90
        memory[to + 1] = 69 if upper or (base < 97 and before_capital) else 101
        return to + 2
    return to + 1


@inner
def _copied(memory: Bytes, at: int, end: int, to: int, limit: int, upper: bool, lost: int, dots: bool) -> int:
    """Writes so many characters of a text, spoilt; marks of the merchant pass, do not count, and are closed at a cut."""
    count, is_open = 0, False
    while at < end and count < limit:
        byte = memory[at]
        at += 1
        if 32 <= byte < 0x80:
            if upper and 97 <= byte <= 122:
                byte -= 32
            elif dots and byte == 32:
                byte = np.uint8(46)
            memory[to] = byte
            to += 1
            count += 1
            continue
        if byte < 32:
            if byte == Mark.MERCHANT or byte == Mark.END:
                is_open = byte == Mark.MERCHANT
                memory[to] = byte
                to += 1
            continue
        count += 1
        if byte == 0xC3 and at < end:
            to = _accented(memory, at, end, to, upper, lost)
            at += 1
            continue
        replaced = lost == Loss.QUESTION_MARK
        memory[to] = 63 if replaced else byte
        to += 1
        while at < end and memory[at] & 0xC0 == 0x80:
            if not replaced:
                memory[to] = memory[at]
                to += 1
            at += 1
    if is_open:
        memory[to] = Mark.END
        to += 1
    return to


@inner
def _in_word(memory: Bytes, at: int) -> bool:
    for place in range(at - 1, at + 2):
        if not 97 <= memory[place] <= 122:
            return False
    return bool(memory[at] != memory[at + 1])


@inner
def _mistyped(memory: Bytes, start: int, to: int, key: np.uint64) -> int:
    """Swaps, drops or doubles one small letter within a word."""
    first = start + 1 + np.int64(((key & np.uint64(0xFFFF)) * np.uint64(max(to - start - 2, 0))) >> np.uint64(16))
    for turn in range(2):
        for at in range(first if turn == 0 else start + 1, to - 1):
            if not _in_word(memory, at):
                continue
            way = (key >> np.uint64(40)) % np.uint64(3)
            if way == 0:
                memory[at], memory[at + 1] = memory[at + 1], memory[at]
                return to
            if way == 1:
                for place in range(at, to - 1):
                    memory[place] = memory[place + 1]
                return to - 1
            for place in range(to, at, -1):
                memory[place] = memory[place - 1]
            return to + 1
    return to


@inner
def _number(memory: Bytes, to: int, value: int, width: int) -> int:
    """Writes a number with leading zeros."""
    for place in range(to + width - 1, to - 1, -1):
        memory[place] = 48 + value % 10
        value //= 10
    return to + width


@inner
def _date(memory: Bytes, to: int, days: int, style: int) -> int:
    """Writes 2026-04-23, 23.04.2026, 23.04.26, 23.04 or 23-04-2026, by the usual arithmetic of eras of 400 years."""
    shifted = days + 719468
    era = shifted // 146097
    of_era = shifted - era * 146097
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    moved = (5 * of_year + 2) // 153
    day = of_year - (153 * moved + 2) // 5 + 1
    month = moved + 3 if moved < 10 else moved - 9
    year += era * 400 + (month <= 2)
    between = 45 if style in (0, 4) else 46
    to = _number(memory, to, year, 4) if style == 0 else _number(memory, to, day, 2)
    memory[to] = between
    to = _number(memory, to + 1, month, 2)
    if style == 3:
        return to
    memory[to] = between
    if style == 0:
        return _number(memory, to + 1, day, 2)
    return _number(memory, to + 1, year, 4) if style != 2 else _number(memory, to + 1, year % 100, 2)


@inner
def _time(memory: Bytes, to: int, minute: int, second: int, style: int) -> int:
    """Writes 20:21, 20:21:15 or 20.21."""
    to = _number(memory, to, minute // 60, 2)
    memory[to] = 46 if style == 2 else 58
    to = _number(memory, to + 1, minute % 60, 2)
    if style == 1:
        memory[to] = 58
        to = _number(memory, to + 1, second, 2)
    return to


@inner
def _decimal(memory: Bytes, to: int, value: int, places: int, point: bool) -> int:
    """Writes a number of two or four decimal places."""
    whole, rest = (value // 100, value % 100) if places == 2 else (value // 10000, value % 10000)
    width, bound = 1, 10
    while whole >= bound:
        width += 1
        bound *= 10
    to = _number(memory, to, whole, width)
    memory[to] = 46 if point else 44
    return _number(memory, to + 1, rest, places)


@inner
def _expiry(memory: Bytes, to: int, year: int, style: int) -> int:
    """Writes 2029-12, 2912 or 1229: cards end with a year."""
    if style == 0:
        to = _number(memory, to, year, 4)
        memory[to] = 45
        return _number(memory, to + 1, 12, 2)
    to = _number(memory, to, year % 100 if style == 1 else 12, 2)
    return _number(memory, to, 12 if style == 1 else year % 100, 2)


@inner
def _drawn(memory: Bytes, to: int, count: int, key: np.uint64, salt: int, letters: bool) -> int:
    """Writes digits, or letters and digits, by chance."""
    value = np.uint64(0)
    for place in range(count):
        if place % _PER_DRAW == 0:
            value = mixed(key, salt + place // _PER_DRAW)
        if letters:
            memory[to + place] = _CODES[value & np.uint64(31)]
            value >>= np.uint64(5)
        else:
            memory[to + place] = 48 + value % np.uint64(10)
            value //= np.uint64(10)
    return to + count


@inner
def _worded(memory: Bytes, facts: Numbers, i: int, word: int, limit: int, dots: bool, key: np.uint64, to: int) -> int:
    """Writes a word; a party is marked as the merchant, a purpose may be cut and mistyped."""
    upper, lost, cut = facts[Fact.UPPER, i] == 1, facts[Fact.LOST, i], facts[Fact.CUT, i]
    if limit == 0:
        limit = ROOM
    if word == Word.TEXT:
        limit = min(limit, cut if 0 < cut < REMITTANCE_LENGTH else REMITTANCE_LENGTH)
    start = to
    if word == Word.PARTY:
        memory[to] = Mark.MERCHANT
        to += 1
    to = _copied(memory, facts[Fact.BEGIN + word, i], facts[Fact.END + word, i], to, limit, upper, lost, dots)
    if word == Word.PARTY:
        memory[to] = Mark.END
        to += 1
    elif word == Word.TEXT and facts[Fact.TYPO, i] == 1:
        to = _mistyped(memory, start, to, mixed(key, 77))
    return to


@inner
def known_words(facts: Numbers, i: int) -> int:
    """The words of a row that are there, as bits; of a card line without a place, no city, street or branch."""
    known: int = facts[Fact.KNOWN, i]
    if facts[Fact.PLACE, i] == 0:
        known &= ~((1 << Word.CITY) | (1 << Word.STREET) | (1 << Word.STORE))
    return known


@compiled
def filled(
    memory: Bytes, steps: Numbers, facts: Numbers, first: int, last: int,
    row_key: np.uint64, account_key: np.uint64, i: int, known: int, to: int,
) -> int:  # fmt: skip
    """Writes the template of these steps and returns the place behind it."""
    end, k = to + ROOM, first
    while k < last and to < end:
        kind, one, two, three = steps[k, 0], steps[k, 1], steps[k, 2], steps[k, 3]
        k += 1
        if kind == Step.LITERAL:
            if three == 1:
                for place in range(two):
                    memory[to + place] = memory[one + place]
                to += two
            else:
                to = _copied(memory, one, one + two, to, two, False, facts[Fact.LOST, i], False)
        elif kind == Step.TEXT:
            if known >> one & 1:
                to = _worded(memory, facts, i, one, two, three == 1, row_key, to)
        elif kind == Step.REFERENCE:
            memory[to] = two
            to += two != Mark.NONE
            for place in range(
                facts[Fact.BEGIN + one, i], min(facts[Fact.END + one, i], facts[Fact.BEGIN + one, i] + REMITTANCE_LENGTH)
            ):
                memory[to] = memory[place]
                to += 1
            memory[to] = Mark.END
            to += two != Mark.NONE
        elif kind == Step.MARK:
            memory[to] = one
            to += 1
        elif kind == Step.UNLESS:
            if known & one != one:
                k = first + two
        elif kind == Step.JUMP:
            k = first + two
        elif kind == Step.DATE:
            to = _date(memory, to, facts[Fact.DAY + one, i], two)
        elif kind == Step.TIME:
            to = _time(memory, to, facts[Fact.MINUTE, i], int(np.int64(row_key % np.uint64(60))), two)
        elif kind == Step.MONEY:
            to = _decimal(memory, to, facts[Fact.AMOUNT + one, i], 4 if one == 2 else 2, two == 1)
        elif kind == Step.EXPIRY:
            to = _expiry(memory, to, 2027 + int(np.int64(account_key % np.uint64(4))), two)
        elif kind == Step.CARD:
            to = _drawn(memory, to, one, account_key, 0, False)
        else:
            to = _drawn(memory, to, one, row_key, 100 + 16 * (k - first), kind == Step.CODE)
    return to
