"""Retraining step by step: the training set, a candidate, its evaluation beside the model in use, and the choice of a model.

Each step reads the files that the one before it has left in `<home>/models`, so that they can run in one go or days apart:

    training/training_set.parquet         simulated lines
    training/training_feedback.parquet    lines that users have corrected, with whose they are, so that they can be erased
    evaluations/<version>/                the reports on a version and on the model in use, in the same world
    candidate, evaluated                  the version that was trained last, and the one that was evaluated last
    search                                the estimator and the best parameters of the last search, as JSON

They lie beside the files of the registry. How models are trained, evaluated and chosen is up to `models`. A tenant's own models
are evaluated and chosen by the same functions, in a folder of the tenant; `pipelines.training_tenants` trains them.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import polars as pl

from analytics.frames import checked
from analytics.tagging.tag import Tagger
from models import experiment, registry
from models.categoriser.storage import CategoryModel
from models.change_log import VersionChange
from models.errors import ModelError, ModelUnknown, NothingToLearn
from models.evaluation import comparison, gates, reports, tagger
from models.evaluation.metrics import Figure
from models.experiment import TRAINING_FORMATS
from models.progress import Progress, silent
from models.simulator.worlds import World, simulate_parts
from models.training import labelled_files
from models.training.settings import SearchSettings, TrainingSettings
from models.training.train import EXAMPLES, merged, train_on, with_own
from models.training.train import training_set as labelled
from pipelines.training_lines import CORRECTIONS, shared_lines
from warehouse.lake import parquet
from warehouse.lake.erasure import ErasureCounts
from warehouse.lake.storage import Storage
from warehouse.postgres.database import Database
from warehouse.runtime import files

if TYPE_CHECKING:
    from models.training.search import Search

SIMULATED, FEEDBACK = "training_set.parquet", "training_feedback.parquet"
LABELLED_FOLDER = "labelled"
CANDIDATE, INCUMBENT, EVALUATED, SEARCH = "candidate", "incumbent", "evaluated", "search"
_NO_NOTE = {
    CANDIDATE: "no version was trained yet",
    EVALUATED: "no version was evaluated yet",
    SEARCH: "no parameters were searched yet",
}


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
    entry: VersionChange | None


def make_training_set(
    home: Path, world: World, database: Database | None = None, weight: float = 1.0, on_progress: Progress = silent
) -> TrainingSet:
    """Simulates a world and stores its distinct lines, with the labelled lines in `<home>/labelled`; with a database, also the
    corrections of tenants that consent.

    The corrections are read under the lock of the files: an erasure that starts later waits for it, and then finds what was
    written. Without a database, the corrections of an earlier set are removed.
    """
    own_lines = own_labelled_lines(home)
    simulated = merged(labelled(part) for part in simulate_parts(world, TRAINING_FORMATS, on_progress))
    if not own_lines.is_empty():
        simulated = with_own(simulated, labelled_files.examples(own_lines))
    storage = _storage(home)
    with storage.lock("."):
        feedback = CORRECTIONS.to_frame()
        if database is not None:
            with database.surveying() as owner:
                feedback = shared_lines(owner, weight)
        _write_feedback(storage, feedback)
        storage.put(SIMULATED, parquet.encode(simulated, {"world": json.dumps(asdict(world))}))
        return _read_training_set(storage)


def own_labelled_lines(home: Path) -> pl.DataFrame:
    """The lines that operators have put into `<home>/labelled`, checked (`labelled_files.LABELLED`)."""
    folder = home / LABELLED_FOLDER
    return labelled_files.read(folder) if folder.is_dir() else labelled_files.LABELLED.to_frame()


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
    _write_note(registry_folder(home), SEARCH, json.dumps(note, indent=1))
    return best


def with_searched_parameters(home: Path, settings: TrainingSettings) -> TrainingSettings:
    """The settings with estimator and best parameters of the last search; parameters that the settings name stay."""
    best = json.loads(_read_note(registry_folder(home), SEARCH))
    parameters = {**best["parameters"], **settings.parameters}
    return settings.model_copy(update={"estimator": best["estimator"], "parameters": parameters})


def train_candidate(home: Path, settings: TrainingSettings, on_progress: Progress = silent) -> Candidate:
    """Trains a model on the training set and adds it to the registry, without putting it into use."""
    current_set = training_set(home)
    facts = {"world": current_set.world, "training_set": current_set.version, "corrections": current_set.feedback.height}
    model = train_on(current_set.examples, settings, on_progress, facts)
    return Candidate(model, current_set, write_candidate(registry_folder(home), model, facts))


def evaluate(
    home: Path,
    world: World,
    version: str = "",
    on_progress: Progress = silent,
    times: int = 1000,
    tenant: UUID | None = None,
) -> Evaluation:
    """Evaluates a version, by default the last candidate, and the model in use in the same world; writes both reports."""
    registered = registry_folder(home, tenant)
    model = registry.find(registered, version or _read_note(registered, CANDIDATE))
    incumbent_model = model_in_use(home, tenant)
    evaluated_models = {one.version: one for one in (model, incumbent_model)}
    for name, one in evaluated_models.items():
        if one.facts.get("world", {}).get("seed") == world.seed:
            raise NothingToLearn(f"{name} has learned from the world of seed {world.seed}: evaluate it on another one")
    taggers = [Tagger(one) for one in evaluated_models.values()]
    evaluations = dict(zip(evaluated_models, tagger.evaluate_each(taggers, world, on_progress, times), strict=True))
    report_of = {name: experiment.evaluation_report(evaluated_models[name], evaluations[name], world) for name in evaluations}
    candidate, incumbent = report_of[model.version], report_of[incumbent_model.version]
    bookings = (evaluations[name].bookings for name in (model.version, incumbent_model.version))
    compared_reports = comparison.compare(candidate, incumbent, *bookings)
    folder = registered / "evaluations" / model.version
    reports.write(candidate, folder, CANDIDATE)
    reports.write(incumbent, folder, INCUMBENT)
    reasons = gates.objections(*(registry.figures(folder / f"{name}.json") for name in (CANDIDATE, INCUMBENT)))
    reasons += _correction_objections(home, model.version, tenant)
    comparison.write(compared_reports, reasons, folder)
    if model.version != incumbent_model.version:
        registry.add(registered, model, candidate)
    _write_note(registered, EVALUATED, model.version)
    return Evaluation(candidate, incumbent, compared_reports, reasons, folder)


def objections(home: Path, version: str = "", tenant: UUID | None = None) -> list[str]:
    """The reasons not to put a version into use, by default the one evaluated last; none if it passes the gate."""
    evaluated = version or _read_note(registry_folder(home, tenant), EVALUATED)
    return gates.objections(*_compared_figures(home, evaluated, tenant)) + _correction_objections(home, evaluated, tenant)


def choose(
    home: Path,
    version: str = "",
    *,
    by: str,
    why: str,
    at: datetime,
    override: bool = False,
    tenant: UUID | None = None,
) -> Promotion:
    """Puts a version into use: by default the one evaluated last, if it passes the gate or that is overridden.

    A version that was in use before, or `shipped` (for a tenant: `shared`), comes back without a gate. For the version in use,
    or `active`, nothing changes and nothing is logged.
    """
    folder, base = registry_folder(home, tenant), registry.SHARED_NAME if tenant else registry.SHIPPED_NAME
    before = model_in_use(home, tenant).version
    requested_version = version or _read_note(folder, EVALUATED)
    target = requested_version if tenant else registry.registered_name(requested_version)
    if target in (before, "active") or (target == base and not registry.active_version(folder)):
        return Promotion(before, before, None)
    if target == base or (version and target in {entry.version for entry in registry.log(folder)}):
        entry = registry.roll_back(folder, target, by=by, at=at, why=why, base=base)
    else:
        _check_readable(home, target, tenant)
        reason = "gate overridden" if override else None
        entry = registry.promote_figures(
            folder,
            target,
            *_compared_figures(home, target, tenant),
            by=by,
            at=at,
            why=why,
            override_reason=reason,
            base=base,
            further_objections=_correction_objections(home, target, tenant),
        )
    return Promotion(before, model_in_use(home, tenant).version, entry)


def registry_folder(home: Path, tenant: UUID | None = None) -> Path:
    """The folder of the registry, or that of a tenant's own models in it."""
    return registry.tenant_folder(home / "models", tenant) if tenant else home / "models"


def model_in_use(home: Path, tenant: UUID | None = None) -> CategoryModel:
    """The model in use, for a tenant its own if it has one that can be read."""
    if tenant and (version := registry.active_version(registry_folder(home, tenant))):
        with suppress(ModelError):
            return registry.find_own(registry_folder(home), tenant, version)
    return registry.active(registry_folder(home))


def overridden_objections(home: Path, tenant: UUID | None = None) -> tuple[str, ...]:
    """The overridden objections to the model in use; none if it passed the gate, or is the shipped or the shared one."""
    folder = registry_folder(home, tenant)
    active_version = registry.active_version(folder)
    return next(
        (entry.overridden for entry in registry.log(folder) if active_version and entry.version == active_version),
        (),
    )


def write_candidate(folder: Path, model: CategoryModel, facts: Mapping[str, Any]) -> Path:
    """Adds a trained model to a folder of the registry and notes it as the last candidate; the same model keeps its report."""
    path = folder / f"{model.version}.npz"
    if not path.exists():
        registry.add(folder, model, {"about": {"model": model.version, "learned": dict(facts)}, "figures": {}})
    _write_note(folder, CANDIDATE, model.version)
    return path


def _check_readable(home: Path, version: str, tenant: UUID | None) -> None:
    """Raises a `ModelError` if a version cannot be put into use: it is damaged, or another tenant's."""
    if tenant:
        registry.find_own(registry_folder(home), tenant, version)
    else:
        registry.find(registry_folder(home), version)


def corrections_report(home: Path, version: str, tenant: UUID) -> Path:
    """The file with what a tenant's own model makes of its corrections: numbers of lines."""
    return registry_folder(home, tenant) / "evaluations" / version / "corrections.json"


def _correction_objections(home: Path, version: str, tenant: UUID | None) -> list[str]:
    """Why a tenant's own model should not be used: it tags fewer of the corrected lines as people did."""
    if tenant is None or not (path := corrections_report(home, version, tenant)).exists():
        return []
    counts = json.loads(path.read_bytes())
    if counts["right_after"] >= counts["right_before"]:
        return []
    return [f"of {counts['lines']} corrected lines {counts['right_after']} are right, before it {counts['right_before']} were"]


def _compared_figures(home: Path, version: str, tenant: UUID | None = None) -> tuple[dict[str, Figure], dict[str, Figure]]:
    """The figures of a version and of the model in use: of the same world if evaluated together, else those in the registry."""
    folder = registry_folder(home, tenant)
    evaluation_folder = folder / "evaluations" / version
    incumbent_report = evaluation_folder / f"{INCUMBENT}.json"
    if (
        incumbent_report.exists()
        and json.loads(incumbent_report.read_bytes())["about"]["model"] == model_in_use(home, tenant).version
    ):
        return registry.figures(evaluation_folder / f"{CANDIDATE}.json"), registry.figures(incumbent_report)
    return registry.figures(folder / f"{version}.json"), registry.figures(_report_in_use(home, tenant))


def _report_in_use(home: Path, tenant: UUID | None) -> Path:
    """The registered report of the model in use."""
    for folder in dict.fromkeys([registry_folder(home, tenant), registry_folder(home)]):
        if version := registry.active_version(folder):
            return folder / f"{version}.json"
    return registry.SHIPPED_REPORT


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


def _write_note(folder: Path, name: str, version: str) -> None:
    files.replace(folder / name, version.encode())


def _read_note(folder: Path, name: str) -> str:
    path = folder / name
    if not path.exists():
        raise ModelUnknown(_NO_NOTE[name])
    return path.read_text()
