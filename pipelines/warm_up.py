"""`python -m pipelines.warm_up`: compiles the loops of tagging, analyses and writing, once after an installation or update.

Processes that start later load the compiled code. Without it, only the first response is slower, by half a minute.
"""

import hashlib
import os
import platform
from contextlib import suppress
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPILED_PACKAGES = ("analytics", "models", "pipelines/results")


def warm_up() -> bool:
    """Compiles everything, unless that was done for just these sources; whether it was done now."""
    stamp = Path(__file__).parent / "__pycache__" / f"compiled-{_version()}"
    if stamp.exists():
        return False
    from pipelines.results import live  # loading it takes longer than seeing that nothing is to be done

    live.prepare()
    with suppress(OSError):  # where nothing can be written, each start compiles
        stamp.parent.mkdir(exist_ok=True)
        for earlier in stamp.parent.glob("compiled-*"):
            earlier.unlink(missing_ok=True)
        stamp.touch()
    return True


def _version() -> str:
    """What compiled code depends on: the sources with their times, which Numba looks at too, Numba, the machine, the folder."""
    sources = sorted(path for package in COMPILED_PACKAGES for path in (ROOT / package).rglob("*.py"))
    files = [f"{path.relative_to(ROOT)} {path.stat().st_mtime_ns} {path.stat().st_size}" for path in sources]
    environment = [
        metadata.version("numba"),
        platform.machine(),
        platform.python_version(),
        os.environ.get("NUMBA_CACHE_DIR", ""),
    ]
    return hashlib.sha256("\n".join([*files, *environment]).encode()).hexdigest()[:16]


if __name__ == "__main__":
    warm_up()
