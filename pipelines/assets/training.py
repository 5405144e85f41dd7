"""Retraining the categoriser, from the training set to the model in use, with what a data scientist wants to see of it.

Here belong configuration and metadata; metadata are counts and figures, never lines. The steps are those of `pipelines.training`.
Models are imported when a step runs: they compile code, which the code location need not wait for.
"""

import base64
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import dagster as dg
from pydantic import Field

from pipelines.assets.resources import House

GROUP = "training"
OWNERS = ["team:data-science"]
_VERSION = r"[0-9A-Za-z][0-9A-Za-z._-]{0,50}"


class TrainingSetConfig(dg.Config):
    """Which lines are learned from."""

    users: int = Field(default=400, ge=10, le=20_000, description="How many people are simulated: 10 to 20,000.")
    seed: int = Field(default=1, ge=0, le=2**31 - 1, description="Which simulated world. The evaluation needs another one.")
    feedback: bool = Field(default=False, description="Learn from users' corrections too, of tenants that consent (`learns`).")
    feedback_weight: float = Field(
        default=1.0, gt=0, le=100, description="For how many bookings a user's correction of a line stands: above 0, at most 100."
    )


class CandidateConfig(dg.Config):
    """How it is learned: the fields of `models.training.TrainingSettings`. The defaults are those of the model that we ship."""

    label: str = Field(default="2026.11.1", pattern=f"^{_VERSION}$", description="First part of the model's version.")
    seed: int = Field(default=11, ge=0, le=2**31 - 1, description="Of the order of rows and of what is hidden.")
    bits: int = Field(default=17, ge=10, le=20, description="The weight table has two to this power rows: 10 to 20.")
    epochs: int = Field(default=5, ge=1, le=50, description="How often every line is looked at: 1 to 50.")
    rate: float = Field(default=0.5, gt=0, le=10, description="The first step of the descent; above 0, at most 10.")
    batch: int = Field(default=64, ge=1, le=4096, description="Lines between two updates: 1 to 4,096.")
    hidden_words: float = Field(default=0.08, ge=0, le=0.9, description="Share of words hidden in each look at a line: 0 to 0.9.")
    hidden_merchants: float = Field(default=0.15, ge=0, le=0.9, description="Share of looks without the merchant: 0 to 0.9.")
    hidden_hints: float = Field(default=0.3, ge=0, le=1, description="Share of looks without the lexicon's hint: 0 to 1.")
    smoothing: float = Field(default=0.02, ge=0, le=0.5, description="Share of the truth spread over all classes: 0 to 0.5.")
    shrink: float = Field(default=0.0, ge=0, le=0.1, description="How much weights shrink with each step: 0 to 0.1.")
    count_power: float = Field(default=0.5, ge=0, le=1, description="0 treats lines alike, 1 treats bookings alike.")
    class_power: float = Field(default=0.25, ge=0, le=1, description="0 treats bookings alike, 1 treats classes alike.")
    most_lines: int = Field(default=12, ge=1, le=1000, description="Lines looked at of a merchant and category: 1 to 1,000.")
    lesson_count: float = Field(
        default=1.0, ge=0, le=100, description="Bookings a word of the lexicon stands for; 0: leave it out."
    )


class EvaluationConfig(dg.Config):
    """What is examined, and in which world."""

    version: str = Field(default="", description="Version to examine; empty: the last candidate.")
    users: int = Field(default=300, ge=10, le=20_000, description="How many other people are simulated: 10 to 20,000.")
    seed: int = Field(default=2, ge=0, le=2**31 - 1, description="Which simulated world; not the one that was learned from.")


class CategoriserConfig(dg.Config):
    """Which model is put into use, and on whose word."""

    version: str = Field(
        default="",
        description="Version to put into use; empty: the one evaluated last. One that was in use, or `shipped`: rollback.",
    )
    override: bool = Field(default=False, description="Set the objections of the gate aside. That is logged with who and why.")
    by: str = Field(min_length=1, max_length=200, description="Who decides this, for the log.")
    why: str = Field(min_length=1, max_length=1000, description="Why, for the log.")


@dg.asset(
    group_name=GROUP,
    owners=OWNERS,
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
    from pipelines import training

    world = replace(LEARNED, users=config.users, seed=config.seed)
    database = house.database if config.feedback else None
    made = training.make_training_set(house.settings.home, world, database, config.feedback_weight, _telling(context))
    examples, corrected = made.examples, made.feedback
    context.log.info("%d lines, of which users have corrected %d", examples.height, corrected.height)
    facts: dict[str, Any] = {
        "dagster/row_count": examples.height,
        "dagster/column_schema": dg.TableSchema([dg.TableColumn(name, str(kind)) for name, kind in examples.schema.items()]),
        "lines": examples["key"].n_unique(),
        "bookings": int(examples["count"].sum()),
        "categories": examples["category"].n_unique(),
        "parts": dict(examples["part"].value_counts().sort("part").iter_rows()),
        "corrections": corrected.height,
        "correcting_users": corrected["user"].n_unique(),
        "share_of_corrections": corrected.height / max(examples.height, 1),
        "lines_by_category": _image(training.category_picture(examples)),
        "folder": dg.MetadataValue.path(training.models(house.settings.home) / "training"),
    }
    return dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(made.version))


@dg.asset(
    deps=[training_set],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"numpy"},
    description="A model that was trained on the training set and lies in the registry. It is not in use by that.",
)
def categoriser_candidate(
    context: dg.AssetExecutionContext, config: CandidateConfig, house: dg.ResourceParam[House]
) -> dg.MaterializeResult[None]:
    from models.training import TrainingSettings
    from pipelines import training

    settings, begun = config.model_dump(), time.monotonic()
    with _told():
        found = training.train_candidate(house.settings.home, TrainingSettings(**settings), _telling(context))
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


@dg.asset(
    deps=[categoriser_candidate],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"polars"},
    description="How good the whole tagger is with the candidate and with the model in use, on the same people and real lines.",
)
def categoriser_evaluation(
    context: dg.AssetExecutionContext, config: EvaluationConfig, house: dg.ResourceParam[House]
) -> dg.MaterializeResult[None]:
    from models.learning import EXAMINED
    from pipelines import training

    world = replace(EXAMINED, users=config.users, seed=config.seed)
    with _told():
        found = training.evaluate(house.settings.home, world, config.version, _telling(context))
    version, used = found.candidate["about"]["model"], found.incumbent["about"]["model"]
    missed = sum(not row["passed"] for row in found.candidate["gates"])
    context.log.info("%s misses %d of %d gates", version, missed, len(found.candidate["gates"]))
    facts: dict[str, Any] = {
        "candidate": version,
        "incumbent": used,
        "examined_users": world.users,
        "examined_seed": world.seed,
        "gates_missed": missed,
        "gates": _gates(found.candidate["gates"], found.incumbent["gates"]),
        "worst_confusions": _records(found.candidate["confusions"]),
        "confusion_matrix": _image(found.picture("confusions")),
        "reliability": _image(found.picture("reliability")),
        "merchants_and_formats": _image(found.picture("cells")),
        "report": dg.MetadataValue.path(found.folder / "candidate.md"),
    }
    return dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(f"{version}.{used}.{world.users}.{world.seed}"))


@dg.asset_check(
    asset=categoriser_evaluation,
    blocking=False,
    description="Whether the version that was evaluated last may replace the model in use: hard gates reached, nothing worse.",
)
def gate(house: dg.ResourceParam[House]) -> dg.AssetCheckResult:
    from pipelines import training

    with _told():
        reasons = training.objections(house.settings.home)
    text = "\n".join(f"- {reason}" for reason in reasons) or "none"
    return dg.AssetCheckResult(passed=not reasons, metadata={"objections": len(reasons), "reasons": dg.MetadataValue.md(text)})


@dg.asset(
    deps=[categoriser_evaluation],
    group_name=GROUP,
    owners=OWNERS,
    kinds={"numpy"},
    description=(
        "The model in use. Materialising it puts the evaluated candidate into use, if it passes the gate or that is overridden; "
        "naming a version that was in use, or `shipped`, rolls back. Tags of the model before it are stale from then on."
    ),
)
def categoriser(
    context: dg.AssetExecutionContext, config: CategoriserConfig, house: dg.ResourceParam[House]
) -> dg.MaterializeResult[None]:
    from pipelines import training

    said: dict[str, Any] = {"by": config.by, "why": config.why, "override": config.override}
    with _told():
        made = training.choose(house.settings.home, config.version, at=datetime.now(UTC), **said)
    context.log.info("%s is in use, before it %s was", made.after, made.before)
    overridden = made.entry.overridden if made.entry else ()
    facts: dict[str, Any] = {
        "before": made.before,
        "after": made.after,
        "by": config.by,
        "why": config.why,
        "objections_overridden": len(overridden),
        "overridden": dg.MetadataValue.md("\n".join(f"- {reason}" for reason in overridden) or "none"),
        "tag_again": dg.MetadataValue.md(_TAG_AGAIN if made.entry else "nothing has changed"),
    }
    return dg.MaterializeResult(metadata=facts, data_version=dg.DataVersion(made.after))


_TAG_AGAIN = (
    "Tags of the model before are stale; the API tags anew until others lie ready. The sensor `changed_buckets` has them made; "
    "to do it now, materialise all partitions of `transaction_tags` and `served_results` in one backfill."
)


@contextmanager
def _told() -> Iterator[None]:
    """Facts about models end a run with the fact, not with a stack; trying again would not change them."""
    from models.errors import ModelError

    try:
        yield
    except ModelError as error:
        raise dg.Failure(f"{type(error).__name__}: {error}", allow_retries=False) from error


def _telling(context: dg.AssetExecutionContext) -> Callable[[str, float], None]:
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
    return _records(rows)


def _records(rows: list[dict[str, Any]]) -> dg.TableMetadataValue:
    """Rows as a table that can be shown: what is no number is nothing."""
    kinds = {bool: "bool", int: "int", float: "float", str: "string"}
    first: Mapping[str, Any] = rows[0] if rows else {"nothing": ""}
    columns = [dg.TableColumn(name, kinds[type(value)]) for name, value in first.items()]
    records = [dg.TableRecord({name: _shown(value) for name, value in row.items()}) for row in rows]
    return dg.MetadataValue.table(records, dg.TableSchema(columns))


def _shown(value: Any) -> Any:
    return (round(value, 4) if isfinite(value) else None) if isinstance(value, float) else value


def _image(png: bytes) -> dg.MarkdownMetadataValue:
    return dg.MetadataValue.md(f"![plot](data:image/png;base64,{base64.b64encode(png).decode()})")


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
CHECKS = [gate]
JOBS = [train_job, promote_job]
