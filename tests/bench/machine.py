"""The machine: what keeps runs on it comparable, and the facts that stand beside every result."""

import ctypes
import os
import platform
import sys
from dataclasses import dataclass

KEPT, FIXED_ADDRESSES = 0xFFFFFFFF, 0x0040000  # of personality(2) of Linux


@dataclass(frozen=True)
class Cores:
    """The core of the servers, the database's included, and the core of the load."""

    servers: int
    load: int


def two_cores() -> Cores | None:
    """The first two cores that this process may use, or None where there is one only or processes cannot be bound to one."""
    if sys.platform != "linux":
        return None
    usable = sorted(os.sched_getaffinity(0))
    return Cores(usable[0], usable[1]) if len(usable) > 1 else None


def bind(core: int) -> None:
    """Keeps this process, and every process that it starts from now on, on one core."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, {core})


def fix_addresses() -> bool:
    """Lets every process that is started from now on lie at the same addresses; answers False where the system refuses.

    At random addresses a Python server is up to a fifth faster or slower for its whole life, by luck in what the caches of the
    processor hold. No number of slices evens that out, and no spread between slices shows it.
    """
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None)
    return bool(library.personality(library.personality(KEPT) | FIXED_ADDRESSES) != -1)


def facts(cores: Cores | None, fixed_addresses: bool) -> dict[str, object]:
    """What a reader needs to know of the machine."""
    return {
        "cores": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "bound_to_cores": cores is not None,
        "fixed_addresses": fixed_addresses,
    }
