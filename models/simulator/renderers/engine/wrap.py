"""The second pass, compiled: breaks lines, cuts, drops the control bytes and copies what they enclose into the truth.

So a truth is always what stands in the text, never what should stand there.
"""

import numpy as np

from analytics.native.compiling import compiled, inner
from models.simulator.renderers.engine.fill import MARGIN, ROOM, Bytes, Keys, Numbers, filled, known_words
from models.simulator.renderers.engine.vocabulary import (
    NAME_LENGTH,
    REMITTANCE_LENGTH,
    Fact,
    Join,
    Mark,
    Sink,
    Step,
)

SPACE = MARGIN
"""Bytes to work in, at the end of the memory: a filled template."""
_GUESS = 256
"""Bytes that a row may need in one column, at first."""
_SINKS, _TEXTS = len(Sink), 3
_BREAK = 11
"""Stands for the blank of a broken line until the truths are taken."""


@inner
def _taken(sinks: Bytes, used: Numbers, text: int, begin: int, end: int, which: int) -> int:
    """Notes what was written here: references without blanks, merchants without those of broken lines. Returns the length."""
    to, count = used[which], 0
    for at in range(begin, end):
        byte = sinks[text, at]
        if byte <= 32 and (count == 0 or which < Sink.REMITTANCE or (which == Sink.MERCHANT and byte == _BREAK)):
            continue
        sinks[which, to + count] = byte if byte != _BREAK else 32
        count += 1
    return count


@inner
def _settled(
    memory: Bytes, at: int, end: int, sinks: Bytes, used: Numbers, sizes: Numbers, text: int, limit: int, width: int, join: int
) -> None:
    """Appends a filled template to its sink, and what it shows of the truths to theirs; blanks are single."""
    size, shown, column, gap = used[text], 0, 0, 0
    which, begin, remittance = -1, 0, -1
    while at < end and shown < limit:
        byte = memory[at]
        at += 1
        if byte > 32:
            if gap > 0:
                if shown + 1 >= limit:
                    break
                sinks[text, size] = gap
                size += 1
                shown += 1
                gap = 0
            sinks[text, size] = byte
            size += 1
            shown += 1
            column += 1
            if byte >= 0x80:
                while at < end and memory[at] & 0xC0 == 0x80:
                    sinks[text, size] = memory[at]
                    size += 1
                    at += 1
            elif join == Join.SEAMLESS:
                while at < end and 32 < memory[at] < 0x80 and shown < limit:
                    sinks[text, size] = memory[at]
                    size += 1
                    at += 1
                    shown += 1
        elif byte == 32:
            column += 1
            gap = 32 if shown > 0 else 0
        elif byte == Mark.LINE:
            column = width
        elif byte == Mark.REMITTANCE:
            remittance = size
        elif byte == Mark.REMITTANCE_END:
            sizes[Sink.REMITTANCE] = _taken(sinks, used, text, remittance, size, Sink.REMITTANCE)
            remittance = -1
        elif byte == Mark.END:
            if which >= 0 and size - begin > sizes[which] and (which == Sink.MERCHANT or sizes[which] == 0):
                sizes[which] = _taken(sinks, used, text, begin, size, which)
            which = -1
        else:
            which, begin = Sink.MERCHANT if byte == Mark.MERCHANT else byte + _TEXTS - 1, size
        if join != Join.SEAMLESS and column == width:
            column = 0
            gap = 0 if join == Join.EATEN else (_BREAK if gap == 0 and shown > 0 else gap)
    if which >= 0 and size - begin > sizes[which] and (which == Sink.MERCHANT or sizes[which] == 0):
        sizes[which] = _taken(sinks, used, text, begin, size, which)
    if remittance >= 0:
        sizes[Sink.REMITTANCE] = _taken(sinks, used, text, remittance, size, Sink.REMITTANCE)
    if join == Join.BLANK:
        for place in range(used[text], size):
            if sinks[text, place] == _BREAK:
                sinks[text, place] = 32
    sizes[text] = size - used[text]


@inner
def _grown(sinks: Bytes, used: Numbers) -> Bytes:
    """Sinks of twice the size with the same content."""
    bigger = np.empty((sinks.shape[0], sinks.shape[1] * 2), np.uint8)
    for sink in range(used.size):
        bigger[sink, : used[sink]] = sinks[sink, : used[sink]]
    return bigger


@inner
def _is_silent(steps: Numbers, first: int, last: int, known: int) -> bool:
    """Whether a template is empty, or nothing but one bracket whose words are not known."""
    if first == last:
        return True
    alone = steps[first, 0] == Step.UNLESS and steps[first, 2] == last - first
    return bool(alone and known & steps[first, 1] != steps[first, 1])


@compiled
def written(
    memory: Bytes, lines: Numbers, steps: Numbers, facts: Numbers, row_keys: Keys, account_keys: Keys
) -> tuple[Bytes, Numbers]:
    """Name, ultimate party, purpose and the five truths of each row: bytes, and by row where they end.

    `lines` has the first and the last step of the three templates of each line; the memory ends with `SPACE` free bytes.
    """
    count, raw = row_keys.size, memory.size - SPACE
    sinks, most = np.empty((_SINKS, count * _GUESS + 2 * MARGIN), np.uint8), 0
    ends, used, sizes = np.zeros((_SINKS, count + 1), np.int64), np.zeros(_SINKS, np.int64), np.zeros(_SINKS, np.int64)
    for i in range(count):
        if most + MARGIN > sinks.shape[1]:
            sinks = _grown(sinks, used)
        known, line, cut = known_words(facts, i), facts[Fact.LINE, i], facts[Fact.CUT, i]
        for text in range(_TEXTS):
            first, last = lines[line, 2 * text], lines[line, 2 * text + 1]
            if _is_silent(steps, first, last, known) or (text == Sink.NAME and facts[Fact.NAMELESS, i] == 1):
                continue
            end = filled(memory, steps, facts, first, last, row_keys[i], account_keys[i], i, known, raw)
            if text == Sink.PURPOSE:
                limit = cut if cut == REMITTANCE_LENGTH else ROOM
                _settled(memory, raw, end, sinks, used, sizes, text, limit, facts[Fact.WIDTH, i], facts[Fact.JOIN, i])
            else:
                limit = min(cut, NAME_LENGTH) if cut > 0 else NAME_LENGTH
                _settled(memory, raw, end, sinks, used, sizes, text, limit, 0, Join.SEAMLESS)
        for sink in range(_SINKS):
            used[sink] += sizes[sink]
            sizes[sink] = 0
            ends[sink, i + 1] = used[sink]
            most = max(most, used[sink])
    return sinks, ends


@compiled
def composed(memory: Bytes, templates: Numbers, steps: Numbers, facts: Numbers, row_keys: Keys) -> tuple[Bytes, Numbers]:
    """One template a row (its first and last step) after the first pass: with its control bytes, it can be a word."""
    raw = memory.size - SPACE
    sinks = np.empty((1, row_keys.size * _GUESS + 2 * MARGIN), np.uint8)
    ends, used = np.zeros((1, row_keys.size + 1), np.int64), np.zeros(1, np.int64)
    for i in range(row_keys.size):
        if used[0] + MARGIN > sinks.shape[1]:
            sinks = _grown(sinks, used)
        known = known_words(facts, i)
        end = filled(memory, steps, facts, templates[i, 0], templates[i, 1], row_keys[i], row_keys[i], i, known, raw)
        for place in range(raw, end):
            sinks[0, used[0] + place - raw] = memory[place]
        used[0] += end - raw
        ends[0, i + 1] = used[0]
    return sinks, ends
