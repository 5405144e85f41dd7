"""Rules as data: a table of conditions, compiled once into arrays and an automaton.

Here are the columns that a rule may have and their meaning. `rule_matching` compares rules with lines; each step of tagging
chooses among the rules that hold. A rule holds if all its conditions hold; the words of one column are alternatives; a word of
`none` or `name_none` forbids the rule.
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
from analytics.own_tables import table_bytes

FIELDS = ("name", "ultimate", "merchant", "purpose", "booking_text", "purpose_code", "via", "category", "insurance")
"""The texts of a line in scan order."""
ANYWHERE = ("name", "ultimate", "merchant", "purpose")
"""Without the booking text: `Lohn Gehalt Rente` means none of the three."""
WORD_COLUMNS = {
    "words": ANYWHERE,
    "purpose": ("purpose",),
    "purpose_too": ("purpose",),
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
"""The columns of a rule that hold words, and the fields in which these count, in the order of quotation."""
FORBIDDING_COLUMNS = ("none", "name_none")
QUOTED_COLUMNS = ("words", "purpose", "name", "booking_text", "words_too")
PLAIN_COLUMNS = ("id", "priority", "item", "confidence", "sign", "channels", "flags", "without_flags", "bins", "reason")
RULE_COLUMNS = (*PLAIN_COLUMNS, *WORD_COLUMNS)
SIGNS = {"": 0, "+": 1, "-": 2}
CHANNELS = list(Channel)
MAX_AMOUNT_BIN = 255


class Conditions(NamedTuple):
    """The conditions of all rules, as arrays over the rules, over their groups of words, and over the words."""

    needed: Ints
    """Groups of words that must be found."""
    forbidding: NDArray[np.int32]
    """Up to two groups of words that forbid the rule, else -1."""
    sign: Ints
    channels: Ints
    flags: NDArray[np.int64]
    without_flags: NDArray[np.int64]
    min_bin: Ints
    max_bin: Ints
    quotes: NDArray[np.int32]
    """Up to two groups of words that the reason quotes, else -1."""
    bare: Ints
    """Rules without words."""
    group_rule: Ints
    group_fields: Ints
    word_first: Ints
    word_groups: Ints


@dataclass(frozen=True)
class Rulebook:
    """The rules of one table: their texts as a frame, their conditions as arrays, their words as an automaton."""

    rules: pl.DataFrame
    conditions: Conditions
    dictionary: Dictionary
    flags: tuple[str, ...]

    def asks(self, field: str) -> bool:
        """Whether any rule has words for this field."""
        return bool((self.conditions.group_fields >> FIELDS.index(field) & 1).any())


class WordGroup(NamedTuple):
    """The words of one column of one rule."""

    rule: int
    column: str
    words: list[str]


def read_table(path: Path) -> pl.DataFrame:
    """A table of knowledge with own rows, all columns as text, empty cells as empty strings."""
    return pl.read_csv(table_bytes(path), infer_schema=False, empty_string_is_null=False)


@cache
def word_lists() -> dict[str, list[str]]:
    """The lists of words to which rules refer as `@list`; a list may span several rows of `groups.csv`."""
    table = read_table(TABLES / "groups.csv")
    return {str(name): split_cells(rows["words"]) for (name,), rows in table.group_by("group", maintain_order=True)}


def split_cells(cells: Iterable[str]) -> list[str]:
    """The entries of cells such as `miete|kaltmiete`, each once."""
    return list(dict.fromkeys(entry for cell in cells for entry in cell.split("|") if entry))


def expand_words(cell: str, lists: dict[str, list[str]]) -> list[str]:
    """The words of a cell and of its lists, each in all its spellings."""
    words = (word for entry in split_cells([cell]) for word in (lists[entry[1:]] if entry.startswith("@") else [entry]))
    return split_cells(spelling for word in words for spelling in spellings(word))


def bin_range(cell: str) -> tuple[int, int]:
    """The lowest and highest amount bin of a cell such as `3-5`, `3-` or `-5`."""
    lowest, _, highest = cell.partition("-")
    return int(lowest or 0), int(highest or MAX_AMOUNT_BIN)


def compile_rulebooks(tables: Mapping[str, pl.DataFrame], lists: dict[str, list[str]]) -> dict[str, Rulebook]:
    """The rulebooks of tables with columns of `RULE_COLUMNS`, over one automaton. A missing column is no condition."""
    missing = {
        name: [pl.lit("").alias(column) for column in RULE_COLUMNS if column not in table.columns]
        for name, table in tables.items()
    }
    rules = {name: table.with_columns(missing[name]).select(RULE_COLUMNS) for name, table in tables.items()}
    groups = {name: _groups(table, lists) for name, table in rules.items()}
    words = split_cells(word for table_groups in groups.values() for group in table_groups for word in group.words)
    numbers = {word: number for number, word in enumerate(words)}
    shared = dictionary(words)
    return {name: _compile(table, groups[name], numbers, shared) for name, table in rules.items()}


def _groups(rules: pl.DataFrame, lists: dict[str, list[str]]) -> list[WordGroup]:
    return [
        WordGroup(rule, column, expand_words(cell.lower(), lists))
        for column in WORD_COLUMNS
        for rule, cell in enumerate(rules[column])
        if cell
    ]


def _compile(rules: pl.DataFrame, groups: list[WordGroup], numbers: dict[str, int], shared: Dictionary) -> Rulebook:
    flags = tuple(sorted({*split_cells(rules["flags"]), *split_cells(rules["without_flags"])}))
    texts = rules.select("id", "item", "reason", pl.col("priority").cast(pl.Int32), pl.col("confidence").cast(pl.Float64))
    return Rulebook(texts, _conditions(rules, flags, groups, numbers), shared, flags)


def _conditions(rules: pl.DataFrame, flags: Sequence[str], groups: list[WordGroup], numbers: dict[str, int]) -> Conditions:
    needed, forbidding = np.zeros(rules.height, np.int32), np.full((rules.height, 2), -1, np.int32)
    quotes = np.full((rules.height, 2), -1, np.int32)
    members: list[list[int]] = [[] for _ in numbers]
    for number, group in enumerate(groups):
        for word in group.words:
            members[numbers[word]].append(number)
        if group.column in FORBIDDING_COLUMNS:
            forbidding[group.rule, FORBIDDING_COLUMNS.index(group.column)] = number
            continue
        needed[group.rule] += 1
        if group.column in QUOTED_COLUMNS and (free := np.flatnonzero(quotes[group.rule] < 0)).size:
            quotes[group.rule, free[0]] = number
    ranges = [bin_range(cell) for cell in rules["bins"]]
    return Conditions(
        needed=needed,
        forbidding=forbidding,
        sign=np.array([SIGNS[cell] for cell in rules["sign"]], np.int32),
        channels=np.array([_mask(cell, CHANNELS) for cell in rules["channels"]], np.int32),
        flags=np.array([_mask(cell, flags) for cell in rules["flags"]], np.int64),
        without_flags=np.array([_mask(cell, flags) for cell in rules["without_flags"]], np.int64),
        min_bin=np.array([lowest for lowest, _ in ranges], np.int32),
        max_bin=np.array([highest for _, highest in ranges], np.int32),
        quotes=quotes,
        bare=np.flatnonzero(needed == 0).astype(np.int32),
        group_rule=np.array([-1 if group.column in FORBIDDING_COLUMNS else group.rule for group in groups], np.int32),
        group_fields=np.array(
            [sum(1 << FIELDS.index(field) for field in WORD_COLUMNS[group.column]) for group in groups], np.int32
        ),
        word_first=np.cumsum([0, *map(len, members)], dtype=np.int32),
        word_groups=np.array([number for entries in members for number in entries], np.int32),
    )


def _mask(cell: str, names: Sequence[str]) -> int:
    return sum(1 << names.index(entry) for entry in split_cells([cell]))
