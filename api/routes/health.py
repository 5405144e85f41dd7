"""Health checks and metrics for monitoring."""

from collections.abc import Callable

from starlette.responses import Response

from api.http import metrics
from api.http.responses import json_response
from api.http.route import router
from api.schemas.health import Alive, Readiness
from api.services import AppServices
from warehouse.errors import DatabaseUnavailable

PUBLIC: dict[str, list[object]] = {"security": []}
routes = router("", "Health")


class MetricsResponse(Response):
    media_type = "text/plain"


@routes.get("/health", response_model=Alive, openapi_extra=PUBLIC)
async def get_health(services: AppServices) -> Response:
    """The process is alive. Asks nothing else."""
    return json_response(services.zone, Alive())


@routes.get("/ready", response_model=Readiness, responses={503: {"model": Readiness}}, openapi_extra=PUBLIC)
def get_readiness(services: AppServices) -> Response:
    """The service can work: database and lake answer. 503 otherwise, so that no requests are sent here."""
    checks = {"database": _status(services.database.ping), "lake": _status(services.lake.check)}
    status = "ok" if set(checks.values()) == {"ok"} else "unavailable"
    return json_response(services.zone, {"status": status, "checks": checks}, 200 if status == "ok" else 503)


@routes.get("/metrics", response_class=MetricsResponse, openapi_extra=PUBLIC)
def get_metrics() -> Response:
    """Metrics in Prometheus' text format."""
    return MetricsResponse(metrics.exposition())


def _status(check: Callable[[], None]) -> str:
    try:
        check()
    except (DatabaseUnavailable, OSError):
        return "unavailable"
    return "ok"
