"""The steps from a simulated world to a trained model, and from its evaluation to a report.

The command line and the scheduled pipelines share them. Nothing here reads a clock or chooses a folder.
"""

from dataclasses import asdict
from typing import Any

import polars as pl

from models.categoriser.storage import CategoryModel
from models.evaluation.labelled import LabelledEvaluation
from models.evaluation.reports import report
from models.progress import Progress, silent
from models.simulator.base.banks import FORMATS
from models.simulator.worlds import TRAINING_WORLD, World, simulate_parts
from models.training.settings import SHIPPED, TrainingSettings
from models.training.train import TEST_FORMATS, merged, train_on, training_set, with_own

TRAINING_FORMATS = tuple(name for name in FORMATS if name not in TEST_FORMATS)


def train_categoriser(
    world: World = TRAINING_WORLD,
    settings: TrainingSettings = SHIPPED,
    on_progress: Progress = silent,
    own_examples: pl.DataFrame | None = None,
) -> CategoryModel:
    """A categoriser trained on a simulated world, and on examples of one's own (`EXAMPLES`)."""
    simulated = merged(training_set(part) for part in simulate_parts(world, TRAINING_FORMATS, on_progress))
    facts: dict[str, Any] = {"world": asdict(world)}
    if own_examples is None or own_examples.is_empty():
        return train_on(simulated, settings, on_progress, facts)
    return train_on(with_own(simulated, own_examples), settings, on_progress, facts | {"labelled_lines": own_examples.height})


def evaluation_report(model: CategoryModel, evaluation: LabelledEvaluation, world: World) -> dict[str, Any]:
    """The report of a model's evaluation in a world, as plain values."""
    about = {"model": model.version, "learned": dict(model.facts), "examined": asdict(world)}
    return report(evaluation.bookings, evaluation.figures, about, evaluation.baselines, evaluation.without_model)
