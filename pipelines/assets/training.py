"""Retraining the categoriser, from the training set to the model in use, with what a data scientist wants to see of it.

Here belong configuration and metadata; metadata are counts and figures, never lines. The steps are those of `pipelines.training`.
Models are imported when a step runs: they compile code, which the code location need not wait for.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import dagster as dg

from pipelines.assets import shown
from pipelines.assets.resources import House
from pipelines.assets.training_settings import CandidateConfig, CategoriserConfig, EvaluationConfig, TrainingSetConfig

GROUP = "training"
OWNERS = ["team:data-science"]
POOL = "training"
"""Steps that leave files for the next one take turns, over all runs."""
asset = partial(dg.asset, group_name=GROUP, owners=OWNERS)


@asset(
    pool=POOL,
    kinds={"parquet", "polars"},
    description=(
        "The distinct lines that the categoriser learns from: of a simulated world, and if wanted what users have corrected. "
        "Merchants, wordings and formats of the examination are not in it."
    ),
)
def training_set(
    context: dg.AssetExecutionContext, config: TrainingSetConfig, house: dg.ResourceParam[House]
) -> dg.MaterializeResult[None]:
    from models.learning import LEARNED
    from pipelines import pictures, training

    world = replace(LEARNED, users=config.users, seed=config.seed)
    database = house.database if config.feedback else None
    made = training.make_training_set(house.settings.home, world, database, config.feedback_weight, telling(context))
    examples, corrected = made.examples, made.feedback
    context.log.info("%d lines, of which users have corrected %d", examples.height, corrected.height)
    facts: dict[str, Any] = {
        "dagster/row_count": examples.height,
        "dagster/column_schema": shown.columns(examples.schema),
        "lines": examples["key"].n_unique(),
        "bookings": int(examples["count"].sum()),
        "categories": examples["category"].n_unique(),
        "parts": dict(examples["part"].value_counts().sort("part").iter_rows()),
        "corrections": corrected.height,
        "correcting_users": corrected["user"].n_unique(),
        "share_of_corrections": corrected.height / max(examples.height, 1),
        "lines_by_category": shown.image(pictures.bars(examples["category"], "lines")),
        "folder": dg.MetadataValue.path(training.models(house.settings.home) / "training"),
    }
    return dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(made.version))


@asset(
    deps=[training_set],
    pool=POOL,
    kinds={"numpy"},
    description="A model that was trained on the training set and lies in the registry. It is not in use by that.",
)
def categoriser_candidate(
    context: dg.AssetExecutionContext, config: CandidateConfig, house: dg.ResourceParam[House]
) -> dg.MaterializeResult[None]:
    from models.training import TrainingSettings
    from pipelines import training

    settings, begun = config.model_dump(), time.monotonic()
    with told():
        found = training.train_candidate(house.settings.home, TrainingSettings(**settings), telling(context))
    seconds = time.monotonic() - begun
    context.log.info("trained %s in %.0f seconds", found.model.version, seconds)
    facts: dict[str, Any] = {
        "version": found.model.version,
        "settings": dg.MetadataValue.json(settings),
        "seconds": round(seconds, 1),
        "bytes": found.path.stat().st_size,
        "lines": found.model.facts["lines"],
        "categories": len(found.model.classes),
        "temperature": found.model.temperature,
        "training_set": found.training_set.version,
        "corrections": found.training_set.feedback.height,
        "file": dg.MetadataValue.path(found.path),
    }
    return dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(found.model.version))


@asset(
    deps=[categoriser_candidate],
    pool=POOL,
    kinds={"polars"},
    description="How good the whole tagger is with the candidate and with the model in use, on the same people and real lines.",
)
def categoriser_evaluation(
    context: dg.AssetExecutionContext, config: EvaluationConfig, house: dg.ResourceParam[House]
) -> dg.MaterializeResult[None]:
    from models.learning import EXAMINED
    from pipelines import training

    world = replace(EXAMINED, users=config.users, seed=config.seed)
    with told():
        found = training.evaluate(house.settings.home, world, config.version, telling(context))
    version, used = found.candidate["about"]["model"], found.incumbent["about"]["model"]
    missed = sum(not row["passed"] for row in found.candidate["gates"])
    reasons = training.objections(house.settings.home, version)
    verdict = f"{used} stays in use" if reasons else f"{version} may replace it"
    context.log.info("%s: %s misses %d of %d gates", verdict, version, missed, len(found.candidate["gates"]))
    facts: dict[str, Any] = {
        "verdict": verdict,
        "objections": shown.listed(reasons),
        "candidate": version,
        "incumbent": used,
        "examined_users": world.users,
        "examined_seed": world.seed,
        "gates_missed": missed,
        "confusion_matrix": shown.image(found.picture("confusions")),
        "reliability": shown.image(found.picture("reliability")),
        "merchants_and_formats": shown.image(found.picture("cells")),
        "report": dg.MetadataValue.path(found.folder / "candidate.md"),
        "gates": _gates(found.candidate["gates"], found.incumbent["gates"]),
        "worst_confusions": shown.records(found.candidate["confusions"]),
    }
    return dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(f"{version}.{used}.{world.users}.{world.seed}"))


@asset(
    deps=[categoriser_evaluation],
    kinds={"numpy"},
    check_specs=[
        dg.AssetCheckSpec(
            "gate",
            asset="categoriser",
            description="The model in use came by the gate: hard gates reached, nothing worse than before. A warning while "
            "a model is in use against objections that somebody has overridden.",
        )
    ],
    description=(
        "The model in use. Materialising it puts the evaluated candidate into use, if it passes the gate or that is overridden; "
        "naming a version that was in use, or `shipped`, rolls back. Tags of the model before it are stale from then on."
    ),
)
def categoriser(
    context: dg.AssetExecutionContext, config: CategoriserConfig, house: dg.ResourceParam[House]
) -> Iterator[dg.MaterializeResult[None]]:
    from pipelines import training

    said: dict[str, Any] = {"by": config.by, "why": config.why, "override": config.override}
    with told():
        made = training.choose(house.settings.home, config.version, at=datetime.now(UTC), **said)
    context.log.info("%s is in use, before it %s was", made.after, made.before)
    overridden = made.entry.overridden if made.entry else ()
    against = training.set_aside(house.settings.home)
    facts: dict[str, Any] = {
        "before": made.before,
        "after": made.after,
        "by": config.by,
        "why": config.why,
        "objections_overridden": len(overridden),
        "overridden": shown.listed(overridden),
        "tag_again": dg.MetadataValue.md(_TAG_AGAIN if made.entry else "nothing has changed"),
    }
    gate = dg.AssetCheckResult(
        check_name="gate",
        passed=not against,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"objections": len(against), "reasons": shown.listed(against)},
    )
    yield dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(made.after), check_results=[gate])


_TAG_AGAIN = (
    "Tags of the model before are stale; the API tags anew until others lie ready. The sensor `changed_buckets` has them made; "
    "to do it now, materialise all partitions of `transaction_tags` and `served_results` in one backfill."
)


@contextmanager
def told() -> Iterator[None]:
    """Facts about models end a run with the fact, not with a stack; trying again would not change them."""
    from models.errors import ModelError

    try:
        yield
    except ModelError as error:
        raise dg.Failure(f"{type(error).__name__}: {error}", allow_retries=False) from error


def telling(context: dg.AssetExecutionContext) -> Callable[[str, float], None]:
    """Logs the progress of each step, in tenths."""
    tenths: dict[str, int] = {}

    def on_progress(step: str, share: float) -> None:
        if tenths.get(step, -1) < int(share * 10):
            tenths[step] = int(share * 10)
            context.log.info("%s: %d %%", step, share * 100)

    return on_progress


def _gates(candidate: list[dict[str, Any]], incumbent: list[dict[str, Any]]) -> dg.TableMetadataValue:
    """Every gate with the figure of the candidate, that of the model in use, and how much better the candidate is."""
    before = {row["name"]: row["value"] for row in incumbent}
    rows = []
    for row in candidate:
        better = (row["value"] - before.get(row["name"], float("nan"))) * (1 if row["higher_is_better"] else -1)
        rows.append(
            {
                "analysis": row["analysis"],
                "metric": row["metric"],
                "gate": f"{'≥' if row['higher_is_better'] else '≤'} {row['gate']}",
                "hard": row["hard"],
                "candidate": row["value"],
                "interval": f"{row['low']:.4f}–{row['high']:.4f}",
                "incumbent": before.get(row["name"], float("nan")),
                "better_by": better,
                "passed": row["passed"],
            }
        )
    return shown.records(rows)


train_job = dg.define_asset_job(
    "train_job",
    [training_set, categoriser_candidate, categoriser_evaluation],
    description="Trains a candidate and evaluates it beside the model in use. Which one is in use does not change.",
    executor_def=dg.in_process_executor,
)
promote_job = dg.define_asset_job(
    "promote_job",
    [categoriser],
    description="Puts a model into use: the evaluated candidate if it passes the gate, or one that was in use before.",
    executor_def=dg.in_process_executor,
    tags={"dagster/retry_on_asset_or_op_failure": "false"},
)

ASSETS = [training_set, categoriser_candidate, categoriser_evaluation, categoriser]
JOBS = [train_job, promote_job]
