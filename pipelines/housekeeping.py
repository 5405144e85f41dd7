"""Housekeeping: what has ended is removed."""

from dataclasses import dataclass

from warehouse import throttles, tokens
from warehouse.database import Database


@dataclass(frozen=True)
class Swept:
    """How many rows were removed."""

    tokens: int
    throttles: int


def sweep(database: Database) -> Swept:
    """Deletes tokens that have expired and login counters whose window has ended."""
    with database.operating() as owner:
        return Swept(tokens=tokens.purge_expired(owner), throttles=throttles.purge_ended(owner))
