"""Numbers for keys: each distinct key gets the next number when it comes for the first time, and keeps it.

A million keys take some hundredths of a second. The keys are hashes already.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.native.compiling import compiled
from analytics.native.hashing import FREE_SLOT, SLOTS_PER_KEY, Hashes, HashTable, Numbers, empty_table, slot_of

MIN_KEYS = 512
"""Keys for which there is room from the beginning."""
UNKNOWN = FREE_SLOT
"""The number of a key that never came."""


class Numbering:
    """The numbers of all keys so far. Not for several threads at once."""

    def __init__(self) -> None:
        self.count = 0
        self._table = empty_table(MIN_KEYS)

    def of(self, keys: Hashes) -> tuple[Numbers, NDArray[np.int64]]:
        """The number of each key, and the rows of those that came for the first time."""
        keys = np.require(keys, requirements="W")  # one machine code for what may be written and what may not
        self._grow(self.count + len(keys))
        numbers, first_rows = np.empty(len(keys), np.int32), np.empty(len(keys), np.int64)
        before = self.count
        self.count = int(_number(keys, self._table, before, numbers, first_rows))
        return numbers, first_rows[: self.count - before]

    def known(self, keys: Hashes) -> Numbers:
        """The number of each key, or `UNKNOWN`."""
        numbers = np.empty(len(keys), np.int32)
        _look_up(np.require(keys, requirements="W"), self._table, numbers)
        return numbers

    def _grow(self, keys: int) -> None:
        if len(self._table.keys) >= SLOTS_PER_KEY * keys:
            return
        table = empty_table(keys)
        in_use = self._table.values != FREE_SLOT
        _fill(self._table.keys[in_use], self._table.values[in_use], table)
        self._table = table


@compiled
def _number(keys: Hashes, table: HashTable, count: int, numbers: Numbers, first_rows: NDArray[np.int64]) -> int:
    table_keys, values = table.keys, table.values
    before = count
    for row in range(keys.size):
        slot = slot_of(table_keys, values, keys[row])
        if values[slot] == FREE_SLOT:
            table_keys[slot], values[slot] = keys[row], count
            first_rows[count - before] = row
            count += 1
        numbers[row] = values[slot]
    return count


@compiled
def _look_up(keys: Hashes, table: HashTable, numbers: Numbers) -> None:
    table_keys, values = table.keys, table.values
    for row in range(keys.size):
        numbers[row] = values[slot_of(table_keys, values, keys[row])]


@compiled
def _fill(keys: Hashes, numbers: Numbers, table: HashTable) -> None:
    table_keys, values = table.keys, table.values
    for row in range(keys.size):
        slot = slot_of(table_keys, values, keys[row])
        table_keys[slot], values[slot] = keys[row], numbers[row]
