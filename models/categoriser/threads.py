"""Threads for functions that release the interpreter's lock."""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def in_threads(function: Any, parts: list[Any]) -> list[Any]:
    """The results of a function that releases the GIL, for each part, in order."""
    if len(parts) < 2:
        return [function(part) for part in parts]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, parts))
