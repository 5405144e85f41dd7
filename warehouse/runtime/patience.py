"""Retries: the one loop for work that can fail for a moment and is safe to repeat.

The caller names the errors that are worth another attempt, and the pause in seconds before each further one. When the pauses are
used up, the last error is raised.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
Errors = type[Exception] | tuple[type[Exception], ...]


def retry(work: Callable[[], T], errors: Errors, pauses: Iterable[float]) -> T:
    """The result of the first attempt that raises none of the errors."""
    remaining_pauses = iter(pauses)
    while True:
        try:
            return work()
        except errors:
            pause_seconds = next(remaining_pauses, None)
            if pause_seconds is None:
                raise
        time.sleep(pause_seconds)


async def retry_async(work: Callable[[], Awaitable[T]], errors: Errors, pauses: Iterable[float]) -> T:
    """The same for work of an event loop."""
    remaining_pauses = iter(pauses)
    while True:
        try:
            return await work()
        except errors:
            pause_seconds = next(remaining_pauses, None)
            if pause_seconds is None:
                raise
        await asyncio.sleep(pause_seconds)


def pauses_until(wait_seconds: float, pause_seconds: float) -> Iterator[float]:
    """The same pause again and again, until the wait is over, counted from this call."""
    deadline = time.monotonic() + wait_seconds
    return iter(lambda: pause_seconds if time.monotonic() < deadline else None, None)
