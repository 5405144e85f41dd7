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
from math import isfinite
from pathlib import Path
from typing import Any

import dagster as dg

from pipelines.assets import metadata
from pipelines.assets.resources import Context
from pipelines.assets.training_settings import CandidateConfig, CategoriserConfig, EvaluationConfig, TrainingSetConfig

GROUP = "training"
OWNERS = ["team:data-science"]
POOL = "training"
"""Steps that leave files for the next one take turns, over all runs."""
MOST_CHANGES = 20
_SHOWN = {"category_seen_accuracy": "right, seen merchants", "category_unseen_accuracy": "right, unseen merchants"}
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
    context: dg.AssetExecutionContext, config: TrainingSetConfig, house: dg.ResourceParam[Context]
) -> dg.MaterializeResult[None]:
    from models.simulator.worlds import TRAINING_WORLD
    from pipelines import training
    from pipelines.assets import charts

    world = replace(TRAINING_WORLD, users=config.users, seed=config.seed)
    database = house.database if config.feedback else None
    made = training.make_training_set(house.settings.home, world, database, config.feedback_weight, telling(context))
    examples, corrected = made.examples, made.feedback
    context.log.info("%d lines, of which users have corrected %d", examples.height, corrected.height)
    facts: dict[str, Any] = {
        "dagster/row_count": examples.height,
        "dagster/column_schema": metadata.columns(examples.schema),
        "lines": examples["key"].n_unique(),
        "bookings": int(examples["count"].sum()),
        "categories": examples["category"].n_unique(),
        "parts": dict(examples["part"].value_counts().sort("part").iter_rows()),
        "corrections": corrected.height,
        "correcting_users": corrected["user"].n_unique(),
        "share_of_corrections": corrected.height / max(examples.height, 1),
        "lines_by_category": metadata.image(charts.bars(examples["category"], "lines")),
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
    context: dg.AssetExecutionContext, config: CandidateConfig, house: dg.ResourceParam[Context]
) -> dg.MaterializeResult[None]:
    from models.training.train import TrainingSettings
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
    context: dg.AssetExecutionContext, config: EvaluationConfig, house: dg.ResourceParam[Context]
) -> dg.MaterializeResult[None]:
    from models.evaluation import comparison, tagger
    from pipelines import training

    world = replace(tagger.TEST_WORLD, users=config.users, seed=config.seed)
    with told():
        found = training.evaluate(house.settings.home, world, config.version, telling(context))
    version, used = found.candidate["about"]["model"], found.incumbent["about"]["model"]
    reasons, missed = found.objections, sum(not row["passed"] for row in found.candidate["gates"])
    verdict = f"{used} stays in use" if reasons else f"{version} may replace it"
    context.log.info("%s: %s misses %d of %d gates", verdict, version, missed, len(found.candidate["gates"]))
    override = {"override": "true"} if reasons else {}
    facts: dict[str, Any] = {
        "verdict": verdict,
        "objections": metadata.listed(reasons),
        "candidate": version,
        "in_use": used,
        "examined": f"{world.users} people, seed {world.seed}",
        "changed": comparison.summary(found.comparison),
        "whole_comparison": dg.MetadataValue.md(found.page()),
        "better_or_worse": metadata.image(comparison.picture(found.comparison)),
        "confusion_matrix": metadata.image(found.picture("confusions")),
        "reliability": metadata.image(found.picture("reliability")),
        "merchants_and_formats": metadata.image(found.picture("cells")),
        "to_promote": metadata.settings({"categoriser": {"version": version, "by": "…", "why": "…", **override}}),
        "reports": f"{found.folder.relative_to(house.settings.home)} in the data directory",
        "gates": metadata.records(comparison.rows(found.comparison)),
        "changed_categories": metadata.records(comparison.moves(found.comparison)),
        "worst_confusions": metadata.records([_confusion(row) for row in found.candidate["confusions"]]),
        "gates_missed": missed,
        "changed_share": found.comparison["changed"] / max(found.comparison["bookings"], 1),
        **{row["name"]: row["value"] for row in found.candidate["gates"] if isfinite(row["value"])},
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
    context: dg.AssetExecutionContext, config: CategoriserConfig, house: dg.ResourceParam[Context]
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
        "overridden": metadata.listed(overridden),
        "tag_again": _TAG_AGAIN if made.entry else "nothing has changed",
        "to_roll_back": metadata.settings({"categoriser": {"version": made.before, "by": "…", "why": "…"}}),
        "changes": _changes(training.models(house.settings.home)),
        "versions": _versions(training.models(house.settings.home)),
    }
    gate = dg.AssetCheckResult(
        check_name="gate",
        passed=not against,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"objections": len(against), "reasons": metadata.listed(against)},
    )
    yield dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(made.after), check_results=[gate])


_TAG_AGAIN = (
    "Tags of the model before are stale; the API tags anew until others lie ready. The sensor changed_buckets has them made; "
    "to do it now, launch analyses_job over all partitions."
)


@contextmanager
def told() -> Iterator[None]:
    """Facts about models end a run with the fact, not with a stack; trying again would not change them."""
    from models.errors import ModelError, PromotionRefused

    try:
        yield
    except PromotionRefused as error:
        told = f"PromotionRefused: {error}. Nothing has changed; to put it into use all the same, say `override: true`."
        raise dg.Failure(told, {"objections": metadata.listed(error.reasons)}, allow_retries=False) from error
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


def _confusion(row: dict[str, Any]) -> dict[str, Any]:
    return {"true → said": f"{row['truth']} → {row['prediction']}", "bookings": row["rows"], "share of the true": row["share"]}


def _versions(folder: Path) -> dg.TableMetadataValue:
    """Every version that can be put into use, with what was found of it."""
    from models import registry

    rows = []
    for known in registry.versions(folder):
        found = {title: known.figures[name].value if name in known.figures else float("nan") for name, title in _SHOWN.items()}
        rows.append({"version": known.version, "in use": "yes" if known.active else "", **found})
    return metadata.records(rows)


def _changes(folder: Path) -> dg.TableMetadataValue:
    """Who put which version into use, the last one first."""
    from models import registry

    return metadata.records(
        [
            {
                "at": entry.at[:16].replace("T", " "),
                "change": f"{entry.before} → {entry.version}",
                "by": entry.by,
                "why": entry.why,
            }
            for entry in reversed(registry.log(folder)[-MOST_CHANGES:])
        ]
    )


train_job = dg.define_asset_job(
    "train_job",
    [training_set, categoriser_candidate, categoriser_evaluation],
    description="""Trains a candidate and evaluates it beside the model in use. Which one is in use does not change.

1. **Settings**: the arrow beside *Materialize all* → *Open launchpad*. Every field is there with its default, that of the
   shipped model; `users: 20` for `training_set` and `categoriser_evaluation` shows the way in a minute or two.
2. **Compare**: [categoriser_evaluation](/assets/categoriser_evaluation) has the verdict, the figures side by side, plots, and
   which category became which one.
3. **Promote**: [promote_job](/locations/pipelines.definitions/jobs/promote_job).

The whole way is told in `docs/data-scientists.md`.""",
    executor_def=dg.in_process_executor,
)
promote_job = dg.define_asset_job(
    "promote_job",
    [categoriser],
    description="""Puts a model into use: the evaluated candidate if it passes the gate, or one that was in use before.

1. **Promote**: *Materialize* asks for `by` and `why`. Without a `version` it is the one that was evaluated last;
   `override: true` sets objections aside.
2. **Roll back**: the same with the `version` that was in use before, or `shipped`.
3. **Tag again**: the sensor `changed_buckets` has everything tagged anew within minutes. To wait for nothing, launch
   [analyses_job](/locations/pipelines.definitions/jobs/analyses_job) over all partitions.

Which versions there are, and who changed what: [categoriser](/assets/categoriser).""",
    executor_def=dg.in_process_executor,
    tags={"dagster/retry_on_asset_or_op_failure": "false"},
)

ASSETS = [training_set, categoriser_candidate, categoriser_evaluation, categoriser]
JOBS = [train_job, promote_job]
