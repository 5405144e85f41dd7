"""What can be wrong in the tables of knowledge, and what to do about it: one function per file.

A new file needs one function here and one line in `CHECKS`. A problem is one sentence that begins with file, line and column.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from analytics.knowledge import everyday as words
from analytics.knowledge import partner_checks, rule_checks, sheets
from analytics.knowledge.catalogue import COLUMNS
from analytics.knowledge.files import FOLDER
from analytics.knowledge.sheets import Sheet

Check = Callable[[Sheet], Iterator[str]]


def problems(folder: Path = FOLDER) -> list[str]:
    """Everything that is wrong in the tables of a folder."""
    return [problem for path in sorted(folder.glob("*.csv")) for problem in _problems(sheets.read(path))]


def partners(sheet: Sheet) -> Iterator[str]:
    """The catalogue of partners."""
    if sheet.columns != COLUMNS:
        yield sheet.problem(1, "header", f"write the columns {', '.join(COLUMNS)}")
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
    """Words that are no brand by themselves."""
    if sheet.columns != ("word", "kind"):
        yield sheet.problem(1, "header", "write the columns word, kind")
        return
    yield from sheet.repeated("word")
    for line, word in sheet.cells("word"):
        if not partner_checks.PLAIN.fullmatch(word) or " " in word:
            yield sheet.problem(line, "word", f"»{word}« is not one plain word; write it in a-z0-9 with ae, oe, ue, ss")
    for line, kind in sheet.cells("kind"):
        if kind not in words.KINDS:
            yield sheet.problem(line, "kind", f"»{kind}« is not one of {', '.join(words.KINDS)}")


CHECKS: dict[str, Check] = {
    "partners.csv": partners,
    "everyday.csv": everyday,
    "rules.csv": rule_checks.rules,
    "lexicon.csv": rule_checks.lexicon,
    "insurance.csv": rule_checks.insurance,
    "freelancer.csv": rule_checks.freelancer,
    "groups.csv": rule_checks.groups,
    "examples.csv": rule_checks.examples,
    "saving_banks.csv": rule_checks.saving_banks,
}
"""The check of each file; files that are not here are only checked for their shape."""


def _problems(sheet: Sheet) -> Iterator[str]:
    yield from sheet.crooked
    for column in sheet.columns:
        for line, cell in sheet.cells(column):
            if cell != cell.strip():
                yield sheet.problem(line, column, f"»{cell}« begins or ends with a blank; take it away")
    if sheet.file in CHECKS:
        yield from CHECKS[sheet.file](sheet)
