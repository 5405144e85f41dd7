"""Storage for whole files: a local folder, a bucket of an object store (`s3://…`), or another address that fsspec knows.

A file exists completely or not at all, also after a crash. What the files mean is the business of `warehouse/lake/lake.py`.

Object stores have no locks. Nobody needs one there: every fetch has a file of its own, and whoever writes or erases the rows of a
bucket holds its lock in PostgreSQL (`Database.locking_buckets`).
"""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any, TypeVar

from fsspec.core import url_to_fs  # type: ignore[import-untyped]

from warehouse.runtime import files, patience

T = TypeVar("T")
OBJECT_STORE = "s3://"
CONNECT_SECONDS, REQUEST_SECONDS, MAX_ATTEMPTS = 3.0, 20.0, 4
MAX_RETRIES = 20
"""How often a reader starts again because a file was replaced between finding and reading it."""


@dataclass(frozen=True)
class Storage:
    """A folder or bucket. Paths are relative to it, with slashes, and end in the name of a file."""

    filesystem: Any
    root: str
    local: bool

    @classmethod
    def of(cls, location: str) -> "Storage":
        """The storage at a path or an address."""
        if location.startswith(OBJECT_STORE):
            return cls(_object_store(), location.removeprefix(OBJECT_STORE).strip("/"), local=False)
        filesystem, root = url_to_fs(location)
        protocols = filesystem.protocol if isinstance(filesystem.protocol, tuple) else (filesystem.protocol,)
        if "file" in protocols:
            return cls(filesystem, os.path.realpath(root), local=True)
        filesystem, root = url_to_fs(location, use_listings_cache=False)
        return cls(filesystem, root.rstrip("/"), local=False)

    def folder(self, path: str) -> "Storage":
        """The storage in a folder of this one."""
        return replace(self, root=self.at(path))

    @property
    def address(self) -> str:
        """The full address, as DuckDB and other readers take it."""
        return self.root if self.local else str(self.filesystem.unstrip_protocol(self.root))

    def at(self, path: str) -> str:
        """The full path of a file."""
        return f"{self.root}/{path}"

    def prepare(self) -> None:
        """Creates the folder if it is missing, readable by its owner alone: it holds bookings. A bucket must exist."""
        if self.local:
            files.make_folder(Path(self.root))
        elif not self.address.startswith(OBJECT_STORE):  # which has no folders
            self.filesystem.makedirs(self.root, exist_ok=True)

    def probe(self) -> None:
        """Writes a file and removes it; raises `OSError` if that fails."""
        path = files.unfinished(Path(self.root))
        if self.local:
            try:
                path.write_bytes(b"\0")
            finally:  # a full disk creates the file without its byte
                path.unlink(missing_ok=True)
        else:
            self.filesystem.pipe_file(self.at(path.name), b"\0")
            self.filesystem.rm_file(self.at(path.name))

    def put(self, path: str, content: bytes) -> None:
        """Writes a file, or replaces it as a whole: a crash leaves the old content or the new one."""
        if not self.local:
            self.filesystem.pipe_file(self.at(path), content)  # one object, which appears when it is complete
            return
        files.replace(Path(self.at(path)), content)

    def read_text(self, path: str) -> str | None:
        """The text of a small file; None if there is none."""
        try:
            return bytes(self.filesystem.cat_file(self.at(path))).decode().strip()
        except FileNotFoundError:
            return None

    def put_if_absent(self, path: str, content: str) -> str:
        """Writes a small file if there is none; returns the text of the file. Of several writers at once, one wins."""
        if not self.local:
            self.put(path, content.encode())
            return self.read_text(path) or content  # of two at once, the last one wins
        temporary = files.unfinished(Path(self.root))
        temporary.write_text(content)
        try:
            os.link(temporary, self.at(path))
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
        return Path(self.at(path)).read_text().strip()

    def remove(self, *paths: str) -> int:
        """Removes files; returns how many of them existed."""
        removed_files = sum(map(self._remove, paths))
        if self.local and removed_files:
            for folder in {Path(self.at(path)).parent for path in paths}:
                files.sync_folder(folder)
        return removed_files

    def _remove(self, path: str) -> bool:
        try:
            if self.local:
                Path(self.at(path)).unlink()
            else:
                self.filesystem.rm_file(self.at(path))
        except FileNotFoundError:
            return False
        return True

    def find(self, folder: str) -> list[str]:
        """The paths of all files below a folder, sorted. Hidden files are still being written and left out."""
        return [path for path in self.find_all(folder) if not path.rpartition("/")[2].startswith(".")]

    def find_all(self, folder: str) -> list[str]:
        """The same with hidden files."""
        if self.local:
            paths = [f"{where}/{name}" for where, _, names in os.walk(self.at(folder).rstrip("/")) for name in names]
        else:
            paths = self.filesystem.find(self.at(folder))
        start = len(self.root) + 1
        return sorted(path[start:] for path in paths)

    def find_folders(self, folder: str) -> list[str]:
        """A folder and all folders below it, sorted, also those that have no file."""
        if not self.local:
            return sorted({path.rpartition("/")[0] for path in self.find_stable(folder)})
        start = len(self.root) + 1
        return sorted(where[start:] for where, _, _ in os.walk(self.at(folder)))

    def entries(self) -> list[str]:
        """The names of the files and folders at the top, sorted."""
        if self.local:
            return sorted(path.name for path in Path(self.root).iterdir())
        return sorted(str(path).rstrip("/").rpartition("/")[2] for path in self.filesystem.ls(self.root, detail=False))

    def find_stable(self, folder: str) -> list[str]:
        """The same, listed until two lists agree: a single one can miss both a new file and the files that it replaces."""
        previous_paths, paths = [""], self.find(folder)
        while previous_paths != paths:
            previous_paths, paths = paths, self.find(folder)
        return paths

    def source(self, path: str) -> str | bytes:
        """What Polars reads a file from: its path, or its bytes where only fsspec can read them."""
        return self.at(path) if self.local else bytes(self.filesystem.cat_file(self.at(path)))

    @contextmanager
    def open(self, path: str) -> Iterator[Any]:
        """What pyarrow reads parts of a file from: its path or an open file."""
        if self.local:
            yield self.at(path)
            return
        with self.filesystem.open(self.at(path), "rb") as file:
            yield file

    def size(self, path: str) -> int:
        """The size of a file in bytes."""
        return int(self.filesystem.size(self.at(path)))

    def written_at(self, path: str) -> datetime:
        """When a file was last written, in UTC."""
        return _in_utc(self.filesystem.modified(self.at(path)))

    def last_written_at(self, folder: str) -> datetime | None:
        """When a file below a folder was last written, in UTC, by one listing; None if there is none."""
        if self.local:
            paths = map(self.at, self.find(folder))
            seconds = [status.st_mtime for path in paths if (status := files.status(Path(path))) is not None]
            return datetime.fromtimestamp(max(seconds), UTC) if seconds else None
        entries = self.filesystem.find(self.at(folder), detail=True)  # the listing of an object store has the times
        moments = (entry.get("mtime") or self.filesystem.modified(path) for path, entry in entries.items())
        return max(map(_in_utc, moments), default=None)

    @contextmanager
    def lock(self, folder: str) -> Iterator[None]:
        """Keeps other processes of this machine from changing files of the folder. Object stores have no locks."""
        if not self.local:
            yield
            return
        files.make_folder(Path(self.at(folder)))
        descriptor = os.open(self.at(folder), os.O_RDONLY)
        try:
            flock(descriptor, LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def sweep(self, older_than: datetime) -> int:
        """Removes the files that crashed writers left before a moment; returns how many."""
        if not self.local:
            return 0
        swept_files = 0
        for path in Path(self.root).rglob(f"{files.UNFINISHED_PREFIX}*"):
            try:
                if path.stat().st_mtime < older_than.timestamp():
                    path.unlink()
                    swept_files += 1
            except FileNotFoundError:  # its writer has finished
                continue
        return swept_files


def _object_store() -> Any:
    """The object store that the variables of its own world name: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, and
    AWS_ENDPOINT_URL for one that is not Amazon's. Loaded only where it is used.
    """
    from fsspec.implementations.arrow import ArrowFSWrapper  # type: ignore[import-untyped]
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    return ArrowFSWrapper(
        S3FileSystem(
            endpoint_override=os.environ.get("AWS_ENDPOINT_URL"),
            connect_timeout=CONNECT_SECONDS,
            request_timeout=REQUEST_SECONDS,
            retry_strategy=AwsStandardS3RetryStrategy(max_attempts=MAX_ATTEMPTS),
        ),
        skip_instance_cache=True,
    )


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def retry_read(read: Callable[[], T]) -> T:
    """What a reader returns. It starts again if a file that it had found was replaced before it was read."""
    return patience.retry(read, FileNotFoundError, itertools.repeat(0, MAX_RETRIES))
