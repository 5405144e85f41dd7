"""How much memory the C library keeps for the threads of a process."""

import ctypes
from contextlib import suppress

MAX_ARENAS = 2
M_ARENA_MAX = -8
"""The name of the setting in `malloc.h`."""


def bound_arenas() -> None:
    """Lets all threads share two areas of memory, before there are any threads.

    By default there are up to eight areas for each core, and each stays as large as it ever was, so that a worker of many threads
    grows for hours. Nothing waits for it: Python's threads take turns, and Polars has an allocator of its own.
    """
    with suppress(AttributeError, OSError):  # another C library than that of GNU
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, MAX_ARENAS)
