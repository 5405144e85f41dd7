"""All lines of all layouts as tables: which line a case of a format has, and what stands in it."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from models.simulator.renderers.formats import FORMATS
from models.simulator.renderers.layouts import CODES, SAME_AS, Case, Layout, Shape

SLOTS = 60
"""Slots that the lines of a case share by weight."""


@dataclass(frozen=True)
class LayoutTables:
    """By format, case and slot the line; by line its shape and words; by format what noise may do."""

    lines_by_slot: NDArray[np.int64]
    lines: pl.DataFrame
    shapes: tuple[Shape, ...]
    codes: pl.Series
    capitals: NDArray[np.bool_]
    widths: NDArray[np.int64]
    coded_shares: NDArray[np.float64]


@cache
def layout_tables() -> LayoutTables:
    """The tables of the formats as they stand in the files of the banks."""
    layouts = [each.layout for each in FORMATS.values()]
    shapes = tuple({line.shape: None for layout in layouts for line in layout.lines})
    return LayoutTables(
        _lines_by_slot(layouts),
        _lines(layouts, shapes),
        shapes,
        pl.Series([CODES.get(case) for case in Case], dtype=pl.String),
        np.array([[case in layout.capitals.value for case in Case] for layout in layouts]),
        np.array([layout.width for layout in layouts], np.int64),
        np.array([layout.coded for layout in layouts]),
    )


def _lines(layouts: list[Layout], shapes: tuple[Shape, ...]) -> pl.DataFrame:
    numbers = {shape: number for number, shape in enumerate(shapes)}
    rows = [
        (line.words, int(line.case), line.code, line.batch, numbers[line.shape], line.shape.account, layout.with_bic)
        for layout in layouts
        for line in layout.lines
    ]
    schema = {
        "booking_text": pl.String,
        "case": pl.Int64,
        "own_code": pl.String,
        "primanota": pl.String,
        "shape": pl.Int64,
        "account": pl.Boolean,
        "with_bic": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _lines_by_slot(layouts: list[Layout]) -> NDArray[np.int64]:
    """By format, case and slot the number of the line."""
    numbers, first = np.empty((len(layouts), len(Case), SLOTS), np.int64), 0
    for format_number, layout in enumerate(layouts):
        for case in Case:
            numbers[format_number, case] = _slots(layout, case) + first
        first += len(layout.lines)
    return numbers


def _slots(layout: Layout, case: Case) -> NDArray[np.int64]:
    numbers = [number for number, line in enumerate(layout.lines) if line.case == case]
    if not numbers:
        return _slots(layout, SAME_AS[case])
    ends = np.cumsum([layout.lines[number].weight for number in numbers])
    slots: NDArray[np.int64] = np.array(numbers)[np.searchsorted(ends, np.arange(SLOTS) * ends[-1] / SLOTS, side="right")]
    return slots
