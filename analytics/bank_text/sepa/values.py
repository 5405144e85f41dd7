"""Values as they count: where one must end, what is taken from it, and what only says that there is none."""

import numpy as np

from analytics.bank_text.sepa.layout import BIC, CRED, IBAN, MREF, PURP, SPAN_END, SPAN_START
from analytics.bank_text.sepa.spans import first_word_end, is_line_break, letter_count, trimmed
from analytics.bank_text.sepa.tags import joined_words
from analytics.native.characters import (
    BLANK,
    CAPITAL_A,
    CASE_BIT,
    SMALL_A,
    SMALL_Z,
    byte,
    is_capital,
    is_digit,
    letters,
    packed,
    put,
    stands_at,
    stands_in_any_case,
)
from analytics.native.columns import Bytes, Offsets
from analytics.native.compiling import uncounted

_COUNTRY, _IBAN_LENGTH, _CREDITOR_LENGTH = 0, 1, 2
"""Columns of `_COUNTRIES`."""
_UNKNOWN_LENGTH = 0
_PURPOSE_CODE_LENGTH, _SHORT_BIC_LENGTH, _BIC_LENGTH = 4, 8, 11
_MIN_ACCOUNT_LENGTH, _MAX_ACCOUNT_LENGTH = 8, 35
_LONGEST_TORN_WORD = 3
"""A longer word of letters alone behind a line break is no rest of a reference."""
_NICH, _SEPA = letters("nich"), letters("SEPA")


@uncounted
def write_value(text: Bytes, low: int, spans: Offsets, field: int, out: Bytes, at: int) -> int:
    """Writes the value of a field, and returns the position behind it; a value that says there is none is not written."""
    begin, end = spans[field, SPAN_START], spans[field, SPAN_END]
    if field in (CRED, IBAN, BIC, PURP):
        after = _write_code(text, begin, value_end(text, field, begin, end), out, at)
        return after if _is_valid(out, at, after, field) else at
    after = at
    for i in range(begin, end):
        if field > MREF or byte(text, i) != BLANK or not is_line_break(text, low, i, end):
            put(out, after, byte(text, i))
            after += 1
    return at if _says_nothing(out, at, after) else after


@uncounted
def value_end(text: Bytes, field: int, begin: int, high: int) -> int:
    """Where a value must end: account numbers, creditor ids and codes have a known length, references are one word."""
    begin, end = trimmed(text, begin, high)
    size = _PURPOSE_CODE_LENGTH if field == PURP else _known_length(text, begin, end, field)
    word = first_word_end(text, begin, end)
    if field == BIC and word - begin != _SHORT_BIC_LENGTH and word - begin < _BIC_LENGTH:
        size = _BIC_LENGTH
    if size == _UNKNOWN_LENGTH:
        return word
    count = 0
    for i in range(begin, end):
        count += byte(text, i) != BLANK
        if count == size:
            return i + 1
    return end


@uncounted
def _known_length(text: Bytes, begin: int, end: int, field: int) -> int:
    """How long an IBAN or a creditor id of this country is, or `_UNKNOWN_LENGTH`."""
    if end - begin < 3 or (field != IBAN and field != CRED):
        return _UNKNOWN_LENGTH
    second = begin + 2 if byte(text, begin + 1) == BLANK else begin + 1
    country = (byte(text, begin) & ~CASE_BIT) | (byte(text, second) & ~CASE_BIT) << 8
    for k in range(len(_COUNTRIES)):
        if _COUNTRIES[k, _COUNTRY] == country:
            return int(_COUNTRIES[k, _IBAN_LENGTH if field == IBAN else _CREDITOR_LENGTH])
    return _UNKNOWN_LENGTH


@uncounted
def reference_end(text: Bytes, low: int, begin: int, high: int) -> int:
    """Where the first word ends; a blank that a line break put into it does not end it."""
    begin, high = trimmed(text, begin, high)
    end = first_word_end(text, begin, high)
    if end - begin == _NICH.size + 1 and stands_in_any_case(text, begin, _NICH):  # "nicht angegeben"
        return first_word_end(text, end + 1, high)
    while end < high and is_line_break(text, low, end, high):
        after = first_word_end(text, end + 1, high)
        if after - end - 1 > _LONGEST_TORN_WORD and letter_count(text, end + 1, after) == after - end - 1:
            break
        if end + 1 + _SEPA.size <= high and stands_at(text, end + 1, _SEPA):  # "SEPA-…"
            break
        end = after
    return end


@uncounted
def _write_code(text: Bytes, begin: int, end: int, out: Bytes, at: int) -> int:
    """Writes letters and digits in capitals, without blanks."""
    for i in range(begin, end):
        c = byte(text, i)
        c -= CASE_BIT if SMALL_A <= c <= SMALL_Z else 0
        if is_capital(c) or is_digit(c):
            put(out, at, c)
            at += 1
    return at


@uncounted
def _is_valid(out: Bytes, begin: int, end: int, field: int) -> bool:
    """Whether a written code has the shape of its field."""
    size = end - begin
    if field == PURP:
        return size == _PURPOSE_CODE_LENGTH and byte(out, begin) >= CAPITAL_A
    if field == BIC:
        return size in (_SHORT_BIC_LENGTH, _BIC_LENGTH)
    if size < _MIN_ACCOUNT_LENGTH or size > _MAX_ACCOUNT_LENGTH:
        return False
    has_country = byte(out, begin) >= CAPITAL_A and byte(out, begin + 1) >= CAPITAL_A
    return has_country and byte(out, begin + 2) < CAPITAL_A and byte(out, begin + 3) < CAPITAL_A


@uncounted
def _says_nothing(out: Bytes, begin: int, end: int) -> bool:
    """Whether a written value only says that there is none."""
    for k in range(len(_NOTHING_BORDERS) - 1):
        low, size = _NOTHING_BORDERS[k], _NOTHING_BORDERS[k + 1] - _NOTHING_BORDERS[k]
        if end - begin == size:
            count = 0
            for i in range(size):
                count += byte(out, begin + i) | CASE_BIT == _NOTHING[low + i] | CASE_BIT
            if count == size:
                return True
    return False


_NOTHING, _NOTHING_BORDERS = joined_words(
    ["nonref", "notprovided", "not provided", "nicht angegeben", "keine angabe", "notavailable", "-", "--"]
)
_COUNTRIES = np.array(
    [
        (packed(country), account, creditor)
        for country, account, creditor in (
            ("DE", 22, 18), ("AT", 20, 18), ("LU", 20, 26), ("NL", 18, 19), ("FR", 27, 13), ("BE", 16, 17), ("IE", 22, 13),
            ("ES", 24, 16), ("IT", 27, 23), ("CH", 21, 18), ("PL", 28, 17), ("GB", 22, 0), ("LT", 20, 0), ("SE", 24, 0),
            ("DK", 18, 0), ("CZ", 24, 0), ("EE", 20, 0), ("MT", 31, 0), ("LI", 21, 0), ("PT", 25, 13),
        )
    ],
    np.int64,
)  # fmt: skip
