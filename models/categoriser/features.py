"""The features of a line: hashed n-grams and tokens. Their only definition, for training, scoring and explaining.

Here belong the texts that are read, their hash and their weights. Here does not belong what a feature is worth: that is learned.

A line's features stand in eight groups. Every feature of a group has the same value, the group's weight divided by the root of
the number of its features: a long purpose says no more than a short name, and sums of integers are enough to score.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.native import columns
from analytics.native.columns import Bytes
from analytics.native.compiling import compiled, uncounted
from analytics.native.hashing import FNV_BASIS, FNV_PRIME, hash_of, hashed

Ints = NDArray[np.int64]


class FeatureGroup(IntEnum):
    """The groups of features, in the order in which they stand in a row."""

    MERCHANT_CHARACTERS = 0
    NAME_CHARACTERS = 1
    PURPOSE_CHARACTERS = 2
    MERCHANT_WORDS = 3
    PURPOSE_WORDS = 4
    FACTS = 5
    BOOKING_TEXT = 6
    HINTS = 7


WEIGHTS = np.array([1.0, 0.5, 0.7, 1.0, 0.7, 0.8, 0.5, 1.0], dtype=np.float32)
"""How much a group counts before anything is learned."""
TEXTS = ("merchant", "name", "ultimate", "purpose", "booking_text", "channel", "via", "purpose_code", "lexicon_category")
"""The columns that are read, in the order of the offsets."""
HINTS = ("lexicon_category", "lexicon_confidence")
"""What the lexicon says of a line: columns of `analytics.tagging.categories.add_lexicon_category`."""
MIN_BITS, MAX_BITS = 8, 20
"""Bits of a slot: a model has a row of weights for each slot."""
TEXT_BYTES = 400
"""Where a text is cut: the lines of banks are shorter, and memory stays bounded."""
PAIR = 1 << 14
"""Marks the owner of a word pair: the pair belongs to this word and to the next."""

_MERCHANT, _NAME, _ULTIMATE, _PURPOSE, _BOOKING_TEXT, _CHANNEL, _VIA, _PURPOSE_CODE, _HINT = range(len(TEXTS))
_BLANK = np.uint8(32)
_SPAN_START, _SPAN_END, _SPAN_HASH = range(3)
"""Columns of the spans of words."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@dataclass(frozen=True)
class LineTexts:
    """The columns of lines as bytes: text `f` of row `r` is `data[offsets[f, r] : offsets[f, r + 1]]`."""

    data: Bytes
    offsets: Ints
    positive: Bytes
    amount_bin: Bytes
    sureness: Bytes
    """How sure the lexicon is, in tenths."""

    @property
    def rows(self) -> int:
        return len(self.positive)


@dataclass(frozen=True)
class Hiding:
    """What training hides from the model, so that it learns from every word and not only from the names of merchants."""

    words: float = 0.0
    """Share of words that are hidden, wherever they stand in the line."""
    merchants: float = 0.0
    """Share of lines whose merchant is hidden, in the purpose too."""
    hints: float = 0.0
    """Share of lines of which the lexicon's hint is hidden."""
    seed: int = 0


@dataclass(frozen=True)
class Features:
    """The features of some rows: group `g` of row `r` ends before `ends[r, g]`, and starts where the group before it ends.

    `slots` are rows of the weight table. `owners` are numbers of words in `spans`, counted from the row's first word, or -1;
    a span is start, end and hash of a word, and `span_ends` says where a row's words end.
    """

    slots: NDArray[np.int32]
    owners: NDArray[np.int16]
    ends: Ints
    spans: Ints
    span_ends: Ints


NOTHING_HIDDEN = Hiding()


def texts(lines: pl.DataFrame) -> LineTexts:
    """The columns of `LINES` that are read, as bytes. The lexicon's hints are looked up where the frame does not have them."""
    lines = hinted(lines)
    source = columns.texts(*(lines[name] for name in TEXTS))
    sureness = (lines["lexicon_confidence"].fill_null(0) * 10).clip(0, 9).cast(pl.UInt8)
    numbers = (column.to_numpy(writable=True) for column in (lines["positive"].cast(pl.UInt8), lines["amount_bin"], sureness))
    return LineTexts(source.data, source.offsets, *numbers)


def hinted(lines: pl.DataFrame) -> pl.DataFrame:
    """The lines with the lexicon's hints."""
    if HINTS[0] in lines.columns:
        return lines
    from analytics.tagging.categories import add_lexicon_category  # reads and compiles the rules

    return lines.with_columns(add_lexicon_category(lines).select(HINTS))


def features(of: LineTexts, rows: Ints, bits: int, hiding: Hiding = NOTHING_HIDDEN) -> Features:
    """The features of these rows."""
    lengths = of.offsets[:, rows + 1] - of.offsets[:, rows]
    room = int(4 * np.minimum(lengths, TEXT_BYTES).sum()) + 64 * len(rows)
    filled = Features(
        np.empty(room, np.int32),
        np.empty(room, np.int16),
        np.empty((len(rows), len(FeatureGroup)), np.int64),
        np.empty((room // 2, 3), np.int64),
        np.empty(len(rows), np.int64),
    )
    shares = np.array([hiding.words, hiding.merchants, hiding.hints])
    _read(
        (of.data, of.offsets, of.positive, of.amount_bin, of.sureness),
        rows,
        bits,
        shares,
        np.uint64(hiding.seed),
        (filled.slots, filled.owners, filled.ends, filled.spans, filled.span_ends),
    )
    return filled


def values(ends: Ints) -> NDArray[np.float32]:
    """The value of a feature, by row and group."""
    sizes = np.diff(ends.ravel(), prepend=0).reshape(ends.shape)
    return (WEIGHTS / np.sqrt(np.maximum(sizes, 1))).astype(np.float32)


def blocks(rows: int, size: int) -> Iterator[Ints]:
    """The row numbers in blocks that fit the caches."""
    for start in range(0, rows, size):
        yield np.arange(start, min(start + size, rows))


@uncounted
def _slot(h: np.uint64, bits: int) -> np.int32:
    """The table row of a hash: its upper bits, which FNV alone mixes badly."""
    return np.int32(((h ^ (h >> _HALF)) * _MIX) >> np.uint64(64 - bits))


@uncounted
def _chance(h: np.uint64) -> float:
    """A number between 0 and 1 that looks random and always is the same for the same hash."""
    h = (h ^ (h >> _HALF)) * _MIX
    h = (h ^ (h >> _HALF)) * FNV_PRIME
    return float((h ^ (h >> _HALF)) >> np.uint64(11)) / 9007199254740992.0


@uncounted
def _words(data: Bytes, begin: int, end: int, salt: np.uint64, share: float, hidden: Ints, spans: Ints, count: int) -> int:
    """Appends the words of a text that are not hidden; returns the number of words."""
    end = min(end, begin + TEXT_BYTES)
    at = begin
    while at < end:
        stop = at
        while stop < end and data[stop] != _BLANK:
            stop += 1
        if stop > at:
            h = hash_of(data, at, stop)
            keep = share <= 0.0 or _chance(h ^ salt) >= share
            for other in range(len(hidden)):
                keep = keep and hidden[other, _SPAN_HASH] != np.int64(h)
            if keep:
                spans[count, _SPAN_START], spans[count, _SPAN_END], spans[count, _SPAN_HASH] = at, stop, np.int64(h)
                count += 1
        at = stop + 1
    return count


@uncounted
def _characters(
    data: Bytes, spans: Ints, seed: int, bits: int, slots: NDArray[np.int32], owners: Any, owner: int, at: int
) -> int:
    """Appends the 3- to 5-grams of each word with a blank on both sides; returns the number of features."""
    start = FNV_BASIS ^ (np.uint64(seed) * _MIX)
    for word in range(len(spans)):
        first, last = spans[word, _SPAN_START] - 1, spans[word, _SPAN_END]
        for left in range(first, last - 1):
            h = start
            for right in range(left, min(left + 5, last + 1)):
                byte = data[right] if first < right < last else _BLANK
                h = hashed(h, int(byte))
                if right >= left + 2:
                    slots[at] = _slot(h, bits)
                    owners[at] = owner + word
                    at += 1
    return at


@uncounted
def _phrases(spans: Ints, pairs: bool, seed: int, bits: int, slots: NDArray[np.int32], owners: Any, owner: int, at: int) -> int:
    """Appends the words, and the pairs of neighbours; returns the number of features."""
    start = np.uint64(seed) * _MIX
    for word in range(len(spans)):
        h = np.uint64(spans[word, _SPAN_HASH])
        slots[at] = _slot(h ^ start, bits)
        owners[at] = owner + word
        at += 1
        if pairs and word + 1 < len(spans):
            slots[at] = _slot((h * FNV_PRIME) ^ np.uint64(spans[word + 1, _SPAN_HASH]) ^ start, bits)
            owners[at] = (owner + word) | PAIR
            at += 1
    return at


@uncounted
def _fact(kind: int, h: np.uint64, bits: int, slots: NDArray[np.int32], owners: Any, at: int) -> int:
    """Appends one token; returns the number of features."""
    slots[at] = _slot((h ^ np.uint64(kind + 100)) * FNV_PRIME ^ (np.uint64(kind + 100) * _MIX), bits)
    owners[at] = -1
    return at + 1


@compiled
def _read(source: Any, rows: Ints, bits: int, shares: NDArray[np.float64], seed: np.uint64, into: Any) -> None:
    """Fills in the features of each row."""
    data, offsets, positive, amount_bin, sureness = source
    slots, owners, ends, spans, span_ends = into
    none = spans[:0]
    at, count = 0, 0
    for number in range(len(rows)):
        row = rows[number]
        salt = (seed + np.uint64(row) * FNV_PRIME) * _MIX
        merchant, merchant_end = offsets[_MERCHANT, row], offsets[_MERCHANT, row + 1]
        first = count
        count = _words(data, merchant, merchant_end, salt, shares[0], none, spans, count)
        secret = none
        if shares[1] > 0.0 and _chance(salt) < shares[1]:
            # Words that were hidden one by one stand nowhere, and the others of the merchant are now hidden in the purpose too.
            secret = spans[first:count].copy()
            count = first
        after_merchant = count
        if len(secret) == 0:
            own = spans[first:count]
            count = _words(data, offsets[_NAME, row], offsets[_NAME, row + 1], salt, shares[0], own, spans, count)
            count = _words(data, offsets[_ULTIMATE, row], offsets[_ULTIMATE, row + 1], salt, shares[0], own, spans, count)
        after_name = count
        count = _words(data, offsets[_PURPOSE, row], offsets[_PURPOSE, row + 1], salt, shares[0], secret, spans, count)
        after_purpose = count
        count = _words(data, offsets[_BOOKING_TEXT, row], offsets[_BOOKING_TEXT, row + 1], salt, 0.0, none, spans, count)

        at = _characters(data, spans[first:after_merchant], 1, bits, slots, owners, 0, at)
        ends[number, 0] = at
        at = _characters(data, spans[after_merchant:after_name], 2, bits, slots, owners, after_merchant - first, at)
        ends[number, 1] = at
        at = _characters(data, spans[after_name:after_purpose], 3, bits, slots, owners, after_name - first, at)
        ends[number, 2] = at
        at = _phrases(spans[first:after_merchant], True, 4, bits, slots, owners, 0, at)
        ends[number, 3] = at
        at = _phrases(spans[after_name:after_purpose], True, 5, bits, slots, owners, after_name - first, at)
        ends[number, 4] = at

        sign = np.uint64(positive[row]) + np.uint64(1)
        size = np.uint64(amount_bin[row]) * np.uint64(7919) + sign
        channel = hash_of(data, offsets[_CHANNEL, row], offsets[_CHANNEL, row + 1])
        via = hash_of(data, offsets[_VIA, row], offsets[_VIA, row + 1])
        code = hash_of(data, offsets[_PURPOSE_CODE, row], offsets[_PURPOSE_CODE, row + 1])
        at = _fact(0, sign, bits, slots, owners, at)
        at = _fact(1, size, bits, slots, owners, at)
        at = _fact(2, channel + sign, bits, slots, owners, at)
        at = _fact(3, channel + size * _MIX, bits, slots, owners, at)
        at = _fact(4, via, bits, slots, owners, at)
        at = _fact(5, via + size * _MIX, bits, slots, owners, at)
        at = _fact(6, code + sign, bits, slots, owners, at)
        ends[number, 5] = at
        at = _phrases(spans[after_purpose:count], False, 6, bits, slots, owners, after_purpose - first, at)
        ends[number, 6] = at
        if offsets[_HINT, row + 1] > offsets[_HINT, row] and (shares[2] <= 0.0 or _chance(salt ^ FNV_PRIME) >= shares[2]):
            hint = hash_of(data, offsets[_HINT, row], offsets[_HINT, row + 1])
            at = _fact(7, hint, bits, slots, owners, at)
            at = _fact(8, hint + np.uint64(sureness[row]) * _MIX, bits, slots, owners, at)
        ends[number, 7] = at
        span_ends[number] = count
