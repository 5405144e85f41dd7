"""Lines to the banks: threads of their own for every provider, so that a bank that hangs keeps nobody else waiting.

A call that takes longer than its time limit is given up: the caller goes on, the thread stays behind until the bank lets go.
"""

import queue
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from uuid import UUID

from pipelines.banks.base import Unreachable

T = TypeVar("T")


class Lines:
    """A bounded number of threads for each provider."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._pools: dict[UUID, ThreadPoolExecutor] = {}
        self._lock = threading.Lock()

    def listen(self, provider_id: UUID, parts: Iterable[T], seconds: float) -> Iterator[T]:
        """The parts of a bank's answer as they come; raises `Unreachable` when the time is over, and what the bank raises."""
        deadline = time.monotonic() + seconds
        arrived: queue.Queue[T | BaseException | None] = queue.Queue()
        given_up = threading.Event()
        self._pool(provider_id).submit(_relay, parts, arrived, given_up)
        try:
            while (item := _next(arrived, deadline)) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            given_up.set()

    def _pool(self, provider_id: UUID) -> ThreadPoolExecutor:
        with self._lock:
            if provider_id not in self._pools:
                self._pools[provider_id] = ThreadPoolExecutor(self._at_once, thread_name_prefix=f"bank-{provider_id}")
            return self._pools[provider_id]


def _next(arrived: "queue.Queue[T | BaseException | None]", deadline: float) -> T | BaseException | None:
    try:
        return arrived.get(timeout=max(0, deadline - time.monotonic()))
    except queue.Empty:
        raise Unreachable from None


def _relay(parts: Iterable[T], arrived: "queue.Queue[T | BaseException | None]", given_up: threading.Event) -> None:
    """Runs on a line: passes on what the bank says until it has said all, fails, or nobody listens any more."""
    if given_up.is_set():
        return
    try:
        for part in parts:
            arrived.put(part)
            if given_up.is_set():
                return
        arrived.put(None)
    except BaseException as error:
        arrived.put(error)
