"""Checks of all tables of knowledge: one function per file.

A new file needs one function and one line in `CHECKS`, or in `READERS` if the module that reads it also checks it.
A problem is one sentence that begins with file, line and column.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from analytics.bank_text import card_places, channels, intermediaries
from analytics.knowledge import everyday as words
from analytics.knowledge.catalogue import PARTNER_COLUMNS
from analytics.knowledge.files import FOLDER
from analytics.knowledge.name_forms import PLACE
from analytics.knowledge_checks import partners as partner_checks
from analytics.knowledge_checks import rules, sheets
from analytics.knowledge_checks.sheets import Sheet

Check = Callable[[Sheet], Iterator[str]]
DECIDER = re.compile(r"(insurance|partner|rule|word):\S+")


class Reader(NamedTuple):
    """The columns of a table and the check of the module that reads it."""

    columns: tuple[str, ...]
    problems: Callable[[Path], list[str]]


def problems(folder: Path = FOLDER) -> list[str]:
    """All problems in the tables of a folder."""
    return [
        problem
        for path in sorted(folder.rglob("*.csv"), key=lambda path: path.name)
        for problem in _problems(path, sheets.read_sheet(path))
    ]


def partners(sheet: Sheet) -> Iterator[str]:
    """The catalogue of partners."""
    if sheet.columns != PARTNER_COLUMNS:
        yield sheet.problem(1, "header", f"write the columns {', '.join(PARTNER_COLUMNS)}")
        return
    for check in (
        partner_checks.names,
        partner_checks.aliases,
        partner_checks.categories,
        partner_checks.flags,
        partner_checks.insurance,
        partner_checks.creditor_ids,
        partner_checks.forms,
    ):
        yield from check(sheet)


def everyday(sheet: Sheet) -> Iterator[str]:
    """Words that alone are no brand."""
    if sheet.columns != ("word", "kind"):
        yield sheet.problem(1, "header", "write the columns word, kind")
        return
    yield from sheet.repeated("word")
    for line, word in sheet.cells("word"):
        if not partner_checks.PLAIN_TEXT.fullmatch(word) or " " in word:
            yield sheet.problem(line, "word", f"»{word}« is not one plain word; write it in a-z0-9 with ae, oe, ue, ss")
    for line, kind in sheet.cells("kind"):
        if kind not in words.KINDS:
            yield sheet.problem(line, "kind", f"»{kind}« is not one of {', '.join(words.KINDS)}")


def measured(sheet: Sheet) -> Iterator[str]:
    """The measured precision of each decider."""
    if sheet.columns != ("decider", "precision", "rows"):
        yield sheet.problem(1, "header", "write the columns decider, precision, rows")
        return
    yield from sheet.repeated("decider")
    for column, form, right in (
        ("decider", DECIDER, "begins with insurance:, partner:, rule: or word:"),
        ("precision", re.compile(r"0\.\d+"), "lies between 0 and 1"),
        ("rows", re.compile(r"[1-9]\d*"), "is a whole number from 1"),
    ):
        for line, cell in sheet.cells(column):
            if not form.fullmatch(cell):
                yield sheet.problem(line, column, f"»{cell}« is wrong, it {right}; run kontor knowledge measure again")


def name_forms(sheet: Sheet) -> Iterator[str]:
    """The spellings of bodies that are named by kind and place."""
    if sheet.columns != ("form", "spellings"):
        yield sheet.problem(1, "header", "write the columns form, spellings")
        return
    yield from sheet.repeated("form")
    for line, cell in sheet.cells("spellings"):
        for spelling in cell.split("|"):
            if PLACE not in spelling:
                yield sheet.problem(line, "spellings", f"»{spelling}« has no {PLACE} for the place")


CHECKS: dict[str, Check] = {
    "name_forms.csv": name_forms,
    "partners.csv": partners,
    "everyday.csv": everyday,
    "rules.csv": rules.rules,
    "lexicon.csv": rules.lexicon,
    "insurance.csv": rules.insurance,
    "freelancer.csv": rules.freelancer,
    "groups.csv": rules.groups,
    "saving_banks.csv": rules.saving_banks,
    "measured.csv": measured,
}
"""The check of each file; of files that are neither here nor in `READERS` only the shape is checked."""
READERS: dict[str, Reader] = {
    "channels.csv": Reader(("kind", "match", "channel"), channels.problems),
    "intermediaries.csv": Reader(("kind", "match", "under", "via", "merchant"), intermediaries.problems),
    "cities.csv": Reader(("city",), card_places.problems),
}


def _problems(path: Path, sheet: Sheet) -> Iterator[str]:
    yield from sheet.crooked
    yield from sheet_problems(sheet)
    if sheet.file in READERS:
        yield from _by_reader(path, sheet, READERS[sheet.file])


def sheet_problems(sheet: Sheet) -> Iterator[str]:
    """The problems of the rows of a table."""
    for column in sheet.columns:
        for line, cell in sheet.cells(column):
            if cell != cell.strip():
                yield sheet.problem(line, column, f"»{cell}« begins or ends with a blank; take it away")
    if sheet.file in CHECKS:
        try:
            yield from CHECKS[sheet.file](sheet)
        except KeyError as missing:
            yield sheet.problem(1, "header", f"the column {missing.args[0]} is missing")


def _by_reader(path: Path, sheet: Sheet, reader: Reader) -> Iterator[str]:
    """The problems that the reader finds; it cannot read crooked tables."""
    if sheet.columns != reader.columns:
        yield sheet.problem(1, "header", f"write the columns {', '.join(reader.columns)}")
    elif not sheet.crooked:
        yield from reader.problems(path)
