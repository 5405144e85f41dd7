"""What banks write before a value: codes with a plus sign or colon, and labels in words, with a colon or without."""

import numpy as np

from analytics.bank_text.sepa.layout import ABWA, ABWE, BIC, CRED, EREF, FIELDS, IBAN, MREF, PARTY, PURP, SVWZ
from analytics.bank_text.sepa.spans import first_word, is_letter
from analytics.native.columns import Bytes, Offsets
from analytics.native.compiling import inner, peek, peek32, peek_word

LABEL = 64
"""What is added to a field's number where a word stands for it and not a code."""
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
"""The labels of banks that write not even a colon behind them."""
_CLOSED, _LOOSE = 0, 1
_MOST_SKIPPED = 6


@inner
def next_separator(i: int, high: int) -> int:
    """The next plus sign, colon or semicolon, looked for in eight bytes at a time: a byte is zero where it differs in no bit."""
    while i + 8 <= high:
        word = peek_word(i)
        plus, colon = word ^ _PLUS, (word ^ _COLON) & _EVEN
        if ((plus - _LOWEST) & ~plus | (colon - _LOWEST) & ~colon) & _HIGHEST:
            break
        i += 8
    while i < high and peek(i) != 43 and peek(i) != 58 and peek(i) != 59:
        i += 1
    return i


@inner
def next_z(i: int, high: int) -> int:
    """The next letter z, small or not."""
    while i + 8 <= high:
        found = (peek_word(i) | _SMALL) ^ _Z
        if (found - _LOWEST) & ~found & _HIGHEST:
            break
        i += 8
    while i < high and peek(i) | 32 != 122:
        i += 1
    return i


@inner
def tag_before(low: int, i: int) -> tuple[int, int]:
    """The field whose tag ends before this separator, and where the tag begins; `LABEL` more for a word, -1 if there is none."""
    j = i - 1
    while j >= low and (peek(j) == 32 or peek(j) == 46) and i - j <= 2:
        j -= 1
    if j - 2 < low or not (is_letter(peek(j)) or (peek(j) == 49 and peek(j - 1) == 78)):
        return -1, i
    field, start = _code_before(low, j)
    if field >= 0 or peek(i) == 43:
        return field, start
    field, start = _label_at(_CLOSED, low, j)
    return (field + LABEL, start) if field >= 0 else (-1, i)


@inner
def _code_before(low: int, j: int) -> tuple[int, int]:
    """Codes stand in capitals, torn once at most; in small letters only as a word of their own."""
    start, torn = j - 3, 0
    raw = 0
    if start >= low:
        raw = peek32(start)
    if start < low or peek(j - 1) == 32 or peek(j - 2) == 32 or peek(start) == 32:
        raw, start, torn = _sewn(low, j)
    word = raw | 0x20202020
    slot = word * _FACTOR >> 20 & 127
    if _SLOTS[slot, 0] == word:
        field = _SLOTS[slot, 1]
        if raw & 0x00DFDFDF == raw & 0x00FFFFFF and raw >> 24 < 97:
            return field, start - (4 if field == IBAN and start - 4 >= low and peek(start - 1) == 47 else 0)
        if not torn and (start == low or not is_letter(peek(start - 1))):
            return field, start
        return -1, j
    if peek32(j - 2) & 0xDFDFDF == 0x434942 and (j - 2 == low or not is_letter(peek(j - 3))):  # BIC
        return BIC, j - 2 - (4 if j - 6 >= low and peek(j - 3) == 47 else 0)
    return -1, j


@inner
def _sewn(low: int, j: int) -> tuple[int, int, int]:
    """Four letters up to here over one blank: a line break tore them."""
    word = size = torn = 0
    while j >= low and size < 4:
        if peek(j) == 32:
            torn += 1
        else:
            word = word << 8 | peek(j)
            size += 1
        j -= 1
    return (word, j + 1, torn) if size == 4 and torn <= 1 else (0, j + 1, torn)


@inner
def _label_at(kind: int, low: int, j: int) -> tuple[int, int]:
    """The field whose label ends at this letter, and where the label begins."""
    before = j - 2 if peek(j - 1) == 32 or peek(j - 1) == 45 else j - 1
    last = kind << 10 | (peek(before) & 31) << 5 | (peek(j) & 31)
    for label in range(_LABELS_FROM[last], _LABELS_FROM[last + 1]):
        start = _label_before(label, low, j)
        if start >= 0:
            return _LABEL_FIELDS[label], start
    return -1, j


@inner
def _label_before(label: int, low: int, j: int) -> int:
    """Where a label begins if it ends here, else -1."""
    k, skipped = _LABEL_BORDERS[label + 1] - 1, 0
    while k >= _LABEL_BORDERS[label]:
        if j < low or skipped > _MOST_SKIPPED:
            return -1
        c, letter = peek(j), _LABEL_LETTERS[k]
        if c == 32 or c == 45 or c == 46 or c == 47:
            skipped += 1
        elif letter == 63 and (c >= 128 or c == 63):
            while j > low and peek(j) & 0xC0 == 0x80:
                j -= 1
            k -= 1
        elif c | 32 == letter:
            k -= 1
        else:
            return -1
        j -= 1
    return j + 1


@inner
def loose_label(low: int, i: int, high: int) -> tuple[int, int]:
    """The field whose label ends before this blank if a number follows, and where the label begins."""
    if i - low < 5 or not is_letter(peek(i - 1)):
        return -1, i
    digits = 0
    for k in range(i + 1, min(first_word(first_word(i + 1, high) + 1, high), i + 7, high)):
        digits += 48 <= peek(k) <= 57
    if digits == 0:
        return -1, i
    return _label_at(_LOOSE, low, i - 1)


@inner
def sequence_before(low: int, i: int) -> int:
    """Where the word begins that says which of several debits this is, if it ends here, torn once at most; else 0."""
    letters, start, _ = _sewn(low, i - 1)
    known = letters == 0x52554352 or letters == 0x54535246 or letters == 0x46464F4F or letters == 0x4C414E46
    return start if known and start > low and peek(start - 1) == 32 else 0


def packed(words: list[str]) -> tuple[Bytes, Offsets]:
    """Words one behind the other, and the borders between them."""
    return np.frombuffer("".join(words).encode(), np.uint8), np.cumsum([0, *map(len, words)]).astype(np.int64)


def _ending(label: str) -> int:
    """A number for the last two letters."""
    return (ord(label[-2]) & 31) << 5 | ord(label[-1]) & 31


def _labels() -> tuple[Bytes, Offsets, Offsets, Offsets]:
    """Labels one behind the other, their borders, their fields, and for each kind and ending where its labels begin."""
    entries = [
        (kind << 10 | _ending(label), label, field)
        for kind, labels in ((_CLOSED, LABELS), (_LOOSE, LOOSE_LABELS))
        for field, words in labels.items()
        for label in words.split()
    ]
    entries.sort(key=lambda entry: (entry[0], -len(entry[1])))
    letters, borders = packed([label for _, label, _ in entries])
    index = np.searchsorted([place for place, _, _ in entries], np.arange((2 << 10) + 1)).astype(np.int64)
    return letters, borders, np.array([field for _, _, field in entries], np.int64), index


def _slots() -> tuple[int, Offsets]:
    """A table with one place for each code, and the factor that leads there."""
    words = {int.from_bytes(name.encode(), "little"): field for field, name in enumerate(FIELDS) if len(name) == 4}
    for factor in range(0x9E3779B1, 0x9E3779B1 + 100_000, 2):
        places = {word * factor >> 20 & 127: word for word in words}
        if len(places) == len(words) and max(words) * factor < 2**63:
            table = np.full((128, 2), -1, np.int64)
            for place, word in places.items():
                table[place] = word, words[word]
            return factor, table
    raise AssertionError("no factor separates the codes")


_FACTOR, _SLOTS = _slots()
_LABEL_LETTERS, _LABEL_BORDERS, _LABEL_FIELDS, _LABELS_FROM = _labels()
_LOWEST, _HIGHEST, _PLUS, _COLON, _EVEN, _SMALL, _Z = (
    np.uint64(0x0101010101010101 * byte) for byte in (1, 0x80, 43, 58, 0xFE, 0x20, 0x7A)
)
"""Without its lowest bit a semicolon is a colon."""
