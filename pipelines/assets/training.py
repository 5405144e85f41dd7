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
from pipelines.assets.training_settings import (
    CandidateConfig,
    CategoriserConfig,
    EvaluationConfig,
    SearchConfig,
    TrainingSetConfig,
)

GROUP = "training"
OWNERS = ["team:data-science"]
POOL = "training"
"""Steps that leave files for the next one take turns, over all runs."""
MAX_LOGGED_CHANGES = 20
_VERSION_FIGURES = {"category_seen_accuracy": "right, seen merchants", "category_unseen_accuracy": "right, unseen merchants"}
asset = partial(dg.asset, group_name=GROUP, owners=OWNERS)


@asset(
    kinds={"csv", "parquet"},
    description=(
        "Lines that people of a bank have labelled: files in the folder `labelled` of the data directory. They are checked as a "
        "whole, and four of five merchants of them are learned from."
    ),
)
def labelled_lines(context: dg.AssetExecutionContext, kontor: dg.ResourceParam[Context]) -> dg.MaterializeResult[None]:
    from pipelines import training
    from pipelines.assets import charts

    with model_errors_as_failures():
        own_lines = training.own_labelled_lines(kontor.settings.home)
    context.log.info("%d labelled lines", own_lines.height)
    facts: dict[str, Any] = {
        "dagster/row_count": own_lines.height,
        "dagster/column_schema": metadata.columns(own_lines.schema),
        "held_back": int(own_lines["held_back"].sum()),
        "categories": own_lines["category"].n_unique(),
        "folder": dg.MetadataValue.path(kontor.settings.home / training.LABELLED_FOLDER),
    }
    if not own_lines.is_empty():
        facts["lines_by_category"] = metadata.image(charts.bars([own_lines["category"]], "lines"))
    return dg.MaterializeResult(metadata=facts)


@asset(
    deps=[labelled_lines],
    pool=POOL,
    kinds={"parquet", "polars"},
    description=(
        "The distinct lines that the categoriser learns from: of a simulated world, of labelled files, and if wanted what users "
        "have corrected. "
        "Merchants, wordings and formats of the evaluation are not in it."
    ),
)
def training_set(
    context: dg.AssetExecutionContext, config: TrainingSetConfig, kontor: dg.ResourceParam[Context]
) -> dg.MaterializeResult[None]:
    from models.simulator.worlds import TRAINING_WORLD
    from pipelines import training
    from pipelines.assets import charts

    world = replace(TRAINING_WORLD, users=config.users, seed=config.seed)
    database = kontor.database if config.feedback else None
    current_set = training.make_training_set(
        kontor.settings.home, world, database, config.feedback_weight, progress_logger(context)
    )
    examples, corrections = current_set.examples, current_set.feedback
    context.log.info("%d lines, of which users have corrected %d", examples.height, corrections.height)
    facts: dict[str, Any] = {
        "dagster/row_count": examples.height,
        "dagster/column_schema": metadata.columns(examples.schema),
        "lines": examples["key"].n_unique(),
        "bookings": int(examples["count"].sum()),
        "categories": examples["category"].n_unique(),
        "parts": dict(examples["part"].value_counts().sort("part").iter_rows()),
        "corrections": corrections.height,
        "correcting_users": corrections["user"].n_unique(),
        "share_of_corrections": corrections.height / max(examples.height, 1),
        "lines_by_category": metadata.image(charts.bars([examples["category"]], "lines")),
        "folder": dg.MetadataValue.path(training.registry_folder(kontor.settings.home) / "training"),
    }
    return dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(current_set.version))


@asset(
    deps=[training_set],
    pool=POOL,
    kinds={"scikitlearn"},
    description=(
        "The best parameters that a search has found for an estimator, on lines of the training set: random ones are tried on "
        "few lines, the better ones on more (`HalvingRandomSearchCV`). No merchant is in both parts of a split."
    ),
)
def categoriser_search(
    context: dg.AssetExecutionContext, config: SearchConfig, kontor: dg.ResourceParam[Context]
) -> dg.MaterializeResult[None]:
    from models.training import search_plots
    from models.training.settings import SearchSettings, TrainingSettings
    from pipelines import training

    choices = config.model_dump()
    settings = TrainingSettings(estimator=choices.pop("estimator"), seed=choices.pop("seed"))
    with model_errors_as_failures():
        search = training.search(kontor.settings.home, settings, SearchSettings(**choices), progress_logger(context))
    context.log.info("%s: %s %.4f with %s", search.estimator, search.scoring, search.score, search.parameters)
    facts: dict[str, Any] = {
        "estimator": search.estimator,
        "parameters": dg.MetadataValue.json(dict(search.parameters)),
        "scoring": search.scoring,
        "score": search.score,
        "course": metadata.image(search_plots.course(search.trials, search.scoring)),
        "learning_curve": metadata.image(search_plots.curve(search.curve, search.scoring)),
        "trials": metadata.records(search.trials.sort("round", "score", descending=True).to_dicts()),
        "learning": metadata.records(search.curve.to_dicts()),
        "to_train": metadata.settings({"categoriser_candidate": {"searched": "true"}}),
    }
    return dg.MaterializeResult(metadata=facts)


@asset(
    deps=[training_set, categoriser_search],
    pool=POOL,
    kinds={"scikitlearn"},
    description="A model that was trained on the training set and lies in the registry. It is not in use by that.",
)
def categoriser_candidate(
    context: dg.AssetExecutionContext, config: CandidateConfig, kontor: dg.ResourceParam[Context]
) -> dg.MaterializeResult[None]:
    from models.training.settings import TrainingSettings
    from pipelines import training

    started_at, settings = time.monotonic(), TrainingSettings(**config.model_dump(exclude={"searched"}))
    with model_errors_as_failures():
        if config.searched:
            settings = training.with_searched_parameters(kontor.settings.home, settings)
        candidate = training.train_candidate(kontor.settings.home, settings, progress_logger(context))
    seconds = time.monotonic() - started_at
    context.log.info("trained %s in %.0f seconds", candidate.model.version, seconds)
    facts: dict[str, Any] = {
        "version": candidate.model.version,
        "estimator": settings.estimator,
        "settings": dg.MetadataValue.json(settings.model_dump()),
        "seconds": round(seconds, 1),
        "bytes": candidate.path.stat().st_size,
        "lines": candidate.model.facts["lines"],
        "categories": len(set(candidate.model.classes)),
        "temperature": candidate.model.temperature,
        "training_set": candidate.training_set.version,
        "corrections": candidate.training_set.feedback.height,
        "file": dg.MetadataValue.path(candidate.path),
    }
    return dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(candidate.model.version))


@asset(
    deps=[categoriser_candidate],
    pool=POOL,
    kinds={"polars"},
    description="How good the tagger is with the candidate and the active model, on the same people and lines of real banks.",
)
def categoriser_evaluation(
    context: dg.AssetExecutionContext, config: EvaluationConfig, kontor: dg.ResourceParam[Context]
) -> dg.MaterializeResult[None]:
    from models.evaluation import comparison, tagger
    from pipelines import training

    world = replace(tagger.TEST_WORLD, users=config.users, seed=config.seed)
    with model_errors_as_failures():
        evaluation = training.evaluate(kontor.settings.home, world, config.version, progress_logger(context))
    version, version_in_use = evaluation.candidate["about"]["model"], evaluation.incumbent["about"]["model"]
    reasons, missed = evaluation.objections, sum(not row["passed"] for row in evaluation.candidate["gates"])
    verdict = f"{version_in_use} stays in use" if reasons else f"{version} may replace it"
    context.log.info("%s: %s misses %d of %d gates", verdict, version, missed, len(evaluation.candidate["gates"]))
    override = {"override": "true"} if reasons else {}
    figures = [*evaluation.candidate["gates"], *evaluation.candidate["ungated"]]
    facts: dict[str, Any] = {
        "verdict": verdict,
        "objections": metadata.listed(reasons),
        "candidate": version,
        "in_use": version_in_use,
        "examined": f"{world.users} people, seed {world.seed}",
        "changed": comparison.summary(evaluation.comparison),
        "whole_comparison": dg.MetadataValue.md(evaluation.page()),
        "better_or_worse": metadata.image(comparison.picture(evaluation.comparison)),
        "confusion_matrix": metadata.image(evaluation.picture("confusions")),
        "reliability": metadata.image(evaluation.picture("reliability")),
        "merchants_and_formats": metadata.image(evaluation.picture("cells")),
        "to_promote": metadata.settings({"categoriser": {"version": version, "by": "…", "why": "…", **override}}),
        "reports": f"{evaluation.folder.relative_to(kontor.settings.home)} in the data directory",
        "gates": metadata.records(comparison.rows(evaluation.comparison)),
        "changed_categories": metadata.records(comparison.moves(evaluation.comparison)),
        "worst_confusions": metadata.records([_confusion(row) for row in evaluation.candidate["confusions"]]),
        "gates_missed": missed,
        "changed_share": evaluation.comparison["changed"] / max(evaluation.comparison["bookings"], 1),
        **{row["name"]: row["value"] for row in figures if isfinite(row["value"])},
    }
    return dg.MaterializeResult(
        metadata=facts, data_version=dg.DataVersion(f"{version}.{version_in_use}.{world.users}.{world.seed}")
    )


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
    context: dg.AssetExecutionContext, config: CategoriserConfig, kontor: dg.ResourceParam[Context]
) -> Iterator[dg.MaterializeResult[None]]:
    from pipelines import shared_models, training

    decision: dict[str, Any] = {"by": config.by, "why": config.why, "override": config.override}
    with model_errors_as_failures(), shared_models.changing(kontor.database, kontor.settings.home):
        promotion = training.choose(kontor.settings.home, config.version, at=datetime.now(UTC), **decision)
    context.log.info("%s is in use, before it %s was", promotion.after, promotion.before)
    overridden = promotion.entry.overridden if promotion.entry else ()
    objections = training.overridden_objections(kontor.settings.home)
    facts: dict[str, Any] = {
        "before": promotion.before,
        "after": promotion.after,
        "by": config.by,
        "why": config.why,
        "objections_overridden": len(overridden),
        "overridden": metadata.listed(overridden),
        "tag_again": _TAG_AGAIN if promotion.entry else "nothing has changed",
        "to_roll_back": metadata.settings({"categoriser": {"version": promotion.before, "by": "…", "why": "…"}}),
        "changes": _changes(training.registry_folder(kontor.settings.home)),
        "versions": _versions(training.registry_folder(kontor.settings.home)),
    }
    gate = dg.AssetCheckResult(
        check_name="gate",
        passed=not objections,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"objections": len(objections), "reasons": metadata.listed(objections)},
    )
    yield dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(promotion.after), check_results=[gate])


_TAG_AGAIN = (
    "Tags of the model before are stale; the API tags anew until others lie ready. The sensor changed_buckets has them made; "
    "to do it now, launch analyses_job over all partitions."
)


@contextmanager
def model_errors_as_failures() -> Iterator[None]:
    """Facts about models end a run with the fact, not with a stack; trying again would not change them."""
    from models.errors import ModelError, PromotionRefused

    try:
        yield
    except PromotionRefused as error:
        message = f"PromotionRefused: {error}. Nothing has changed; to put it into use all the same, say `override: true`."
        raise dg.Failure(message, {"objections": metadata.listed(error.reasons)}, allow_retries=False) from error
    except ModelError as error:
        raise dg.Failure(f"{type(error).__name__}: {error}", allow_retries=False) from error


def progress_logger(context: dg.AssetExecutionContext) -> Callable[[str, float], None]:
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
    for model in registry.versions(folder):
        figures = {
            title: model.figures[name].value if name in model.figures else float("nan")
            for name, title in _VERSION_FIGURES.items()
        }
        rows.append({"version": model.version, "in use": "yes" if model.active else "", **figures})
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
            for entry in reversed(registry.log(folder)[-MAX_LOGGED_CHANGES:])
        ]
    )


train_job = dg.define_asset_job(
    "train_job",
    [labelled_lines, training_set, categoriser_candidate, categoriser_evaluation],
    description="""Trains a candidate and evaluates it beside the model in use. Which one is in use does not change.

1. **Settings**: the arrow beside *Materialize all* → *Open launchpad*. Every field is there with its default, that of the
   shipped model; `users: 20` for `training_set` and `categoriser_evaluation` shows the way in a minute or two.
2. **Compare**: [categoriser_evaluation](/assets/categoriser_evaluation) has the verdict, the figures side by side, plots, and
   which category became which one.
3. **Promote**: [promote_job](/locations/pipelines.definitions/jobs/promote_job).

The whole way is told in `docs/data-scientists.md`.""",
    executor_def=dg.in_process_executor,
)
search_job = dg.define_asset_job(
    "search_job",
    [categoriser_search],
    description="""Searches the parameters of an estimator on lines of the training set. Nothing is trained for use.

1. **Settings**: *Materialize* → the launchpad: `estimator`, how many `trials`, how many `lines`.
2. **Look**: [categoriser_search](/assets/categoriser_search) has the best parameters, the course of the search, and a
   learning curve.
3. **Train** with them: [train_job](/locations/pipelines.definitions/jobs/train_job) with `searched: true` for
   `categoriser_candidate`.""",
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

ASSETS = [labelled_lines, training_set, categoriser_search, categoriser_candidate, categoriser_evaluation, categoriser]
JOBS = [train_job, search_job, promote_job]
