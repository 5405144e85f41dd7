"""Retraining step by step: the training set, a candidate, its evaluation beside the model in use, and the choice of a model.

Each step finds what the one before it has left in `<home>/models`, so that they can run in one go or days apart:

    training/training_set.parquet         simulated lines
    training/training_feedback.parquet    lines that users have corrected, with whose they are, so that they can be erased
    evaluations/<version>/                what was found of a version, and of the model in use, in the same world
    candidate, evaluated                  the version that was trained last, and the one that was evaluated last

They lie beside the files of the registry. How something is learned, judged and chosen is the business of `models`.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from analytics import knowledge
from analytics.bank_text import lines
from analytics.frames import checked
from analytics.tagging import partners
from analytics.tagging.tag import Tagger
from analytics.trees import tree
from models import experiment, registry
from models.categoriser.features import hinted
from models.categoriser.model import Categoriser
from models.errors import ModelUnknown, NothingToLearn
from models.evaluation import comparison, gates, reports, tagger
from models.evaluation.metrics import Figure
from models.experiment import World
from models.registry import RegistryEntry
from models.simulator.base.banks import FORMATS
from models.training.train import (
    EXAMPLES,
    TEST_FORMATS,
    Progress,
    TrainingSettings,
    from_text_alone,
    merged,
    silent,
    train_on,
)
from models.training.train import training_set as labelled
from warehouse import files
from warehouse.lake import parquet
from warehouse.lake.storage import Storage
from warehouse.postgres.database import Database, Owner
from warehouse.stores import training_corrections

SIMULATED, FEEDBACK = "training_set.parquet", "training_feedback.parquet"
CANDIDATE, INCUMBENT, EVALUATED = "candidate", "incumbent", "evaluated"
CORRECTIONS = pl.Schema([("user", pl.String), ("access", pl.String), *EXAMPLES.items()])
"""`EXAMPLES` that users have given, each once for a user, a line and a category."""
_OF_OTHERS = datetime(9999, 1, 1, tzinfo=UTC)
"""Every unfinished file is older: whoever holds the lock knows that its writer is dead."""


@dataclass(frozen=True)
class TrainingSet:
    """Lines to learn from: simulated ones (`EXAMPLES`), and those of users (`CORRECTIONS`)."""

    version: str
    world: Mapping[str, Any]
    simulated: pl.DataFrame
    feedback: pl.DataFrame

    @cached_property
    def examples(self) -> pl.DataFrame:
        """All of them, without whose they are (`EXAMPLES`)."""
        if self.feedback.is_empty():
            return self.simulated
        return merged([self.simulated, self.feedback.select(EXAMPLES.names())])


@dataclass(frozen=True)
class Candidate:
    """A model that was trained and is in the registry."""

    model: Categoriser
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
        """A picture of the candidate's report."""
        return (self.folder / f"{CANDIDATE}-{name}.png").read_bytes()

    def page(self) -> str:
        """The comparison to read."""
        return comparison.markdown(self.comparison, self.objections)


@dataclass(frozen=True)
class Promotion:
    """Which version was in use before, which one is now, and the entry in the log if that is another one."""

    before: str
    after: str
    entry: RegistryEntry | None


def make_training_set(
    home: Path, world: World, database: Database | None = None, weight: float = 1.0, on_progress: Progress = silent
) -> TrainingSet:
    """Simulates a world and keeps its distinct lines; with a database, also the corrections of tenants that consent.

    The corrections are read while nobody else may touch the files: who is erased after that finds the lock taken, and what was
    written when it is free. Without a database, those of an earlier set are gone.
    """
    formats = tuple(name for name in FORMATS if name not in TEST_FORMATS)
    simulated = merged(labelled(part) for part in experiment.simulated(world, formats, on_progress))
    place = _place(home)
    with place.lock("."):
        feedback = CORRECTIONS.to_frame()
        if database is not None:
            with database.surveying() as operator:
                feedback = corrections(operator, weight)
        _keep(place, feedback)
        place.put(SIMULATED, parquet.encode(simulated, {"world": json.dumps(asdict(world))}))
        return _read(place)


def corrections(operator: Owner, weight: float = 1.0) -> pl.DataFrame:
    """What users of tenants that consent have corrected (`CORRECTIONS`): of their bookings only the lines, as they are read.

    Left out are categories that no text shows or that the sign forbids, and merchants of the examination: a model that knew them
    would be judged too well.
    """
    found = training_corrections.whole(operator)
    signs = {item.system_name: item.sign for item in tree("CATEGORIES").items if item.assignable}
    sign = pl.col("category").replace_strict(signs, default="", return_dtype=pl.String)
    given = pl.when(pl.col("amount_cents") >= 0).then(pl.lit("+")).otherwise(pl.lit("-"))
    usable = found.filter((sign == "±") | (sign == given), from_text_alone(pl.col("category")))
    own = usable.with_columns(key=lines.keys(usable)).unique(["user", "key", "category"], keep="first", maintain_order=True)
    if own.is_empty():
        return CORRECTIONS.to_frame()
    first = own.unique("key", keep="first", maintain_order=True)
    told = hinted(_without_examined(lines.read(first.select(lines.READ))))
    whole = own.select("user", "access", "category", "key").join(told, on="key", maintain_order="left")
    return checked(whole.with_columns(count=pl.lit(weight, pl.Float64), part=pl.lit("train")), CORRECTIONS)


def training_set(home: Path) -> TrainingSet:
    """The training set that was made last."""
    place = _place(home)
    with place.lock("."):
        return _read(place)


def forget(home: Path, ids: Collection[str], kind: str = "user") -> int:
    """Removes the lines of users, or of accesses, from what is learned from; says how many that were.

    Also goes what a crashed writer has left. Models that are trained already stay: they hold sums over hashed letters, no lines.
    """
    if not (home / "models" / "training").is_dir():
        return 0
    place = _place(home)
    with place.lock("."):
        place.sweep(_OF_OTHERS)
        known = _feedback(place)  # with the columns that it has: erasing does not wait for the next training set
        left = known.filter(~pl.col(kind).is_in(list(ids)))
        if left.height < known.height:
            _keep(place, left)
        return known.height - left.height


def train_candidate(home: Path, settings: TrainingSettings, on_progress: Progress = silent) -> Candidate:
    """Trains a model on the training set and puts it into the registry. It is not in use by that."""
    learned = training_set(home)
    facts = {"world": learned.world, "training_set": learned.version, "corrections": learned.feedback.height}
    model = train_on(learned.examples, settings, on_progress, facts)
    path = models(home) / f"{model.version}.npz"
    if not path.exists():  # the same model again keeps its report
        registry.add(models(home), model, {"about": {"model": model.version, "learned": facts}, "figures": {}})
    _note(home, CANDIDATE, model.version)
    return Candidate(model, learned, path)


def evaluate(home: Path, world: World, version: str = "", on_progress: Progress = silent, times: int = 1000) -> Evaluation:
    """Examines a version, by default the last candidate, and the model in use on the same world; writes both reports."""
    model, used = registry.find(models(home), version or _noted(home, CANDIDATE)), registry.active(models(home))
    both = {model.version: model, used.version: used}.values()
    for one in both:
        if one.facts.get("world", {}).get("seed") == world.seed:
            raise NothingToLearn(f"{one.version} has learned from the world of seed {world.seed}: examine on another one")
    told: dict[str, dict[str, Any]] = {}
    judged: dict[str, pl.DataFrame] = {}
    for one in both:
        examination = tagger.examine(Tagger(one), world, _within(one.version, on_progress), times)
        told[one.version], judged[one.version] = experiment.told(one, examination, world), examination.judged
    candidate, incumbent = told[model.version], told[used.version]
    compared = comparison.compared(candidate, incumbent, judged[model.version], judged[used.version])
    folder = models(home) / "evaluations" / model.version
    reports.write(candidate, folder, CANDIDATE)
    reports.write(incumbent, folder, INCUMBENT)
    reasons = gates.objections(*(registry.figures(folder / f"{name}.json") for name in (CANDIDATE, INCUMBENT)))
    comparison.write(compared, reasons, folder)
    if model.version != used.version:
        registry.add(models(home), model, candidate)
    _note(home, EVALUATED, model.version)
    return Evaluation(candidate, incumbent, compared, reasons, folder)


def objections(home: Path, version: str = "") -> list[str]:
    """Why a version, by default the one that was evaluated last, should not be put into use; none if the gate is passed."""
    return gates.objections(*_compared(home, version or _noted(home, EVALUATED)))


def choose(home: Path, version: str = "", *, by: str, why: str, at: datetime, override: bool = False) -> Promotion:
    """Puts a version into use: by default the one that was evaluated last, if it passes the gate or that is overridden.

    A version that was in use before, or `shipped`, comes back without a gate. One that is in use, or `active`, stays so, and
    nothing is logged.
    """
    folder = models(home)
    before = registry.active(folder).version
    wanted = registry.named(version or _noted(home, EVALUATED))
    if wanted in (before, "active") or (wanted == registry.SHIPPED_NAME and not registry.active_version(folder)):
        return Promotion(before, before, None)
    if wanted == registry.SHIPPED_NAME or (version and wanted in {entry.version for entry in registry.log(folder)}):
        entry = registry.roll_back(folder, wanted, by=by, at=at, why=why)
    else:
        registry.find(folder, wanted)
        reason = "gate overridden" if override else None
        entry = registry.promote_figures(folder, wanted, *_compared(home, wanted), by=by, at=at, why=why, override_reason=reason)
    return Promotion(before, registry.active(folder).version, entry)


def models(home: Path) -> Path:
    """The folder of the registry."""
    return home / "models"


def set_aside(home: Path) -> tuple[str, ...]:
    """The objections to the model in use that somebody has overridden; none if it came by the gate, or is the shipped one."""
    used = registry.active_version(models(home))
    return next((entry.overridden for entry in registry.log(models(home)) if used and entry.version == used), ())


def _compared(home: Path, version: str) -> tuple[dict[str, Figure], dict[str, Figure]]:
    """The figures of a version and of the model in use: from one world if they were evaluated together, else as registered."""
    folder, used = models(home), registry.active_version(models(home))
    together = folder / "evaluations" / version
    other = together / f"{INCUMBENT}.json"
    if other.exists() and json.loads(other.read_bytes())["about"]["model"] == registry.active(folder).version:
        return registry.figures(together / f"{CANDIDATE}.json"), registry.figures(other)
    incumbent = folder / f"{used}.json" if used else registry.SHIPPED_REPORT
    return registry.figures(folder / f"{version}.json"), registry.figures(incumbent)


def _without_examined(found: pl.DataFrame) -> pl.DataFrame:
    """The lines (`LINES`) whose partner is none of the brands that only the examination knows."""
    catalogue = knowledge.partners()
    learnable = tagger.without_unseen(Tagger(registry.shipped(), catalogue)).catalogue.frame
    examined = catalogue.frame.join(learnable, on="partner", how="anti")["partner"]
    return found.filter(~partners.resolve(found, catalogue)["partner"].is_in(examined.implode()))


def _place(home: Path) -> Storage:
    place = Storage.of(str(models(home) / "training"))
    place.prepare()
    return place


def _read(place: Storage) -> TrainingSet:
    try:
        simulated, told = parquet.read_raw(place, SIMULATED), parquet.footer(place, SIMULATED)
    except FileNotFoundError as error:
        raise NothingToLearn("there is no training set: make `training_set` first") from error
    content = hashlib.sha256(Path(place.at(SIMULATED)).read_bytes())
    feedback = checked(_feedback(place), CORRECTIONS)
    if feedback.height:
        content.update(Path(place.at(FEEDBACK)).read_bytes())
    return TrainingSet(content.hexdigest()[:12], json.loads(told.about["world"]), checked(simulated, EXAMPLES), feedback)


def _feedback(place: Storage) -> pl.DataFrame:
    try:
        return parquet.read_raw(place, FEEDBACK)
    except FileNotFoundError:
        return CORRECTIONS.to_frame()


def _keep(place: Storage, feedback: pl.DataFrame) -> None:
    """Replaces the lines of users; where there are none, there is no file."""
    if feedback.is_empty():
        place.remove(FEEDBACK)
    else:
        place.put(FEEDBACK, parquet.encode(feedback, {}))


def _note(home: Path, name: str, version: str) -> None:
    files.replace(models(home) / name, version.encode())


def _noted(home: Path, name: str) -> str:
    path = models(home) / name
    if not path.exists():
        raise ModelUnknown(f"no version was {'trained' if name == CANDIDATE else 'evaluated'} yet")
    return path.read_text()


def _within(version: str, on_progress: Progress) -> Progress:
    return lambda step, share: on_progress(f"{step} {version}", share)
