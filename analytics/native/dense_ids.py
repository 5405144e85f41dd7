"""Numbers for keys: each distinct key gets the next number when it is first seen, and keeps it.

A hash table in two arrays; a million keys take some hundredths of a second. The keys are hashes already.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.native.compiling import compiled

Keys = NDArray[np.uint64]
Numbers = NDArray[np.int32]
LEAST = 1024
EMPTY = -1
LOAD = 2
"""Places for each key."""


class HashTable(NamedTuple):
    """Keys and their numbers, each at the first free place behind the one that the key asks for."""

    keys: Keys
    numbers: Numbers


class Numbering:
    """The numbers of all keys so far. Not for several threads at once."""

    def __init__(self) -> None:
        self.count = 0
        self._table = empty(LEAST)

    def of(self, keys: Keys) -> tuple[Numbers, NDArray[np.int64]]:
        """The number of each key, and the places of those that were seen for the first time."""
        self._grow(self.count + len(keys))
        numbers, fresh = np.empty(len(keys), np.int32), np.empty(len(keys), np.int64)
        before = self.count
        self.count = int(_number(keys, self._table, before, numbers, fresh))
        return numbers, fresh[: self.count - before]

    def known(self, keys: Keys) -> Numbers:
        """The number of each key, `EMPTY` for those that were never seen."""
        numbers = np.empty(len(keys), np.int32)
        _look_up(keys, self._table, numbers)
        return numbers

    def _grow(self, most: int) -> None:
        size = len(self._table.keys)
        if size >= LOAD * most:
            return
        grown = empty(1 << (LOAD * most - 1).bit_length())
        held = self._table.numbers != EMPTY
        _place(self._table.keys[held], self._table.numbers[held], grown)
        self._table = grown


def empty(size: int) -> HashTable:
    """A table with so many free places."""
    return HashTable(np.zeros(size, np.uint64), np.full(size, EMPTY, np.int32))


@compiled
def _number(keys: Keys, table: HashTable, count: int, numbers: Numbers, fresh: NDArray[np.int64]) -> int:
    known, given = table.keys, table.numbers
    mask = np.uint64(known.size - 1)
    first = count
    for row in range(keys.size):
        key = keys[row]
        at = key & mask
        while given[at] != EMPTY and known[at] != key:
            at = (at + np.uint64(1)) & mask
        if given[at] == EMPTY:
            known[at], given[at] = key, count
            fresh[count - first] = row
            count += 1
        numbers[row] = given[at]
    return count


@compiled
def _look_up(keys: Keys, table: HashTable, numbers: Numbers) -> None:
    known, given = table.keys, table.numbers
    mask = np.uint64(known.size - 1)
    for row in range(keys.size):
        at = keys[row] & mask
        while given[at] != EMPTY and known[at] != keys[row]:
            at = (at + np.uint64(1)) & mask
        numbers[row] = given[at]


@compiled
def _place(keys: Keys, numbers: Numbers, table: HashTable) -> None:
    known, given = table.keys, table.numbers
    mask = np.uint64(known.size - 1)
    for row in range(keys.size):
        at = keys[row] & mask
        while given[at] != EMPTY:
            at = (at + np.uint64(1)) & mask
        known[at], given[at] = keys[row], numbers[row]
