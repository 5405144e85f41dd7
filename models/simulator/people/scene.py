"""One block of users with everything that their bookings are made of."""

from dataclasses import dataclass

from models.simulator.base.calendar import Grid
from models.simulator.base.chance import Floats
from models.simulator.base.lists import AllowedLists
from models.simulator.people.incomes import laws
from models.simulator.people.people import People, Setting, people
from models.simulator.people.timeline import Timeline, timeline


@dataclass(frozen=True)
class Scene:
    """The world, some of its people, what happens to them, and the amounts that follow from who they are."""

    world: Setting
    group: People
    lives: Timeline
    laws: dict[str, Floats]

    @property
    def grid(self) -> Grid:
        return self.world.grid

    @property
    def shelf(self) -> AllowedLists:
        return self.world.shelf


def scene_of(world: Setting, first: int, count: int) -> Scene:
    """The users from `first` on."""
    group = people(world, first, count)
    lives = timeline(world, group)
    return Scene(world, group, lives, laws(group, lives))
