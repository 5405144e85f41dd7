"""Reading items from CSV files: the columns of a file are the attributes of its items."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from analytics.trees.items import Item

SPAN = 10_000  # ids of one tree; more items would take those of the next
Row = dict[str, str]
AnyKind = TypeVar("AnyKind", bound=Item)


def rows(path: Path) -> Iterator[Row]:
    """The rows of a file."""
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def item(kind: type[AnyKind], tree_id: int, row: Row) -> AnyKind:
    """An item from its row."""
    values = {name: READERS.get(name, str)(text) for name, text in row.items() if name != "number"}
    return kind(id=item_id(tree_id, row), **values)


def item_id(tree_id: int, row: Row) -> int:
    """The id that a row's number gives."""
    number = int(row["number"])
    if not 0 <= number < SPAN:
        raise ValueError(f"number {number} is not below {SPAN}")
    return tree_id * SPAN + number


def texts(joined: str) -> tuple[str, ...]:
    """The parts of a cell that holds several."""
    return tuple(joined.split("|")) if joined else ()


def _number(text: str) -> float | None:
    return float(text) if text else None


READERS: dict[str, Callable[[str], Any]] = {
    "contract_prior": float,
    "savings": bool,
    "fields": texts,
    "months": lambda text: int(text) if text else None,
    "days": _number,
    "per_year": _number,
    "tolerance": _number,
}
