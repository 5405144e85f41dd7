"""What the demo bank remembers of a user id: counters, locks, consents and payments, in files that processes share."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def remembered(folder: Path, user_id: str) -> Iterator[dict[str, Any]]:
    """What is known of a user id; changes are kept when the block ends, by a fault too. One process at a time."""
    state = folder / "state"
    state.mkdir(parents=True, exist_ok=True)
    path = state / f"{user_id}.json"
    with (state / f"{user_id}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = _read(path)
        before = json.dumps(known)
        try:
            yield known
        finally:
            if json.dumps(known) != before:
                _write(path, known)


def count(folder: Path, user_id: str, what: str) -> int:
    """How often this was counted before, and counts it."""
    with remembered(folder, user_id) as known:
        before = int(known.get(what, 0))
        known[what] = before + 1
    return before


def recalled(folder: Path, user_id: str) -> dict[str, Any]:
    """What is known of a user id, to look at only."""
    return _read(folder / "state" / f"{user_id}.json")


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def _write(path: Path, known: dict[str, Any]) -> None:
    temporary = path.with_suffix(".new")
    with temporary.open("w") as file:
        file.write(json.dumps(known))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
