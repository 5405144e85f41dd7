"""What assets and jobs work with. It is loaded when a run begins, not with the code location, which has to be there at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import dagster as dg

from warehouse.settings import Settings

if TYPE_CHECKING:
    from pipelines.context import House
else:
    House = Any


__all__ = ["House", "HouseResource"]


class HouseResource(dg.ConfigurableResource[House]):
    """What flows work with, by the settings in the environment."""

    @contextmanager
    def yield_for_execution(self, _context: dg.InitResourceContext) -> "Iterator[House]":
        from pipelines.context import House

        house = House.of(Settings())
        try:
            yield house
        finally:
            house.database.close()
