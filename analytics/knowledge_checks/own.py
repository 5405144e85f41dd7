"""Checks of the rows that an operator adds to the tables of knowledge (`analytics.own_tables`): as one table with ours."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analytics.knowledge.files import TABLES
from analytics.knowledge_checks import tables
from analytics.knowledge_checks.partners import LAST_NUMBER
from analytics.knowledge_checks.sheets import Sheet, read_sheet
from analytics.own_tables import FIRST_OWN_NUMBER, KEYS, OwnTablesBroken, own_files


class LineOfOurs(int):
    """The line of a row of ours, which calls itself so in the sentences of problems. It is negative, and so equals no own one."""

    def __format__(self, form: str) -> str:
        return f"{-int(self):{form}} of Kontor's table"


@dataclass(frozen=True)
class MergedSheet(Sheet):
    """Our rows and the own ones. Problems are those of the own ones."""

    def problem(self, line: int, column: str, sentence: str) -> str:
        """One problem as a sentence; empty if it is about a row of ours."""
        return "" if isinstance(line, LineOfOurs) else super().problem(line, column, sentence)


def problems(folder: Path) -> list[str]:
    """All problems in the own rows of a folder."""
    try:
        names = own_files(folder)
    except OwnTablesBroken as error:
        return [str(error)]
    return [problem for name in names for problem in _problems(folder / name)]


def _problems(path: Path) -> Iterator[str]:
    ours, own = read_sheet(TABLES / path.name), read_sheet(path)
    yield from own.crooked
    if own.columns != ours.columns:
        yield own.problem(1, "header", f"write the columns {', '.join(ours.columns)}")
        return
    key = KEYS[path.name]
    if path.name == "partners.csv":
        yield from _numbers(ours, own)
    yield from filter(None, tables.sheet_problems(_merged(ours, own, key)))


def _merged(ours: Sheet, own: Sheet, key: str | None) -> MergedSheet:
    """The rows that count, in the order of their numbers where the key is one."""
    replaced = {row[key] for _, row in own.rows} if key else set()
    our_rows = [(LineOfOurs(-line), row) for line, row in ours.rows if key is None or row[key] not in replaced]
    rows: list[tuple[int, dict[str, str]]] = [*our_rows, *own.rows]
    if key == "number":
        rows.sort(key=lambda row: int(row[1]["number"]) if row[1]["number"].isdigit() else 0)
    return MergedSheet(own.file, own.columns, rows, [])


def _numbers(ours: Sheet, own: Sheet) -> Iterator[str]:
    """Own partners have numbers of their own, and a row that replaces one of ours keeps its name."""
    names = {row["number"]: row["system_name"] for _, row in ours.rows}
    for line, row in own.rows:
        number = row["number"]
        if number in names and row["system_name"] != names[number]:
            sentence = f"{number} is {names[number]}; own partners have numbers from {FIRST_OWN_NUMBER}"
            yield own.problem(line, "system_name", sentence)
        if number not in names and number.isdigit() and int(number) <= LAST_NUMBER:
            yield own.problem(line, "number", f"{number} is kept for Kontor; own partners have numbers from {FIRST_OWN_NUMBER}")
