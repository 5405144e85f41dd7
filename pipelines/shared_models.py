"""The models and calibrations in use on all machines of an installation.

The database says which version is in use, for all tenants and for those with models or calibrations of their own, and has the
files of it. The folder `models` of a data directory is the copy of a machine, which its processes read. Every process looks every
few seconds, and before work on buckets, whether another version was put into use, and then copies it.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import structlog

from models import registry
from models.errors import ModelError
from warehouse.postgres import models_in_use
from warehouse.postgres.database import Database
from warehouse.postgres.models_in_use import SHARED, ModelFiles

CALIBRATION = "credit_risk:"
"""Begins the scope of a calibration; the id of its tenant follows."""
LOOK_SECONDS = 2.0
REFUSED_SECONDS = 60.0
"""A version that cannot be read here is tried again after this time."""
_refused_until: dict[tuple[str, str], float] = {}
log = structlog.get_logger("models")


@contextmanager
def changing(database: Database, home: Path, tenant: UUID | None = None) -> Iterator[None]:
    """A block that puts another version into use on this machine; when it ends, that version is in use on all machines. Nobody
    else changes models meanwhile, and nobody takes up the one before again.
    """
    with _changing(database, home, str(tenant) if tenant else SHARED):
        yield


@contextmanager
def changing_calibration(database: Database, home: Path, tenant: UUID) -> Iterator[None]:
    """The same for the calibration of credit risk of a tenant."""
    with _changing(database, home, CALIBRATION + str(tenant)):
        yield


@contextmanager
def _changing(database: Database, home: Path, scope: str) -> Iterator[None]:
    with database.operating() as operator:
        models_in_use.lock_for_change(operator)
        yield
        models_in_use.put(operator, scope, _files_in_use(home, scope))


def take_up(database: Database, home: Path) -> list[str]:
    """Puts the versions into use here that were put into use elsewhere; returns the scopes that changed. Files that cannot be
    read are left out: the model before stays in use.
    """
    with database.operating() as operator:
        is_current = not outdated_scopes(models_in_use.versions(operator), home)
        if is_current or not models_in_use.lock_for_copying(operator):
            return []
        scopes = outdated_scopes(models_in_use.versions(operator), home)
        return [scope for scope in scopes if _copy(home, scope, models_in_use.files(operator, scope))]


def outdated_scopes(versions: Mapping[str, str], home: Path) -> list[str]:
    """Of the versions in use by scope, the scopes that have another one in use here."""
    return [
        scope
        for scope, version in versions.items()
        if _active_version(home, scope) != version and time.monotonic() >= _refused_until.get((scope, version), 0)
    ]


def _copy(home: Path, scope: str, content: ModelFiles) -> bool:
    """Whether the version could be put into use here."""
    try:
        _copy_into_use(home, scope, content)
    except ModelError as error:
        _refused_until[scope, content.version] = time.monotonic() + REFUSED_SECONDS
        log.error("model_not_taken_up", scope=scope, version=content.version, problem=str(error))  # noqa: TRY400 (it says all)
        return False
    log.info("model_taken_up", scope=scope, version=content.version or registry.SHIPPED_NAME)
    return True


def _active_version(home: Path, scope: str) -> str:
    if tenant := _calibrated_tenant(scope):
        from models.credit_risk import versions as calibrations  # loads numba, which workers do without

        return calibrations.active_version(calibrations.tenant_folder(home, tenant))
    return registry.active_version(_folder(home, scope))


def _files_in_use(home: Path, scope: str) -> ModelFiles:
    if tenant := _calibrated_tenant(scope):
        from models.credit_risk import versions as calibrations  # loads numba, which workers do without

        return ModelFiles(*calibrations.files_in_use(calibrations.tenant_folder(home, tenant)))
    return ModelFiles(*registry.files_in_use(_folder(home, scope)))


def _copy_into_use(home: Path, scope: str, content: ModelFiles) -> None:
    if tenant := _calibrated_tenant(scope):
        from models.credit_risk import versions as calibrations  # loads numba, which workers do without

        folder = calibrations.tenant_folder(home, tenant)
        calibrations.copy_into_use(folder, content.version, content.model, content.log)
    else:
        registry.copy_into_use(_folder(home, scope), content.version, content.model, content.report, content.log)


def _calibrated_tenant(scope: str) -> UUID | None:
    """The tenant whose calibration the scope is; None if it is a model."""
    return UUID(scope.removeprefix(CALIBRATION)) if scope.startswith(CALIBRATION) else None


def _folder(home: Path, scope: str) -> Path:
    return home / "models" if scope == SHARED else registry.tenant_folder(home / "models", scope)
