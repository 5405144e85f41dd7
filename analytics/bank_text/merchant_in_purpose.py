"""Merchants inside purposes: where payment services, billing offices and banks name who is paid."""

from analytics.bank_text.card_places import first_mark
from analytics.bank_text.intermediaries import (
    AFTER,
    ALONE,
    BILLING,
    BRAND,
    NO_SERVICE,
    NOISE,
    PRACTICE,
    STOP,
    VIA,
    Intermediaries,
)
from analytics.bank_text.name_keys import is_legal_form
from analytics.native.characters import AMPERSAND, BLANK, NINE, SMALL_A, ZERO, byte
from analytics.native.columns import Bytes
from analytics.native.compiling import uncounted
from analytics.native.phrases import NO_PHRASE, first_phrase, next_word, opening_phrase, phrase_at, word_end

_MAX_MERCHANT_WORDS = 6
_MAX_TITLE_WORDS = 8
_MIN_SHOP_LETTERS = 4
"""A word of this many letters with one number at its end may be a shop's name."""
_MIN_ORDER_BYTES = 6


@uncounted
def merchant_in_purpose(table: Intermediaries, via: int, line: Bytes, purpose: int, purpose_end: int) -> tuple[int, int]:
    """Where a service names the merchant: behind its usual words, before them, or alone."""
    row, start, after = first_phrase(table.phrases, AFTER, line, purpose, purpose_end)
    while row != NO_PHRASE and table.service[row] != NO_SERVICE and table.service[row] != via:
        row, start, after = first_phrase(table.phrases, AFTER, line, after, purpose_end)
    if row != NO_PHRASE:
        before = _behind_codes(table, line, purpose, start)
        after = next_word(line, after, purpose_end)
        return _fuller(line, before, start, after, merchant_stop(table, line, after, purpose_end))
    begin = _behind_codes(table, line, purpose, purpose_end)
    stop = merchant_stop(table, line, begin, purpose_end)
    row, start, _ = first_phrase(table.phrases, VIA, line, begin, stop)
    if row != NO_PHRASE:
        return begin, start
    return begin, (stop if first_mark(line, begin, stop) < stop else _before_codes(table, line, begin, stop))


@uncounted
def _fuller(line: Bytes, before: int, before_end: int, after: int, after_end: int) -> tuple[int, int]:
    """Of the name before and behind the usual words the one that is longer or less torn, if they are the same."""
    i, j = before, after
    while True:
        i, j = next_word(line, i, before_end), next_word(line, j, after_end)
        if j >= after_end or i >= before_end or byte(line, i) != byte(line, j):
            break
        i, j = i + 1, j + 1
    if before >= before_end or (j < after_end and i < before_end):
        return (after, after_end) if after < after_end else (before, before_end)
    if j < after_end:
        return before, before_end
    is_torn = i >= before_end and before_end - before > after_end - after + 1
    return (after, after_end) if is_torn else (before, before_end)


@uncounted
def _behind_codes(table: Intermediaries, line: Bytes, begin: int, end: int) -> int:
    """The first word that may belong to a merchant."""
    i = next_word(line, begin, end)
    while i < end and (
        is_code(table, line, i, word_end(line, i, end), end) or phrase_at(table.phrases, ALONE, line, i, i, end)[0] != NO_PHRASE
    ):
        i = next_word(line, word_end(line, i, end), end)
    return i


@uncounted
def _before_codes(table: Intermediaries, line: Bytes, begin: int, end: int) -> int:
    """Where the words that may belong to a merchant end."""
    row, last, _ = phrase_at(table.phrases, BRAND, line, begin, begin, end)  # of a table name no word is a code
    i, count = next_word(line, last, end) if row != NO_PHRASE else begin, 0
    while i < end and count < _MAX_MERCHANT_WORDS and not is_code(table, line, i, word_end(line, i, end), end):
        last = word_end(line, i, end)
        i = next_word(line, last, end)
        count += 1
    return last


@uncounted
def is_code(table: Intermediaries, line: Bytes, begin: int, end: int, limit: int) -> bool:
    """Whether a word is a number, a code or one that is never a merchant."""
    zeros = letters = 0
    for i in range(begin, end):
        zeros += byte(line, i) == ZERO
        letters += byte(line, i) >= SMALL_A or byte(line, i) == AMPERSAND
    _, _, noise_letters = phrase_at(table.phrases, NOISE, line, begin, begin, limit)
    is_shop = letters >= _MIN_SHOP_LETTERS and zeros == 1 and byte(line, end - 1) == ZERO
    return letters == 0 or (zeros > 0 and not is_shop) or noise_letters > 0


@uncounted
def without_order(line: Bytes, begin: int, end: int, via: int) -> int:
    """Where a merchant behind a service ends without the number of an order: a last word with digits."""
    digits, i = 0, end
    while i > begin and byte(line, i - 1) != BLANK:
        i -= 1
        digits += byte(line, i) <= NINE
    return i - 1 if via != NO_SERVICE and i > begin and digits and end - i >= _MIN_ORDER_BYTES else end


@uncounted
def practice_in(table: Intermediaries, line: Bytes, begin: int, end: int, purpose: int, purpose_end: int) -> tuple[int, int]:
    """Where the practice is named for which somebody collects."""
    if opening_phrase(table.phrases, BILLING, line, begin, end) == NO_PHRASE:
        return begin, end
    row, start, _ = first_phrase(table.phrases, PRACTICE, line, purpose, purpose_end)
    if row == NO_PHRASE:
        return begin, end
    return start, _before_codes(table, line, start, merchant_stop(table, line, start, purpose_end))


@uncounted
def title_end(line: Bytes, begin: int, end: int) -> int:
    """Where a name with a legal form ends with which a purpose begins; the beginning if there is none."""
    i, count, letters, last = next_word(line, begin, end), 0, 0, begin
    while i < end and count < _MAX_TITLE_WORDS and not _has_only_digits(line, i, word_end(line, i, end)):
        stop = word_end(line, i, end)
        letters = letters + 1 if stop - i == 1 else 0
        count += letters < 2
        if count > 1 and (letters > 1 or is_legal_form(line, i, stop)):
            last = stop
        elif last > begin and stop - i > 2:
            break
        i = next_word(line, stop, end)
    return last


@uncounted
def behind_numbers(line: Bytes, i: int, end: int) -> int:
    """The first word that has a letter."""
    i = next_word(line, i, end)
    while i < end and byte(line, i) <= NINE and _has_only_digits(line, i, word_end(line, i, end)):
        i = next_word(line, word_end(line, i, end), end)
    return i


@uncounted
def _has_only_digits(line: Bytes, begin: int, end: int) -> bool:
    while begin < end and byte(line, begin) <= NINE:
        begin += 1
    return begin == end


@uncounted
def merchant_stop(table: Intermediaries, line: Bytes, begin: int, end: int) -> int:
    """Where a merchant that begins here must end."""
    _, start, _ = first_phrase(table.phrases, STOP, line, begin, end)
    return start
