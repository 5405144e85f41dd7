"""The memory of tagging: lines that were judged once are not judged again while the process runs."""

from collections.abc import Callable
from threading import Lock

import polars as pl

MOST = 250_000
"""Lines that are remembered; when there are more, the memory begins anew."""


class Judgements:
    """What was said about each line, by its key. Threads may share it; each sees whole frames only."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: pl.DataFrame | None = None
        self._lock = Lock()

    def of(self, keyed: pl.DataFrame, judge: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
        """What is said about the lines of these bookings (with their column `key`): remembered, or judged now."""
        known = self._known
        fresh = keyed if known is None else keyed.join(known.select("key"), on="key", how="anti", maintain_order="left")
        if fresh.is_empty() and known is not None:
            return known
        judged = judge(fresh.unique("key", keep="first", maintain_order=True).drop("key"))
        self._remember(judged)
        return judged if known is None else pl.concat([known, judged])

    def _remember(self, judged: pl.DataFrame) -> None:
        with self._lock:
            known = self._known
            if known is not None:
                judged = pl.concat([known, judged.join(known.select("key"), on="key", how="anti")])
            self._known = judged if judged.height <= self._most else None
