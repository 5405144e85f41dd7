"""The log of a folder of versions: who put which one into use, when and why. Each kind of model keeps one."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from models.categoriser.file import write_atomically


@dataclass(frozen=True)
class VersionChange:
    """One change of the version in use."""

    version: str
    before: str
    at: str
    by: str
    why: str
    overridden: tuple[str, ...] = ()
    """The objections that were overridden."""


def read(path: Path) -> list[VersionChange]:
    """All changes of a log, the oldest first; none if there is no log yet."""
    if not path.exists():
        return []
    return [VersionChange(**{**values, "overridden": tuple(values["overridden"])}) for values in json.loads(path.read_text())]


def append(path: Path, change: VersionChange) -> None:
    """Adds a change at the end of a log, which is replaced as a whole."""
    changes = [asdict(entry) for entry in (*read(path), change)]
    write_atomically(path, json.dumps(changes, ensure_ascii=False, indent=1, sort_keys=True).encode())
