"""One block of users with everything that their bookings are made of."""

from dataclasses import dataclass

from models.simulator.base.calendar import Grid
from models.simulator.base.chance import Floats
from models.simulator.base.lists import Shelf
from models.simulator.people.incomes import laws
from models.simulator.people.people import People, World, people
from models.simulator.people.timeline import Timeline, timeline


@dataclass(frozen=True)
class Scene:
    """The world, some of its people, what happens to them, and the amounts that follow from who they are."""

    world: World
    group: People
    lives: Timeline
    laws: dict[str, Floats]

    @property
    def grid(self) -> Grid:
        return self.world.grid

    @property
    def shelf(self) -> Shelf:
        return self.world.shelf


def scene_of(world: World, first: int, count: int) -> Scene:
    """The users from `first` on."""
    group = people(world, first, count)
    lives = timeline(world, group)
    return Scene(world, group, lives, laws(group, lives))
