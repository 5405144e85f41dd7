"""A small disk of its own for a test, which can be filled to its last byte. It is memory, mounted as a filesystem."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

MEBIBYTE = 1024 * 1024
BALLAST = "ballast"


class MountRefused(Exception):
    """The system lets this process mount nothing."""


@dataclass(frozen=True)
class SmallDisk:
    """A mounted disk, and the file that fills it."""

    folder: Path

    def fill(self, leave_bytes: int = 0) -> None:
        """Takes all room that is left, or all but some. Called again, it takes what has become free since."""
        with (self.folder / BALLAST).open("ab", buffering=0) as ballast:
            if (bulk_bytes := self.free_bytes - (leave_bytes or MEBIBYTE)) > 0:
                with suppress(OSError):  # somebody was quicker
                    os.posix_fallocate(ballast.fileno(), ballast.tell(), bulk_bytes)
            if leave_bytes:
                return
            ballast.seek(0, os.SEEK_END)
            for size in (MEBIBYTE, 4096):
                zeros = bytes(size)
                try:
                    while ballast.write(zeros) == size:
                        pass
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def empty(self) -> None:
        """Gives the room back."""
        (self.folder / BALLAST).unlink(missing_ok=True)

    @property
    def free_bytes(self) -> int:
        return os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_frsize


@contextmanager
def small_disk(folder: Path, mebibytes: int) -> Iterator[SmallDisk]:
    """A disk of this size at a folder, while the block runs; raises `MountRefused` where nothing can be mounted."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=755", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise MountRefused("there is no mount") from error
    if mounted.returncode:
        raise MountRefused(mounted.stderr.strip())
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
