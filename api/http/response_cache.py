"""Finished answers that a worker keeps, so that one that is asked for again needs no query but the check of the token."""

import gzip
from collections import OrderedDict
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from uuid import UUID

from pipelines.results.live import ResultState

SHELF_BYTES = 128 * 1024 * 1024
LEAST_ZIPPED = 4096
"""Bytes; a smaller answer is sent in as many packets when it is packed."""


@dataclass(frozen=True)
class CachedResponse:
    """An answer, what it was made from, and whether that was done beforehand."""

    state: ResultState
    body: bytes
    precomputed: bool

    @cached_property
    def zipped(self) -> bytes:
        """The answer packed with gzip, a tenth of it or less; packed once for all who ask, and not counted on the shelf."""
        return gzip.compress(self.body, 1, mtime=0)

    @property
    def to_be_zipped(self) -> bool:
        """Whether asking for the packed answer takes time."""
        return "zipped" not in self.__dict__


class ResponseCache:
    """The answers that were asked for last, up to so many bytes. Of a user one answer of each name and day is kept."""

    def __init__(self, limit_bytes: int = SHELF_BYTES) -> None:
        self._limit = limit_bytes
        self._bytes = 0
        self._kept: OrderedDict[tuple[UUID, str, date | None], CachedResponse] = OrderedDict()

    def find(self, user_id: UUID, name: str, state: ResultState) -> CachedResponse | None:
        """The answer of this state, if it is there."""
        key = (user_id, name, state.as_of)
        kept = self._kept.get(key)
        if kept is None or kept.state != state:
            return None
        self._kept.move_to_end(key)
        return kept

    def put(self, user_id: UUID, name: str, kept: CachedResponse) -> None:
        """Keeps an answer, and lets go of those that were not asked for longest."""
        key = (user_id, name, kept.state.as_of)
        before = self._kept.pop(key, None)
        self._bytes += len(kept.body) - (len(before.body) if before else 0)
        self._kept[key] = kept
        while self._bytes > self._limit and self._kept:
            _, gone = self._kept.popitem(last=False)
            self._bytes -= len(gone.body)
