"""The cache of tagged lines: a line is tagged once while the process runs. How lines are tagged is in `tag.py`."""

from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.native.dense_ids import Numbering
from analytics.native.hashing import Hashes, Numbers

MAX_CACHED_LINES = 500_000
"""About 300 bytes each; when there would be more, the cache is emptied and starts again with the latest lines."""
MAX_CHUNKS = 16
"""Chunks of the cached frame before they are merged into one."""
MAX_LINES_PER_KEY = 4
"""A cache with up to this many lines per requested key is returned whole: selecting the requested lines takes longer."""


class TaggedLines(NamedTuple):
    """Tagged lines, and for each booking the row of its line in `lines`."""

    lines: pl.DataFrame
    line: Numbers


class LineCache:
    """Tagged lines by key. Threads may share it."""

    def __init__(self, max_lines: int = MAX_CACHED_LINES) -> None:
        self._max_lines = max_lines
        self._lock = Lock()
        self._clear()

    def look_up(self, keys: pl.Series, tag_first: Callable[[NDArray[np.int64]], TaggedLines]) -> TaggedLines:
        """The tagged lines of bookings with these keys: cached, or tagged now by the first booking of each line.

        `tag_first` gets the rows of these first bookings. Two threads that meet a new line at once both tag it; the results
        are equal, and one of them is cached.
        """
        requested_keys = keys.to_numpy()
        number, first = Numbering().of(requested_keys)
        with self._lock:
            cached_lines, rows = self._lines, self._rows_of(requested_keys[first])
        new = rows < 0
        if not new.any() and cached_lines is not None:
            return _requested(cached_lines, rows, number)
        new_lines = tag_first(first[new])
        with self._lock:
            self._add(requested_keys[first[new]], new_lines)
        if cached_lines is None:
            return TaggedLines(new_lines.lines, new_lines.line[number])
        rows[new] = cached_lines.height + new_lines.line
        return _requested(pl.concat([cached_lines, new_lines.lines]), rows, number)

    def _clear(self) -> None:
        self._lines: pl.DataFrame | None = None
        self._key_numbers = Numbering()
        self._rows = np.empty(0, np.int32)
        """The row of each key's line in `_lines`, by the number of the key."""

    def _rows_of(self, keys: Hashes) -> Numbers:
        """The row of each key's line among the cached lines, -1 where it is not cached."""
        numbers = self._key_numbers.known(keys)
        return np.where(numbers < 0, numbers, self._rows[numbers]) if len(self._rows) else numbers

    def _add(self, keys: Hashes, tagged: TaggedLines) -> None:
        if self._key_numbers.count + len(keys) > self._max_lines:
            self._clear()
        _, new = self._key_numbers.of(keys[: self._max_lines])
        height = 0 if self._lines is None else self._lines.height
        self._rows = np.concatenate([self._rows, height + tagged.line[new]], dtype=np.int32)
        new_lines = tagged.lines.head(int(tagged.line[: self._max_lines].max(initial=-1)) + 1)
        if self._lines is None:
            self._lines = new_lines
        else:
            lines = pl.concat([self._lines, new_lines], rechunk=False)
            self._lines = lines.rechunk() if lines.n_chunks() > MAX_CHUNKS else lines


def _requested(lines: pl.DataFrame, rows: Numbers, number: Numbers) -> TaggedLines:
    """The lines at these rows for bookings numbered by line; without the other lines, unless these are few."""
    if MAX_LINES_PER_KEY * len(rows) >= lines.height:
        return TaggedLines(lines, rows[number])
    return TaggedLines(lines[rows], number)
