"""The way of a model from settings to a file with a report: simulate, train, examine.

Here belongs the order of these steps, for the command line and for schedules. Nothing here reads a clock or chooses a folder.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from models.categoriser.model import Categoriser
from models.evaluation.labelled import LabelledEvaluation, examine_model
from models.evaluation.reports import report
from models.simulator import Corpus, simulate
from models.simulator.base.banks import FORMATS
from models.training.lexicon_examples import lexicon
from models.training.train import (
    SHIPPED,
    TEST_FORMATS,
    Progress,
    TrainingSettings,
    merged,
    silent,
    train_on,
    training_set,
)

USERS_AT_ONCE = 250


@dataclass(frozen=True)
class World:
    """Which simulated world is learned from, or examined on."""

    users: int = 400
    seed: int = 1
    """Worlds of different seeds share merchants and wordings, but no person and no booking."""
    splits: tuple[str, ...] = ("train", "calibration")
    """Whose merchants, names and wordings occur."""


LEARNED = World()
"""The world that the shipped model has learned from."""
EXAMINED = World(users=300, seed=2, splits=("train", "calibration", "test"))
"""The world that it is examined on."""


def learn(world: World = LEARNED, settings: TrainingSettings = SHIPPED, on_progress: Progress = silent) -> Categoriser:
    """The model that a simulated world teaches."""
    formats = tuple(name for name in FORMATS if name not in TEST_FORMATS)
    examples = merged(training_set(part) for part in simulated(world, formats, on_progress))
    return train_on(examples, settings, on_progress, {"world": asdict(world)})


def examine(model: Categoriser, world: World = EXAMINED, on_progress: Progress = silent) -> LabelledEvaluation:
    """How good a model is by itself, in a world that it has not learned from."""
    parts = list(simulated(world, FORMATS, on_progress))
    whole = LabelledBookings(pl.concat([part.transactions for part in parts]), pl.concat([part.truth for part in parts]))
    on_progress("examine", 0.0)
    found = examine_model(model, whole, lexicon().select("word", "category"))
    on_progress("examine", 1.0)
    return found


def told(model: Categoriser, examination: LabelledEvaluation, world: World = EXAMINED) -> dict[str, Any]:
    """The report of an examination."""
    about = {"model": model.version, "learned": dict(model.facts), "examined": asdict(world)}
    return report(examination.judged, examination.figures, about, examination.baselines)


@dataclass(frozen=True)
class LabelledBookings:
    """Bookings and what is true about them."""

    transactions: pl.DataFrame
    truth: pl.DataFrame


def simulated(world: World, formats: tuple[str, ...] = FORMATS, on_progress: Progress = silent) -> Iterator[Corpus]:
    """The world in parts that fit into memory."""
    for first in range(0, world.users, USERS_AT_ONCE):
        on_progress("simulate", first / world.users)
        count = min(USERS_AT_ONCE, world.users - first)
        yield simulate(count, world.seed, splits=world.splits, formats=formats, first_user=first)
    on_progress("simulate", 1.0)
