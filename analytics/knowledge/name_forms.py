"""How statements write bodies that are named by kind and place (`name_forms.csv`).

There are thousands of towns, and each is written in the same ways: »Stadt Bonn«, »Stadtkasse Bonn«, »Bonn, Stadtkasse«. The
catalogue names the kind and the place once (`town:bonn`), and the spellings follow from the kind.
"""

from functools import cache

import polars as pl

from analytics.knowledge.files import TABLES

MAX_WORDS = 6
"""Longer spellings are not searched."""
PLACE = "{}"


@cache
def name_forms() -> dict[str, tuple[str, ...]]:
    """The spellings of each kind, with `{}` for the place."""
    table = pl.read_csv(TABLES / "name_forms.csv", infer_schema=False)
    return {form: tuple(spellings.split("|")) for form, spellings in table.rows()}


def spelt(alias: str) -> tuple[str, ...]:
    """The spellings that an alias stands for: those of its kind with its place, or the alias itself."""
    form, _, place = alias.partition(":")
    if not place:
        return (alias,)
    spellings = (spelling.replace(PLACE, place) for spelling in name_forms().get(form, ()))
    return tuple(spelling for spelling in spellings if spelling.count(" ") < MAX_WORDS)


def is_local(aliases: str) -> bool:
    """Whether a cell of aliases names a kind and a place."""
    return ":" in aliases
