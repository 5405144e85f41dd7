"""What remains of a name when legal forms, thanks and numbers of branches are gone: the key by which names are compared.

Works on canonical texts, so that a name has one key however the bank wrote it.
"""

import numpy as np

from analytics.native.characters import BLANK, NINE, SMALL_A, ZERO, byte, copy, is_digit, letters, put, stands_at
from analytics.native.columns import Bytes
from analytics.native.compiling import uncounted
from analytics.native.hashing import FNV_BASIS, FREE_SLOT, hashed, value_of, word_table
from analytics.native.phrases import is_word, next_word, word_end

_FORM, _SHORT_FORM, _BEFORE_NUMBER, _JOINT, _THANKS, _THANKFUL = (1 << bit for bit in range(6))
_KINDS = {
    _FORM: "gmbh mbh ggmbh gmbhcokg cokg co kg kgaa ag se ev eg ug ohg gbr ek ekfr partg partgmbb"
    " haftungsbeschraenkt haftungsbeschr aktiengesellschaft sarl sca scs bv nv ltd limited inc llc plc corp sas srl sro doo zoo"
    " aps kft cie publ vvag",
    _SHORT_FORM: "ab as sa oy sl",
    _BEFORE_NUMBER: "fil filiale nr no",
    _JOINT: "& und et u",
    _THANKS: "sagt danke dankt ihr ihre vielen dank wir sagen fuer den einkauf",
    _THANKFUL: "danke dankt dank",
}
"""What words are. Short forms are words of their own too: legal forms only behind a name."""
_KEYS, _VALUES = word_table(_KINDS)
_GMBH = letters("gmbh")
_LONGEST_SPELLED_FORM = 4
"""Letters of the longest legal form that is looked for in single letters."""


@uncounted
def write_name_key(text: Bytes, begin: int, end: int, out: Bytes, at: int) -> int:
    """Writes the key of a canonical name, and returns the position behind it; the name itself if nothing would remain."""
    start, size = at, end - begin
    at = _shorten(text, begin, end, out, start)
    while at - start < size:  # what has moved together may be a legal form
        size = at - start
        at = _shorten(out, start, at, out, start)
    return at


@uncounted
def _shorten(text: Bytes, begin: int, end: int, out: Bytes, at: int) -> int:
    start, joint = at, -1
    i = next_word(text, begin, end)
    while i < end:
        stop, kinds = _word(text, i, end)
        after = _uncounted_end(text, i, stop, kinds, end, at > start and joint < 0)
        if after > i:
            i = next_word(text, after, end)
            joint = -1
            continue
        if kinds & _JOINT:
            joint = i
        else:
            if joint >= 0 and at > start:
                at = _append(text, joint, word_end(text, joint, stop), out, start, at)
            at = _append(text, i, stop, out, start, at)
            joint = -1
        i = next_word(text, stop, end)
    at = _without_codes(out, start, at)
    return at if at > start else copy(text, begin, end, out, start)


@uncounted
def _word(text: Bytes, i: int, end: int) -> tuple[int, int]:
    """Where the word that begins here ends, and the bits of its kinds."""
    key = FNV_BASIS
    while i < end and is_word(byte(text, i)):
        key = hashed(key, byte(text, i))
        i += 1
    return i, _kinds(key)


@uncounted
def _kinds(key: np.uint64) -> int:
    """The bits of the kinds of the word with this hash."""
    kinds = value_of(_KEYS, _VALUES, key)
    return 0 if kinds == FREE_SLOT else kinds


@uncounted
def is_legal_form(text: Bytes, begin: int, end: int) -> bool:
    """Whether a word is a legal form behind a name."""
    return _word(text, begin, end)[1] & (_FORM | _SHORT_FORM) != 0


@uncounted
def _uncounted_end(text: Bytes, i: int, stop: int, kinds: int, end: int, behind: bool) -> int:
    """Where the words end that do not count, if they begin here; `behind` says whether a name stands before them."""
    if kinds & _THANKS:
        after = _thanks_end(text, i, end)
        if after > i:
            return after
    if stop - i == 1 and byte(text, i) >= SMALL_A:
        return _spelled_form_end(text, i, end, behind)
    if kinds & _FORM or (behind and kinds & _SHORT_FORM):
        return stop
    if not behind:
        return i
    if _is_number(text, i, stop):
        return stop
    if kinds & _BEFORE_NUMBER:
        following = next_word(text, stop, end)
        if following < end and _is_number(text, following, word_end(text, following, end)):
            return following
    return i


@uncounted
def _thanks_end(text: Bytes, i: int, end: int) -> int:
    """Where a run of thanking words ends, if one begins here; a single "Ihr" is none."""
    after, thankful = i, 0
    word = i
    while word < end:
        stop, kinds = _word(text, word, end)
        if not kinds & _THANKS:
            break
        thankful |= kinds & _THANKFUL
        after = stop
        word = next_word(text, stop, end)
    return after if thankful else i


@uncounted
def _spelled_form_end(text: Bytes, i: int, end: int, behind: bool) -> int:
    """Where a legal form in single letters ("e v", "s a r l") ends, if one begins here: the longest one."""
    best = i
    key = FNV_BASIS
    word, count = i, 0
    while word < end and count < _LONGEST_SPELLED_FORM and word_end(text, word, end) - word == 1 and byte(text, word) >= SMALL_A:
        key = hashed(key, byte(text, word))
        word += 1
        count += 1
        if count > 1 and _kinds(key) & (_FORM | _SHORT_FORM if behind else _FORM):
            best = word
        word = next_word(text, word, end)
    return best


@uncounted
def _is_number(text: Bytes, begin: int, end: int) -> bool:
    while begin < end and is_digit(byte(text, begin)):
        begin += 1
    return begin == end


@uncounted
def _without_codes(out: Bytes, start: int, at: int) -> int:
    """Where a key ends without numbered words at its end: collapsed digits show as zeros."""
    while True:
        i, zeros, others = at, 0, 0
        while i > start and byte(out, i - 1) != BLANK:
            i -= 1
            zeros += byte(out, i) == ZERO
            others += ZERO < byte(out, i) <= NINE
        if i == start or zeros == 0 or others > 0:
            return at
        at = i - 1


@uncounted
def _append(text: Bytes, begin: int, end: int, out: Bytes, start: int, at: int) -> int:
    """Writes one more word, without a legal form that lost the blank before it."""
    if end - begin > _GMBH.size + 3 and stands_at(text, end - _GMBH.size, _GMBH):
        end -= _GMBH.size
    if at > start:
        put(out, at, BLANK)
        at += 1
    return copy(text, begin, end, out, at)
