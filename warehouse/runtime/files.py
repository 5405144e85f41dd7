"""Local files that are replaced as a whole: a reader, and a crash, finds the old content or the new one, never half of it."""

import os
import secrets
from pathlib import Path

FOLDER_MODE = 0o700
UNFINISHED_PREFIX = ".writing-"
"""How the name of a file begins while it is being written. Hidden, so that nobody reads it."""


def replace(path: Path, content: bytes, *, private: bool = False) -> None:
    """Writes a file, or replaces it, and returns when it would survive a crash.

    A private file can be read by its owner alone. If root writes it, it belongs to the owner of the old file, or of the folder:
    the service must be able to read what root has changed.
    """
    make_folder(path.parent)
    temporary = unfinished(path.parent)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        with os.fdopen(descriptor, "wb") as file:
            if private and os.geteuid() == 0:
                owner = (path if path.exists() else path.parent).stat()
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def unfinished(folder: Path) -> Path:
    """A new hidden path in a folder, for a file that is being written."""
    return folder / f"{UNFINISHED_PREFIX}{secrets.token_hex(8)}"


def status(path: Path) -> os.stat_result | None:
    """The size and times of a file; None if it has been removed meanwhile."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def make_folder(folder: Path) -> None:
    """Creates a folder, with those above it, so that it survives a crash. Only its owner can enter it: it holds data of people.
    Folders that exist keep their modes. If root makes one, it belongs to the owner of the folder above.
    """
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        if os.geteuid() == 0:
            owner = folder.parent.stat()
            os.chown(folder, owner.st_uid, owner.st_gid)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Returns when the names in a folder would survive a crash."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
