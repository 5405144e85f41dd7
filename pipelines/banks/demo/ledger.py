"""The ledger of the demo bank: who called, and how it ended. Never a PIN, a TAN or an unknown user id."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from pipelines.banks.base import BankFault
from warehouse.runtime import files

FILE = "calls.jsonl"


def calls(folder: Path) -> list[dict[str, Any]]:
    """All lines of the ledger in the order in which they happened, over all processes."""
    path = folder / FILE
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@contextmanager
def record_call(folder: Path, now: datetime, operation: str, user_id: str) -> Iterator[None]:
    """A block between a `begin` and an `end` line, so that one can see how many sessions ran at the same time."""
    entry = {"session": uuid4().hex, "at": now.isoformat(), "operation": operation, "user_id": user_id}
    _append(folder, entry | {"event": "begin"})
    outcome = "failed"
    try:
        yield
        outcome = "done"
    except BankFault as fault:
        outcome = fault.code.value
        raise
    except GeneratorExit:
        outcome = "abandoned"
        raise
    finally:
        _append(folder, entry | {"event": "end", "outcome": outcome})


def _append(folder: Path, entry: dict[str, str]) -> None:
    """One write to a file opened for appending, which the system keeps whole between processes."""
    files.make_folder(folder)
    descriptor = os.open(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, json.dumps(entry).encode() + b"\n")
    finally:
        os.close(descriptor)
