"""Being told to end: who takes Ctrl-C and the like at which time, so that whatever was started is also stopped."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupts() -> Iterator[None]:
    """A block that every signal to end leaves with KeyboardInterrupt, not Ctrl-C alone."""

    def interrupt() -> NoReturn:
        raise KeyboardInterrupt

    with _answered_by(interrupt):
        yield


@contextmanager
def cancels() -> Iterator[None]:
    """A block of a coroutine that a signal cancels: an error raised amid a callback of the loop would get lost there."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    if task is None:
        raise LookupError("this block belongs into a coroutine")
    cancel = task.cancel
    with _answered_by(lambda: loop.call_soon_threadsafe(cancel)):
        yield


@contextmanager
def waits() -> Iterator[None]:
    """A block that no signal cuts short; the signal counts when the block is over."""
    waiting: list[bool] = []
    try:
        with _answered_by(lambda: waiting.append(True)):
            yield
    finally:
        if waiting:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def _answered_by(act: Callable[[], object]) -> Iterator[None]:
    before = {number: signal.signal(number, lambda *_: act()) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
