"""Calibrating the scorecard of credit risk with a tenant's outcomes, and choosing the calibration that is in use.

Here belong configuration and metadata; metadata are counts and figures, never people. Nothing runs it by itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import dagster as dg

from pipelines.assets import metadata
from pipelines.assets.resources import Context
from pipelines.assets.training import POOL, asset, model_errors_as_failures, progress_logger
from pipelines.assets.training_settings import CreditRiskCalibrationConfig, CreditRiskProbabilityConfig

OUTCOMES_FOLDER = "outcomes"
"""In the data directory: files of outcomes that an operator puts there, and removes again."""


@asset(
    pool=POOL,
    kinds={"scikitlearn"},
    check_specs=[
        dg.AssetCheckSpec(
            "gate",
            asset="credit_risk_calibration",
            description="There are enough outcomes, the calibration ranks and predicts well, and signals count the right way.",
        )
    ],
    description=(
        "The scorecard of credit risk, calibrated with the outcomes of one tenant: a logistic regression on the points of all "
        "signals, with cross-validated figures. It is stored beside the others, and not in use by that."
    ),
)
def credit_risk_calibration(
    context: dg.AssetExecutionContext, config: CreditRiskCalibrationConfig, kontor: dg.ResourceParam[Context]
) -> Iterator[dg.MaterializeResult[None]]:
    from models.credit_risk.plots import plot
    from pipelines.results import calibration

    home, today = kontor.settings.home, datetime.now(kontor.settings.zone).date()
    path = home / OUTCOMES_FOLDER / config.file
    with model_errors_as_failures(), facts_as_failures():
        tenant_id = tenant_id_of(kontor, config.tenant)
        new, outcomes = calibration.calibrate(kontor.database, home, tenant_id, path, today, progress_logger(context))
    context.log.info("%s: %d outcomes, %d objections", new.version, new.outcomes, len(new.objections))
    facts: dict[str, Any] = {
        "version": new.version,
        "outcomes": new.outcomes,
        "defaults": new.defaults,
        "unknown_users": outcomes.unknown_users,
        "without_history": outcomes.without_history,
        "left_out": metadata.listed([f"{signal}: {reason}" for signal, reason in new.left_out.items()]),
        "objections": metadata.listed(new.objections),
        "figures": metadata.records(list(calibration.figure_rows(new))),
        "plot": metadata.image(plot(new)),
        "to_promote": metadata.settings(
            {"credit_risk_probability": {"tenant": config.tenant, "version": new.version, "by": "…", "why": "…"}}
        ),
        **{name: figure.value for name, figure in new.figures.items()},
    }
    gate = dg.AssetCheckResult(
        check_name="gate",
        passed=not new.objections,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"objections": len(new.objections), "reasons": metadata.listed(new.objections)},
    )
    yield dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(new.version), check_results=[gate])


@asset(
    deps=[credit_risk_calibration],
    pool=POOL,
    kinds={"json"},
    description=(
        "The calibration behind the probability of default in a tenant's responses. Materialising it puts a version into use if "
        "it passes the gate or that is overridden; one that was in use, or `none`, rolls back. Nothing is computed again."
    ),
)
def credit_risk_probability(
    context: dg.AssetExecutionContext, config: CreditRiskProbabilityConfig, kontor: dg.ResourceParam[Context]
) -> dg.MaterializeResult[None]:
    from models.credit_risk import versions
    from pipelines import shared_models

    decision: dict[str, Any] = {"by": config.by, "why": config.why, "at": datetime.now(UTC)}
    with model_errors_as_failures(), facts_as_failures():
        database, home, tenant = kontor.database, kontor.settings.home, tenant_id_of(kontor, config.tenant)
        shared_models.take_up(database, home)
        folder = versions.tenant_folder(home, tenant)
        with shared_models.changing_calibration(database, home, tenant):
            if config.version == versions.NONE or config.version in {entry.version for entry in versions.log(folder)}:
                entry = versions.roll_back(folder, config.version, **decision)
            else:
                override_reason = "gate overridden" if config.override else None
                entry = versions.promote(folder, config.version, **decision, override_reason=override_reason)
    context.log.info("%s is in use, before it %s was", entry.version, entry.before)
    facts = {
        "before": entry.before,
        "after": entry.version,
        "by": entry.by,
        "why": entry.why,
        "overridden": metadata.listed(entry.overridden),
    }
    return dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(entry.version))


def tenant_id_of(kontor: Context, name: str) -> UUID:
    from warehouse.stores import tenants

    with kontor.database.operating() as operator:
        return tenants.find(operator, name).id


@contextmanager
def facts_as_failures() -> Iterator[None]:
    """A wrong file or tenant ends a run with the fact; trying again would not change it."""
    from warehouse.errors import Invalid, NotFound

    try:
        yield
    except (Invalid, NotFound) as error:
        raise dg.Failure(f"{type(error).__name__}: {error}", allow_retries=False) from error


ASSETS = [credit_risk_calibration, credit_risk_probability]
