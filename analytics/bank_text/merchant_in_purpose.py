"""Merchants inside purposes: where payment services, billing offices and banks name who is paid."""

from analytics.bank_text.card_places import first_mark
from analytics.bank_text.intermediaries import AFTER, ALONE, BILLING, BRAND, NOISE, PRACTICE, STOP, VIA, entry
from analytics.bank_text.name_keys import is_legal_form
from analytics.native.compiling import inner, peek, peek64
from analytics.native.phrases import begins, first_phrase, next_word, phrase_at, word_end

_MOST_WORDS = 6
_LONGEST_TITLE = 8
_LEAST_LETTERS = 4
_SHORTEST_ORDER = 6


@inner
def in_purpose(table: int, via: int, purpose: int, purpose_end: int) -> tuple[int, int]:
    """Where a service names the merchant: behind its usual words, before them, or alone."""
    row, start, after = first_phrase(peek64(table + AFTER), purpose, purpose_end)
    while row >= 0 and entry(table, row, 0) and entry(table, row, 0) != via:
        row, start, after = first_phrase(peek64(table + AFTER), after, purpose_end)
    if row >= 0:
        before = _behind_codes(table, purpose, start)
        after = next_word(after, purpose_end)
        return _fuller(before, start, after, stop_in(table, after, purpose_end))
    begin = _behind_codes(table, purpose, purpose_end)
    stop = stop_in(table, begin, purpose_end)
    row, start, _ = first_phrase(peek64(table + VIA), begin, stop)
    if row >= 0:
        return begin, start
    return begin, (stop if first_mark(begin, stop) < stop else before_codes(table, begin, stop))


@inner
def _fuller(before: int, before_end: int, after: int, after_end: int) -> tuple[int, int]:
    """Of the name before and behind the usual words the one that is longer or less torn, if they are the same."""
    i, j = before, after
    while True:
        i, j = next_word(i, before_end), next_word(j, after_end)
        if j >= after_end or i >= before_end or peek(i) != peek(j):
            break
        i, j = i + 1, j + 1
    if before >= before_end or (j < after_end and i < before_end):
        return (after, after_end) if after < after_end else (before, before_end)
    if j < after_end:
        return before, before_end
    torn = i >= before_end and before_end - before > after_end - after + 1
    return (after, after_end) if torn else (before, before_end)


@inner
def _behind_codes(table: int, begin: int, end: int) -> int:
    """The first word that may belong to a merchant."""
    i = next_word(begin, end)
    while i < end and (is_code(table, i, word_end(i, end), end) or phrase_at(peek64(table + ALONE), i, i, end)[0] >= 0):
        i = next_word(word_end(i, end), end)
    return i


@inner
def before_codes(table: int, begin: int, end: int) -> int:
    """Where the words that may belong to a merchant end."""
    row, last, _ = phrase_at(peek64(table + BRAND), begin, begin, end)  # of a known name no word is a code
    i, count = next_word(last, end) if row >= 0 else begin, 0
    while i < end and count < _MOST_WORDS and not is_code(table, i, word_end(i, end), end):
        last = word_end(i, end)
        i = next_word(last, end)
        count += 1
    return last


@inner
def is_code(table: int, begin: int, end: int, limit: int) -> bool:
    """Whether a word is a number, a code or one that is never a merchant."""
    zeros = letters = 0
    for i in range(begin, end):
        zeros += peek(i) == 48
        letters += peek(i) >= 97 or peek(i) == 38
    _, _, found = phrase_at(peek64(table + NOISE), begin, begin, limit)
    numbered = letters >= _LEAST_LETTERS and zeros == 1 and peek(end - 1) == 48  # as in a shop's name
    return letters == 0 or (zeros > 0 and not numbered) or found > 0


@inner
def without_order(end: int, begin: int, via: int) -> int:
    """Where a merchant behind a service ends without the number of an order: a last word with digits."""
    digits, i = 0, end
    while i > begin and peek(i - 1) != 32:
        i -= 1
        digits += peek(i) < 58
    return i - 1 if via and i > begin and digits and end - i >= _SHORTEST_ORDER else end


@inner
def practice_in(table: int, begin: int, end: int, purpose: int, purpose_end: int) -> tuple[int, int]:
    """Where the practice is named for which somebody collects."""
    if begins(table + BILLING, begin, end) < 0:
        return begin, end
    row, start, _ = first_phrase(peek64(table + PRACTICE), purpose, purpose_end)
    return (start, before_codes(table, start, stop_in(table, start, purpose_end))) if row >= 0 else (begin, end)


@inner
def title_end(begin: int, end: int) -> int:
    """Where a name with a legal form ends with which a purpose begins; the beginning if there is none."""
    i, count, letters, last = next_word(begin, end), 0, 0, begin
    while i < end and count < _LONGEST_TITLE and not _only_digits(i, word_end(i, end)):
        stop = word_end(i, end)
        letters = letters + 1 if stop - i == 1 else 0
        count += letters < 2
        if count > 1 and (letters > 1 or is_legal_form(i, stop)):
            last = stop
        elif last > begin and stop - i > 2:
            break
        i = next_word(stop, end)
    return last


@inner
def behind_numbers(i: int, end: int) -> int:
    """The first word that has a letter."""
    i = next_word(i, end)
    while i < end and peek(i) < 58 and _only_digits(i, word_end(i, end)):
        i = next_word(word_end(i, end), end)
    return i


@inner
def _only_digits(begin: int, end: int) -> bool:
    while begin < end and peek(begin) < 58:
        begin += 1
    return begin == end


@inner
def stop_in(table: int, begin: int, end: int) -> int:
    _, start, _ = first_phrase(peek64(table + STOP), begin, end)
    return start
