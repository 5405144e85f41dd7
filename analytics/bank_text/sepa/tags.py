"""What banks write before a value: codes with a plus sign or colon, and labels in words, with a colon or without."""

import numpy as np

from analytics.bank_text.sepa.layout import ABWA, ABWE, BIC, CRED, EREF, FIELDS, IBAN, MREF, PARTY, PURP, SVWZ
from analytics.bank_text.sepa.spans import first_word_end
from analytics.native.characters import (
    BEYOND_ASCII,
    BLANK,
    CASE_BIT,
    COLON,
    DOT,
    HYPHEN,
    PLUS,
    QUESTION_MARK,
    SEMICOLON,
    SLASH,
    SMALL_A,
    byte,
    eight_bytes,
    four_bytes,
    is_character_start,
    is_digit,
    is_letter,
    letters,
    packed,
    repeated,
    stands_in_any_case,
)
from analytics.native.columns import Bytes, Offsets
from analytics.native.compiling import uncounted

LABEL = 64
"""Added to a field's number where a word stands for it and not a code."""
NO_FIELD = -1
LABELS = {
    EREF: "endtoendref endtoendreferenz endezuendereferenz endtoendid endtoend kundenref kundenreferenz referenz",
    MREF: "mandatsref mandatsreferenz mandatsid mandatsnummer mandatsnr mandat mandatref mandatreferenz"
    " coremandatsref cor1mandatsref b2bmandatsref",
    CRED: "gl?ubigerid glaeubigerid glaubigerid creditorid gl?ubigeridentifikationsnummer glaeubigeridentifikationsnummer",
    SVWZ: "verwendungszweck buchungstext",
    ABWA: "abweichenderauftraggeber abwauftraggeber abweichenderzahlungspflichtiger anam",
    ABWE: "abweichenderempf?nger abweichenderempfaenger abwempf?nger abwempfaenger abweichenderzahlungsempf?nger"
    " abweichenderzahlungsempfaenger",
    PURP: "purpose purposecode",
    PARTY: "auftraggeber empf?nger empfaenger empfanger zahlungsempf?nger zahlungsempfaenger zahlungspflichtiger",
}
"""The labels of banks that write words instead of codes; `?` is any letter beyond ASCII, `- . /` and blanks are skipped."""
LOOSE_LABELS = {
    EREF: "kundenreferenz referenz",
    MREF: "mandid mandat mandatsid",
    CRED: "gl?ubigerid glaeubigerid glaubigerid einreicherid",
}
"""The labels of banks that write no colon behind them."""
_CLOSED, _LOOSE = 0, 1
_MAX_SKIPPED_CHARACTERS = 6
_LETTER_BITS, _LETTER_MASK = 5, 31
"""The lowest five bits of a letter are the same in both cases."""
_CODE_LETTERS = 4
_ONE, _N = ord("1"), ord("N")
_BIC, _SMALL_Z = letters("bic"), ord("z")
_NOT_PROVIDED = letters("notprovided")
_BANK_PREFIX_LETTERS = 4
"""Characters of what stands before "IBAN" or "BIC" and a slash."""
_RECURRENT, _FIRST, _ONE_OFF, _FINAL = (packed(word) for word in ("RCUR", "FRST", "OOFF", "FNAL"))
_CASE_BITS, _CASE_BITS_OF_THREE = packed("    "), packed("   ")


@uncounted
def next_separator(text: Bytes, i: int, high: int) -> int:
    """The next plus sign, colon or semicolon, looked for in eight bytes at a time: a byte is zero where it differs in no bit."""
    while i + 8 <= high:
        word = eight_bytes(text, i)
        plus, colon = word ^ _PLUSES, (word ^ _COLONS) & _EVEN
        if ((plus - _LOWEST) & ~plus | (colon - _LOWEST) & ~colon) & _HIGHEST:
            break
        i += 8
    while i < high and byte(text, i) != PLUS and byte(text, i) != COLON and byte(text, i) != SEMICOLON:
        i += 1
    return i


@uncounted
def next_z(text: Bytes, i: int, high: int) -> int:
    """The next letter z, small or not."""
    while i + 8 <= high:
        difference = (eight_bytes(text, i) | _SMALL) ^ _ZS
        if (difference - _LOWEST) & ~difference & _HIGHEST:
            break
        i += 8
    while i < high and byte(text, i) | CASE_BIT != _SMALL_Z:
        i += 1
    return i


@uncounted
def tag_before(text: Bytes, low: int, i: int) -> tuple[int, int]:
    """The field whose tag ends before this separator, and where the tag begins; `LABEL` more for a word, or `NO_FIELD`."""
    j = i - 1
    while j >= low and (byte(text, j) == BLANK or byte(text, j) == DOT) and i - j <= 2:
        j -= 1
    if j - 2 < low or not (is_letter(byte(text, j)) or (byte(text, j) == _ONE and byte(text, j - 1) == _N)):
        return NO_FIELD, i
    field, start = _code_before(text, low, j)
    if field != NO_FIELD or byte(text, i) == PLUS:
        return field, start
    field, start = _label_at(_CLOSED, text, low, j)
    return (field + LABEL, start) if field != NO_FIELD else (NO_FIELD, i)


@uncounted
def _code_before(text: Bytes, low: int, j: int) -> tuple[int, int]:
    """Codes stand in capitals, torn once at most; in small letters only as a word of their own."""
    start, blanks = j - _CODE_LETTERS + 1, 0
    raw = 0
    if start >= low:
        raw = four_bytes(text, start)
    if start < low or byte(text, j - 1) == BLANK or byte(text, j - 2) == BLANK or byte(text, start) == BLANK:
        raw, start, blanks = _sewn(text, low, j)
    word = raw | _CASE_BITS
    slot = word * _FACTOR >> 20 & 127
    if _SLOTS[slot, _WORD] == word:
        field = _SLOTS[slot, _FIELD]
        if raw & _CASE_BITS_OF_THREE == 0 and raw >> 24 < SMALL_A:
            return field, start - (_BANK_PREFIX_LETTERS if field == IBAN and _has_prefix(text, low, start) else 0)
        if not blanks and (start == low or not is_letter(byte(text, start - 1))):
            return field, start
        return NO_FIELD, j
    start = j - _BIC.size + 1
    if stands_in_any_case(text, start, _BIC) and (start == low or not is_letter(byte(text, start - 1))):
        return BIC, start - (_BANK_PREFIX_LETTERS if _has_prefix(text, low, start) else 0)
    return NO_FIELD, j


@uncounted
def _has_prefix(text: Bytes, low: int, start: int) -> bool:
    """Whether a slash and a code stand before the tag."""
    return start - _BANK_PREFIX_LETTERS >= low and byte(text, start - 1) == SLASH


@uncounted
def _sewn(text: Bytes, low: int, j: int) -> tuple[int, int, int]:
    """Four letters up to here over one blank, where a line break tore them: packed, where they begin, and the blanks."""
    word = size = blanks = 0
    while j >= low and size < _CODE_LETTERS:
        if byte(text, j) == BLANK:
            blanks += 1
        else:
            word = word << 8 | byte(text, j)
            size += 1
        j -= 1
    return (word, j + 1, blanks) if size == _CODE_LETTERS and blanks <= 1 else (0, j + 1, blanks)


@uncounted
def _label_at(kind: int, text: Bytes, low: int, j: int) -> tuple[int, int]:
    """The field whose label ends at this letter, and where the label begins."""
    before = j - 2 if byte(text, j - 1) == BLANK or byte(text, j - 1) == HYPHEN else j - 1
    last = (kind << _LETTER_BITS | byte(text, before) & _LETTER_MASK) << _LETTER_BITS | byte(text, j) & _LETTER_MASK
    for label in range(_LABELS_FROM[last], _LABELS_FROM[last + 1]):
        start = _label_before(label, text, low, j)
        if start >= 0:
            return _LABEL_FIELDS[label], start
    return NO_FIELD, j


@uncounted
def _label_before(label: int, text: Bytes, low: int, j: int) -> int:
    """Where a label begins if it ends here, else -1."""
    k, skipped = _LABEL_BORDERS[label + 1] - 1, 0
    while k >= _LABEL_BORDERS[label]:
        if j < low or skipped > _MAX_SKIPPED_CHARACTERS:
            return -1
        c, letter = byte(text, j), _LABEL_LETTERS[k]
        if c in (BLANK, HYPHEN, DOT, SLASH):
            skipped += 1
        elif letter == QUESTION_MARK and (c >= BEYOND_ASCII or c == QUESTION_MARK):
            while j > low and not is_character_start(byte(text, j)):
                j -= 1
            k -= 1
        elif c | CASE_BIT == letter:
            k -= 1
        else:
            return -1
        j -= 1
    return j + 1


@uncounted
def loose_label(text: Bytes, low: int, i: int, high: int) -> tuple[int, int]:
    """The field whose label ends before this blank if a number or the word for no value follows, and where the label begins."""
    if i - low < 5 or not is_letter(byte(text, i - 1)):
        return NO_FIELD, i
    digits = 0
    for k in range(i + 1, min(first_word_end(text, first_word_end(text, i + 1, high) + 1, high), i + 7, high)):
        digits += is_digit(byte(text, k))
    if digits == 0 and not (i + _NOT_PROVIDED.size < high and stands_in_any_case(text, i + 1, _NOT_PROVIDED)):
        return NO_FIELD, i
    return _label_at(_LOOSE, text, low, i - 1)


@uncounted
def sequence_before(text: Bytes, low: int, i: int) -> int:
    """Where the word begins that says which of several debits this is, if it ends here, torn once at most; else -1."""
    word, start, _ = _sewn(text, low, i - 1)
    is_sequence = word in (_RECURRENT, _FIRST, _ONE_OFF, _FINAL)
    return start if is_sequence and start > low and byte(text, start - 1) == BLANK else -1


def joined_words(words: list[str]) -> tuple[Bytes, Offsets]:
    """Words one behind the other, and the borders between them."""
    return letters("".join(words)), np.cumsum([0, *map(len, words)]).astype(np.int64)


def _ending(label: str) -> int:
    """A number for the last two letters."""
    return (ord(label[-2]) & _LETTER_MASK) << _LETTER_BITS | ord(label[-1]) & _LETTER_MASK


def _labels() -> tuple[Bytes, Offsets, Offsets, Offsets]:
    """Labels one behind the other, their borders, their fields, and for each kind and ending where its labels begin."""
    entries = [
        (kind << 2 * _LETTER_BITS | _ending(label), label, field)
        for kind, labels in ((_CLOSED, LABELS), (_LOOSE, LOOSE_LABELS))
        for field, words in labels.items()
        for label in words.split()
    ]
    entries.sort(key=lambda entry: (entry[0], -len(entry[1])))
    label_letters, borders = joined_words([label for _, label, _ in entries])
    index = np.searchsorted([place for place, _, _ in entries], np.arange((2 << 2 * _LETTER_BITS) + 1)).astype(np.int64)
    return label_letters, borders, np.array([field for _, _, field in entries], np.int64), index


def _slots() -> tuple[int, Offsets]:
    """A table with one place for each code, and the factor that leads there."""
    words = {packed(name): field for field, name in enumerate(FIELDS) if len(name) == _CODE_LETTERS}
    for factor in range(0x9E3779B1, 0x9E3779B1 + 100_000, 2):
        places = {word * factor >> 20 & 127: word for word in words}
        if len(places) == len(words) and max(words) * factor < 2**63:
            table = np.full((128, 2), -1, np.int64)
            for place, word in places.items():
                table[place] = word, words[word]
            return factor, table
    raise AssertionError("no factor separates the codes")


_WORD, _FIELD = 0, 1
_FACTOR, _SLOTS = _slots()
_LABEL_LETTERS, _LABEL_BORDERS, _LABEL_FIELDS, _LABELS_FROM = _labels()
_LOWEST, _HIGHEST, _EVEN = repeated(1), repeated(BEYOND_ASCII), repeated(0xFE)
"""Bits of each byte. Without its lowest bit a semicolon is a colon."""
_PLUSES, _COLONS, _SMALL, _ZS = repeated(PLUS), repeated(COLON), repeated(CASE_BIT), repeated(_SMALL_Z)
