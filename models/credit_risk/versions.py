"""The calibrations of a tenant: a folder of versions, a pointer to the one in use, and a log. The one in use is the same on all
machines of an installation (`pipelines.shared_models`).

`<home>/models/credit_risk/<tenant id>/` holds `<version>.json`, `active` (the version in use; without it, none is) and
`log.json`. Files are replaced as a whole. Time is an argument.
"""

import re
from datetime import datetime
from pathlib import Path
from uuid import UUID

from pydantic import ValidationError

from models import change_log
from models.categoriser.file import write_atomically
from models.change_log import VersionChange
from models.credit_risk.calibration import VERSION_PATTERN, Calibration
from models.errors import ModelUnknown, ModelUnreadable, PromotionRefused

NONE = "none"
"""The name of the state in which no calibration is in use."""
_ACTIVE, _LOG = "active", "log.json"


def tenant_folder(home: Path, tenant_id: UUID) -> Path:
    """The folder of a tenant's calibrations."""
    return home / "models" / "credit_risk" / str(tenant_id)


def add(folder: Path, calibration: Calibration) -> Path:
    """Stores a calibration without putting it into use; returns its path."""
    path = folder / f"{calibration.version}.json"
    write_atomically(path, calibration.model_dump_json(indent=1).encode())
    return path


def find(folder: Path, version: str) -> Calibration:
    """The calibration of this version. One of another tenant is refused, however it came into the folder."""
    if not re.fullmatch(VERSION_PATTERN, version) or version == NONE:
        raise ModelUnknown(f"{version!r} is no version")
    try:
        calibration = Calibration.model_validate_json((folder / f"{version}.json").read_bytes())
    except FileNotFoundError:
        raise ModelUnknown(f"no calibration {version}; there are: {', '.join(versions(folder)) or NONE}") from None
    except (OSError, ValidationError) as error:
        raise ModelUnreadable(f"the calibration {version} cannot be read") from error
    if calibration.tenant != folder.name:
        raise ModelUnreadable(f"the calibration {version} is of another tenant")
    return calibration


def versions(folder: Path) -> list[str]:
    """The versions of a tenant, sorted."""
    return sorted(path.stem for path in folder.glob("*.json") if path.name != _LOG)


def active_version(folder: Path) -> str:
    """The version in use, or `none`."""
    try:
        return (folder / _ACTIVE).read_text().strip() or NONE
    except OSError:
        return NONE


def stamp(folder: Path, version: str) -> int:
    """The time of the file of a version, which changes when it is damaged or repaired; 0 without a file."""
    try:
        return (folder / f"{version}.json").stat().st_mtime_ns
    except OSError:
        return 0


def promote(folder: Path, version: str, *, by: str, at: datetime, why: str, override_reason: str | None = None) -> VersionChange:
    """Puts a version into use, unless the gate refuses it; a reason can override that."""
    reasons = find(folder, version).objections
    if reasons and not (override_reason or "").strip():
        raise PromotionRefused(reasons)
    return _put_into_use(folder, version, by, at, f"{why} ({override_reason})" if reasons else why, tuple(reasons))


def roll_back(folder: Path, version: str, *, by: str, at: datetime, why: str) -> VersionChange:
    """Puts a version back into use that was in use before; `none` takes the calibration out of use."""
    earlier = {entry.version for entry in log(folder)}
    if version != NONE and version not in earlier:
        raise ModelUnknown(f"{version} was never in use")
    if version != NONE:
        find(folder, version)
    return _put_into_use(folder, version, by, at, why, ())


def log(folder: Path) -> list[VersionChange]:
    """All changes of the version in use, the oldest first."""
    return change_log.read(folder / _LOG)


def files_in_use(folder: Path) -> tuple[str, bytes | None, None, bytes]:
    """The version in use, and the contents of its file and of the log, as `models.registry.files_in_use` gives those of a model.
    A calibration has no report.
    """
    version, path = active_version(folder), folder / _LOG
    content = None if version == NONE else (folder / f"{version}.json").read_bytes()
    return version, content, None, path.read_bytes() if path.exists() else b"[]"


def copy_into_use(folder: Path, version: str, content: bytes | None, log_content: bytes) -> None:
    """Puts a version into use as another folder has it, from the contents of its files. One that cannot be read is refused, and
    the version before stays in use.
    """
    if content is not None:
        if not re.fullmatch(VERSION_PATTERN, version):
            raise ModelUnknown(f"{version!r} is no version")
        write_atomically(folder / f"{version}.json", content)
        find(folder, version)
    write_atomically(folder / _LOG, log_content)
    if content is None:
        (folder / _ACTIVE).unlink(missing_ok=True)
    else:
        write_atomically(folder / _ACTIVE, version.encode())


def _put_into_use(folder: Path, version: str, by: str, at: datetime, why: str, overridden: tuple[str, ...]) -> VersionChange:
    """Writes the log first: a change that is logged but not made can be repeated."""
    entry = VersionChange(version, active_version(folder), at.isoformat(timespec="seconds"), by, why, overridden)
    change_log.append(folder / _LOG, entry)
    if version == NONE:
        (folder / _ACTIVE).unlink(missing_ok=True)
    else:
        write_atomically(folder / _ACTIVE, version.encode())
    return entry
