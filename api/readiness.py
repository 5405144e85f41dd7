"""The checks of readiness: whether the stores answer, and whether work goes on.

All of them are bounded in time, whatever a store does: whoever watches the service must learn that something hangs, and not hang
as well. Those who ask at the same time share one look at the stores (`SharedChecks`).
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial

from api.services import ReadinessCheck, Services, StoreReport
from models.errors import ModelError
from pipelines import operations
from pipelines.results import tags
from warehouse.errors import DatabaseUnavailable, KeysMissing
from warehouse.postgres.database import DATABASE_ERRORS
from warehouse.runtime import disk
from warehouse.secrets import sealed_values

OK, DEGRADED, UNAVAILABLE = "ok", "degraded", "unavailable"
SEVERITIES = (OK, DEGRADED, UNAVAILABLE)
LOOK_SECONDS = 4.0
"""How long a look at the stores may take; the answer comes within five seconds."""
CHECKS_BY_STORE = {"database": ("database", "keys", "work"), "lake": ("lake",), "model": ("model",), "disk": ("disk",)}
"""The stores, each of which is asked on a thread of its own, with the checks that it answers."""
NO_ANSWER = ReadinessCheck(UNAVAILABLE, f"no answer within {LOOK_SECONDS:.0f} seconds")
DATABASE_SILENT = ReadinessCheck(UNAVAILABLE, "the database does not answer")
WORK_UNKNOWN = ReadinessCheck(DEGRADED, "the database does not tell")


async def look(services: Services) -> StoreReport:
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
