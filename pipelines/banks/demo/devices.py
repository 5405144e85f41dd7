"""The devices of customers: by the device that a connector remembers, the bank recognises it, as FinTS banks do by a system id.

A memory is JSON with the id of a device and the number of fetches with it. A device counts once its customer has confirmed a
consent with it. What another wrote is no device.
"""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

from pipelines.banks.demo.memory import open_memory, read_memory

DEVICES = "devices"


def is_registered(folder: Path, user_id: str, memory: bytes) -> bool:
    """Whether a connector remembers a device with which this customer has confirmed a consent."""
    return _content(memory).get("device") in read_memory(folder, user_id).get(DEVICES, ())


def new_memory(memory: bytes) -> bytes | None:
    """What a connector must remember from the first call of a consent on: a new device; None if it has one."""
    return None if _content(memory) else json.dumps({"device": uuid4().hex, "fetches": 0}).encode()


def register(folder: Path, user_id: str, memory: bytes) -> None:
    """Registers the device that a connector remembers."""
    device = _content(memory).get("device")
    with open_memory(folder, user_id) as content:
        if device and device not in content.get(DEVICES, ()):
            content[DEVICES] = [*content.get(DEVICES, ()), device]


def after_fetch(memory: bytes) -> bytes:
    """What a connector remembers after one more fetch."""
    content = _content(memory)
    return json.dumps({**content, "fetches": content.get("fetches", 0) + 1}).encode()


def _content(memory: bytes) -> dict[str, Any]:
    try:
        content = json.loads(memory)
    except ValueError:
        return {}
    return content if isinstance(content, dict) and isinstance(content.get("device"), str) else {}
