"""Backup and restore of an installation: database, lake, models and tombstones in one folder, without the keys.

The lake is copied first, then the database is dumped: a lake that is older than the database is brought up to date by itself,
since revisions only grow. The other way round, a revision that the lake has from the lost time could be reached a second time
with other data, and the lake would be taken for current.

A restore goes into an empty installation. Whoever was erased after the backup is deleted again before anybody is served.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from pipelines import tombstones
from warehouse.errors import Invalid
from warehouse.lake.lake import Lake
from warehouse.lake.storage import Storage
from warehouse.postgres import dumps, migrate
from warehouse.postgres.database import Database
from warehouse.postgres.embedded import Addresses
from warehouse.runtime import files
from warehouse.settings import Settings

MANIFEST = "manifest.json"
DATABASE, LAKE, MODELS, TOMBSTONES = "kontor.dump", "lake", "models", "tombstones.csv"
MAX_LISTINGS = 10
CHUNK_BYTES = 1 << 20
Tell = Callable[[str], object]
"""Is told what is done next."""


@dataclass(frozen=True)
class Manifest:
    """What a backup contains: when it was begun, the schema of its database, and the SHA-256 of each file by its path."""

    created_at: str
    schema: str
    files: dict[str, str]


def back_up(settings: Settings, addresses: Addresses, folder: Path, now: datetime, tell: Tell) -> Manifest:
    """Writes a backup into a new folder; others may work meanwhile. The manifest is written last: without it, it is none."""
    if folder.exists() and any(folder.iterdir()):
        raise Invalid(f"{folder} is not empty: each backup needs a folder of its own")
    files.make_folder(folder)
    tell("lake")
    _copy_lake(Lake(settings.lake_path).storage, folder / LAKE)
    tell("models and tombstones")
    for source, name in ((settings.home / MODELS, MODELS), (settings.tombstones_path, TOMBSTONES)):
        place(source, folder / name)
    tell("database")
    dumps.dump(settings, addresses, folder / DATABASE)
    tell("checksums")
    manifest = Manifest(now.isoformat(), migrate.revision(addresses.service) or "", _checksums(folder))
    files.replace(folder / MANIFEST, json.dumps(asdict(manifest), indent=2).encode(), private=True)
    return manifest


def restore(settings: Settings, addresses: Addresses, folder: Path, tell: Tell) -> Manifest:
    """Restores a backup into an empty installation, and deletes again whoever was erased after it."""
    tell("checksums")
    manifest = read_manifest(folder)
    _require_empty(settings, addresses)
    tell("database")
    dumps.restore(settings, addresses, folder / DATABASE)
    migrate.upgrade(addresses.migration, addresses.service_role)
    tell("lake")
    storage = Lake(settings.lake_path).storage
    for path in _files_below(folder / LAKE):
        storage.put(path, (folder / LAKE / path).read_bytes())
    tell("models and tombstones")
    place(folder / MODELS, settings.home / MODELS)
    if not settings.tombstones_path.exists():  # the newer one is never replaced
        place(folder / TOMBSTONES, settings.tombstones_path)
    tell("what was erased after the backup")
    with closing(Database(addresses.service, pool=2)) as database:
        lake = Lake(settings.lake_path)
        lake.prepare(settings.buckets)
        tombstones.sync(database, lake, settings)
    return manifest


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a backup whose files are all there and unchanged; raises `Invalid`."""
    try:
        manifest = Manifest(**json.loads((folder / MANIFEST).read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise Invalid(f"{folder} has no complete backup: {MANIFEST} is missing or damaged") from error
    actual = _checksums(folder)
    damaged = sorted(path for path in manifest.files.keys() | actual.keys() if manifest.files.get(path) != actual.get(path))
    if damaged:
        raise Invalid(f"{folder}: {len(damaged)} files differ from the manifest, the first is {damaged[0]}")
    return manifest


def _require_empty(settings: Settings, addresses: Addresses) -> None:
    """Raises `Invalid` if there is something that a restore would mix with."""
    if migrate.revision(addresses.service) is not None:
        raise Invalid("the database has tables already: restore into an empty one (KONTOR_HOME, KONTOR_DATABASE_URL)")
    if Lake(settings.lake_path).storage.find_all(""):
        raise Invalid(f"the lake {settings.lake_path} is not empty: restore into another one (KONTOR_HOME, KONTOR_LAKE)")


def _copy_lake(storage: Storage, folder: Path) -> None:
    """Copies all files. One that is replaced meanwhile is copied as it was or as it is; after files were merged or removed, the
    list is read again until it stays the same.
    """
    copied: set[str] = set()
    for _ in range(MAX_LISTINGS):
        paths = set(storage.find(""))
        if paths == copied:
            return
        for path in copied - paths:
            (folder / path).unlink(missing_ok=True)
        copied &= paths
        for path in sorted(paths - copied):
            target = folder / path
            files.make_folder(target.parent)
            try:
                storage.filesystem.get_file(storage.at(path), str(target))
            except FileNotFoundError:
                continue
            copied.add(path)
    raise Invalid("the lake changes all the time: make the backup when no run of Dagster is at work")


def place(source: Path, target: Path) -> None:
    """Copies a file or a folder, if there is one. What root copies belongs to the owner of the folder that it is copied into."""
    if source.is_dir():
        for path in _files_below(source):
            place(source / path, target / path)
    elif source.exists():
        files.make_folder(target.parent)
        shutil.copy2(source, target)
        if os.geteuid() == 0:
            owner = target.parent.stat()
            os.chown(target, owner.st_uid, owner.st_gid)


def _checksums(folder: Path) -> dict[str, str]:
    return {path: _checksum(folder / path) for path in _files_below(folder) if path != MANIFEST}


def _checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in _chunks(file.read):
            digest.update(chunk)
    return digest.hexdigest()


def _chunks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while chunk := read(CHUNK_BYTES):
        yield chunk


def _files_below(folder: Path) -> Iterable[str]:
    """The paths of all finished files below a folder, sorted."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(files.UNFINISHED_PREFIX))
    return sorted(str(path.relative_to(folder)) for path in paths)
