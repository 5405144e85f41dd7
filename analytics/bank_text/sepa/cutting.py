"""Cutting a purpose into its fields, in the three ways in which banks write them."""

import numpy as np

from analytics.bank_text.sepa.layout import (
    ABWA,
    ABWE,
    BREF,
    CRED,
    EREF,
    MREF,
    NOTE,
    PARTY,
    PURP,
    REMITTANCE,
    SVWZ,
)
from analytics.bank_text.sepa.spans import characters, first_word, is_blank, letters_in, trimmed
from analytics.bank_text.sepa.tags import (
    LABEL,
    loose_label,
    next_separator,
    next_z,
    sequence_before,
    tag_before,
)
from analytics.bank_text.sepa.values import one_word, value_end
from analytics.native.compiling import inner, peek, peek32, peek64, poke64

_LONGEST_REFERENCE = 40
_LIMIT = 140
_CODES = np.frombuffer(b"EREFKREFMREFCREDSVWZABWAABWEIBANBIC:", np.uint8)


@inner
def segment(low: int, high: int, spans: int) -> int:
    """Cuts one purpose and says by a bit each which fields it has: the first value of a field wins."""
    found = 0
    opened, begin, head = -1, low, high
    labelled = False
    i = next_separator(low, high)
    while i < high:
        if peek(i) == 59 and opened < 0 and _is_reference(i + 1, high):
            return _listed(low, i, high, spans)
        field, start = tag_before(begin, i)
        label = field >= LABEL
        field -= LABEL if label else 0
        if field >= 0 and (not label or _fits(low, start, i + 1, high, field, opened >= 0)):
            if opened >= 0:
                found = _close(opened, begin, start, spans, found)
            else:
                head = start
            labelled = labelled or label
            opened, begin = field, i + 1
        i = next_separator(i + 1, high)
    if opened < 0:
        return _loose(low, high, spans) if _is_numbered(low, high) else _close(REMITTANCE, low, high, spans, 0)
    if opened == SVWZ:
        high = _whole_words(low, begin, high)
    if labelled:
        high, found = _without_reference(begin, high, spans, found)
        end = value_end(CRED, begin, high) if opened == CRED else one_word(low, begin, high) if opened < CRED else high
        if end < high and (found >> SVWZ & 1 or not is_blank(low, head)):
            found = _close(NOTE, end, high, spans, found)
            high = end
    return _remit(low, head, opened, begin, high, spans, _close(opened, begin, high, spans, found))


@inner
def _listed(low: int, i: int, high: int, spans: int) -> int:
    """Cuts a purpose with values behind semicolons: the reference, the creditor id, the mandate."""
    found = _close(REMITTANCE, low, i, spans, 0)
    begin = i + 1
    for field in (EREF, CRED, MREF):
        end = begin
        while end < high and peek(end) != 59:
            end += 1
        start, _ = trimmed(begin, end)
        stop = end if field == CRED else first_word(start, end)
        found = _close(field, start, stop, spans, found)
        found = _close(NOTE, stop, end, spans, found)
        begin = end + 1
    return found


@inner
def _is_reference(begin: int, high: int) -> bool:
    """Whether one word with at least six digits stands here before the next semicolon or the end."""
    begin, high = trimmed(begin, high)
    end = first_word(begin, high)
    digits = 0
    for i in range(begin, end):
        digits += 48 <= peek(i) <= 57
    after, _ = trimmed(end, high)
    return digits >= 6 and (after == high or peek(after) == 59 or peek(after) == 45)


@inner
def _is_numbered(low: int, high: int) -> bool:
    """Whether a purpose without tags may have labels without colons: "…renz " or the middle of a creditor id shows."""
    i = next_z(low + 4, high - 2)
    while i < high - 2:
        if peek(i) == 122 and peek(i + 1) == 32 and (peek(i - 1) == 110 or peek(i - 1) == 32):
            return True
        if peek(i) == 90 and peek(i - 1) == 90 and (peek(i + 1) == 90 or peek(i + 1) == 32 or peek(i - 2) == 90):
            return True
        i = next_z(i + 1, high - 2)
    return False


@inner
def _loose(low: int, high: int, spans: int) -> int:
    """Cuts a purpose whose labels have no separators: each is followed by a word with a digit."""
    found = 0
    opened, begin, head = -1, low, high
    for i in range(low, high):
        if peek(i) != 32:
            continue
        field, start = loose_label(begin, i, high)
        mark = sequence_before(begin, i) if opened >= 0 and opened != NOTE else 0
        if field >= 0 or mark:
            start = mark if mark else start
            if opened >= 0:
                found = _close(opened, begin, start, spans, found)
            else:
                head = start
            opened, begin = (NOTE, mark) if mark else (field, i + 1)
    if opened < 0:
        return _close(REMITTANCE, low, high, spans, 0)
    return _remit(low, head, opened, begin, high, spans, _close(opened, begin, high, spans, found))


@inner
def _close(field: int, begin: int, end: int, spans: int, found: int) -> int:
    """Keeps the value unless it is empty or the field already has one."""
    begin, end = trimmed(begin, end)
    if begin == end or found >> field & 1:
        return found
    poke64(spans + 16 * field, begin)
    poke64(spans + 16 * field + 8, end)
    return found | 1 << field


@inner
def _remit(low: int, head: int, opened: int, begin: int, high: int, spans: int, found: int) -> int:
    """Finds what the payer is told: the purpose, else the leading text, else what follows a last field that is full."""
    if found >> SVWZ & 1:
        return _close(REMITTANCE, peek64(spans + 16 * SVWZ), peek64(spans + 16 * SVWZ + 8), spans, found)
    found = _close(REMITTANCE, low, head, spans, found)
    named = opened in (SVWZ, PARTY, ABWA, ABWE)
    if found >> REMITTANCE & 1 or opened < 0 or named:
        return found
    rest = value_end(opened, begin, high)
    if letters_in(rest, high) >= 4:
        found = _close(REMITTANCE, rest, high, spans, found)
        if peek64(spans + 16 * opened + 8) == peek64(spans + 16 * REMITTANCE + 8):
            poke64(spans + 16 * opened + 8, rest)
    return found


@inner
def _fits(low: int, start: int, begin: int, high: int, field: int, seen: bool) -> bool:
    """Words are labels only where the banks use them so; the payer may write them too."""
    begin, high = trimmed(begin, high)
    if field == PARTY:
        low, start = trimmed(low, start)
        return seen or low == start
    if field == EREF and begin - start <= 12:  # a bare "Referenz"
        return seen or first_word(begin, high) == high
    if field == PURP:
        return first_word(begin, high) - begin == 4 and letters_in(begin, begin + 4) == 4
    return True


@inner
def _whole_words(low: int, begin: int, high: int) -> int:
    """Where a purpose ends without the beginning of a tag that the limit of 140 characters cut off."""
    if high - low < _LIMIT or high - low > 2 * _LIMIT:
        return high
    word = high
    while word > begin and high - word < 5 and peek(word - 1) != 32:
        word -= 1
    size = high - word
    if size == 0 or size > 4 or word == begin or characters(low, high) != _LIMIT:
        return high
    for code in range(0, len(_CODES), 4):
        same = 0
        for k in range(size):
            same += peek(word + k) == _CODES[code + k]
        if same == size:
            return word
    return high


@inner
def _without_reference(begin: int, high: int, spans: int, found: int) -> tuple[int, int]:
    """Where the text ends without the bank's own "Ref. …" behind it, torn once at most."""
    begin, high = trimmed(begin, high)
    i, blanks = high, 0
    while i > begin and high - i < _LONGEST_REFERENCE and blanks < 3:
        c = peek(i - 1)
        if c == 46 and i - 4 >= begin and peek32(i - 4) & 0xFFFFFF == 0x666552 and (i - 4 == begin or peek(i - 5) == 32):
            return i - 4, _close(BREF, i, high, spans, found)
        if not (c == 32 or 47 <= c <= 57 or 65 <= c <= 90):
            break
        blanks += c == 32
        i -= 1
    return high, found
