"""Reading items from CSV files: the columns of a file are the attributes of its items."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from analytics.trees.items import Item

IDS_PER_TREE = 10_000
Row = dict[str, str]
AnyKind = TypeVar("AnyKind", bound=Item)


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file."""
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def item_from_row(kind: type[AnyKind], tree_id: int, row: Row) -> AnyKind:
    """An item from its row."""
    values = {name: READERS.get(name, str)(text) for name, text in row.items() if name != "number"}
    return kind(id=item_id(tree_id, row), **values)


def item_id(tree_id: int, row: Row) -> int:
    """The id of a row's item. A number beyond `IDS_PER_TREE` would be an id of the next tree."""
    number = int(row["number"])
    if not 0 <= number < IDS_PER_TREE:
        raise ValueError(f"number {number} is not below {IDS_PER_TREE}")
    return tree_id * IDS_PER_TREE + number


def split_cell(cell: str) -> tuple[str, ...]:
    """The values of a cell such as `81|112`."""
    return tuple(cell.split("|")) if cell else ()


def _number(text: str) -> float | None:
    return float(text) if text else None


READERS: dict[str, Callable[[str], Any]] = {
    "contract_prior": float,
    "savings": bool,
    "fields": split_cell,
    "months": lambda text: int(text) if text else None,
    "days": _number,
    "per_year": _number,
    "tolerance": _number,
}
