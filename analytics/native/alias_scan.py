"""Known spellings in plain texts: a hash table of aliases, looked up at every token border in one pass over the bytes.

Knows nothing of partners: texts and spellings go in, positions come out.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from analytics.native.characters import BLANK, ZERO
from analytics.native.columns import Bytes, Offsets, strings
from analytics.native.compiling import compiled, uncounted
from analytics.native.hashing import (
    FNV_BASIS,
    FREE_SLOT,
    Hashes,
    HashTable,
    empty_table,
    hash_of,
    hashed,
    slot_of,
    value_of,
    word_table,
)

Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

MAX_TOKENS = 6
MAX_PIECES = 8
"""A wrapped name falls into more pieces than it has words."""
MAX_SINGLE_LETTERS = 1
"""Initials are no wrapped name."""
NO_ALIAS = -1
ELSE, NAMES, FORMS, NOTHING = range(4)
"""What follows an alias: everyday words, other words, only legal forms and the like, only numbers or nothing at all."""
FREE, AT_START, WHOLE, OPENING = 0, 1, 2, 3
"""Where an alias counts: anywhere, at the start of a shop's text, only as the whole text, or at the start of any text."""
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
    def table(self) -> HashTable:
        """The row of each alias, by its hash; of equal ones the first."""
        return _table(self.aliases)

    @cached_property
    def squeezed(self) -> "Spellings":
        """The same aliases without blanks."""
        return Spellings(self.aliases.str.replace_all(" ", "", literal=True), self.guards, self.everyday)

    @cached_property
    def words(self) -> HashTable:
        """The everyday words, by their hashes."""
        return _table(self.everyday)

    @cached_property
    def lengths(self) -> Ints:
        return self.aliases.str.len_bytes().cast(pl.Int32).to_numpy(writable=True)


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


def find(texts: pl.Series, spellings: Spellings, kinds: LineKinds, min_bytes: int = 1) -> AliasMatches:
    """The longest alias of at least `min_bytes` in each text, on token borders."""
    return _find(texts, spellings, kinds, MAX_TOKENS, False, min_bytes)


def find_squeezed(texts: pl.Series, spellings: Spellings, kinds: LineKinds, min_bytes: int) -> AliasMatches:
    """The same where line breaks have put blanks inside words or eaten those between them."""
    return _find(texts, spellings.squeezed, kinds, MAX_PIECES, True, min_bytes)


def _find(
    texts: pl.Series, spellings: Spellings, kinds: LineKinds, max_tokens: int, squeeze: bool, min_bytes: int
) -> AliasMatches:
    matches = _longest(
        *strings(texts),
        spellings.table,
        spellings.lengths,
        spellings.guards,
        spellings.words,
        kinds.shop,
        kinds.private,
        kinds.person,
        max_tokens,
        squeeze,
        min_bytes,
    )
    return AliasMatches(*matches)


def _table(words: pl.Series) -> HashTable:
    table = empty_table(2 * len(words))
    _fill(*strings(words), table.keys, table.values)
    return table


@compiled
def _fill(data: Bytes, offsets: Offsets, keys: Hashes, values: Ints) -> None:
    for row in range(offsets.size - 1):
        key = hash_of(data, offsets[row], offsets[row + 1])
        slot = slot_of(keys, values, key)
        if values[slot] == FREE_SLOT:
            keys[slot], values[slot] = key, row


@uncounted
def _rest(data: Bytes, start: int, stop: int, word_keys: Hashes, word_values: Ints) -> int:
    """The kind of the tokens from here on: that of the most telling one."""
    rest = NOTHING
    key = FNV_BASIS
    length = 0
    only_zeros = True
    for at in range(start, stop + 1):
        if at < stop and data[at] != BLANK:
            key = hashed(key, data[at])
            length += 1
            only_zeros = only_zeros and data[at] == ZERO
            continue
        if length > 0 and not only_zeros:
            is_form = value_of(_FORM_KEYS, _FORM_VALUES, key) != FREE_SLOT
            if not is_form and value_of(word_keys, word_values, key) != FREE_SLOT:
                return ELSE
            rest = min(rest, FORMS if is_form else NAMES)
        key = FNV_BASIS
        length = 0
        only_zeros = True
    return rest


@compiled
def _longest(
    data: Bytes,
    offsets: Offsets,
    aliases: HashTable,
    lengths: Ints,
    guards: Bytes,
    words: HashTable,
    shop: Flags,
    private: Flags,
    person: Flags,
    max_tokens: int,
    squeeze: bool,
    min_bytes: int,
) -> tuple[Ints, Ints, Ints, Flags]:
    rows = offsets.size - 1
    keys, values, word_keys, word_values = aliases.keys, aliases.values, words.keys, words.values
    longest = np.full(rows, NO_ALIAS, np.int32)
    starts = np.zeros(rows, np.int32)
    spans = np.zeros(rows, np.int32)
    whole = np.zeros(rows, np.bool_)
    for row in range(rows):
        first, last = offsets[row], offsets[row + 1]
        best = min_bytes - 1
        for start in range(first, last):
            if start > first and data[start - 1] != BLANK:
                continue
            key = FNV_BASIS
            tokens = 0
            single_letters = 0
            token = start
            for at in range(start, last + 1):
                if at < last and data[at] != BLANK:
                    key = hashed(key, data[at])
                    continue
                tokens += 1
                single_letters += at - token == 1
                token = at + 1
                if squeeze and single_letters > MAX_SINGLE_LETTERS:
                    break
                alias = value_of(keys, values, key)
                if alias != FREE_SLOT and lengths[alias] > best and not (person[row] and tokens == 1):
                    rest = _rest(data, at, last, word_keys, word_values) if start == first else ELSE
                    guard = guards[alias]
                    if (
                        guard == FREE
                        or (guard == OPENING and start == first)
                        or (guard == AT_START and (rest == NOTHING or (shop[row] and rest > ELSE)))
                        or (guard == WHOLE and not private[row] and rest == NOTHING)
                    ):
                        best = lengths[alias]
                        longest[row], starts[row], spans[row], whole[row] = alias, start - first, at - start, rest >= FORMS
                if tokens == max_tokens:
                    break
                if not squeeze:
                    key = hashed(key, BLANK)
    return longest, starts, spans, whole


_FORM_KEYS, _FORM_VALUES = word_table({1: LEGAL_FORMS})
