"""Finding thousands of words in millions of plain texts in one pass over the bytes.

Here belong the way a word is written in the rules and lexica, the automaton over all of them, and the scan. What a found word
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

from analytics.native.compiling import compiled, inner

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Offsets = NDArray[np.int64]
Steps = NDArray[np.uint16] | NDArray[np.int32]

ALPHABET = " abcdefghijklmnopqrstuvwxyz0123456789&_"
FIELD_END = "\n"
WRITTEN = re.compile(r"\*?[a-z0-9&_]+( [a-z0-9&_]+)*\*?")
USUAL_WORDS = 8
"""For so many words a line there is room at first."""
LEAST_CUT = 7
"""So many letters must a word have to be recognised when it is cut: shorter ones come about by chance."""
MOST_SMALL = 2**16
"""Up to so many states the table of steps is of half the size, and so much more of it stays near the processor."""
LEAST_SPELT = 7
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
    """Where words were found; those of a line stand together. The tokens of a word are the bytes from its start to its end."""

    first: Offsets
    words: Ints
    fields: Ints
    starts: Ints
    ends: Ints
    letters: Ints


def spellings(word: str) -> list[str]:
    """A long word also as banks write it that lose umlauts: `baeckerei`, `backerei`, `bckerei`."""
    if len(word.strip("*")) < LEAST_SPELT or not UMLAUT.search(word):
        return [word]
    return [word, UMLAUT.sub(lambda found: found[0][0], word), UMLAUT.sub("", word)]


def dictionary(words: Sequence[str]) -> Dictionary:
    """The automaton of these words; a word is known by its place in the list."""
    letters = [word.strip("*") for word in words]
    blanks = np.array([word.count(" ") for word in letters], np.int32)
    joined = [word.replace(" ", "") for word in letters]
    cut = [word if len(word) >= LEAST_CUT else "" for word in joined]
    before = np.array([word.startswith("*") for word in words], np.uint8)
    after = np.array([word.endswith("*") for word in words], np.uint8)
    return Dictionary(*(_automaton(patterns, blanks, before, after) for patterns in ([*map(_bordered, words)], cut)))


def find(texts: pl.Series, known: Dictionary) -> WordMatches:
    """Every word in every text; a text is a list of fields that end with `FIELD_END`."""
    data, offsets = _bytes(texts)
    room = USUAL_WORDS * len(texts)
    while True:
        found = WordMatches(np.zeros(len(texts) + 1, np.int64), *(np.empty(room, np.int32) for _ in range(5)))
        _scan(data, offsets, known.plain, known.cut, found)
        if found.first[-1] <= room:
            return found
        room = int(found.first[-1])


def together(parts: Sequence[WordMatches]) -> WordMatches:
    """What was found in several lists of texts, as if they were one."""
    if len(parts) == 1:
        return parts[0]
    sizes = np.cumsum([0, *(part.first[-1] for part in parts)])
    first = [part.first[1:] + before for part, before in zip(parts, sizes, strict=False)]
    rest = (np.concatenate([part[field][: part.first[-1]] for part in parts]) for field in range(1, len(WordMatches._fields)))
    return WordMatches(np.concatenate([np.zeros(1, np.int64), *first]), *rest)


def _bytes(texts: pl.Series) -> tuple[Bytes, Offsets]:
    array = texts.rechunk().to_arrow()
    _, offsets, data = array.buffers()
    starts = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(texts) + 1]
    return np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8), starts


def _bordered(word: str) -> str:
    return f"{'' if word.startswith('*') else ' '}{word.strip('*')}{'' if word.endswith('*') else ' '}"


def letters_of() -> Bytes:
    """For each byte its number in the alphabet; that of the blank for all that is not in it."""
    table = np.zeros(256, np.uint8)
    for number, symbol in enumerate(ALPHABET):
        table[ord(symbol)] = table[ord(symbol.upper())] = number
    return table


def _automaton(patterns: Sequence[str], blanks: Ints, before: Bytes, after: Bytes) -> Automaton:
    symbols = letters_of()
    step, ending = linked(patterns, symbols)
    return Automaton(
        symbols=symbols,
        step=step,
        first=np.cumsum([0, *map(len, ending)], dtype=np.int32),
        words=np.array([word for words in ending for word in words], np.int32),
        lengths=np.array([len(pattern) for pattern in patterns], np.int32),
        blanks=blanks,
        before=before,
        after=after,
    )


def linked(patterns: Sequence[str], symbols: Bytes) -> tuple[Steps, list[list[int]]]:
    """A step for every state and symbol, and for every state the patterns that end there, by their places."""
    children: list[dict[int, int]] = [{}]
    ending: list[list[int]] = [[]]
    for word, pattern in enumerate(patterns):
        node = 0
        for symbol in symbols[np.frombuffer(pattern.encode(), np.uint8)].tolist():
            if symbol not in children[node]:
                children[node][symbol] = len(children)
                children.append({})
                ending.append([])
            node = children[node][symbol]
        if pattern:
            ending[node].append(word)
    return _steps(children, ending), ending


def _steps(children: list[dict[int, int]], ending: list[list[int]]) -> Steps:
    """Where a word does not go on, the longest other beginning does, with what ends there."""
    step = np.zeros((len(children), len(ALPHABET)), np.uint16 if len(children) <= MOST_SMALL else np.int32)
    shorter = [0] * len(children)
    queue = [0]
    for node in queue:
        step[node] = step[shorter[node]] if node else 0
        for symbol, child in children[node].items():
            shorter[child] = int(step[node, symbol])
            ending[child].extend(ending[shorter[child]])
            step[node, symbol] = child
            queue.append(child)
    return step


@inner
def _widened(data: Bytes, begin: int, end: int, first: int, last: int) -> tuple[int, int]:
    """The place of a word, counted from the beginning of its line, widened to whole tokens."""
    while first < last and data[first] <= 32:
        first += 1
    while last > first and data[last] <= 32:
        last -= 1
    while first > begin and data[first - 1] > 32:
        first -= 1
    while last + 1 < end and data[last + 1] > 32:
        last += 1
    return first - begin, last + 1 - begin


@compiled
def _scan(data: Bytes, offsets: Offsets, plain: Automaton, cut: Automaton, found: WordMatches) -> None:
    """Writes down every word of every line, and counts on where there is no more room.

    The arrays are named one by one: looking them up in their tuples at every byte would take most of the time.
    """
    symbols, step, first, words, lengths = plain.symbols, plain.step, plain.first, plain.words, plain.lengths
    cut_step, cut_first, cut_words, cut_lengths, blanks = cut.step, cut.first, cut.words, cut.lengths, cut.blanks
    before, after = cut.before, cut.after
    place, found_words, fields, starts, ends, letters = (
        found.first,
        found.words,
        found.fields,
        found.starts,
        found.ends,
        found.letters,
    )
    room, to = found_words.size, 0
    origin = np.zeros(256, np.int64)
    for line in range(offsets.size - 1):
        begin, end = offsets[line], offsets[line + 1]
        if origin.size < end - begin:
            origin = np.zeros(2 * (end - begin), np.int64)
        field, state, squeezed, seen = 0, int(step[0, 0]), 0, 0
        for at in range(begin, end):
            symbol = symbols[data[at]]
            state = int(step[state, symbol])
            for output in range(first[state], first[state + 1]):
                if to < room:
                    word = words[output]
                    found_words[to], fields[to], letters[to] = word, field, lengths[word]
                    starts[to], ends[to] = _widened(data, begin, end, max(begin, at - lengths[word] + 1), at)
                to += 1
            if data[at] == 10:
                field, state, squeezed, seen = field + 1, int(step[0, 0]), 0, 0
                continue
            if symbol == 0:
                continue
            squeezed = int(cut_step[squeezed, symbol])
            origin[seen] = at
            seen += 1
            for output in range(cut_first[squeezed], cut_first[squeezed + 1]):
                word = cut_words[output]
                start = origin[seen - cut_lengths[word]]
                if abs(at - start + 1 - cut_lengths[word] - blanks[word]) != 1:
                    continue  # as it should be, or in too many pieces
                if (before[word] == 0 and start > begin and data[start - 1] > 32) or (after[word] == 0 and data[at + 1] > 32):
                    continue
                if to < room:
                    found_words[to], fields[to], letters[to] = word, field, cut_lengths[word]
                    starts[to], ends[to] = _widened(data, begin, end, start, at)
                to += 1
        place[line + 1] = to
