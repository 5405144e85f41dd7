"""Tables of knowledge for the checks: every cell as text, with its line number."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sheet:
    """One table. A problem is one sentence that begins with file, line and column."""

    file: str
    columns: tuple[str, ...]
    rows: list[tuple[int, dict[str, str]]]
    crooked: list[str]
    """Problems with rows that have more or fewer cells than there are columns."""

    def cells(self, column: str) -> Iterator[tuple[int, str]]:
        """Line and content of every cell of a column."""
        return ((line, row[column]) for line, row in self.rows)

    def parts(self, column: str) -> Iterator[tuple[int, str]]:
        """Line and value of every value of a column whose cells hold several."""
        return ((line, part) for line, cell in self.cells(column) if cell for part in cell.split("|"))

    def repeated(self, column: str) -> Iterator[str]:
        """Problems with values that stand in more than one row."""
        first: dict[str, int] = {}
        for line, cell in self.cells(column):
            if first.setdefault(cell, line) != line:
                yield self.problem(line, column, f"»{cell}« stands in line {first[cell]} already; merge the two or rename one")

    def problem(self, line: int, column: str, sentence: str) -> str:
        """One problem as a sentence."""
        return f"{self.file}:{line} {column}: {sentence}"


def read_sheet(path: Path) -> Sheet:
    """The table of a file."""
    rows: list[tuple[int, dict[str, str]]] = []
    crooked = []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        columns = tuple(next(reader, ()))
        for row in reader:
            if len(row) == len(columns):
                rows.append((reader.line_num, dict(zip(columns, row, strict=True))))
            else:
                counts = f"{len(row)} cells instead of {len(columns)}"
                crooked.append(f"{path.name}:{reader.line_num} row: has {counts}; quote cells that contain commas")
    return Sheet(path.name, columns, rows, crooked)
