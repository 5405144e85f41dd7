"""A tenant's own model: the shared one, trained once more with what the tenant's users have corrected and what its rules say.

Here is what is learned for a tenant and what it changed. Evaluating, putting into use and rolling back are the functions of
`pipelines.training`, in the folder of the tenant. The corrected lines are read from the database for each training and stored
nowhere: what a user has erased is not learned again. Tables about them are counts, with names of merchants only where nobody
could be recognised by them.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl

from analytics import knowledge
from analytics.frames import LINES
from analytics.tagging import partners
from analytics.tagging.tag import Tagger, tag_lines
from models import experiment
from models.categoriser.file import write_atomically
from models.categoriser.storage import CategoryModel
from models.errors import EstimatorInvalid, NothingToLearn
from models.progress import Progress, silent
from models.simulator.worlds import TRAINING_WORLD, World, simulate_parts
from models.training.estimators import ESTIMATORS
from models.training.settings import TrainingSettings
from models.training.train import EXAMPLES, merged, train_on, with_own
from models.training.train import training_set as labelled
from pipelines import training
from pipelines.training_lines import tenant_lines
from warehouse.postgres.database import Database

DEFAULT_WEIGHT = 100.0
"""For how many bookings a correction stands in a tenant's own model."""
MIN_NAMED_USERS = 3
"""A merchant that the catalogue does not have is named only if so many users have corrected it."""
OTHER_MERCHANTS = "other merchants"
CHANGES = pl.Schema(
    {
        "merchant": pl.String,
        "corrected": pl.String,
        "before": pl.String,
        "after": pl.String,
        "lines": pl.UInt32,
        "confidence_before": pl.Float64,
        "confidence_after": pl.Float64,
    }
)
"""What became of corrected lines: the category that people gave them, and what the tagger says before and after."""


@dataclass(frozen=True)
class TenantCandidate:
    """A tenant's own model in its folder, not in use, and what its corrections have changed."""

    model: CategoryModel
    shared: str
    """The version of the shared model that it rests on."""
    lines: int
    users: int
    right_before: int
    """Corrected lines that the tagger with the model in use tags as people did."""
    right_after: int
    changes: pl.DataFrame
    """`CHANGES`."""
    path: Path


def train_own_model(
    home: Path,
    database: Database,
    tenant: UUID,
    weight: float = DEFAULT_WEIGHT,
    settings: TrainingSettings | None = None,
    on_progress: Progress = silent,
) -> TenantCandidate:
    """Trains a model for a tenant and stores it in its folder, without putting it into use.

    It learns from the lines of the shared model and from those of the tenant, with the shared model's settings. Where people
    have corrected a line, their word replaces that of the simulation.
    """
    with database.surveying() as owner:
        own_lines = tenant_lines(owner, tenant, weight)
    if own_lines.is_empty():
        raise NothingToLearn("the tenant has no corrections to learn from, or does not consent to learning from them")
    shared = training.model_in_use(home)
    own_settings = settings or settings_of(shared)
    world = _world_of(shared)
    facts: dict[str, Any] = {
        "world": asdict(world),
        "tenant": str(tenant),
        "shared": shared.version,
        "corrections": own_lines.height,
        "weight": weight,
    }
    examples = own_lines.select(EXAMPLES.names())
    shared_examples = _shared_examples(home, shared, world, on_progress)
    own_settings = own_settings.model_copy(update={"label": f"{shared.label.removesuffix('.own')[:40]}.own"})
    model = train_on(with_own(shared_examples, examples), own_settings, on_progress, facts)
    path = training.write_candidate(training.registry_folder(home, tenant), model, facts)
    tagged_lines = _tagged_twice(own_lines, training.model_in_use(home, tenant), model)
    right_before, right_after = (int((tagged_lines["corrected"] == tagged_lines[name]).sum()) for name in ("before", "after"))
    users = own_lines.filter(pl.col("user") != "")["user"].n_unique()
    counts = {"lines": own_lines.height, "right_before": right_before, "right_after": right_after}
    write_atomically(training.corrections_report(home, model.version, tenant), json.dumps(counts).encode())
    return TenantCandidate(
        model, shared.version, own_lines.height, users, right_before, right_after, summary_of_changes(tagged_lines), path
    )


def settings_of(model: CategoryModel) -> TrainingSettings:
    """The settings of a model, as far as the training of today has them.

    An estimator that is a function of somebody's package is not taken from a file: naming it would run it.
    """
    all_settings: Mapping[str, Any] = model.facts.get("settings", {})
    settings = TrainingSettings(**{name: value for name, value in all_settings.items() if name in TrainingSettings.model_fields})
    if settings.estimator not in ESTIMATORS:
        raise EstimatorInvalid(f"the shared model was trained by {settings.estimator}: name it in the settings to run it again")
    return settings


def summary_of_changes(tagged_lines: pl.DataFrame) -> pl.DataFrame:
    """The lines in groups (`CHANGES`), the most frequent first, without a text that could tell of a person."""
    return (
        tagged_lines.group_by("merchant", "corrected", "before", "after", maintain_order=True)
        .agg(lines=pl.len(), confidence_before=pl.mean("confidence_before"), confidence_after=pl.mean("confidence_after"))
        .sort("lines", "merchant", "corrected", "before", "after", descending=[True, False, False, False, False])
        .cast(dict(CHANGES))  # type: ignore[arg-type]
        .select(CHANGES.names())
    )


def _tagged_twice(own_lines: pl.DataFrame, model_before: CategoryModel, model_after: CategoryModel) -> pl.DataFrame:
    """The corrected lines with the categories and confidences of both models, and the name under which a line may be shown."""
    read_lines = own_lines.unique("key", maintain_order=True).select(LINES.names())
    columns = {"category": "{}", "category_confidence": "confidence_{}"}
    tagged = own_lines.select("key", "user", corrected="category")
    for when, model in (("before", model_before), ("after", model_after)):
        names = {column: name.format(when) for column, name in columns.items()}
        tags = tag_lines(read_lines, Tagger(model)).select("key", *names).rename(names)
        tagged = tagged.join(tags, on="key", how="left", maintain_order="left")
    return tagged.join(shown_merchants(own_lines, read_lines), on="key", how="left", maintain_order="left")


def shown_merchants(own_lines: pl.DataFrame, read_lines: pl.DataFrame) -> pl.DataFrame:
    """For each line (`key`) the partner of the catalogue, or the merchant that several users have corrected."""
    catalogue = knowledge.partners()
    names = dict(catalogue.frame.select("partner", "display_name").iter_rows())
    partner = partners.add_partners(read_lines, catalogue)["partner"]
    users = own_lines.filter(pl.col("merchant") != "").group_by("merchant").agg(users=pl.col("user").n_unique())
    return (
        read_lines.select("key", "merchant", partner=partner)
        .join(users, on="merchant", how="left", maintain_order="left")
        .select(
            "key",
            merchant=pl.coalesce(
                pl.col("partner").replace_strict(names, default=None, return_dtype=pl.String),
                pl.when(pl.col("users") >= MIN_NAMED_USERS).then("merchant"),
                pl.lit(OTHER_MERCHANTS),
            ),
        )
    )


def _shared_examples(home: Path, shared: CategoryModel, world: World, on_progress: Progress) -> pl.DataFrame:
    """The lines (`EXAMPLES`) that the shared model has learned from: the stored ones if they are those, else simulated again."""
    try:
        stored_set = training.training_set(home)
    except NothingToLearn:
        stored_set = None
    if stored_set is not None and shared.facts.get("training_set") == stored_set.version:
        return stored_set.examples
    if stored_set is not None and _world(stored_set.world) == world:
        return stored_set.simulated
    return merged(map(labelled, simulate_parts(world, experiment.TRAINING_FORMATS, on_progress)))


def _world_of(model: CategoryModel) -> World:
    """The simulated world that a model was trained on."""
    return _world(model.facts.get("world") or asdict(TRAINING_WORLD))


def _world(facts: Mapping[str, Any]) -> World:
    return World(int(facts["users"]), int(facts["seed"]), tuple(facts["splits"]))
