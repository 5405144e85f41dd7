"""Retraining step by step: the training set, a candidate, its evaluation beside the model in use, and the choice of a model.

Each step reads the files that the one before it has left in `<home>/models`, so that they can run in one go or days apart:

    training/training_set.parquet         simulated lines
    training/training_feedback.parquet    lines that users have corrected, with whose they are, so that they can be erased
    evaluations/<version>/                the reports on a version and on the model in use, in the same world
    candidate, evaluated                  the version that was trained last, and the one that was evaluated last
    search                                the estimator and the best parameters of the last search, as JSON

They lie beside the files of the registry. How models are trained, evaluated and chosen is up to `models`.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from analytics import knowledge
from analytics.bank_text import lines
from analytics.frames import checked
from analytics.tagging import partners
from analytics.tagging.tag import Tagger
from analytics.trees import tree
from models import experiment, registry
from models.categoriser.features import hinted
from models.categoriser.storage import CategoryModel
from models.errors import ModelUnknown, NothingToLearn
from models.evaluation import comparison, gates, reports, tagger
from models.evaluation.metrics import Figure
from models.experiment import TRAINING_FORMATS
from models.progress import Progress, silent
from models.registry import RegistryEntry
from models.simulator.worlds import World, simulate_parts
from models.training.settings import SearchSettings, TrainingSettings
from models.training.train import (
    EXAMPLES,
    from_text_alone,
    merged,
    train_on,
)
from models.training.train import training_set as labelled
from warehouse import files
from warehouse.lake import parquet
from warehouse.lake.erasure import ErasureCounts
from warehouse.lake.storage import Storage
from warehouse.postgres.database import Database, Owner
from warehouse.stores import choices

if TYPE_CHECKING:
    from models.training.search import Search

SIMULATED, FEEDBACK = "training_set.parquet", "training_feedback.parquet"
CANDIDATE, INCUMBENT, EVALUATED, SEARCH = "candidate", "incumbent", "evaluated", "search"
_NO_NOTE = {
    CANDIDATE: "no version was trained yet",
    EVALUATED: "no version was evaluated yet",
    SEARCH: "no parameters were searched yet",
}
CORRECTIONS = pl.Schema([("user", pl.String), ("access", pl.String), *EXAMPLES.items()])
"""`EXAMPLES` from corrections, each user, line and category once."""


@dataclass(frozen=True)
class TrainingSet:
    """Lines to learn from: simulated ones (`EXAMPLES`), and corrections of users (`CORRECTIONS`)."""

    version: str
    world: Mapping[str, Any]
    simulated: pl.DataFrame
    feedback: pl.DataFrame

    @cached_property
    def examples(self) -> pl.DataFrame:
        """All lines, without their users (`EXAMPLES`)."""
        if self.feedback.is_empty():
            return self.simulated
        return merged([self.simulated, self.feedback.select(EXAMPLES.names())])


@dataclass(frozen=True)
class Candidate:
    """A trained model in the registry, not in use."""

    model: CategoryModel
    training_set: TrainingSet
    path: Path


@dataclass(frozen=True)
class Evaluation:
    """The reports of a candidate and of the model in use, on the same world, both compared, and the folder in which they lie."""

    candidate: Mapping[str, Any]
    incumbent: Mapping[str, Any]
    comparison: Mapping[str, Any]
    objections: list[str]
    folder: Path

    def picture(self, name: str) -> bytes:
        """A chart of the candidate's report, as PNG."""
        return (self.folder / f"{CANDIDATE}-{name}.png").read_bytes()

    def page(self) -> str:
        """The comparison as Markdown."""
        return comparison.markdown(self.comparison, self.objections)


@dataclass(frozen=True)
class Promotion:
    """The versions in use before and after, and the log entry if they differ."""

    before: str
    after: str
    entry: RegistryEntry | None


def make_training_set(
    home: Path, world: World, database: Database | None = None, weight: float = 1.0, on_progress: Progress = silent
) -> TrainingSet:
    """Simulates a world and stores its distinct lines; with a database, also the corrections of tenants that consent.

    The corrections are read under the lock of the files: an erasure that starts later waits for it, and then finds what was
    written. Without a database, the corrections of an earlier set are removed.
    """
    simulated = merged(labelled(part) for part in simulate_parts(world, TRAINING_FORMATS, on_progress))
    storage = _storage(home)
    with storage.lock("."):
        feedback = CORRECTIONS.to_frame()
        if database is not None:
            with database.surveying() as owner:
                feedback = corrections(owner, weight)
        _write_feedback(storage, feedback)
        storage.put(SIMULATED, parquet.encode(simulated, {"world": json.dumps(asdict(world))}))
        return _read_training_set(storage)


def corrections(owner: Owner, weight: float = 1.0) -> pl.DataFrame:
    """The corrections of users whose tenants consent (`CORRECTIONS`): of their bookings only the normalised lines.

    Left out are categories that no text shows or that the sign forbids, and merchants of the evaluation: a model trained on
    them would be rated too well.
    """
    corrected_bookings = choices.of_consenting_tenants(owner)
    signs = {item.system_name: item.sign for item in tree("CATEGORIES").items if item.assignable}
    sign = pl.col("category").replace_strict(signs, default="", return_dtype=pl.String)
    booking_sign = pl.when(pl.col("amount_cents") >= 0).then(pl.lit("+")).otherwise(pl.lit("-"))
    usable = corrected_bookings.filter((sign == "±") | (sign == booking_sign), from_text_alone(pl.col("category")))
    distinct = usable.with_columns(key=lines.keys(usable)).unique(["user", "key", "category"], keep="first", maintain_order=True)
    if distinct.is_empty():
        return CORRECTIONS.to_frame()
    first_of_line = distinct.unique("key", keep="first", maintain_order=True)
    examples_of_lines = hinted(_without_test_brands(lines.read(first_of_line.select(lines.READ))))
    examples = distinct.select("user", "access", "category", "key").join(examples_of_lines, on="key", maintain_order="left")
    return checked(examples.with_columns(count=pl.lit(weight, pl.Float64), part=pl.lit("train")), CORRECTIONS)


def training_set(home: Path) -> TrainingSet:
    """The training set that was made last."""
    storage = _storage(home)
    with storage.lock("."):
        return _read_training_set(storage)


def forget(home: Path, ids: Collection[str], kind: str = "user") -> ErasureCounts:
    """Removes the lines of users, or of accesses, from the training set.

    Unfinished files of a crashed writer go too. Trained models stay: they hold sums over hashed letters, no lines.
    """
    if not (home / "models" / "training").is_dir():
        return ErasureCounts()
    storage = _storage(home)
    with storage.lock("."):
        leftovers = storage.remove(*(name for name in storage.entries() if name not in (SIMULATED, FEEDBACK)))
        feedback = _read_feedback(storage)  # unchecked: erasing works for files of older schemas too
        remaining = feedback.filter(~pl.col(kind).is_in(list(ids)))
        if remaining.height < feedback.height:
            _write_feedback(storage, remaining)
        return ErasureCounts(len(storage.entries()), feedback.height - remaining.height, leftovers)


def search(home: Path, settings: TrainingSettings, choices: SearchSettings, on_progress: Progress = silent) -> "Search":
    """Searches parameters on lines of the training set, and notes the best ones for the next candidate."""
    from models.training import search as searching  # loads scikit-learn, which erasing corrections need not

    best = searching.search(training_set(home).examples, settings, choices, on_progress)
    note = {"estimator": best.estimator, "parameters": best.parameters, best.scoring: best.score}
    _write_note(home, SEARCH, json.dumps(note, indent=1))
    return best


def with_searched_parameters(home: Path, settings: TrainingSettings) -> TrainingSettings:
    """The settings with estimator and best parameters of the last search; parameters that the settings name stay."""
    best = json.loads(_read_note(home, SEARCH))
    parameters = {**best["parameters"], **settings.parameters}
    return settings.model_copy(update={"estimator": best["estimator"], "parameters": parameters})


def train_candidate(home: Path, settings: TrainingSettings, on_progress: Progress = silent) -> Candidate:
    """Trains a model on the training set and adds it to the registry, without putting it into use."""
    current_set = training_set(home)
    facts = {"world": current_set.world, "training_set": current_set.version, "corrections": current_set.feedback.height}
    model = train_on(current_set.examples, settings, on_progress, facts)
    path = registry_folder(home) / f"{model.version}.npz"
    if not path.exists():  # the same model again keeps its report
        registry.add(registry_folder(home), model, {"about": {"model": model.version, "learned": facts}, "figures": {}})
    _write_note(home, CANDIDATE, model.version)
    return Candidate(model, current_set, path)


def evaluate(home: Path, world: World, version: str = "", on_progress: Progress = silent, times: int = 1000) -> Evaluation:
    """Evaluates a version, by default the last candidate, and the model in use in the same world; writes both reports."""
    model = registry.find(registry_folder(home), version or _read_note(home, CANDIDATE))
    incumbent_model = registry.active(registry_folder(home))
    evaluated_models = {one.version: one for one in (model, incumbent_model)}
    for name, one in evaluated_models.items():
        if one.facts.get("world", {}).get("seed") == world.seed:
            raise NothingToLearn(f"{name} has learned from the world of seed {world.seed}: evaluate it on another one")
    evaluations = {
        name: tagger.evaluate(Tagger(one), world, _progress_of(name, on_progress), times)
        for name, one in evaluated_models.items()
    }
    report_of = {name: experiment.evaluation_report(evaluated_models[name], evaluations[name], world) for name in evaluations}
    candidate, incumbent = report_of[model.version], report_of[incumbent_model.version]
    bookings = (evaluations[name].bookings for name in (model.version, incumbent_model.version))
    compared_reports = comparison.compare(candidate, incumbent, *bookings)
    folder = registry_folder(home) / "evaluations" / model.version
    reports.write(candidate, folder, CANDIDATE)
    reports.write(incumbent, folder, INCUMBENT)
    reasons = gates.objections(*(registry.figures(folder / f"{name}.json") for name in (CANDIDATE, INCUMBENT)))
    comparison.write(compared_reports, reasons, folder)
    if model.version != incumbent_model.version:
        registry.add(registry_folder(home), model, candidate)
    _write_note(home, EVALUATED, model.version)
    return Evaluation(candidate, incumbent, compared_reports, reasons, folder)


def objections(home: Path, version: str = "") -> list[str]:
    """The reasons not to put a version into use, by default the one evaluated last; none if it passes the gate."""
    return gates.objections(*_compared_figures(home, version or _read_note(home, EVALUATED)))


def choose(home: Path, version: str = "", *, by: str, why: str, at: datetime, override: bool = False) -> Promotion:
    """Puts a version into use: by default the one evaluated last, if it passes the gate or that is overridden.

    A version that was in use before, or `shipped`, comes back without a gate. For the version in use, or `active`, nothing
    changes and nothing is logged.
    """
    folder = registry_folder(home)
    before = registry.active(folder).version
    target = registry.registered_name(version or _read_note(home, EVALUATED))
    if target in (before, "active") or (target == registry.SHIPPED_NAME and not registry.active_version(folder)):
        return Promotion(before, before, None)
    if target == registry.SHIPPED_NAME or (version and target in {entry.version for entry in registry.log(folder)}):
        entry = registry.roll_back(folder, target, by=by, at=at, why=why)
    else:
        registry.find(folder, target)
        reason = "gate overridden" if override else None
        entry = registry.promote_figures(
            folder, target, *_compared_figures(home, target), by=by, at=at, why=why, override_reason=reason
        )
    return Promotion(before, registry.active(folder).version, entry)


def registry_folder(home: Path) -> Path:
    """The folder of the registry."""
    return home / "models"


def overridden_objections(home: Path) -> tuple[str, ...]:
    """The overridden objections to the model in use; none if it passed the gate, or is the shipped one."""
    active_version = registry.active_version(registry_folder(home))
    return next(
        (entry.overridden for entry in registry.log(registry_folder(home)) if active_version and entry.version == active_version),
        (),
    )


def _compared_figures(home: Path, version: str) -> tuple[dict[str, Figure], dict[str, Figure]]:
    """The figures of a version and of the model in use: of the same world if evaluated together, else those in the registry."""
    folder, active_version = registry_folder(home), registry.active_version(registry_folder(home))
    evaluation_folder = folder / "evaluations" / version
    incumbent_report = evaluation_folder / f"{INCUMBENT}.json"
    if (
        incumbent_report.exists()
        and json.loads(incumbent_report.read_bytes())["about"]["model"] == registry.active(folder).version
    ):
        return registry.figures(evaluation_folder / f"{CANDIDATE}.json"), registry.figures(incumbent_report)
    registered_report = folder / f"{active_version}.json" if active_version else registry.SHIPPED_REPORT
    return registry.figures(folder / f"{version}.json"), registry.figures(registered_report)


def _without_test_brands(read_lines: pl.DataFrame) -> pl.DataFrame:
    """The lines (`LINES`) without partners whose brands are kept for the evaluation."""
    catalogue = knowledge.partners()
    training_catalogue = tagger.without_unseen_partners(Tagger(registry.shipped(), catalogue)).catalogue.frame
    test_partners = catalogue.frame.join(training_catalogue, on="partner", how="anti")["partner"]
    return read_lines.filter(~partners.add_partners(read_lines, catalogue)["partner"].is_in(test_partners.implode()))


def _storage(home: Path) -> Storage:
    storage = Storage.of(str(registry_folder(home) / "training"))
    storage.prepare()
    return storage


def _read_training_set(storage: Storage) -> TrainingSet:
    try:
        simulated, footer = parquet.read_raw(storage, SIMULATED), parquet.footer(storage, SIMULATED)
    except FileNotFoundError as error:
        raise NothingToLearn("there is no training set: make `training_set` first") from error
    content = hashlib.sha256(Path(storage.at(SIMULATED)).read_bytes())
    feedback = checked(_read_feedback(storage), CORRECTIONS)
    if feedback.height:
        content.update(Path(storage.at(FEEDBACK)).read_bytes())
    return TrainingSet(content.hexdigest()[:12], json.loads(footer.about["world"]), checked(simulated, EXAMPLES), feedback)


def _read_feedback(storage: Storage) -> pl.DataFrame:
    try:
        return parquet.read_raw(storage, FEEDBACK)
    except FileNotFoundError:
        return CORRECTIONS.to_frame()


def _write_feedback(storage: Storage, feedback: pl.DataFrame) -> None:
    """Replaces the file of corrections, or removes it if there are none."""
    if feedback.is_empty():
        storage.remove(FEEDBACK)
    else:
        storage.put(FEEDBACK, parquet.encode(feedback, {}))


def _write_note(home: Path, name: str, version: str) -> None:
    files.replace(registry_folder(home) / name, version.encode())


def _read_note(home: Path, name: str) -> str:
    path = registry_folder(home) / name
    if not path.exists():
        raise ModelUnknown(_NO_NOTE[name])
    return path.read_text()


def _progress_of(version: str, on_progress: Progress) -> Progress:
    return lambda step, share: on_progress(f"{step} {version}", share)
