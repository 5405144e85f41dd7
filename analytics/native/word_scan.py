"""Thousands of words in millions of plain texts, in one pass over the bytes.

Here belong the way a word is written in the rules and lexica, the automaton over all of them, and the scan. What a word
means is decided elsewhere. A word is `miete` (a token of its own), `miete*` (a token begins with it), `*apotheke` (a token ends
with it) or `*versich*` (anywhere); it may have blanks inside. Long words are also found where a line break of the bank cut them
in two or joined them.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.native.characters import BLANK
from analytics.native.columns import Bytes, Offsets, strings
from analytics.native.compiling import compiled, uncounted

Ints = NDArray[np.int32]
Steps = NDArray[np.uint16] | NDArray[np.int32]

ALPHABET = " abcdefghijklmnopqrstuvwxyz0123456789&_"
FIELD_END = "\n"
WRITTEN = re.compile(r"\*?[a-z0-9&_]+( [a-z0-9&_]+)*\*?")
EXPECTED_WORDS_A_LINE = 12
"""For this number of words there is room at first."""
MIN_CUT_LETTERS = 7
"""Letters that a word must have to be recognised when it is cut: shorter ones come about by chance."""
MAX_SMALL_STATES = 2**16
"""Up to this number of states the table of steps is of half the size, and more of it stays near the processor."""
MIN_SPELLING_LETTERS = 7
"""Shorter words are not looked for without their umlauts."""
_FIELD_END = ord(FIELD_END)
UMLAUT = re.compile(r"(?<![aeq])(ae|oe|ue)")
"""Where `ae`, `oe`, `ue` most likely is a written-out umlaut: not in `feuer`, `bauer`, `quelle`."""


class Automaton(NamedTuple):
    """All words at once: from each state one step per symbol, and the words that end there."""

    symbols: Bytes
    step: Steps
    first: Ints
    words: Ints
    lengths: Ints
    blanks: Ints
    before: Bytes
    """1 where letters may stand before the word in its token."""
    after: Bytes


class Dictionary(NamedTuple):
    """The words as they are written, and as they are if a line break cut them."""

    plain: Automaton
    cut: Automaton


class WordMatches(NamedTuple):
    """Where words stand; those of a line stand together. The tokens of a word are the bytes from its start to its end."""

    first: Offsets
    words: Ints
    fields: Ints
    starts: Ints
    ends: Ints
    letters: Ints


def spellings(word: str) -> list[str]:
    """A long word also as banks write it that lose umlauts: `baeckerei`, `backerei`, `bckerei`."""
    if len(word.strip("*")) < MIN_SPELLING_LETTERS or not UMLAUT.search(word):
        return [word]
    return [word, UMLAUT.sub(lambda match: match[0][0], word), UMLAUT.sub("", word)]


def dictionary(words: Sequence[str]) -> Dictionary:
    """The automaton of these words; a word is known by its place in the list."""
    letters = [word.strip("*") for word in words]
    blanks = np.array([word.count(" ") for word in letters], np.int32)
    unspaced = [word.replace(" ", "") for word in letters]
    cut = [word if len(word) >= MIN_CUT_LETTERS else "" for word in unspaced]
    before = np.array([word.startswith("*") for word in words], np.uint8)
    after = np.array([word.endswith("*") for word in words], np.uint8)
    return Dictionary(*(_automaton(patterns, blanks, before, after) for patterns in ([*map(_bordered, words)], cut)))


def find(texts: pl.Series, automata: Dictionary) -> WordMatches:
    """Every word in every text; a text is a list of fields that end with `FIELD_END`."""
    data, offsets = strings(texts)
    room = EXPECTED_WORDS_A_LINE * len(texts)
    while True:
        matches = WordMatches(np.zeros(len(texts) + 1, np.int64), *(np.empty(room, np.int32) for _ in range(5)))
        _scan(data, offsets, automata.plain, automata.cut, matches)
        if matches.first[-1] <= room:
            return matches
        room = int(matches.first[-1])


def together(parts: Sequence[WordMatches]) -> WordMatches:
    """The matches in several lists of texts, as if the lists were one."""
    if len(parts) == 1:
        return parts[0]
    sizes = np.cumsum([0, *(part.first[-1] for part in parts)])
    first = [part.first[1:] + before for part, before in zip(parts, sizes, strict=False)]
    rest = (np.concatenate([part[field][: part.first[-1]] for part in parts]) for field in range(1, len(WordMatches._fields)))
    return WordMatches(np.concatenate([np.zeros(1, np.int64), *first]), *rest)


def _bordered(word: str) -> str:
    return f"{'' if word.startswith('*') else ' '}{word.strip('*')}{'' if word.endswith('*') else ' '}"


def _letter_numbers() -> Bytes:
    """For each byte its number in the alphabet; that of the blank for all that is not in it."""
    table = np.zeros(256, np.uint8)
    for number, symbol in enumerate(ALPHABET):
        table[ord(symbol)] = table[ord(symbol.upper())] = number
    return table


def _automaton(patterns: Sequence[str], blanks: Ints, before: Bytes, after: Bytes) -> Automaton:
    symbols = _letter_numbers()
    letters = symbols[np.frombuffer("".join(patterns).encode(), np.uint8)]
    lengths = np.array([len(pattern) for pattern in patterns], np.int32)
    all_steps, ends = np.zeros((letters.size + 1, len(ALPHABET)), np.int32), np.zeros(lengths.size, np.int32)
    step = all_steps[: _add_words(letters, lengths, all_steps, ends)]
    shorter, count = _link(step, ends)
    first = np.cumsum([0, *count], dtype=np.int32)
    return Automaton(
        symbols=symbols,
        step=step.astype(np.uint16) if len(step) <= MAX_SMALL_STATES else step.copy(),
        first=first,
        words=_ending_words(ends, shorter, first),
        lengths=lengths,
        blanks=blanks,
        before=before,
        after=after,
    )


@compiled
def _add_words(letters: Bytes, lengths: Ints, step: Ints, ends: Ints) -> int:
    """Writes down the steps of all words, and the state in which each ends: 0 for an empty one. Returns the number of states."""
    states, at = 1, 0
    for word in range(lengths.size):
        state = 0
        for letter in letters[at : at + lengths[word]]:
            if step[state, letter] == 0:
                step[state, letter] = states
                states += 1
            state = step[state, letter]
        ends[word] = state
        at += lengths[word]
    return states


@compiled
def _link(step: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Lets the longest other beginning go on where a word ends; that beginning of each state, and how many words end in it."""
    states = step.shape[0]
    shorter, count, queue = np.zeros(states, np.int32), np.zeros(states, np.int32), np.zeros(states, np.int32)
    for end in ends:
        if end > 0:
            count[end] += 1
    queued = 1
    for turn in range(states):
        state = queue[turn]
        if state > 0:
            count[state] += count[shorter[state]]
        for symbol in range(step.shape[1]):
            child = step[state, symbol]
            other = step[shorter[state], symbol] if state > 0 else 0
            if child > 0:
                shorter[child], queue[queued] = other, child
                queued += 1
            else:
                step[state, symbol] = other
    return shorter, count


@compiled
def _ending_words(ends: Ints, shorter: Ints, first: Ints) -> Ints:
    """The words that end in each state, from `first` on: the longest come first, equal ones in their order."""
    states = shorter.size
    words, own, following = np.empty(first[states], np.int32), np.full(states, -1, np.int32), np.zeros(ends.size, np.int32)
    for word in range(ends.size - 1, -1, -1):
        following[word], own[ends[word]] = own[ends[word]], word
    for state in range(states):
        to, ending = first[state], state
        while ending > 0:
            word = own[ending]
            while word >= 0:
                words[to] = word
                to += 1
                word = following[word]
            ending = shorter[ending]
    return words


@uncounted
def _token_span(data: Bytes, begin: int, end: int, first: int, last: int) -> tuple[int, int]:
    """The span of a word, counted from the beginning of its line and widened to whole tokens."""
    while first < last and data[first] <= BLANK:
        first += 1
    while last > first and data[last] <= BLANK:
        last -= 1
    while first > begin and data[first - 1] > BLANK:
        first -= 1
    while last + 1 < end and data[last + 1] > BLANK:
        last += 1
    return first - begin, last + 1 - begin


@compiled
def _scan(data: Bytes, offsets: Offsets, plain: Automaton, cut: Automaton, matches: WordMatches) -> None:
    """Writes down every word of every line, and counts on where there is no more room.

    The arrays are named one by one: looking them up in their tuples at every byte would take most of the time.
    """
    symbols, step, first, words, lengths = plain.symbols, plain.step, plain.first, plain.words, plain.lengths
    cut_step, cut_first, cut_words, cut_lengths, blanks = cut.step, cut.first, cut.words, cut.lengths, cut.blanks
    before, after = cut.before, cut.after
    place, match_words, fields, starts, ends, letters = (
        matches.first,
        matches.words,
        matches.fields,
        matches.starts,
        matches.ends,
        matches.letters,
    )
    room, to = match_words.size, 0
    origin = np.zeros(256, np.int64)
    for line in range(offsets.size - 1):
        begin, end = offsets[line], offsets[line + 1]
        if origin.size < end - begin:
            origin = np.zeros(2 * (end - begin), np.int64)
        field, state, squeezed, letter_count = 0, int(step[0, 0]), 0, 0
        for at in range(begin, end):
            symbol = symbols[data[at]]
            state = int(step[state, symbol])
            for output in range(first[state], first[state + 1]):
                if to < room:
                    word = words[output]
                    match_words[to], fields[to], letters[to] = word, field, lengths[word]
                    starts[to], ends[to] = _token_span(data, begin, end, max(begin, at - lengths[word] + 1), at)
                to += 1
            if data[at] == _FIELD_END:
                field, state, squeezed, letter_count = field + 1, int(step[0, 0]), 0, 0
                continue
            if symbol == 0:
                continue
            squeezed = int(cut_step[squeezed, symbol])
            origin[letter_count] = at
            letter_count += 1
            for output in range(cut_first[squeezed], cut_first[squeezed + 1]):
                word = cut_words[output]
                start = origin[letter_count - cut_lengths[word]]
                if abs(at - start + 1 - cut_lengths[word] - blanks[word]) != 1:
                    continue  # as it should be, or in too many pieces
                if before[word] == 0 and start > begin and data[start - 1] > BLANK:
                    continue
                if after[word] == 0 and at + 1 < end and data[at + 1] > BLANK:
                    continue
                if to < room:
                    match_words[to], fields[to], letters[to] = word, field, cut_lengths[word]
                    starts[to], ends[to] = _token_span(data, begin, end, start, at)
                to += 1
        place[line + 1] = to
