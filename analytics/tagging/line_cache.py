"""The memory of tagging: lines that were judged once are not judged again while the process runs."""

from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.native.dense_ids import Numbering
from analytics.native.hashing import Hashes, Numbers

MOST = 500_000
"""Lines that are remembered, some 300 bytes each; when there are more, the memory begins anew with the last ones."""
MOST_PIECES = 16
FEW = 4
"""All remembered lines are looked through when a call needs so large a part of them: choosing takes longer."""


class TaggedLines(NamedTuple):
    """What is said about lines, and which of them is the line of each booking."""

    lines: pl.DataFrame
    line: Numbers


class Judgements:
    """What was said about each line, by its key. Threads may share it."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = Lock()
        self._begin()

    def of(self, keys: pl.Series, judge: Callable[[NDArray[np.int64]], TaggedLines]) -> TaggedLines:
        """What is said about the lines of bookings with these keys: remembered, or judged now by one booking of each line.

        Two threads that meet a new line at once both judge it; the same is said twice, and one of them is remembered.
        """
        asked = keys.to_numpy()
        number, first = Numbering().of(asked)
        with self._lock:
            known, place = self._known, self._places(asked[first])
        fresh = place < 0
        if not fresh.any() and known is not None:
            return _of(known, place, number)
        judged = judge(first[fresh])
        with self._lock:
            self._remember(asked[first[fresh]], judged)
        if known is None:
            return TaggedLines(judged.lines, judged.line[number])
        place[fresh] = known.height + judged.line
        return _of(pl.concat([known, judged.lines]), place, number)

    def _begin(self) -> None:
        self._known: pl.DataFrame | None = None
        self._numbers = Numbering()
        self._lines = np.empty(0, np.int32)
        """Which of the remembered lines is that of each key, by the number of the key."""

    def _places(self, keys: Hashes) -> Numbers:
        """Where each line stands among the remembered, -1 where it does not."""
        known = self._numbers.known(keys)
        return np.where(known < 0, known, self._lines[known]) if len(self._lines) else known

    def _remember(self, keys: Hashes, judged: TaggedLines) -> None:
        if self._numbers.count + len(keys) > self._most:
            self._begin()
        _, new = self._numbers.of(keys[: self._most])
        before = 0 if self._known is None else self._known.height
        self._lines = np.concatenate([self._lines, before + judged.line[new]], dtype=np.int32)
        added = judged.lines.head(int(judged.line[: self._most].max(initial=-1)) + 1)
        if self._known is None:
            self._known = added
        else:
            grown = pl.concat([self._known, added], rechunk=False)
            self._known = grown.rechunk() if grown.n_chunks() > MOST_PIECES else grown


def _of(lines: pl.DataFrame, place: Numbers, number: Numbers) -> TaggedLines:
    """What is said about some of all lines; without the others, unless they are few."""
    if FEW * len(place) >= lines.height:
        return TaggedLines(lines, place[number])
    return TaggedLines(lines[place], number)
