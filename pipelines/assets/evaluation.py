"""How good the analyses of users are, from contracts to affordability, with what a data scientist wants to see of it.

Here belong configuration and metadata; metadata are counts and figures, never lines of people. Nothing runs it by itself.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from typing import Any

import dagster as dg

from pipelines.assets import metadata
from pipelines.assets.resources import Context
from pipelines.assets.training import POOL, asset, categoriser, model_errors_as_failures, progress_logger
from pipelines.assets.training_settings import AnalysesEvaluationConfig


@asset(
    deps=[categoriser],
    pool=POOL,
    kinds={"polars"},
    check_specs=[
        dg.AssetCheckSpec(
            "gates",
            asset="analyses_evaluation",
            description="Every figure of the analyses reaches its gate. A warning that names those that do not.",
        )
    ],
    description=(
        "How good all analyses of users are with the model in use, on simulated people whose truth and future are known: "
        "every figure with its interval, gate and baseline. It takes a minute, and runs only when somebody asks for it."
    ),
)
def analyses_evaluation(
    context: dg.AssetExecutionContext, config: AnalysesEvaluationConfig, kontor: dg.ResourceParam[Context]
) -> Iterator[dg.MaterializeResult[None]]:
    from analytics.tagging.tag import Tagger
    from models import registry
    from models.evaluation import analyses, analysis_reports
    from pipelines import training

    folder, started_at = training.registry_folder(kontor.settings.home), time.monotonic()
    world = replace(analyses.TEST_WORLD, users=config.people, seed=config.seed)
    with model_errors_as_failures():
        model = registry.active(folder)
        evaluation = analyses.evaluate(Tagger(model), world, progress_logger(context))
    report = analyses.report(evaluation, model.version, world)
    rows = analysis_reports.rows(report["gates"])
    missed = [f"{row['analysis']}, {row['metric']}: {row['value']:.3f} is not {row['wanted']}" for row in _missed(report)]
    context.log.info("%s misses %d of %d gates", model.version, len(missed), len(rows))
    pages = folder / "evaluations" / "analyses"
    analysis_reports.write(report, evaluation, pages)
    facts: dict[str, Any] = {
        "model": model.version,
        "people": world.users,
        "seed": world.seed,
        "seconds": round(time.monotonic() - started_at, 1),
        "gates_missed": len(missed),
        "missed": metadata.listed(missed),
        "figures": metadata.records([{name or "verdict": value for name, value in row.items()} for row in rows]),
        **{
            name: metadata.image((pages / f"analyses-{which}.png").read_bytes())
            for name, which in (("gates", "gates"), ("next_dates", "dates"), ("cashflow", "cashflow"))
        },
        **{row["name"]: row["value"] for row in report["gates"] if isfinite(row["value"])},
        "report": dg.MetadataValue.path(pages / "analyses.md"),
    }
    gates = dg.AssetCheckResult(
        check_name="gates",
        passed=not missed,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"gates_missed": len(missed), "missed": metadata.listed(missed)},
    )
    version = f"{model.version}.{world.users}.{world.seed}"
    yield dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(version), check_results=[gates])


def _missed(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in report["gates"] if not row["passed"]]


ASSETS = [analyses_evaluation]
