"""Finding known spellings in plain texts: a hash table of aliases, looked up at every token border in one pass over the bytes.

Knows nothing of partners: texts and spellings go in, positions come out.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from analytics.native.columns import strings
from analytics.native.compiling import compiled, inner

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.uint64]

SEED = np.uint64(14695981039346656037)
PRIME = np.uint64(1099511628211)
MOST_TOKENS = 6
MOST_PIECES = 8  # a wrapped name falls into more pieces than it has words
MOST_LETTERS = 1  # initials are no wrapped name
ELSE, NAMES, FORMS, NOTHING = range(4)
"""What follows an alias: everyday words, other words, only legal forms and the like, only numbers or nothing at all."""
FREE, AT_START, WHOLE = 0, 1, 2
LEGAL_FORMS = (
    "0 & ag aktiengesellschaft co cokg de deutschland dt e eg ek ev g ges gbr germany ggmbh gmbh haftungsbeschraenkt inc kg kgaa "
    "limited ltd llc mbh oder ohg s sa sarl sca scs se ug und v vvag a r l bv b nv plc sp z o ohne ab as oy srl sas spa et cie"
)


@dataclass(frozen=True)
class Spellings:
    """Aliases ready to be found; `guards` says where each counts (see `analytics.knowledge.catalogue`). No everyday word may
    follow a guarded one: together they name something else.
    """

    aliases: pl.Series
    guards: Bytes
    everyday: pl.Series

    @cached_property
    def table(self) -> tuple[Hashes, Ints]:
        """Where each alias stands, by its hash."""
        return _table(*strings(self.aliases))

    @cached_property
    def squeezed(self) -> "Spellings":
        """The same aliases without blanks."""
        return Spellings(self.aliases.str.replace_all(" ", "", literal=True), self.guards, self.everyday)

    @cached_property
    def words(self) -> tuple[Hashes, Ints]:
        """The everyday words, by their hashes."""
        return _table(*strings(self.everyday))

    @cached_property
    def lengths(self) -> Ints:
        return self.aliases.str.len_bytes().cast(pl.Int32).to_numpy()


@dataclass(frozen=True)
class AliasMatches:
    """For each text the longest alias in it (its row, or -1), where it stands, and whether it is all that the text says."""

    alias: Ints
    start: Ints
    length: Ints
    whole: Flags


@dataclass(frozen=True)
class LineKinds:
    """What kind of line each text is from: a shop's (`shop`), between people (`private`), with somebody's name (`person`)."""

    shop: Flags
    private: Flags
    person: Flags

    def __getitem__(self, rows: npt.NDArray[np.int64]) -> "LineKinds":
        return LineKinds(self.shop[rows], self.private[rows], self.person[rows])


def find(texts: pl.Series, spellings: Spellings, setting: LineKinds, least: int = 1) -> AliasMatches:
    """The longest alias of at least so many characters in each text, on token borders."""
    return _found(texts, spellings, setting, MOST_TOKENS, False, least)


def find_squeezed(texts: pl.Series, spellings: Spellings, setting: LineKinds, least: int) -> AliasMatches:
    """The same where line breaks have put blanks inside words or eaten those between them."""
    return _found(texts, spellings.squeezed, setting, MOST_PIECES, True, least)


def _found(texts: pl.Series, spellings: Spellings, setting: LineKinds, most: int, squeeze: bool, least: int) -> AliasMatches:
    found = _longest(
        *strings(texts),
        *spellings.table,
        spellings.lengths,
        spellings.guards,
        *spellings.words,
        setting.shop,
        setting.private,
        setting.person,
        LEGAL_TABLE,
        most,
        squeeze,
        least,
    )
    return AliasMatches(*found)


@compiled
def _table(data: Bytes, ends: Longs) -> tuple[Hashes, Ints]:
    size = 16
    while size < 4 * len(ends):
        size *= 2
    hashes = np.zeros(size, np.uint64)
    values = np.full(size, -1, np.int32)
    for row in range(len(ends) - 1):
        key = SEED
        for at in range(ends[row], ends[row + 1]):
            key = (key ^ np.uint64(data[at])) * PRIME
        slot = np.int64(key & np.uint64(size - 1))
        while values[slot] >= 0 and hashes[slot] != key:
            slot = (slot + 1) & (size - 1)
        if values[slot] < 0:
            hashes[slot] = key
            values[slot] = row
    return hashes, values


@inner
def _look_up(key: np.uint64, hashes: Hashes, values: Ints) -> int:
    slot = np.int64(key & np.uint64(len(hashes) - 1))
    while values[slot] >= 0:
        if hashes[slot] == key:
            return int(values[slot])
        slot = (slot + 1) & (len(hashes) - 1)
    return -1


@inner
def _rest(data: Bytes, start: int, stop: int, legal: Hashes, words: Hashes, word_values: Ints) -> int:
    """What the tokens from here on are, the most telling of them."""
    least = NOTHING
    key = SEED
    length = 0
    digits = True
    for at in range(start, stop + 1):
        if at < stop and data[at] != 32:
            key = (key ^ np.uint64(data[at])) * PRIME
            length += 1
            digits = digits and data[at] == 48
            continue
        if length > 0 and not digits:
            kind = NAMES
            for form in legal:
                if form == key:
                    kind = FORMS
            if kind == NAMES and _look_up(key, words, word_values) >= 0:
                return ELSE
            least = min(least, kind)
        key = SEED
        length = 0
        digits = True
    return least


@compiled
def _longest(
    data: Bytes,
    ends: Longs,
    hashes: Hashes,
    values: Ints,
    lengths: Ints,
    guards: Bytes,
    words: Hashes,
    word_values: Ints,
    shop: Flags,
    private: Flags,
    person: Flags,
    legal: Hashes,
    most: int,
    squeeze: bool,
    least: int,
) -> tuple[Ints, Ints, Ints, Flags]:
    rows = len(ends) - 1
    alias = np.full(rows, -1, np.int32)
    starts = np.zeros(rows, np.int32)
    spans = np.zeros(rows, np.int32)
    whole = np.zeros(rows, np.bool_)
    for row in range(rows):
        first, last = ends[row], ends[row + 1]
        best = least - 1
        for start in range(first, last):
            if start > first and data[start - 1] != 32:
                continue
            key = SEED
            tokens = 0
            letters = 0
            token = start
            for at in range(start, last + 1):
                if at < last and data[at] != 32:
                    key = (key ^ np.uint64(data[at])) * PRIME
                    continue
                tokens += 1
                letters += at - token == 1
                token = at + 1
                if squeeze and letters > MOST_LETTERS:
                    break
                found = _look_up(key, hashes, values)
                if found >= 0 and lengths[found] > best and not (person[row] and tokens == 1):
                    rest = _rest(data, at, last, legal, words, word_values) if start == first else ELSE
                    guard = guards[found]
                    if (
                        guard == FREE
                        or (guard == AT_START and (rest == NOTHING or (shop[row] and rest > ELSE)))
                        or (guard == WHOLE and not private[row] and rest == NOTHING)
                    ):
                        best = lengths[found]
                        alias[row], starts[row], spans[row], whole[row] = found, start - first, at - start, rest >= FORMS
                if tokens == most:
                    break
                if not squeeze:
                    key = (key ^ np.uint64(32)) * PRIME
    return alias, starts, spans, whole


@compiled
def _hashes(data: Bytes, ends: Longs) -> Hashes:
    keys = np.empty(len(ends) - 1, np.uint64)
    for row in range(len(keys)):
        key = SEED
        for at in range(ends[row], ends[row + 1]):
            key = (key ^ np.uint64(data[at])) * PRIME
        keys[row] = key
    return keys


LEGAL_TABLE = _hashes(*strings(pl.Series(LEGAL_FORMS.split())))
