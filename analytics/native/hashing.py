"""The one hash function for words and the one hash table, for kernels and for what prepares their tables."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.native.characters import byte
from analytics.native.columns import Bytes
from analytics.native.compiling import uncounted

FNV_BASIS = np.uint64(0xCBF29CE484222325)
FNV_PRIME = np.uint64(0x100000001B3)
FREE_SLOT = -1
"""The value of a slot without a key."""
SLOTS_PER_KEY = 2
"""The least number of slots for each key."""
Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int32]


class HashTable(NamedTuple):
    """Keys, which are hashes already, and their values: each in the first free slot behind the one that the key asks for."""

    keys: Hashes
    values: Numbers


def empty_table(keys: int) -> HashTable:
    """A table with room for a number of keys."""
    size = 1 << (SLOTS_PER_KEY * keys + 1).bit_length()
    return HashTable(np.zeros(size, np.uint64), np.full(size, FREE_SLOT, np.int32))


def word_table(kinds: Mapping[int, str]) -> HashTable:
    """Words by their hashes; the value of a word has the bits of all kinds that list it."""
    bits: dict[int, int] = {}
    for bit, words in kinds.items():
        for word in words.split():
            key = word_hash(word)
            bits[key] = bits.get(key, 0) | bit
    table = empty_table(2 * len(bits))
    for key, mask in bits.items():
        slot = key % table.keys.size
        while table.values[slot] != FREE_SLOT:
            slot = (slot + 1) % table.keys.size
        table.keys[slot], table.values[slot] = key, mask
    return table


def word_hash(word: str) -> int:
    """The hash of a word, as `hashed` computes it letter by letter."""
    key = int(FNV_BASIS)
    for c in word.encode():
        key = (key ^ c) * int(FNV_PRIME) % 2**64
    return key


@uncounted
def hashed(key: np.uint64, c: int) -> np.uint64:
    """The hash of a word with one more letter; that of the empty word is `FNV_BASIS`."""
    return (key ^ np.uint64(c)) * FNV_PRIME


@uncounted
def hash_of(text: Bytes, begin: int, end: int) -> np.uint64:
    """The hash of some bytes."""
    key = FNV_BASIS
    for i in range(begin, end):
        key = hashed(key, byte(text, i))
    return key


@uncounted
def slot_of(keys: Hashes, values: Numbers, key: np.uint64) -> int:
    """The slot that has a key, or the free one where it belongs."""
    mask = keys.size - 1
    slot = np.int64(key & np.uint64(mask))
    while values[slot] != FREE_SLOT and keys[slot] != key:
        slot = (slot + 1) & mask
    return int(slot)


@uncounted
def value_of(keys: Hashes, values: Numbers, key: np.uint64) -> int:
    """The value of a key; `FREE_SLOT` if the table does not have it."""
    return int(values[slot_of(keys, values, key)])
