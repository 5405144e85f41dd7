"""A place for whole files: a local folder, or any address that fsspec knows (`s3://…`, `memory://…`).

A file is there wholly or not at all, also after a crash. What files mean is said by `warehouse/lake/lake.py`.
"""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any, TypeVar

from fsspec.core import url_to_fs  # type: ignore[import-untyped]

Found = TypeVar("Found")
UNFINISHED = ".writing-"
"""How names begin while a file is being written. Hidden, so that nobody reads one; `sweep` removes what a crash left."""
PATIENCE = 20
"""How often a reader begins anew when files are replaced under its hands."""


@dataclass(frozen=True)
class Storage:
    """Paths are relative to it, with slashes, and end in a file's name."""

    files: Any
    root: str
    local: bool

    @classmethod
    def of(cls, location: str) -> "Storage":
        """The place at a path or an address."""
        files, root = url_to_fs(location)
        local = "file" in (files.protocol if isinstance(files.protocol, tuple) else (files.protocol,))
        if local:
            return cls(files, os.path.realpath(root), local=True)
        files, root = url_to_fs(location, use_listings_cache=False)
        return cls(files, root.rstrip("/"), local=False)

    @property
    def address(self) -> str:
        """The whole address, as DuckDB and other readers take it."""
        return self.root if self.local else str(self.files.unstrip_protocol(self.root))

    def at(self, path: str) -> str:
        return f"{self.root}/{path}"

    def prepare(self) -> None:
        """Makes the folder if it is not there, for its owner alone: bookings lie in it."""
        if self.local:
            Path(self.root).mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            self.files.makedirs(self.root, exist_ok=True)

    def probe(self) -> None:
        """Writes a file and removes it; raises `OSError` if that cannot be done."""
        name = f"{UNFINISHED}{secrets.token_hex(8)}"
        if self.local:
            try:
                Path(self.at(name)).write_bytes(b"\0")
            finally:  # a full disk takes the name, and not the byte
                Path(self.at(name)).unlink(missing_ok=True)
        else:
            self.files.pipe_file(self.at(name), b"\0")
            self.files.rm_file(self.at(name))

    def put(self, path: str, content: bytes) -> None:
        """Writes a file, or replaces it: under another name first, so that a crash leaves the old one or the new one."""
        if not self.local:
            self.files.pipe_file(self.at(path), content)  # one object, which appears when it is complete
            return
        target = Path(self.at(path))
        _make(target.parent)
        temporary = target.with_name(f"{UNFINISHED}{secrets.token_hex(8)}")
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync(target.parent)

    def text(self, path: str) -> str | None:
        """What a small file says; None if there is none."""
        try:
            return bytes(self.files.cat_file(self.at(path))).decode().strip()
        except FileNotFoundError:
            return None

    def begin(self, path: str, content: str) -> str:
        """Writes a small file if there is none, and answers what it says: of several who begin at once one wins."""
        if not self.local:
            self.put(path, content.encode())
            return content
        temporary = Path(self.at(f"{UNFINISHED}{secrets.token_hex(8)}"))
        temporary.write_text(content)
        try:
            os.link(temporary, self.at(path))
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
        return Path(self.at(path)).read_text().strip()

    def remove(self, *paths: str) -> int:
        """Removes files, and says how many of them there were."""
        removed = sum(map(self._remove, paths))
        if self.local and removed:
            for folder in {Path(self.at(path)).parent for path in paths}:
                _sync(folder)
        return removed

    def _remove(self, path: str) -> bool:
        try:
            if self.local:
                Path(self.at(path)).unlink()
            else:
                self.files.rm_file(self.at(path))
        except FileNotFoundError:
            return False
        return True

    def find(self, folder: str) -> list[str]:
        """The paths of all files below a folder, in order; hidden ones are not files yet."""
        if self.local:
            found = [f"{where}/{name}" for where, _, names in os.walk(self.at(folder)) for name in names]
        else:
            found = self.files.find(self.at(folder))
        cut = len(self.root) + 1
        return sorted(path[cut:] for path in found if not path.rpartition("/")[2].startswith("."))

    def find_unmoved(self, folder: str) -> list[str]:
        """The same, seen twice. A single look at a folder can miss a new file and the file for which it came."""
        before, now = [""], self.find(folder)
        while before != now:
            before, now = now, self.find(folder)
        return now

    def source(self, path: str) -> str | bytes:
        """What Polars reads a file from: its path, or its bytes where only fsspec knows the way."""
        return self.at(path) if self.local else bytes(self.files.cat_file(self.at(path)))

    @contextmanager
    def opened(self, path: str) -> Iterator[Any]:
        """What pyarrow reads a file from, part by part."""
        if self.local:
            yield self.at(path)
            return
        with self.files.open(self.at(path), "rb") as file:
            yield file

    def size(self, path: str) -> int:
        return int(self.files.size(self.at(path)))

    def written_at(self, path: str) -> datetime:
        when: datetime = self.files.modified(self.at(path))
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)

    @contextmanager
    def alone(self, folder: str) -> Iterator[None]:
        """Nobody else on this machine changes files of the folder. Ends with the process; object stores have no such thing."""
        if not self.local:
            yield
            return
        _make(Path(self.at(folder)))
        descriptor = os.open(self.at(folder), os.O_RDONLY)
        try:
            flock(descriptor, LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def sweep(self, older_than: datetime) -> int:
        """Removes what crashed writers left before a moment, and says how many files that were."""
        if not self.local:
            return 0
        swept = 0
        for path in Path(self.root).rglob(f"{UNFINISHED}*"):
            try:
                if path.stat().st_mtime < older_than.timestamp():
                    path.unlink()
                    swept += 1
            except FileNotFoundError:  # its writer has finished
                continue
        return swept


def patiently(read: Callable[[], Found]) -> Found:
    """What a reader comes back with; it begins anew if a file that it had found was gone when it came."""
    for _ in range(PATIENCE):
        try:
            return read()
        except FileNotFoundError:
            continue
    return read()


def _make(folder: Path) -> None:
    """Makes a folder that is there after a crash as well."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync(folder.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
