"""How full the disks are on which an installation keeps its data."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from warehouse.settings import Settings

PERCENT = 100


@dataclass(frozen=True)
class DiskUsage:
    """The use of the disk behind a place, in bytes."""

    place: str
    total: int
    free: int

    @property
    def share_used(self) -> float:
        """The share of the disk that is used, from 0 to 1."""
        return 1 - self.free / self.total if self.total else 1.0


def places(settings: Settings) -> Mapping[str, Path]:
    """The folders whose disks must not fill up, by name. The processes of `kontor up` are given the address of the embedded
    server, so that its folder tells of it.
    """
    folders = {"home": settings.home}
    if "://" not in settings.lake_path:
        folders["lake"] = Path(settings.lake_path)
    database_folder = settings.home / "postgres"
    if settings.database_url is None or database_folder.is_dir():
        folders["postgres"] = database_folder
    return folders


def usages(settings: Settings) -> list[DiskUsage]:
    """The use of the disk of each place that exists."""
    disks = {name: shutil.disk_usage(_existing(path)) for name, path in places(settings).items()}
    return [DiskUsage(name, disk.total, disk.free) for name, disk in disks.items()]


def full_places(settings: Settings) -> list[str]:
    """The places that have less room than the service needs."""
    return [usage.place for usage in usages(settings) if usage.free < settings.disk_reserve_bytes]


def warnings(settings: Settings) -> list[str]:
    """A sentence for each place that is nearly full."""
    return [
        f"{usage.place}: {usage.share_used * PERCENT:.0f} % of the disk are used"
        for usage in usages(settings)
        if usage.share_used >= settings.disk_warning_share
    ]


def _existing(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path
