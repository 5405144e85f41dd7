"""Rules as data: a knowledge file of conditions, compiled once into arrays and an automaton.

Here belong the columns that a rule may have and what they mean; `analytics.tagging.rule_matching` compares them with lines, and
each tagger decides which of the rules that hold has the say. A rule holds if every condition that it names holds; the words of
one column are alternatives; words of `none` and `name_none` forbid.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.bank_text.channels import Channel
from analytics.knowledge.files import TABLES
from analytics.native.word_scan import Dictionary, Ints, dictionary, spellings

FIELDS = ("name", "ultimate", "merchant", "purpose", "booking_text", "purpose_code", "via", "category", "insurance")
"""The texts of a line in the order in which they are scanned."""
ANYWHERE = ("name", "ultimate", "merchant", "purpose")
"""Not the booking text: `Lohn Gehalt Rente` says neither."""
WHERE = {
    "words": ANYWHERE,
    "purpose": ("purpose",),
    "name": ("name", "ultimate", "merchant"),
    "booking_text": ("booking_text",),
    "words_too": ANYWHERE,
    "none": ANYWHERE,
    "name_none": ("name", "ultimate", "merchant"),
    "codes": ("purpose_code",),
    "via": ("via",),
    "category": ("category",),
    "insurance": ("insurance",),
}
"""The columns of a rule that hold words, and the texts in which these are looked for; the first ones are quoted first."""
FORBIDDING = ("none", "name_none")
QUOTED = ("words", "purpose", "name", "booking_text", "words_too")
PLAIN = ("id", "priority", "item", "confidence", "sign", "channels", "flags", "without_flags", "bins", "reason")
COLUMNS = (*PLAIN, *WHERE)
SIGNS = {"": 0, "+": 1, "-": 2}
CHANNELS = list(Channel)
HIGHEST_BIN = 255


class Conditions(NamedTuple):
    """What every rule asks for, as arrays over the rules, over their groups of words, and over the words."""

    needed: Ints
    forbidding: NDArray[np.int32]
    sign: Ints
    channels: Ints
    flags: NDArray[np.int64]
    without_flags: NDArray[np.int64]
    least: Ints
    most: Ints
    quotes: NDArray[np.int32]
    bare: Ints
    group_rule: Ints
    group_fields: Ints
    word_first: Ints
    word_groups: Ints


@dataclass(frozen=True)
class Rulebook:
    """The rules of one file: their texts as a frame, their conditions as arrays, their words as an automaton."""

    rules: pl.DataFrame
    conditions: Conditions
    dictionary: Dictionary
    flags: tuple[str, ...]

    def asks(self, field: str) -> bool:
        """Whether any rule looks into this field."""
        return bool((self.conditions.group_fields >> FIELDS.index(field) & 1).any())


class WordGroup(NamedTuple):
    """The words of one column of one rule."""

    rule: int
    column: str
    words: list[str]


def read(path: Path) -> pl.DataFrame:
    """A table of knowledge, all columns as text, nothing missing."""
    return pl.read_csv(path, infer_schema=False, empty_string_is_null=False)


@cache
def lists() -> dict[str, list[str]]:
    """Lists of words that rules name as `@list`; a list may span several lines of the file."""
    table = read(TABLES / "groups.csv")
    return {str(name): split(rows["words"]) for (name,), rows in table.group_by("group", maintain_order=True)}


def split(cells: Iterable[str]) -> list[str]:
    """The entries of cells such as `miete|kaltmiete`, each once."""
    return list(dict.fromkeys(entry for cell in cells for entry in cell.split("|") if entry))


def expanded(cell: str, known: dict[str, list[str]]) -> list[str]:
    """The words of a cell and of the lists that it names, each in all its spellings."""
    named = (word for entry in split([cell]) for word in (known[entry[1:]] if entry.startswith("@") else [entry]))
    return split(spelling for word in named for spelling in spellings(word))


def bins(cell: str) -> tuple[int, int]:
    """`3-5`, `3-` or `-5` as the least and the highest bin."""
    least, _, most = cell.partition("-")
    return int(least or 0), int(most or HIGHEST_BIN)


def compile_rules(table: pl.DataFrame, known: dict[str, list[str]]) -> Rulebook:
    """The rulebook of a table with columns of `COLUMNS`; a column that is missing asks for nothing."""
    return compile_together({"": table}, known)[""]


def compile_together(tables: Mapping[str, pl.DataFrame], known: dict[str, list[str]]) -> dict[str, Rulebook]:
    """Several rulebooks over one automaton: words that one of them looks for are found for all."""
    missing = {
        name: [pl.lit("").alias(column) for column in COLUMNS if column not in table.columns] for name, table in tables.items()
    }
    rules = {name: table.with_columns(missing[name]).select(COLUMNS) for name, table in tables.items()}
    groups = {name: _groups(table, known) for name, table in rules.items()}
    words = split(word for found in groups.values() for group in found for word in group.words)
    numbers = {word: number for number, word in enumerate(words)}
    together = dictionary(words)
    return {name: _compiled(table, groups[name], numbers, together) for name, table in rules.items()}


def _groups(rules: pl.DataFrame, known: dict[str, list[str]]) -> list[WordGroup]:
    return [
        WordGroup(rule, column, expanded(cell.lower(), known))
        for column in WHERE
        for rule, cell in enumerate(rules[column])
        if cell
    ]


def _compiled(rules: pl.DataFrame, groups: list[WordGroup], numbers: dict[str, int], together: Dictionary) -> Rulebook:
    flags = tuple(sorted({*split(rules["flags"]), *split(rules["without_flags"])}))
    facts = rules.select("id", "item", "reason", pl.col("priority").cast(pl.Int32), pl.col("confidence").cast(pl.Float64))
    return Rulebook(facts, _conditions(rules, flags, groups, numbers), together, flags)


def _conditions(rules: pl.DataFrame, flags: Sequence[str], groups: list[WordGroup], numbers: dict[str, int]) -> Conditions:
    needed, forbidding = np.zeros(rules.height, np.int32), np.full((rules.height, 2), -1, np.int32)
    quotes = np.full((rules.height, 2), -1, np.int32)
    members: list[list[int]] = [[] for _ in numbers]
    for number, group in enumerate(groups):
        for word in group.words:
            members[numbers[word]].append(number)
        if group.column in FORBIDDING:
            forbidding[group.rule, FORBIDDING.index(group.column)] = number
            continue
        needed[group.rule] += 1
        if group.column in QUOTED and (free := np.flatnonzero(quotes[group.rule] < 0)).size:
            quotes[group.rule, free[0]] = number
    ranges = [bins(cell) for cell in rules["bins"]]
    return Conditions(
        needed=needed,
        forbidding=forbidding,
        sign=np.array([SIGNS[cell] for cell in rules["sign"]], np.int32),
        channels=np.array([_mask(cell, CHANNELS) for cell in rules["channels"]], np.int32),
        flags=np.array([_mask(cell, flags) for cell in rules["flags"]], np.int64),
        without_flags=np.array([_mask(cell, flags) for cell in rules["without_flags"]], np.int64),
        least=np.array([least for least, _ in ranges], np.int32),
        most=np.array([most for _, most in ranges], np.int32),
        quotes=quotes,
        bare=np.flatnonzero(needed == 0).astype(np.int32),
        group_rule=np.array([-1 if group.column in FORBIDDING else group.rule for group in groups], np.int32),
        group_fields=np.array([sum(1 << FIELDS.index(field) for field in WHERE[group.column]) for group in groups], np.int32),
        word_first=np.cumsum([0, *map(len, members)], dtype=np.int32),
        word_groups=np.array([number for entries in members for number in entries], np.int32),
    )


def _mask(cell: str, names: Sequence[str]) -> int:
    return sum(1 << names.index(entry) for entry in split([cell]))
