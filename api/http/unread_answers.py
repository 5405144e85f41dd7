"""Long answers that are being sent: how many, and how many bytes, each tenant may have in this process.

Such an answer stays in memory or in a file until its reader has taken it, so that slow readers must not have any number of them.
"""

from collections import Counter
from uuid import UUID

LONG_BYTES = 256 * 1024
"""Longer answers are counted, and sent in pieces of this size as their reader takes them."""


class UnreadAnswers:
    """The long answers of each tenant that are not sent to their end."""

    def __init__(self, max_answers: int, max_bytes: int) -> None:
        self._max_answers = max_answers
        self._max_bytes = max_bytes
        self._answers: Counter[UUID] = Counter()
        self._bytes: Counter[UUID] = Counter()

    def begin(self, tenant_id: UUID, size: int) -> bool:
        """Counts an answer, and whether it may be sent. A tenant without unread answers may have one of any size."""
        if self._answers[tenant_id] >= self._max_answers:
            return False
        if self._answers[tenant_id] and self._bytes[tenant_id] + size > self._max_bytes:
            return False
        self._answers[tenant_id] += 1
        self._bytes[tenant_id] += size
        return True

    def end(self, tenant_id: UUID, size: int) -> None:
        """Ends an answer that was counted, read or not."""
        self._answers[tenant_id] -= 1
        self._bytes[tenant_id] -= size
        if self._answers[tenant_id] == 0:
            del self._answers[tenant_id], self._bytes[tenant_id]
