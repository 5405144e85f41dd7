"""What remains of a name when legal forms, thanks and numbers of branches are gone: the key by which names are compared.

Works on canonical texts, so that a name has one key however the bank wrote it.
"""

import numpy as np

from analytics.native.compiling import inner, peek, peek32, poke
from analytics.native.phrases import BASIS, hashed, is_word, next_word, word_end, word_table

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
_HASHES, _MASKS = word_table(_KINDS)
_GMBH = int.from_bytes(b"gmbh", "little")


@inner
def name_key_at(begin: int, end: int, at: int) -> int:
    """Writes the key of a canonical name, and says where it ends; the name itself if nothing would remain."""
    start, before = at, end - begin
    at = _shortened(begin, end, start)
    while at - start < before:  # what has moved together may be a legal form
        before = at - start
        at = _shortened(start, at, start)
    return at


@inner
def _shortened(begin: int, end: int, at: int) -> int:
    start, joint = at, 0
    i = next_word(begin, end)
    while i < end:
        stop, kinds = _word(i, end)
        after = _dropped(i, stop, kinds, end, at > start and not joint)
        if after > i:
            i = next_word(after, end)
            joint = 0
            continue
        if kinds & _JOINT:
            joint = i
        else:
            if joint and at > start:
                at = _append(joint, word_end(joint, stop), start, at)
            at = _append(i, stop, start, at)
            joint = 0
        i = next_word(stop, end)
    at = _without_codes(start, at)
    return at if at > start else _copy(begin, end, start)


@inner
def _word(i: int, end: int) -> tuple[int, int]:
    """Where the word that begins here ends, and what it is."""
    h = np.uint64(BASIS)
    while i < end and is_word(peek(i)):
        h = hashed(h, peek(i))
        i += 1
    return i, _kinds(h)


@inner
def _kinds(h: np.uint64) -> int:
    """What the word with this hash is, a bit for each kind."""
    at = np.int64(h & np.uint64(len(_HASHES) - 1))
    while _MASKS[at] and _HASHES[at] != h:
        at = (at + 1) & (len(_HASHES) - 1)
    return int(_MASKS[at])


@inner
def is_legal_form(begin: int, end: int) -> bool:
    """Whether a word is a legal form behind a name."""
    return _word(begin, end)[1] & (_FORM | _SHORT_FORM) != 0


@inner
def _dropped(i: int, stop: int, kinds: int, end: int, behind: bool) -> int:
    """Where what does not count ends, if it begins here."""
    if kinds & _THANKS:
        after = _thanks(i, end)
        if after > i:
            return after
    if stop - i == 1 and peek(i) >= 97:
        return _spelled(i, end, behind)
    if kinds & _FORM or (behind and kinds & _SHORT_FORM):
        return stop
    if not behind:
        return i
    if _is_number(i, stop):
        return stop
    if kinds & _BEFORE_NUMBER:
        following = next_word(stop, end)
        if following < end and _is_number(following, word_end(following, end)):
            return following
    return i


@inner
def _thanks(i: int, end: int) -> int:
    """Where a run of thanking words ends, if one begins here; a single "Ihr" is none."""
    after, thanked = i, 0
    word = i
    while word < end:
        stop, kinds = _word(word, end)
        if not kinds & _THANKS:
            break
        thanked |= kinds & _THANKFUL
        after = stop
        word = next_word(stop, end)
    return after if thanked else i


@inner
def _spelled(i: int, end: int, behind: bool) -> int:
    """Where a legal form in single letters ("e v", "s a r l") ends, if one begins here: the longest of at most four."""
    best = i
    h = np.uint64(BASIS)
    word, count = i, 0
    while word < end and count < 4 and word_end(word, end) - word == 1 and peek(word) >= 97:
        h = hashed(h, peek(word))
        word += 1
        count += 1
        if count > 1 and _kinds(h) & (_FORM | _SHORT_FORM if behind else _FORM):
            best = word
        word = next_word(word, end)
    return best


@inner
def _is_number(begin: int, end: int) -> bool:
    while begin < end and 48 <= peek(begin) <= 57:
        begin += 1
    return begin == end


@inner
def _without_codes(start: int, at: int) -> int:
    """Without words at the end that were numbered: collapsed digits show as zeros."""
    while True:
        i, zeros, others = at, 0, 0
        while i > start and peek(i - 1) != 32:
            i -= 1
            zeros += peek(i) == 48
            others += 49 <= peek(i) <= 57
        if i == start or zeros == 0 or others > 0:
            return at
        at = i - 1


@inner
def _append(begin: int, end: int, start: int, at: int) -> int:
    """Writes one more word, without a legal form that lost the blank before it."""
    if end - begin > 7 and peek32(end - 4) == _GMBH:
        end -= 4
    if at > start:
        poke(at, 32)
        at += 1
    return _copy(begin, end, at)


@inner
def _copy(begin: int, end: int, at: int) -> int:
    for i in range(begin, end):
        poke(at, peek(i))
        at += 1
    return at
