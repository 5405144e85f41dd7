"""Health checks and metrics for monitoring."""

from collections.abc import Callable
from dataclasses import dataclass

from starlette.responses import Response

from api.http import metrics
from api.http.responses import json_response
from api.http.route import router
from api.schemas.health import Alive, Readiness
from api.services import AppServices, Services
from models.errors import ModelError
from pipelines.results import tags
from warehouse import disk
from warehouse.errors import DatabaseUnavailable, KeysMissing
from warehouse.secrets import sealed_values

PUBLIC: dict[str, list[object]] = {"security": []}
OK, DEGRADED, UNAVAILABLE = "ok", "degraded", "unavailable"
routes = router("", "Health")


class MetricsResponse(Response):
    media_type = "text/plain"


@dataclass(frozen=True)
class ReadinessCheck:
    """The status of one check, and what is wrong. Everybody can read it: no paths and no ids of keys."""

    status: str
    reason: str | None = None


@routes.get("/health", response_model=Alive, openapi_extra=PUBLIC)
async def get_health(services: AppServices) -> Response:
    """The process is alive. Asks nothing else."""
    return json_response(services.zone, Alive())


@routes.get("/ready", response_model=Readiness, responses={503: {"model": Readiness}}, openapi_extra=PUBLIC)
def get_readiness(services: AppServices) -> Response:
    """The service can work: database and lake answer, and the vault keys open what is stored. 503 otherwise, so that no requests
    are sent here. `degraded` still works.
    """
    database = _answers(services.database.ping)
    checks = {
        "database": database,
        "lake": _answers(services.lake.check),
        "keys": _check_keys(services) if database.status == OK else ReadinessCheck(UNAVAILABLE, "the database does not answer"),
        "model": _check_model(),
        "disk": _check_disk(services),
    }
    status = UNAVAILABLE if any(check.status == UNAVAILABLE for check in checks.values()) else OK
    body = {"status": status, "checks": {name: check.status for name, check in checks.items()}}
    reasons = {name: check.reason for name, check in checks.items() if check.reason}
    return json_response(services.zone, body | ({"reasons": reasons} if reasons else {}), 200 if status == OK else 503)


@routes.get("/metrics", response_class=MetricsResponse, openapi_extra=PUBLIC)
def get_metrics(services: AppServices) -> Response:
    """Metrics in Prometheus' text format."""
    for usage in disk.usages(services.settings):
        metrics.DISK_USED.labels(usage.place).set(usage.share_used)
    metrics.note_model(stands_in=_check_model().status != OK)
    return MetricsResponse(metrics.exposition())


def _answers(check: Callable[[], None]) -> ReadinessCheck:
    try:
        check()
    except (DatabaseUnavailable, OSError):
        return ReadinessCheck(UNAVAILABLE)
    return ReadinessCheck(OK)


def _check_keys(services: Services) -> ReadinessCheck:
    try:
        with services.database.operating() as operator:
            sealed_values.check_keys(operator, services.vault)
    except KeysMissing:
        return ReadinessCheck(UNAVAILABLE, "the vault keys do not open what is stored")
    except (DatabaseUnavailable, OSError, ValueError):
        return ReadinessCheck(UNAVAILABLE, "the vault keys cannot be checked")
    return ReadinessCheck(OK)


def _check_disk(services: Services) -> ReadinessCheck:
    if full_places := disk.full_places(services.settings):
        return ReadinessCheck(UNAVAILABLE, f"no room on the disk of: {', '.join(full_places)}")
    if warnings := disk.warnings(services.settings):
        return ReadinessCheck(DEGRADED, "; ".join(warnings))
    return ReadinessCheck(OK)


def _check_model() -> ReadinessCheck:
    try:
        choice = tags.model_choice()
    except ModelError:
        return ReadinessCheck(UNAVAILABLE, "no model can be read")
    if choice.problem is not None:
        return ReadinessCheck(DEGRADED, f"model {choice.requested} cannot be read; {choice.model.version} stands in for it")
    return ReadinessCheck(OK)
