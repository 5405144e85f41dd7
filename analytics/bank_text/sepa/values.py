"""Values as they count: where one must end, what is taken from it, and what only says that there is none."""

import numpy as np

from analytics.bank_text.sepa.layout import BIC, CRED, IBAN, MREF, PURP
from analytics.bank_text.sepa.spans import first_word, letters_in, trimmed, wrapped
from analytics.bank_text.sepa.tags import packed
from analytics.native.compiling import inner, peek, peek32, peek64, poke


@inner
def value(low: int, spans: int, field: int, at: int) -> int:
    """Writes one value as it counts, and says where it ends; what only says that there is none is not written."""
    begin, end = peek64(spans + 16 * field), peek64(spans + 16 * field + 8)
    if field in (CRED, IBAN, BIC, PURP):
        after = _code(begin, value_end(field, begin, end), at)
        return after if _valid(at, after, field) else at
    after = at
    for i in range(begin, end):
        if field > MREF or peek(i) != 32 or not wrapped(low, i, end):
            poke(after, peek(i))
            after += 1
    return at if _nothing(at, after) else after


@inner
def value_end(field: int, begin: int, high: int) -> int:
    """Where a value must end: account numbers, creditor ids and codes have a known length, references are one word."""
    begin, end = trimmed(begin, high)
    size = 4 if field == PURP else known_length(begin, end, field)
    word = first_word(begin, end)
    if field == BIC and word - begin != 8 and word - begin < 11:
        size = 11
    if size == 0:
        return word
    count = 0
    for i in range(begin, end):
        count += peek(i) != 32
        if count == size:
            return i + 1
    return end


@inner
def known_length(begin: int, end: int, field: int) -> int:
    """How long an IBAN or a creditor id of this country is; 0 if unknown."""
    if end - begin < 3 or (field != IBAN and field != CRED):
        return 0
    second = begin + 2 if peek(begin + 1) == 32 else begin + 1
    land = (peek(begin) & 0xDF) << 8 | (peek(second) & 0xDF)
    for k in range(len(_LANDS)):
        if _LANDS[k, 0] == land:
            return int(_LANDS[k, 1 if field == IBAN else 2])
    return 0


@inner
def one_word(low: int, begin: int, high: int) -> int:
    """Where the first word ends; a blank that a line break put into it does not end it."""
    begin, high = trimmed(begin, high)
    end = first_word(begin, high)
    if end - begin == 5 and peek32(begin) | 0x20202020 == 0x6863696E:  # "nicht angegeben"
        return first_word(end + 1, high)
    while end < high and wrapped(low, end, high):
        after = first_word(end + 1, high)
        if after - end > 4 and letters_in(end + 1, after) == after - end - 1:
            break
        if end + 5 <= high and peek32(end + 1) == 0x41504553:  # "SEPA-…"
            break
        end = after
    return end


@inner
def _code(begin: int, end: int, at: int) -> int:
    """Letters and digits in capitals, without blanks."""
    for i in range(begin, end):
        c = peek(i)
        c -= 32 if 97 <= c <= 122 else 0
        if 65 <= c <= 90 or 48 <= c <= 57:
            poke(at, c)
            at += 1
    return at


@inner
def _valid(begin: int, end: int, field: int) -> bool:
    """Whether the value has the shape of its field."""
    size = end - begin
    if field == PURP:
        return size == 4 and peek(begin) >= 65
    if field == BIC:
        return size == 8 or size == 11
    if size < 8 or size > 35:
        return False
    return peek(begin) >= 65 and peek(begin + 1) >= 65 and peek(begin + 2) < 65 and peek(begin + 3) < 65


@inner
def _nothing(begin: int, end: int) -> bool:
    """Whether the value only says that there is none."""
    for k in range(len(_NOTHING_BORDERS) - 1):
        low, size = _NOTHING_BORDERS[k], _NOTHING_BORDERS[k + 1] - _NOTHING_BORDERS[k]
        if end - begin == size:
            same = 0
            for i in range(size):
                same += peek(begin + i) | 32 == _NOTHING[low + i] | 32
            if same == size:
                return True
    return False


_NOTHING, _NOTHING_BORDERS = packed(
    ["NONREF", "NOTPROVIDED", "NOT PROVIDED", "NICHT ANGEGEBEN", "KEINE ANGABE", "NOTAVAILABLE", "-", "--"]
)
_LANDS = np.array(
    [
        (ord(land[0]) << 8 | ord(land[1]), account, creditor)
        for land, account, creditor in (
            ("DE", 22, 18), ("AT", 20, 18), ("LU", 20, 26), ("NL", 18, 19), ("FR", 27, 13), ("BE", 16, 17), ("IE", 22, 13),
            ("ES", 24, 16), ("IT", 27, 23), ("CH", 21, 18), ("PL", 28, 17), ("GB", 22, 0), ("LT", 20, 0), ("SE", 24, 0),
            ("DK", 18, 0), ("CZ", 24, 0), ("EE", 20, 0), ("MT", 31, 0), ("LI", 21, 0), ("PT", 25, 13),
        )
    ],
    np.int64,
)  # fmt: skip
