"""Words that are no brand by themselves (`everyday.csv`): everyday words, surnames, given names, places."""

from functools import cache

import polars as pl

from analytics.knowledge.files import TABLES

WORD, SURNAME, GIVEN, PLACE = "word", "surname", "given", "place"
KINDS = (WORD, SURNAME, GIVEN, PLACE)
SALUTATIONS = ("herr", "herrn", "frau", "familie", "fam", "eheleute", "dr", "prof")


@cache
def everyday(*kinds: str) -> pl.Series:
    """The words of some kinds, or all."""
    table = pl.read_csv(TABLES / "everyday.csv", infer_schema=False)
    return table.filter(pl.col("kind").is_in(kinds or KINDS))["word"]


@cache
def given_names() -> pl.Series:
    """Words by which a person's name is recognised."""
    return pl.concat([everyday(GIVEN), pl.Series(SALUTATIONS)])
