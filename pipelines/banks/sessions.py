"""Lines to the banks: every session has a thread of its own, so that a bank that hangs keeps nobody waiting.

A session that takes longer than its time limit is given up: the caller goes on, its thread stays behind until the bank lets go.
A provider that holds too many of those is not called until it lets go of some.
"""

import queue
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar
from uuid import UUID

from pipelines.banks.base import NoAnswer, Unreachable

T = TypeVar("T")


class BankSessions:
    """Sessions at the banks, and how many of each provider's have been given up without having ended."""

    def __init__(self, given_up_limit: int) -> None:
        self._limit = given_up_limit
        self._given_up: Counter[UUID] = Counter()
        self._lock = threading.Lock()

    def listen(self, provider_id: UUID, parts: Iterable[T], seconds: float) -> Iterator[T]:
        """The parts of a bank's answer as they come; raises `NoAnswer` when the time is over, and what the bank raises."""
        if self._given_up[provider_id] >= self._limit:
            raise Unreachable
        deadline = time.monotonic() + seconds
        session = _Session[T]()
        threading.Thread(target=self._relay, args=(provider_id, parts, session), name="bank", daemon=True).start()
        try:
            while (item := session.next(deadline)) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            self._leave(provider_id, session)

    def _relay(self, provider_id: UUID, parts: Iterable[T], session: "_Session[T]") -> None:
        """Runs beside the listener: passes on what the bank says until it has said all, fails, or nobody listens any more."""
        try:
            for part in parts:
                session.arrived.put(part)
                if session.left:
                    break
            session.arrived.put(None)
        except BaseException as error:
            session.arrived.put(error)
        finally:
            with self._lock:
                session.over = True
                self._given_up[provider_id] -= session.left

    def _leave(self, provider_id: UUID, session: "_Session[T]") -> None:
        with self._lock:
            if not session.over:
                session.left = True
                self._given_up[provider_id] += 1


class _Session(Generic[T]):
    """What passes between a listener and the thread that talks to the bank."""

    def __init__(self) -> None:
        self.arrived: queue.Queue[T | BaseException | None] = queue.Queue()
        self.left = False
        self.over = False

    def next(self, deadline: float) -> T | BaseException | None:
        """The next part, an error, or None at the end; raises `NoAnswer` when the time is over."""
        try:
            return self.arrived.get(timeout=max(0, deadline - time.monotonic()))
        except queue.Empty:
            raise NoAnswer from None
