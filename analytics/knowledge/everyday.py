"""Words that alone are no brand (`everyday.csv`): everyday words, surnames, given names, places."""

from functools import cache

import polars as pl

from analytics.knowledge.files import TABLES

WORD, SURNAME, GIVEN, PLACE = "word", "surname", "given", "place"
KINDS = (WORD, SURNAME, GIVEN, PLACE)
SALUTATIONS = ("herr", "herrn", "frau", "familie", "fam", "eheleute", "dr", "prof")


@cache
def everyday(*kinds: str) -> pl.Series:
    """The words of these kinds, or of all kinds."""
    table = pl.read_csv(TABLES / "everyday.csv", infer_schema=False)
    return table.filter(pl.col("kind").is_in(kinds or KINDS))["word"]


@cache
def given_names() -> pl.Series:
    """Words that mark a person's name: given names and salutations."""
    return pl.concat([everyday(GIVEN), pl.Series(SALUTATIONS)])
