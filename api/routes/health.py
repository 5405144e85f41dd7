"""Health checks and metrics for monitoring.

All checks of `/ready` are bounded in time, whatever a store does: whoever watches the service must learn that something hangs,
and not hang as well. Those who ask at the same time share one look at the stores (`SharedChecks`).
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial

from starlette.responses import Response

from api.http import metrics
from api.http.responses import json_response
from api.http.route import router
from api.schemas.health import Alive, Readiness
from api.services import AppServices, ReadinessCheck, Services, StoreReport
from models.errors import ModelError
from pipelines import operations
from pipelines.operations import Survey
from pipelines.results import tags
from warehouse import disk
from warehouse.errors import DatabaseUnavailable, KeysMissing
from warehouse.postgres.database import DATABASE_ERRORS
from warehouse.secrets import sealed_values

PUBLIC: dict[str, list[object]] = {"security": []}
OK, DEGRADED, UNAVAILABLE = "ok", "degraded", "unavailable"
SEVERITIES = (OK, DEGRADED, UNAVAILABLE)
LOOK_SECONDS = 4.0
"""How long a look at the stores may take; the answer comes within five seconds."""
CHECKS_BY_STORE = {"database": ("database", "keys", "work"), "lake": ("lake",), "model": ("model",), "disk": ("disk",)}
"""The stores, each of which is asked on a thread of its own, with the checks that it answers."""
NO_ANSWER = ReadinessCheck(UNAVAILABLE, f"no answer within {LOOK_SECONDS:.0f} seconds")
DATABASE_SILENT = ReadinessCheck(UNAVAILABLE, "the database does not answer")
WORK_UNKNOWN = ReadinessCheck(DEGRADED, "the database does not tell")
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
    checks = (await _look(services)).checks
    status = max((check.status for check in checks.values()), key=SEVERITIES.index)
    body = {"status": status, "checks": {name: check.status for name, check in checks.items()}}
    reasons = {name: check.reason for name, check in checks.items() if check.reason}
    return json_response(services.zone, body | ({"reasons": reasons} if reasons else {}), 503 if status == UNAVAILABLE else 200)


@routes.get("/metrics", response_class=MetricsResponse, openapi_extra=PUBLIC)
async def get_metrics(services: AppServices) -> Response:
    """Metrics in Prometheus' text format."""
    report, survey = await asyncio.gather(_look(services), _survey(services))
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
        return operations.read_survey(services.database, services.lake, services.settings, datetime.now(UTC))
    except (*DATABASE_ERRORS, OSError):
        return None


async def _look(services: Services) -> StoreReport:
    """All checks, by name, and the state of the work if the database tells it."""
    looks: Mapping[str, Callable[[], StoreReport]] = {
        "database": partial(_ask_database, services),
        "lake": lambda: StoreReport({"lake": _answers(services.lake.check)}),
        "model": lambda: StoreReport({"model": _check_model()}),
        "disk": lambda: StoreReport({"disk": _check_disk(services)}),
    }
    reports = await services.store_checks.run(looks, LOOK_SECONDS)
    late = {name: NO_ANSWER for store, names in CHECKS_BY_STORE.items() if store not in reports for name in names}
    checks = late | {name: check for report in reports.values() for name, check in report.checks.items()}
    ordered_checks = {name: checks[name] for names in CHECKS_BY_STORE.values() for name in names}
    return StoreReport(ordered_checks, reports["database"].work if "database" in reports else None)


def _ask_database(services: Services) -> StoreReport:
    """What the database tells, on one connection that serves no requests, each statement bounded in time."""
    try:
        services.monitor.ping()
    except DatabaseUnavailable:
        return StoreReport({"database": ReadinessCheck(UNAVAILABLE), "keys": DATABASE_SILENT, "work": WORK_UNKNOWN})
    keys = _check_keys(services)
    try:
        work = operations.read_work(services.monitor, services.settings)
    except DATABASE_ERRORS:
        return StoreReport({"database": ReadinessCheck(OK), "keys": keys, "work": WORK_UNKNOWN})
    reasons = operations.standstills(work, services.settings, datetime.now(UTC))
    work_check = ReadinessCheck(DEGRADED, "; ".join(reasons.values())) if reasons else ReadinessCheck(OK)
    return StoreReport({"database": ReadinessCheck(OK), "keys": keys, "work": work_check}, work)


def _answers(check: Callable[[], None]) -> ReadinessCheck:
    try:
        check()
    except OSError:
        return ReadinessCheck(UNAVAILABLE)
    return ReadinessCheck(OK)


def _check_keys(services: Services) -> ReadinessCheck:
    try:
        with services.monitor.operating() as operator:
            sealed_values.check_keys(operator, services.vault)
    except KeysMissing:
        return ReadinessCheck(UNAVAILABLE, "the vault keys do not open what is stored")
    except (*DATABASE_ERRORS, OSError, ValueError):
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
