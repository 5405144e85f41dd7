"""Health checks and metrics for monitoring. The checks themselves are in `api/readiness.py`."""

import asyncio
from datetime import UTC, datetime
from functools import partial

from starlette.responses import Response

from api import readiness
from api.http import metrics
from api.http.responses import json_response
from api.http.route import router
from api.readiness import LOOK_SECONDS, NO_ANSWER, OK, SEVERITIES, UNAVAILABLE
from api.schemas.health import Alive, Readiness
from api.services import AppServices, Services
from pipelines import operations
from pipelines.operations import Survey
from warehouse.postgres.database import DATABASE_ERRORS
from warehouse.runtime import disk

PUBLIC: dict[str, list[object]] = {"security": []}
SURVEY = "survey"
routes = router("", "Health")


class MetricsResponse(Response):
    media_type = "text/plain"


@routes.get("/health", response_model=Alive, openapi_extra=PUBLIC)
async def get_health(services: AppServices) -> Response:
    """The process is alive. Asks nothing else."""
    return json_response(services.zone, Alive())


@routes.get("/ready", response_model=Readiness, responses={503: {"model": Readiness}}, openapi_extra=PUBLIC)
async def get_readiness(services: AppServices) -> Response:
    """The service can work: database and lake answer, and the vault keys open what is stored. 503 otherwise, so that no requests
    are sent here. `degraded` still works, but needs the operator: the check `work` says when fetches, dialogues or webhooks stand
    still. Answers within five seconds.
    """
    checks = (await readiness.look(services)).checks
    status = max((check.status for check in checks.values()), key=SEVERITIES.index)
    body = {"status": status, "checks": {name: check.status for name, check in checks.items()}}
    reasons = {name: check.reason for name, check in checks.items() if check.reason}
    return json_response(services.zone, body | ({"reasons": reasons} if reasons else {}), 503 if status == UNAVAILABLE else 200)


@routes.get("/metrics", response_class=MetricsResponse, openapi_extra=PUBLIC)
async def get_metrics(services: AppServices) -> Response:
    """Metrics in Prometheus' text format."""
    report, survey = await asyncio.gather(readiness.look(services), _survey(services))
    metrics.note_model(stands_in=report.checks["model"].status != OK)
    if report.checks["disk"] != NO_ANSWER:
        for usage in disk.usages(services.settings):
            metrics.DISK_USED.labels(usage.place).set(usage.share_used)
    severities = {name: SEVERITIES.index(check.status) for name, check in report.checks.items()}
    return MetricsResponse(metrics.exposition() + metrics.work_exposition(severities, report.work, survey))


async def _survey(services: Services) -> Survey | None:
    """How fresh everything is, or was a minute ago; None if database or lake do not tell in time."""
    if SURVEY not in services.last_surveys:
        surveys = await services.surveys.run({SURVEY: partial(_take_survey, services)}, LOOK_SECONDS)
        if (survey := surveys.get(SURVEY)) is not None:
            services.last_surveys[SURVEY] = survey
        return survey
    return services.last_surveys[SURVEY]


def _take_survey(services: Services) -> Survey | None:
    try:
        return operations.read_survey(services.database, services.lake, services.vault, services.settings, datetime.now(UTC))
    except (*DATABASE_ERRORS, OSError):
        return None
