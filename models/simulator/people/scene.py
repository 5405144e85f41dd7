"""One block of users with all inputs of their bookings."""

from dataclasses import dataclass

from models.simulator.base.calendar import Grid
from models.simulator.base.chance import Floats
from models.simulator.base.lists import AllowedLists
from models.simulator.people.incomes import monthly_amounts
from models.simulator.people.people import People, Setting, people
from models.simulator.people.timeline import Timeline, timeline


@dataclass(frozen=True)
class Scene:
    """A block of people, with the settings of the simulation, their life events and their monthly amounts."""

    setting: Setting
    group: People
    lives: Timeline
    amounts: dict[str, Floats]

    @property
    def grid(self) -> Grid:
        return self.setting.grid

    @property
    def lists(self) -> AllowedLists:
        return self.setting.lists


def scene_of(setting: Setting, first: int, count: int) -> Scene:
    """The users from `first` on."""
    group = people(setting, first, count)
    lives = timeline(setting, group)
    return Scene(setting, group, lives, monthly_amounts(group, lives))
