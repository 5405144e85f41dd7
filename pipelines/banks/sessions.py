"""Sessions at the banks: each has a thread of its own, so that a bank that hangs blocks nobody.

A session beyond its time limit is abandoned: the caller goes on, and the thread stays until the bank answers. A provider with
too many abandoned sessions is not called until some of them end.
"""

import queue
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar
from uuid import UUID

from pipelines.banks.base import NoAnswer, Unreachable
from warehouse.runtime import traces

T = TypeVar("T")


class BankSessions:
    """Opens sessions at the banks, and counts for each provider the abandoned ones that have not ended."""

    def __init__(self, given_up_limit: int) -> None:
        self._limit = given_up_limit
        self._given_up: Counter[UUID] = Counter()
        self._lock = threading.Lock()

    def listen(self, provider_id: UUID, parts: Iterable[T], seconds: float) -> Iterator[T]:
        """The parts of a bank's answer as they arrive; raises `NoAnswer` after the time limit, and the connector's errors."""
        if self._given_up[provider_id] >= self._limit:
            raise Unreachable
        deadline = time.monotonic() + seconds
        session = _Session[T]()
        span = traces.begin("bank call", kontor__provider=str(provider_id))
        threading.Thread(target=self._relay, args=(provider_id, parts, session), name="bank", daemon=True).start()
        try:
            while (part := session.next(deadline)) is not None:
                yield part
        except Exception as error:
            traces.fail(span, type(error).__qualname__)
            raise
        finally:
            span.end()
            self._leave(provider_id, session)

    def _relay(self, provider_id: UUID, parts: Iterable[T], session: "_Session[T]") -> None:
        """Runs in the session's thread: passes on parts until the bank has sent all, fails, or the caller has left."""
        try:
            for part in parts:
                session.parts.put(part)
                if session.abandoned:
                    break
            session.parts.put(None)
        except BaseException as error:
            session.parts.put(error)
        finally:
            with self._lock:
                session.ended = True
                self._given_up[provider_id] -= session.abandoned

    def _leave(self, provider_id: UUID, session: "_Session[T]") -> None:
        with self._lock:
            if not session.ended:
                session.abandoned = True
                self._given_up[provider_id] += 1


class _Session(Generic[T]):
    """The queue between a caller and the thread that talks to the bank."""

    def __init__(self) -> None:
        self.parts: queue.Queue[T | BaseException | None] = queue.Queue()
        self.abandoned = False
        self.ended = False

    def next(self, deadline: float) -> T | None:
        """The next part, or None at the end; raises the error of the session, and `NoAnswer` at the deadline."""
        try:
            part = self.parts.get(timeout=max(0, deadline - time.monotonic()))
        except queue.Empty:
            raise NoAnswer from None
        if isinstance(part, BaseException):
            raise part
        return part
