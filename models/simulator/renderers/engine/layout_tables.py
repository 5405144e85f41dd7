"""All layouts and payment services as arrays, translated once a process."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.simulator.base.chance import Keys
from models.simulator.renderers.engine.fill import Bytes, Numbers
from models.simulator.renderers.engine.templates import Book
from models.simulator.renderers.formats import FORMATS
from models.simulator.renderers.intermediaries import INTERMEDIARIES, UNLISTED
from models.simulator.renderers.layouts import CODES, SAME_AS, Case, Layout, Line

SLOTS = 60
"""Lines of the same case share so many slots by weight."""


@dataclass(frozen=True)
class _Lists:
    """Lists of different lengths, one behind the other."""

    items: NDArray[Any]
    starts: Numbers
    lengths: Numbers

    def pick(self, which: NDArray[np.int64], drawn: Keys) -> NDArray[Any]:
        """Drawn members of the lists."""
        return self.items[self.starts[which] + (drawn % self.lengths[which].astype(np.uint64)).astype(np.int64)]


@dataclass(frozen=True)
class ServiceTable:
    """The payment services: place by name (unknown ones are the last), and by place what banks write of them."""

    places: dict[str, int]
    legal: pl.Series
    prefixes: _Lists
    debits: _Lists
    refunds: _Lists


@dataclass(frozen=True)
class LayoutTables:
    """By format and case the lines, by line its templates and facts, by format what noise may do."""

    steps: Numbers
    literals: Bytes
    lines: Numbers
    picks: Numbers
    facts: pl.DataFrame
    codes: pl.Series
    capitals: NDArray[np.bool_]
    widths: Numbers
    coded: NDArray[np.float64]
    services: ServiceTable


@cache
def house() -> LayoutTables:
    """The house as it stands in the files of the banks."""
    book = Book()
    layouts = [each.layout for each in FORMATS.values()]
    lines = [(layout, line) for layout in layouts for line in layout.lines]
    services = _services(book)
    shapes = [line.shape for _, line in lines]
    templates = [[*book.bounds(each.name), *book.bounds(each.ultimate), *book.bounds(each.purpose)] for each in shapes]
    steps, literals = book.arrays()
    return LayoutTables(
        steps,
        literals,
        np.array(templates, np.int64),
        _picks(layouts),
        _facts(lines),
        pl.Series([CODES.get(case) for case in Case], dtype=pl.String),
        np.array([[case in layout.capitals.value for case in Case] for layout in layouts]),
        np.array([layout.width for layout in layouts], np.int64),
        np.array([layout.coded for layout in layouts]),
        services,
    )


def _facts(lines: list[tuple[Layout, Line]]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "booking_text": [line.words for _, line in lines],
            "case": [int(line.case) for _, line in lines],
            "own_code": [line.code for _, line in lines],
            "primanota": [line.batch for _, line in lines],
            "account": [line.shape.account for _, line in lines],
            "with_bic": [layout.with_bic for layout, _ in lines],
        },
        schema_overrides={"primanota": pl.String, "own_code": pl.String},
    )


def _picks(layouts: list[Layout]) -> Numbers:
    """By format, case and slot the number of the line."""
    picks, first = np.empty((len(layouts), len(Case), SLOTS), np.int64), 0
    for place, layout in enumerate(layouts):
        for case in Case:
            picks[place, case] = _slots(layout, case) + first
        first += len(layout.lines)
    return picks


def _slots(layout: Layout, case: Case) -> Numbers:
    found = [number for number, line in enumerate(layout.lines) if line.case == case]
    if not found:
        return _slots(layout, SAME_AS[case])
    ends = np.cumsum([layout.lines[number].weight for number in found])
    slots: Numbers = np.array(found)[np.searchsorted(ends, np.arange(SLOTS) * ends[-1] / SLOTS, side="right")]
    return slots


def _services(book: Book) -> ServiceTable:
    known = [*INTERMEDIARIES.values(), UNLISTED]
    return ServiceTable(
        {name: place for place, name in enumerate(INTERMEDIARIES)},
        pl.Series([each.legal for each in known]),
        _lists([each.prefixes for each in known], np.dtype(object)),
        _lists([[book.bounds(text) for text in each.debits] for each in known], np.dtype(np.int64)),
        _lists([[book.bounds(text) for text in each.refunds] for each in known], np.dtype(np.int64)),
    )


def _lists(lists: Iterable[Iterable[object]], kind: np.dtype[Any]) -> _Lists:
    members = [list(each) for each in lists]
    lengths = np.array([len(each) for each in members], np.int64)
    return _Lists(np.array([item for each in members for item in each], kind), np.cumsum(lengths) - lengths, lengths)
