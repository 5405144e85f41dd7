"""The load's own ledger of one access: what was written into it, and what reading it must therefore show.

A write that was acknowledged is there, once and whole. One whose answer was lost is there, once and whole, or not at all.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NEW = re.compile(r"Neue Buchung (\d+)")


@dataclass
class Batch:
    """Bookings that were pushed together; sure if the push was acknowledged."""

    path: str
    bookings: list[dict[str, Any]]
    sure: bool = False

    @property
    def purposes(self) -> Counter[str]:
        return Counter(str(booking["verwendungszweck"]) for booking in self.bookings)


@dataclass
class Account:
    """An access at the demo bank."""

    key: str
    userid: str
    pin: str
    leaving: bool = False
    """It was told to go; only when that is acknowledged is it gone."""
    products: list[str] = field(default_factory=list)
    batches: dict[str, Batch] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    """Our purpose texts with the ids that the service gave the bookings."""
    choices: dict[str, set[str]] = field(default_factory=dict)
    """Bookings with the categories that they may have: the last that was acknowledged, and those whose answer was lost."""
    most_new: dict[str, int] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return f"/customer/v2/bankzugaenge/{self.key}"

    def faults(self, path: str, rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
        """What is wrong with the bookings of a product, in words; nothing if all is as it was written."""
        if len({row["id"] for row in rows}) != len(rows):
            yield "an id is there twice"
        found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for row in rows:
            if "identifier" in row:
                found[row["identifier"]["batchId"]].append(row)
        yield from self._faults_of_batches(path, found)
        yield from self._faults_of_bank(path, rows)

    def _faults_of_batches(self, path: str, found: dict[str, list[Mapping[str, Any]]]) -> Iterable[str]:
        for name, batch in self.batches.items():
            rows = found.pop(name, [])
            purposes = Counter(row["verwendungszweck"] for row in rows)
            may_be_missing = batch.path != path or not batch.sure
            if not (purposes == batch.purposes and batch.path == path) and (rows or not may_be_missing):
                yield f"batch {name} ({'sure' if batch.sure else 'unsure'}): {len(rows)} of {len(batch.bookings)} bookings"
            self.ids.update({row["verwendungszweck"]: row["id"] for row in rows})
        if found:
            yield f"{len(found)} batches that nobody has sent"

    def _faults_of_bank(self, path: str, rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
        """The bank numbers the bookings of some user ids: each is there once, none is missing, none goes away."""
        numbers = sorted(int(match[1]) for row in rows if (match := NEW.search(row.get("verwendungszweck", ""))))
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"numbered bookings of the bank are doubled or missing: {numbers[-5:]} of {len(numbers)}"
        if len(numbers) < self.most_new.get(path, 0):
            yield f"there were {self.most_new[path]} numbered bookings, and now {len(numbers)}"
        self.most_new[path] = len(numbers)
