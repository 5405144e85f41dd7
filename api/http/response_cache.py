"""Finished responses that a worker keeps in memory, so that a repeated request needs no query but the token check."""

import gzip
from dataclasses import dataclass, replace
from datetime import date
from uuid import UUID

from cachetools import LRUCache

from pipelines.results.live import ResultState

MAX_CACHE_BYTES = 128 * 1024 * 1024
ENTRY_BYTES = 1024
"""What an entry takes beside its bodies, so that many small responses do not exceed the limit."""
MIN_GZIP_BYTES = 4096
"""Compressing a smaller body saves no network packet."""


@dataclass(frozen=True)
class CachedResponse:
    """A response body, the state it was computed from, and whether that was done in advance."""

    state: ResultState
    body: bytes
    precomputed: bool
    gzip_body: bytes | None = None
    """The compressed body, once a caller has asked for it."""

    def with_gzip(self) -> "CachedResponse":
        """The response with its compressed body, typically a tenth of the size. Takes long enough to need a thread."""
        return replace(self, gzip_body=gzip.compress(self.body, 1, mtime=0))

    @property
    def size_bytes(self) -> int:
        return len(self.body) + len(self.gzip_body or b"")


class ResponseCache:
    """The most recently used responses, limited by their bytes. For each user, name and day only the latest state is kept."""

    def __init__(self, max_bytes: int = MAX_CACHE_BYTES, entry_bytes: int = ENTRY_BYTES) -> None:
        self._entry_bytes = entry_bytes
        self._responses: LRUCache[tuple[UUID, str, date | None], CachedResponse] = LRUCache(
            max_bytes, getsizeof=lambda response: response.size_bytes + entry_bytes
        )

    def find(self, user_id: UUID, name: str, state: ResultState) -> CachedResponse | None:
        """The response of this state, if it is cached."""
        response = self._responses.get((user_id, name, state.as_of))
        return response if response is not None and response.state == state else None

    def put(self, user_id: UUID, name: str, response: CachedResponse) -> None:
        """Stores a response, unless it alone exceeds the limit, and evicts the least recently used ones."""
        if response.size_bytes + self._entry_bytes <= self._responses.maxsize:
            self._responses[user_id, name, response.state.as_of] = response
