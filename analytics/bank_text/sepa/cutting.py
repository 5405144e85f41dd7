"""Cutting a purpose into its fields, in the three ways in which banks write them."""

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
    SPAN_END,
    SPAN_START,
    SVWZ,
)
from analytics.bank_text.sepa.spans import character_count, first_word_end, is_blank, letter_count, trimmed
from analytics.bank_text.sepa.tags import (
    LABEL,
    NO_FIELD,
    loose_label,
    next_separator,
    next_z,
    sequence_before,
    tag_before,
)
from analytics.bank_text.sepa.values import reference_end, value_end
from analytics.native.characters import (
    BLANK,
    DOT,
    HYPHEN,
    NINE,
    SEMICOLON,
    SLASH,
    byte,
    is_capital,
    is_digit,
    letters,
    same,
    stands_at,
)
from analytics.native.columns import Bytes, Offsets
from analytics.native.compiling import uncounted

_MAX_REFERENCE_BYTES = 40
_MAX_PURPOSE_CHARACTERS = 140
_MIN_REFERENCE_DIGITS = 6
_MIN_TEXT_LETTERS = 4
"""What follows the last field counts as text only if it has this many letters."""
_MAX_BARE_LABEL_BYTES = 12
"""A label for a reference of at most this length, with what separates it from its value, is a bare "Referenz"."""
_CODES, _CODE_BYTES = letters("EREFKREFMREFCREDSVWZABWAABWEIBANBIC:"), 4
_REF = letters("Ref")
_SMALL_N, _SMALL_Z, _CAPITAL_Z = (ord(letter) for letter in "nzZ")


@uncounted
def segment(text: Bytes, low: int, high: int, spans: Offsets) -> int:
    """Cuts one purpose into `spans`, and returns a bit for each field that it has: the first value of a field wins."""
    fields = 0
    field_open, begin, head = NO_FIELD, low, high
    has_labels = False
    i = next_separator(text, low, high)
    while i < high:
        if byte(text, i) == SEMICOLON and field_open == NO_FIELD and _is_reference(text, i + 1, high):
            return _cut_list(text, low, i, high, spans)
        field, start = tag_before(text, begin, i)
        is_label = field >= LABEL
        field -= LABEL if is_label else 0
        if field != NO_FIELD and (not is_label or _fits(text, low, start, i + 1, high, field, field_open != NO_FIELD)):
            if field_open != NO_FIELD:
                fields = _close(text, field_open, begin, start, spans, fields)
            else:
                head = start
            has_labels = has_labels or is_label
            field_open, begin = field, i + 1
        i = next_separator(text, i + 1, high)
    if field_open == NO_FIELD:
        is_numbered = _is_numbered(text, low, high)
        return _cut_loose(text, low, high, spans) if is_numbered else _close(text, REMITTANCE, low, high, spans, 0)
    if field_open == SVWZ:
        high = _whole_words_end(text, low, begin, high)
    if has_labels:
        high, fields = _without_reference(text, begin, high, spans, fields)
        end = high
        if field_open == CRED:
            end = value_end(text, CRED, begin, high)
        elif field_open < CRED:
            end = reference_end(text, low, begin, high)
        if end < high and (fields >> SVWZ & 1 or not is_blank(text, low, head)):
            fields = _close(text, NOTE, end, high, spans, fields)
            high = end
    fields = _close(text, field_open, begin, high, spans, fields)
    return _close_remittance(text, low, head, field_open, begin, high, spans, fields)


@uncounted
def _cut_list(text: Bytes, low: int, i: int, high: int, spans: Offsets) -> int:
    """Cuts a purpose with values behind semicolons: the reference, the creditor id, the mandate."""
    fields = _close(text, REMITTANCE, low, i, spans, 0)
    begin = i + 1
    for field in (EREF, CRED, MREF):
        end = begin
        while end < high and byte(text, end) != SEMICOLON:
            end += 1
        start, _ = trimmed(text, begin, end)
        stop = end if field == CRED else first_word_end(text, start, end)
        fields = _close(text, field, start, stop, spans, fields)
        fields = _close(text, NOTE, stop, end, spans, fields)
        begin = end + 1
    return fields


@uncounted
def _is_reference(text: Bytes, begin: int, high: int) -> bool:
    """Whether one word with several digits stands here before the next semicolon, a hyphen or the end."""
    begin, high = trimmed(text, begin, high)
    end = first_word_end(text, begin, high)
    digits = 0
    for i in range(begin, end):
        digits += is_digit(byte(text, i))
    after, _ = trimmed(text, end, high)
    return digits >= _MIN_REFERENCE_DIGITS and (after == high or byte(text, after) == SEMICOLON or byte(text, after) == HYPHEN)


@uncounted
def _is_numbered(text: Bytes, low: int, high: int) -> bool:
    """Whether a purpose without tags may have labels without colons: "…renz " or the middle of a creditor id shows."""
    i = next_z(text, low + 4, high - 2)
    while i < high - 2:
        c, before, after = byte(text, i), byte(text, i - 1), byte(text, i + 1)
        if c == _SMALL_Z and after == BLANK and before in (_SMALL_N, BLANK):
            return True
        if c == _CAPITAL_Z and before == _CAPITAL_Z and (after in (_CAPITAL_Z, BLANK) or byte(text, i - 2) == _CAPITAL_Z):
            return True
        i = next_z(text, i + 1, high - 2)
    return False


@uncounted
def _cut_loose(text: Bytes, low: int, high: int, spans: Offsets) -> int:
    """Cuts a purpose whose labels have no separators: each is followed by a word with a digit."""
    fields = 0
    field_open, begin, head = NO_FIELD, low, high
    for i in range(low, high):
        if byte(text, i) != BLANK:
            continue
        field, start = loose_label(text, begin, i, high)
        sequence = sequence_before(text, begin, i) if field_open != NO_FIELD and field_open != NOTE else -1
        if field != NO_FIELD or sequence >= 0:
            start = sequence if sequence >= 0 else start
            if field_open != NO_FIELD:
                fields = _close(text, field_open, begin, start, spans, fields)
            else:
                head = start
            field_open, begin = (NOTE, sequence) if sequence >= 0 else (field, i + 1)
    if field_open == NO_FIELD:
        return _close(text, REMITTANCE, low, high, spans, 0)
    fields = _close(text, field_open, begin, high, spans, fields)
    return _close_remittance(text, low, head, field_open, begin, high, spans, fields)


@uncounted
def _close(text: Bytes, field: int, begin: int, end: int, spans: Offsets, fields: int) -> int:
    """Keeps the value unless it is empty or the field already has one; returns the bits of all fields."""
    begin, end = trimmed(text, begin, end)
    if begin == end or fields >> field & 1:
        return fields
    spans[field, SPAN_START], spans[field, SPAN_END] = begin, end
    return fields | 1 << field


@uncounted
def _close_remittance(
    text: Bytes, low: int, head: int, field_open: int, begin: int, high: int, spans: Offsets, fields: int
) -> int:
    """Keeps what the payer is told: the purpose, else the leading text, else what follows a last field that is full."""
    if fields >> SVWZ & 1:
        return _close(text, REMITTANCE, spans[SVWZ, SPAN_START], spans[SVWZ, SPAN_END], spans, fields)
    fields = _close(text, REMITTANCE, low, head, spans, fields)
    if fields >> REMITTANCE & 1 or field_open == NO_FIELD or field_open in (SVWZ, PARTY, ABWA, ABWE):
        return fields
    rest = value_end(text, field_open, begin, high)
    if letter_count(text, rest, high) >= _MIN_TEXT_LETTERS:
        fields = _close(text, REMITTANCE, rest, high, spans, fields)
        if spans[field_open, SPAN_END] == spans[REMITTANCE, SPAN_END]:
            spans[field_open, SPAN_END] = rest
    return fields


@uncounted
def _fits(text: Bytes, low: int, start: int, begin: int, high: int, field: int, after_tag: bool) -> bool:
    """Words are labels only where the banks use them so; the payer may write them too."""
    begin, high = trimmed(text, begin, high)
    if field == PARTY:
        low, start = trimmed(text, low, start)
        return after_tag or low == start
    if field == EREF and begin - start <= _MAX_BARE_LABEL_BYTES:
        return after_tag or first_word_end(text, begin, high) == high
    if field == PURP:
        return first_word_end(text, begin, high) - begin == 4 and letter_count(text, begin, begin + 4) == 4
    return True


@uncounted
def _whole_words_end(text: Bytes, low: int, begin: int, high: int) -> int:
    """Where a purpose ends without the beginning of a tag that the limit of 140 characters cut off."""
    if high - low < _MAX_PURPOSE_CHARACTERS or high - low > 2 * _MAX_PURPOSE_CHARACTERS:
        return high
    word = high
    while word > begin and high - word <= _CODE_BYTES and byte(text, word - 1) != BLANK:
        word -= 1
    size = high - word
    if size == 0 or size > _CODE_BYTES or word == begin or character_count(text, low, high) != _MAX_PURPOSE_CHARACTERS:
        return high
    for code in range(0, _CODES.size, _CODE_BYTES):
        if same(text, word, _CODES, code, size):
            return word
    return high


@uncounted
def _without_reference(text: Bytes, begin: int, high: int, spans: Offsets, fields: int) -> tuple[int, int]:
    """Where the text ends without the bank's own "Ref. …" behind it, torn once at most, and the bits of all fields."""
    begin, high = trimmed(text, begin, high)
    i, blanks = high, 0
    while i > begin and high - i < _MAX_REFERENCE_BYTES and blanks < 3:
        c = byte(text, i - 1)
        label = i - 1 - _REF.size
        if c == DOT and label >= begin and stands_at(text, label, _REF) and (label == begin or byte(text, label - 1) == BLANK):
            return label, _close(text, BREF, i, high, spans, fields)
        if not (c == BLANK or SLASH <= c <= NINE or is_capital(c)):
            break
        blanks += c == BLANK
        i -= 1
    return high, fields
