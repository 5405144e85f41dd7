"""Checks that all who ask at the same time share, and that nobody waits for longer than a given time.

A check may hang, as one of a store whose disk or server does not answer. It runs on a thread of its own; while it runs, no second
one is begun, whoever asks. Whoever has waited long enough is told that there is no result.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedChecks(Generic[T]):
    """Named checks of one process. To be used by its event loop alone."""

    def __init__(self) -> None:
        self._running: dict[str, Future[T]] = {}

    async def run(self, checks: Mapping[str, Callable[[], T]], timeout_seconds: float) -> dict[str, T]:
        """The results of the checks that have ended in time, by name. A check that is running already is not begun again."""
        futures = {name: self._begin(name, check) for name, check in checks.items()}
        await asyncio.wait([asyncio.wrap_future(future) for future in futures.values()], timeout=timeout_seconds)
        return {name: future.result() for name, future in futures.items() if future.done()}

    def _begin(self, name: str, check: Callable[[], T]) -> Future[T]:
        running = self._running.get(name)
        if running is not None and not running.done():
            return running
        future: Future[T] = Future()
        self._running[name] = future
        # a daemon: a check that hangs must not hold up the end of the process
        threading.Thread(target=_settle, args=(future, check), name=f"check-{name}", daemon=True).start()
        return future


def _settle(future: "Future[T]", check: Callable[[], T]) -> None:
    try:
        future.set_result(check())
    except BaseException as error:
        future.set_exception(error)
