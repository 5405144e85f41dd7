"""The registry of models: the shipped one, and a folder of versions with a pointer to the one in use and a log.

A folder holds `<version>.npz` (the model), `<version>.json` (its report), `active` (the version in use; without the file it is
the shipped one), `log.json` (who put which version into use, when and why) and, if somebody wrote it, `trusted_types.json`
(names of types that models of scikit-learn may have besides its own). Files are replaced as a whole. Time is an argument.

A tenant with a model of its own has a folder of the same kind, `tenants/<tenant id>`; without the file `active` in it, the tenant
uses the shared model, the one in use in the folder above.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from models import change_log
from models.categoriser.file import write_atomically
from models.categoriser.storage import CategoryModel, load
from models.change_log import VersionChange
from models.errors import ModelError, ModelUnknown, ModelUnreadable, PromotionRefused
from models.evaluation.gates import objections
from models.evaluation.metrics import Figure

if TYPE_CHECKING:
    from models.categoriser.model import Categoriser

SHIPPED = Path(__file__).parent / "artefacts" / "categoriser.npz"
SHIPPED_REPORT = SHIPPED.with_suffix(".json")
SHIPPED_NAME = "shipped"
SHARED_NAME = "shared"
"""What a tenant uses that has no model of its own in use."""
UNREADABLE_POINTER = "unreadable"
"""The version in use when nobody can tell which it is: no model has this name."""
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,63}")
TRUSTED_TYPES = "trusted_types.json"
_ACTIVE, _LOG, _TENANTS = "active", "log.json", "tenants"


@dataclass(frozen=True)
class ModelChoice:
    """The model to use, the version that is meant to be in use, and why that one is not."""

    model: CategoryModel
    requested: str
    problem: str | None = None


@dataclass(frozen=True)
class RegisteredModel:
    """A model that can be put into use."""

    version: str
    path: Path
    active: bool
    figures: Mapping[str, Figure]


def shipped() -> "Categoriser":
    """The model that comes with the package."""
    from models.categoriser.model import Categoriser

    return Categoriser.load(SHIPPED)


def active(folder: Path) -> CategoryModel:
    """The model in use, or the one that stands in for it."""
    return choose(folder).model


def choose(folder: Path) -> ModelChoice:
    """The version in use if it can be read; else the last one before it that can be, at last the shipped one.

    A version that was rolled back does not stand in: it was taken out of use for a reason.
    """
    requested = active_version(folder) or SHIPPED_NAME
    problem: str | None = None
    for version in dict.fromkeys([requested, *reversed(_versions_in_use(folder)), SHIPPED_NAME]):
        try:
            return ModelChoice(find(folder, version), requested, problem)
        except ModelError as error:
            problem = problem or str(error)
    raise ModelUnreadable(problem)


def tenant_folder(folder: Path, tenant: UUID | str) -> Path:
    """The folder of a tenant's own models, in the folder of the shared ones."""
    return folder / _TENANTS / str(tenant)


def tenants_with_models(folder: Path) -> list[str]:
    """The ids of the tenants that have a model of their own in use."""
    return sorted(pointer.parent.name for pointer in (folder / _TENANTS).glob(f"*/{_ACTIVE}"))


def find_own(folder: Path, tenant: UUID | str, version: str) -> CategoryModel:
    """A tenant's own model of this version. One that was trained for another tenant is refused, however it came there."""
    model = find(tenant_folder(folder, tenant), version)
    if model.facts.get("tenant") != str(tenant):
        raise ModelUnreadable(f"{version} was not trained for this tenant")
    return model


def stamp(folder: Path, version: str) -> tuple[int, int] | None:
    """Time and size of the file of a version: they change when it is damaged or repaired. None without a file of its own."""
    if not version:
        return None
    try:
        status = (folder / f"{version}.npz").stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def find(folder: Path, version: str) -> CategoryModel:
    """The model of this version, or the shipped one under its name or version."""
    own = folder / f"{_valid_version(version)}.npz"
    if not own.exists() and registered_name(version) == SHIPPED_NAME:
        return shipped()
    return load(_path(folder, version), trusted_types(folder))


def trusted_types(folder: Path) -> tuple[str, ...]:
    """The types that models of this folder may have besides those of scikit-learn and ours: a JSON list that a person wrote."""
    shared_folder = folder.parents[1] if folder.parent.name == _TENANTS else folder
    try:
        names = json.loads((shared_folder / TRUSTED_TYPES).read_bytes())
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise ModelUnreadable(f"{TRUSTED_TYPES}: {type(error).__name__} while reading") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ModelUnreadable(f"{TRUSTED_TYPES}: not a list of names")
    return tuple(names)


def registered_name(version: str) -> str:
    """The name of a version in the registry: `shipped` also for the version of the shipped model."""
    is_shipped = version != SHIPPED_NAME and SHIPPED.exists() and version == shipped().version
    return SHIPPED_NAME if is_shipped else version


def active_version(folder: Path) -> str:
    """The version in use, empty if it is the shipped one; `unreadable` if the pointer names no version."""
    pointer = folder / _ACTIVE
    try:
        version = pointer.read_bytes().strip().decode(errors="replace")
    except FileNotFoundError:
        return ""
    except OSError:
        return UNREADABLE_POINTER
    return version if _is_version(version) else UNREADABLE_POINTER


def add(folder: Path, model: CategoryModel, report: Mapping[str, Any]) -> Path:
    """Adds a model and its report to the folder, without putting it into use; returns the model's path.

    A model that could not be read again, because nobody trusts its types, is removed at once.
    """
    path = folder / f"{_valid_version(model.version)}.npz"
    model.save(path)
    try:
        load(path, trusted_types(folder))
    except ModelUnreadable:
        path.unlink()
        raise
    write_atomically(path.with_suffix(".json"), _json(report))
    return path


def versions(folder: Path, base: str = SHIPPED_NAME) -> list[RegisteredModel]:
    """The shipped model, for a tenant's folder the shared one, and those of the folder, by version."""
    version_in_use = active_version(folder)
    base_figures = figures(SHIPPED_REPORT) if base == SHIPPED_NAME else {}
    base_model = [RegisteredModel(base, SHIPPED, not version_in_use, base_figures)] if SHIPPED.exists() else []
    paths = sorted(folder.glob("*.npz"))
    return base_model + [
        RegisteredModel(path.stem, path, path.stem == version_in_use, figures(path.with_suffix(".json"))) for path in paths
    ]


def figures(report: Path) -> dict[str, Figure]:
    """The figures of a report, or none if there is no report."""
    if not report.exists():
        return {}
    return {name: Figure(**values) for name, values in json.loads(report.read_text())["figures"].items()}


def promote(folder: Path, version: str, *, by: str, at: datetime, why: str, override_reason: str | None = None) -> VersionChange:
    """Puts a version into use, unless it misses a hard gate or is worse than the one in use; a reason can override that."""
    model = find(folder, version)
    version_in_use = active_version(folder)
    incumbent = figures(folder / f"{version_in_use}.json" if version_in_use else SHIPPED_REPORT)
    return promote_figures(
        folder,
        model.version,
        figures(_path(folder, version).with_suffix(".json")),
        incumbent,
        by=by,
        at=at,
        why=why,
        override_reason=override_reason,
    )


def promote_figures(
    folder: Path,
    version: str,
    candidate: Mapping[str, Figure],
    incumbent: Mapping[str, Figure],
    *,
    by: str,
    at: datetime,
    why: str,
    override_reason: str | None = None,
    base: str = SHIPPED_NAME,
    further_objections: Sequence[str] = (),
) -> VersionChange:
    """Puts a version into use as `promote` does, with the figures as arguments. `base` is the name of what is in use before."""
    reasons = [*objections(candidate, incumbent), *further_objections]
    if reasons and not (override_reason or "").strip():
        raise PromotionRefused(reasons)
    full_reason = f"{why} ({override_reason})" if reasons else why
    return _put_into_use(folder, version, by=by, at=at, why=full_reason, overridden=tuple(reasons), base=base)


def roll_back(folder: Path, version: str, *, by: str, at: datetime, why: str, base: str = SHIPPED_NAME) -> VersionChange:
    """Puts a version back into use that was in use before; `base`, for a tenant's folder `shared`, is always one."""
    target = registered_name(version) if base == SHIPPED_NAME else version
    earlier_versions = [entry.version for entry in log(folder)]
    if target != base and target not in earlier_versions:
        raise ModelUnknown(f"{version} was never in use; what was: {', '.join(dict.fromkeys([base, *earlier_versions]))}")
    if target != SHARED_NAME:
        find(folder, target)
    return _put_into_use(folder, target, by=by, at=at, why=why, base=base)


def log(folder: Path) -> list[VersionChange]:
    """All changes of the version in use, the oldest first."""
    return change_log.read(folder / _LOG)


def files_in_use(folder: Path) -> tuple[str, bytes | None, bytes | None, bytes]:
    """The version in use (empty for the shipped or shared one), and the contents of its model, its report and the log."""
    version, model, report = active_version(folder), None, None
    if version:
        path = _path(folder, version)
        model, report = path.read_bytes(), _content(path.with_suffix(".json"))
    return version, model, report, _content(folder / _LOG) or b"[]"


def copy_into_use(folder: Path, version: str, model: bytes | None, report: bytes | None, log_content: bytes) -> None:
    """Puts a version into use as another folder has it, from the contents of its files. One that cannot be read is refused, and
    the version before stays in use.
    """
    if version and model is not None:
        path = folder / f"{_valid_version(version)}.npz"
        if _content(path) != model:
            write_atomically(path, model)
        if report is not None:
            write_atomically(path.with_suffix(".json"), report)
        find(folder, version)
    write_atomically(folder / _LOG, log_content)
    if version:
        write_atomically(folder / _ACTIVE, version.encode())
    else:
        (folder / _ACTIVE).unlink(missing_ok=True)


def _content(path: Path) -> bytes | None:
    """The content of a file; None if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _put_into_use(
    folder: Path, version: str, *, by: str, at: datetime, why: str, overridden: tuple[str, ...] = (), base: str = SHIPPED_NAME
) -> VersionChange:
    """Writes the log first: a change that is logged but not made can be repeated, one that is made but not logged is lost."""
    entry = VersionChange(version, active_version(folder) or base, at.isoformat(timespec="seconds"), by, why, overridden)
    change_log.append(folder / _LOG, entry)
    if version == base:
        (folder / _ACTIVE).unlink(missing_ok=True)
    else:
        write_atomically(folder / _ACTIVE, version.encode())
    return entry


def _path(folder: Path, version: str) -> Path:
    path = folder / f"{_valid_version(version)}.npz"
    if not path.exists():
        versions = ", ".join(path.stem for path in sorted(folder.glob("*.npz")))
        raise ModelUnknown(f"no model {version} in {folder}; there are {SHIPPED_NAME}{versions and ', '}{versions}")
    return path


def _valid_version(version: str) -> str:
    """The version, if it is a valid file name; else `ModelUnknown`."""
    if not _is_version(version):
        raise ModelUnknown(f"{version!r} is no version")
    return version


def _is_version(version: str) -> bool:
    return bool(_VERSION.fullmatch(version)) and ".." not in version


def _versions_in_use(folder: Path) -> list[str]:
    """The versions that led to the one in use, the oldest first; none of them was rolled back. Empty if the log is damaged."""
    versions: list[str] = []
    try:
        changes = log(folder)
    except (OSError, ValueError, TypeError, KeyError):
        return []
    for change in changes:
        versions = versions[: versions.index(change.version)] if change.version in versions else versions
        versions.append(change.version)
    return versions


def _json(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True, default=str).encode()
