"""The memory of tagging: lines that were judged once are not judged again while the process runs."""

from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.numbering import Keys, Numbering

MOST = 500_000
"""Lines that are remembered, some 300 bytes each; when there are more, the memory begins anew with the last ones."""
MOST_PIECES = 16


class Said(NamedTuple):
    """What is said about lines, and which of them is the line of each booking."""

    lines: pl.DataFrame
    line: NDArray[np.int32]


class Judgements:
    """What was said about each line, by its key. Threads may share it."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = Lock()
        self._begin()

    def of(self, keys: pl.Series, judge: Callable[[NDArray[np.int64]], pl.DataFrame]) -> Said:
        """What is said about the lines of bookings with these keys: remembered, or judged now by one booking of each line.

        Two threads that meet a new line at once both judge it; the same is said twice, and one of them is remembered.
        """
        asked = keys.to_numpy()
        here = Numbering()
        number, first = here.of(asked)
        with self._lock:
            known, place = self._known, self._places(asked[first])
        fresh = place < 0
        if not fresh.any() and known is not None:
            return Said(known[place], number)
        judged = judge(first[fresh])
        with self._lock:
            self._remember(asked[first[fresh]], judged)
        if known is None:
            return Said(judged, number)
        place[fresh] = known.height + np.arange(judged.height)
        return Said(pl.concat([known, judged])[place], number)

    def _begin(self) -> None:
        self._known: pl.DataFrame | None = None
        self._numbers = Numbering()

    def _places(self, keys: Keys) -> NDArray[np.int64]:
        """Where each line stands among the remembered, -1 where it does not."""
        return self._numbers.known(keys).astype(np.int64)

    def _remember(self, keys: Keys, judged: pl.DataFrame) -> None:
        if self._numbers.count + judged.height > self._most:
            self._begin()
        _, new = self._numbers.of(keys[: self._most])
        added = judged[new]
        if self._known is None:
            self._known = added
        else:
            grown = pl.concat([self._known, added], rechunk=False)
            self._known = grown.rechunk() if grown.n_chunks() > MOST_PIECES else grown
