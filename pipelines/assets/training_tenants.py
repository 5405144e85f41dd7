"""A tenant's own categoriser: trained with its corrections, evaluated beside what it uses now, put into use and rolled back.

Here belong configuration and metadata; metadata are counts and figures, never lines of persons. The steps are those of
`pipelines.training_tenants` and `pipelines.training`.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from pipelines.assets import metadata
from pipelines.assets.credit_risk import facts_as_failures, tenant_id_of
from pipelines.assets.resources import Context
from pipelines.assets.training import POOL, asset, categoriser, model_errors_as_failures, progress_logger
from pipelines.assets.training_settings import TenantCandidateConfig, TenantCategoriserConfig

MAX_SHOWN_CHANGES = 200


@asset(
    deps=[categoriser],
    pool=POOL,
    kinds={"scikitlearn"},
    check_specs=[
        dg.AssetCheckSpec(
            "gate",
            asset="tenant_categoriser_candidate",
            description="It reaches the hard gates, is not worse than what the tenant uses, and tags its corrections better.",
        )
    ],
    description=(
        "A tenant's own model: the shared one with the corrections of the tenant's users and its rules weighed in, and what they "
        "changed. It is evaluated beside the model that the tenant uses, and not in use by that."
    ),
)
def tenant_categoriser_candidate(
    context: dg.AssetExecutionContext, config: TenantCandidateConfig, kontor: dg.ResourceParam[Context]
) -> Iterator[dg.MaterializeResult[None]]:
    from models.evaluation import comparison, tagger
    from pipelines import training, training_tenants

    home, started_at, on_progress = kontor.settings.home, time.monotonic(), progress_logger(context)
    world = replace(tagger.TEST_WORLD, users=config.users, seed=config.seed)
    with model_errors_as_failures(), facts_as_failures():
        tenant = tenant_id_of(kontor, config.tenant)
        new = training_tenants.train_own_model(home, kontor.database, tenant, config.weight, on_progress=on_progress)
        seconds = time.monotonic() - started_at
        evaluation = training.evaluate(home, world, new.model.version, on_progress, tenant=tenant)
    version, reasons = new.model.version, evaluation.objections
    context.log.info("%s: %d lines, right %d, before %d", version, new.lines, new.right_after, new.right_before)
    version_in_use = evaluation.incumbent["about"]["model"]
    facts: dict[str, Any] = {
        "verdict": f"{version_in_use} stays in use" if reasons else f"{version} may replace it",
        "objections": metadata.listed(reasons),
        "version": version,
        "shared": new.shared,
        "in_use": version_in_use,
        "seconds": round(seconds, 1),
        "lines": new.lines,
        "correcting_users": new.users,
        "right_before": new.right_before,
        "right_after": new.right_after,
        "changes": metadata.records(new.changes.head(MAX_SHOWN_CHANGES).to_dicts()),
        "whole_comparison": dg.MetadataValue.md(evaluation.page()),
        "gates": metadata.records(comparison.rows(evaluation.comparison)),
        "to_promote": metadata.settings(
            {"tenant_categoriser": {"tenant": config.tenant, "version": version, "by": "…", "why": "…"}}
        ),
    }
    gate = dg.AssetCheckResult(
        check_name="gate",
        passed=not reasons,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"objections": len(reasons), "reasons": metadata.listed(reasons)},
    )
    yield dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(version), check_results=[gate])


@asset(
    deps=[tenant_categoriser_candidate],
    kinds={"numpy"},
    description=(
        "The model that a tenant uses. Materialising it puts the tenant's evaluated candidate into use, if it passes the gate or "
        "that is overridden; a version that was in use, or `shared`, rolls back. Tags of its users are stale from then on."
    ),
)
def tenant_categoriser(
    context: dg.AssetExecutionContext, config: TenantCategoriserConfig, kontor: dg.ResourceParam[Context]
) -> dg.MaterializeResult[None]:
    from models import registry
    from pipelines import shared_models, training

    decision: dict[str, Any] = {"by": config.by, "why": config.why, "override": config.override, "at": datetime.now(UTC)}
    with model_errors_as_failures(), facts_as_failures():
        tenant = tenant_id_of(kontor, config.tenant)
        with shared_models.changing(kontor.database, kontor.settings.home, tenant):
            promotion = training.choose(kontor.settings.home, config.version, **decision, tenant=tenant)
    context.log.info("%s is in use, before it %s was", promotion.after, promotion.before)
    folder = training.registry_folder(kontor.settings.home, tenant)
    facts = {
        "before": promotion.before,
        "after": promotion.after,
        "by": config.by,
        "why": config.why,
        "overridden": metadata.listed(promotion.entry.overridden if promotion.entry else ()),
        "versions": metadata.records(
            [
                {"version": model.version, "in use": "yes" if model.active else ""}
                for model in registry.versions(folder, registry.SHARED_NAME)
            ]
        ),
    }
    return dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(promotion.after))


tenant_train_job = dg.define_asset_job(
    "tenant_train_job",
    [tenant_categoriser_candidate],
    description="""Trains a tenant's own model with its corrections and rules, and evaluates it. What is in use does not change.

1. **Consent**: `kontor tenant learn NAME --on`. Without it nothing is read.
2. **Settings**: *Materialize* → the launchpad: `tenant`, and for how many bookings a correction stands (`weight`).
3. **Look**: [tenant_categoriser_candidate](/assets/tenant_categoriser_candidate) has the verdict, and in `changes` what the
   corrections changed: counts of lines, before and after.
4. **Promote** or **roll back**: [tenant_promote_job](/locations/pipelines.definitions/jobs/tenant_promote_job).""",
    executor_def=dg.in_process_executor,
)
tenant_promote_job = dg.define_asset_job(
    "tenant_promote_job",
    [tenant_categoriser],
    description="""Puts a tenant's own model into use, or one that it used before; `version: shared` is the model of all tenants.

The tags and analyses of the tenant's users are stale from then on. The API tags anew until others lie ready, and the sensor
`changed_buckets` has them made within minutes.""",
    executor_def=dg.in_process_executor,
    tags={"dagster/retry_on_asset_or_op_failure": "false"},
)

ASSETS = [tenant_categoriser_candidate, tenant_categoriser]
JOBS = [tenant_train_job, tenant_promote_job]
