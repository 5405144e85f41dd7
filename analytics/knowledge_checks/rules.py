"""Checks of the files of rules and words, one function per file.

Each gets the sheet of its file and yields problems: sentences that begin with file, line and column and say what to do.
"""

import re
from collections import Counter
from collections.abc import Iterator

import polars as pl

from analytics import trees
from analytics.bank_text import canonical as text
from analytics.bank_text.channels import Channel
from analytics.knowledge.catalogue import FLAGS
from analytics.knowledge_checks.sheets import Sheet
from analytics.native.word_scan import WRITTEN
from analytics.tagging.rulebook import RULE_COLUMNS, SIGNS, word_lists

WORD_COLUMNS = ("words", "name", "purpose", "booking_text", "words_too", "none", "name_none", "via")
CONDITION_COLUMNS = (*WORD_COLUMNS, "codes", "channels", "flags", "bins", "category", "insurance")
RULE_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
BIN_RANGE = re.compile(r"[0-9]?-[0-9]?|")
PURPOSE_CODE = re.compile(r"[A-Z]{4}")
AMOUNT = re.compile(r"-?\d+\.\d\d")
BANK_CODE = re.compile(r"\d{8}")
LEXICON_PLACES = ("name", "any", "purpose")
DECIDERS = ("rule", "lexicon", "insurance", "partner", "rows")
MIN_EXAMPLES = 3
GATE = "GATE"


def rules(sheet: Sheet) -> Iterator[str]:
    """The structural rules of categories."""
    yield from _rules(sheet, "CATEGORIES")
    for line, row in sheet.rows:
        yield from _sign(sheet, line, "sign", row["item"], row["sign"])


def insurance(sheet: Sheet) -> Iterator[str]:
    """The rules of insurance."""
    yield from _rules(sheet, "INSURANCE_TYPES", GATE)


def freelancer(sheet: Sheet) -> Iterator[str]:
    """The rules for the self-employed."""
    yield from _rules(sheet, "FREELANCER_CATEGORIES")
    for column, tree in (("category", "CATEGORIES"), ("insurance", "INSURANCE_TYPES")):
        names = [item.system_name for item in trees.tree(tree).assignable]
        for line, part in sheet.parts(column):
            if not any(name == part or (part.endswith("*") and name.startswith(part[:-1])) for name in names):
                yield sheet.problem(line, column, f"»{part}« is no item of {tree} and no beginning of one; correct the name")


def lexicon(sheet: Sheet) -> Iterator[str]:
    """The words of trades and things."""
    if sheet.columns != ("item", "weight", "where", "channels", "words", "none"):
        yield sheet.problem(1, "header", "write the columns item, weight, where, channels, words, none")
        return
    yield from _items(sheet, "item", "CATEGORIES")
    yield from _shares(sheet, "weight")
    yield from _channels(sheet)
    for column in ("words", "none"):
        yield from _words(sheet, column)
    for line, row in sheet.rows:
        if row["where"] not in LEXICON_PLACES:
            yield sheet.problem(line, "where", f"»{row['where']}« is not one of {', '.join(LEXICON_PLACES)}")
        if not row["words"]:
            yield sheet.problem(line, "words", "is empty; write words or take the line away")


def groups(sheet: Sheet) -> Iterator[str]:
    """The lists of words that rules name."""
    if sheet.columns != ("group", "words"):
        yield sheet.problem(1, "header", "write the columns group, words")
        return
    yield from _words(sheet, "words")
    for line, word in sheet.parts("words"):
        if word.startswith("@"):
            yield sheet.problem(line, "words", f"»{word}« is a list inside a list; write its words out")


def examples(sheet: Sheet) -> Iterator[str]:
    """Lines with their categories: at least three for each category."""
    yield from _items(sheet, "category", "CATEGORIES")
    for line, row in sheet.rows:
        if not AMOUNT.fullmatch(row["amount"]):
            yield sheet.problem(line, "amount", f"»{row['amount']}« is no amount; write it as -12.50")
        else:
            yield from _sign(sheet, line, "amount", row["category"], "-" if row["amount"].startswith("-") else "+")
        if row["channel"] not in list(Channel):
            yield sheet.problem(line, "channel", f"»{row['channel']}« is no channel; take one of analytics/bank_text/channels.py")
        if row["by"] not in DECIDERS:
            yield sheet.problem(line, "by", f"»{row['by']}« is not one of {', '.join(DECIDERS)}")
    counts = Counter(cell for _, cell in sheet.cells("category"))
    for item in trees.tree("CATEGORIES").assignable:
        if counts[item.system_name] < MIN_EXAMPLES:
            yield sheet.problem(
                1, "category", f"{item.system_name} has {counts[item.system_name]} examples; write {MIN_EXAMPLES}"
            )


def saving_banks(sheet: Sheet) -> Iterator[str]:
    """The bank codes of banks for saving only."""
    yield from sheet.repeated("bank_code")
    for line, cell in sheet.cells("bank_code"):
        if not BANK_CODE.fullmatch(cell):
            yield sheet.problem(line, "bank_code", f"»{cell}« is no bank code; write eight digits")
    for line, cell in sheet.cells("item"):
        if cell not in ("SAVINGS_SECURITIES", "SAVINGS_ACCOUNT"):
            yield sheet.problem(line, "item", f"»{cell}« must be SAVINGS_SECURITIES or SAVINGS_ACCOUNT")


def _rules(sheet: Sheet, tree: str, *more: str) -> Iterator[str]:
    if unknown := [column for column in sheet.columns if column not in RULE_COLUMNS]:
        yield sheet.problem(1, "header", f"unknown columns {', '.join(unknown)}; a rule may have {', '.join(RULE_COLUMNS)}")
        return
    yield from sheet.repeated("id")
    yield from _items(sheet, "item", tree, *more)
    yield from _shares(sheet, "confidence")
    yield from _channels(sheet)
    for column in WORD_COLUMNS:
        yield from _words(sheet, column)
    for line, row in sheet.rows:
        yield from _form(sheet, line, row)
    for column in ("flags", "without_flags"):
        for line, part in sheet.parts(column) if column in sheet.columns else ():
            if part not in FLAGS:
                yield sheet.problem(line, column, f"»{part}« is no flag of partners; take one of {', '.join(FLAGS)}")


def _form(sheet: Sheet, line: int, row: dict[str, str]) -> Iterator[str]:
    """The cells of one rule that hold no words."""
    if not RULE_ID.fullmatch(row["id"]):
        yield sheet.problem(line, "id", f"»{row['id']}« is no id; write small letters, digits and hyphens")
    if not row["priority"].isdigit():
        yield sheet.problem(line, "priority", f"»{row['priority']}« is no whole number; the smallest decides first")
    if row.get("sign", "") not in SIGNS:
        yield sheet.problem(line, "sign", "must be + or - or empty")
    if not BIN_RANGE.fullmatch(row.get("bins", "")):
        yield sheet.problem(line, "bins", f"»{row['bins']}« is no range; write it as 3-5, 3- or -5")
    if not any(row.get(column) for column in CONDITION_COLUMNS):
        yield sheet.problem(line, "words", "the rule asks for nothing and would always hold; write a condition")
    if "»" in row["reason"]:
        yield sheet.problem(line, "reason", "quotes a word; words are quoted where the rule is used")
    for part in row.get("codes", "").split("|"):
        if part and not PURPOSE_CODE.fullmatch(part):
            yield sheet.problem(line, "codes", f"»{part}« is no purpose code; write four capital letters")


def _items(sheet: Sheet, column: str, tree: str, *more: str) -> Iterator[str]:
    names = {item.system_name for item in trees.tree(tree).assignable} | set(more)
    for line, cell in sheet.cells(column):
        if cell not in names:
            yield sheet.problem(line, column, f"»{cell}« is no item of {tree}; correct the name or add it to the tree")


def _sign(sheet: Sheet, line: int, column: str, category: str, sign: str) -> Iterator[str]:
    allowed = trees.tree("CATEGORIES").by_name[category].sign if category in trees.tree("CATEGORIES").by_name else "±"
    if allowed not in ("±", sign):
        yield sheet.problem(line, column, f"{category} is for amounts with {allowed}; write {allowed}")


def _shares(sheet: Sheet, column: str) -> Iterator[str]:
    for line, cell in sheet.cells(column):
        if not re.fullmatch(r"0\.\d+|1", cell):
            yield sheet.problem(line, column, f"»{cell}« is not between 0 and 1; write it as 0.95")


def _channels(sheet: Sheet) -> Iterator[str]:
    for line, part in sheet.parts("channels") if "channels" in sheet.columns else ():
        if part not in list(Channel):
            yield sheet.problem(line, "channels", f"»{part}« is no channel; take one of analytics/bank_text/channels.py")


def _words(sheet: Sheet, column: str) -> Iterator[str]:
    """Words that are not plain or not written as in lines, and lists that do not exist."""
    parts = list(sheet.parts(column)) if column in sheet.columns else []
    lists = word_lists()
    as_lines_do = text.canonical(pl.Series([word.strip("*") for _, word in parts], dtype=pl.String))
    for (line, word), canonical in zip(parts, as_lines_do, strict=True):
        if word.startswith("@"):
            if word[1:] not in lists:
                yield sheet.problem(line, column, f"»{word}« is no list of groups.csv; correct the name or add the list")
        elif not WRITTEN.fullmatch(word):
            yield sheet.problem(line, column, f"»{word}« is not plain; write a-z0-9& with ae, oe, ue, ss and * at the ends only")
        elif canonical != word.strip("*"):
            yield sheet.problem(line, column, f"»{word}« never stands in a line; write »{canonical}«")
