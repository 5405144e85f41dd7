"""What the demo bank remembers of a user id: counters, locks, consents and payments, in files that processes share."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from warehouse.runtime import files


@contextmanager
def open_memory(folder: Path, user_id: str) -> Iterator[dict[str, Any]]:
    """The memory of a user id; changes are stored when the block ends, even by a fault. One process at a time."""
    state = folder / "state"
    files.make_folder(state)
    path = state / f"{user_id}.json"
    with (state / f"{user_id}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        content = _read(path)
        before = json.dumps(content)
        try:
            yield content
        finally:
            if json.dumps(content) != before:
                _write(path, content)


def count(folder: Path, user_id: str, counter: str) -> int:
    """Adds one to a counter and returns its value before."""
    with open_memory(folder, user_id) as content:
        before = int(content.get(counter, 0))
        content[counter] = before + 1
    return before


def read_memory(folder: Path, user_id: str) -> dict[str, Any]:
    """The memory of a user id, for reading only."""
    return _read(folder / "state" / f"{user_id}.json")


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def _write(path: Path, content: dict[str, Any]) -> None:
    temporary = path.with_suffix(".new")
    with temporary.open("w") as file:
        file.write(json.dumps(content))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
