"""Which simulated world is meant, and its simulation in parts that fit into memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from models.simulator.base.banks import FORMATS
from models.simulator.base.corpus import Corpus
from models.simulator.simulation import simulate

USERS_PER_PART = 250


@dataclass(frozen=True)
class World:
    """A simulated world, for training or for evaluation."""

    users: int = 400
    seed: int = 1
    """Worlds of different seeds share merchants and wordings, but no person and no booking."""
    splits: tuple[str, ...] = ("train", "calibration")
    """The splits of merchants, names and wordings that may occur."""


TRAINING_WORLD = World()
"""The world that the shipped model was trained on."""


def simulate_parts(
    world: World, formats: tuple[str, ...] = FORMATS, on_progress: Callable[[str, float], None] | None = None
) -> Iterator[Corpus]:
    """The bookings and truths of a world, `USERS_PER_PART` users at a time."""
    report = on_progress or (lambda _step, _share: None)
    for first in range(0, world.users, USERS_PER_PART):
        report("simulate", first / world.users)
        count = min(USERS_PER_PART, world.users - first)
        yield simulate(count, world.seed, splits=world.splits, formats=formats, first_user=first)
    report("simulate", 1.0)
