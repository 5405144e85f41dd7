"""The rulebooks of all taggers, compiled together: one automaton finds the words of all of them in one pass.

Here belong which files and tables are rules and how the lexicon becomes rules. What a rule that holds leads to is the business
of its tagger.
"""

from functools import cache

import polars as pl

from analytics import trees
from analytics.bank_text.channels import Channel
from analytics.knowledge.files import TABLES
from analytics.native.word_scan import Dictionary
from analytics.tagging.rulebook import Rulebook, compile_together, lists, read

BY_HAND = (Channel.TRANSFER, Channel.STANDINGORDER)
"""Here people write the purpose themselves: a trade word in it names what they talk about, not who was paid."""
IN_PURPOSE = 0.9
IN_PURPOSE_BY_HAND = 0.75

FACTS = {
    "says_reversal": {"words": "@reversal_word"},
    "says_refund": {"words": "@refund_word"},
    "says_saving": {"words": "@saving", "none": "@saving_not"},
    "says_securities": {"words": "@securities_plan|@securities_trade|depot|wertpapiere"},
    "says_settlement": {
        "words": "kreditkartenabrechnung*|kreditkartenrechnung*|kreditkarte abrechnung|abrechnung kreditkarte|visa abrechnung"
        "|mastercard abrechnung|kartenabrechnung*|ausgleich kreditkarte*|kreditkartenausgleich|ausgleich saldo|kartenausgleich"
    },
    "says_pay": {"words": "@pay", "none": "@pay_not"},
    "says_pay_extra": {"words": "@pay_extra"},
    "says_no_pay": {"words": "@pay_against"},
    "says_pension": {"words": "@pension_word"},
    "is_company": {"name": "@legalforms|@authority"},
    "is_person": {"name": "@firstnames", "name_none": "@company"},
}
"""What a line says that only together with a user's other bookings decides anything, and the words that say it."""


@cache
def books() -> dict[str, Rulebook]:
    """The books by name: those of the files, and `facts`."""
    tables = {name: read(TABLES / f"{name}.csv") for name in ("rules", "insurance", "freelancer")}
    return compile_together({**tables, "lexicon": spread(read(TABLES / "lexicon.csv")), "facts": _facts()}, lists())


def dictionary() -> Dictionary:
    """The words of all books."""
    return books()["rules"].dictionary


def _facts() -> pl.DataFrame:
    rows = [
        {"id": fact, "item": fact, "priority": "0", "confidence": "1", "reason": "", **words} for fact, words in FACTS.items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None).fill_null("")


def spread(table: pl.DataFrame) -> pl.DataFrame:
    """The rules that the lexicon stands for. A word of a name counts less in a purpose, and least in one that people write."""
    income = pl.col("item").is_in(trees.categories_frame().filter(pl.col("sign") == "+")["system_name"].implode())
    rows = table.with_columns(weight=pl.col("weight").cast(pl.Float64), income=income)
    others = [channel for channel in Channel if channel not in BY_HAND]
    parts = [
        _part(rows.filter(pl.col("where") != "purpose"), "name", 1.0, list(Channel)),
        _part(rows.filter((pl.col("where") == "purpose") | pl.col("income")), "purpose", 1.0, list(Channel)),
        _part(rows.filter(pl.col("where") != "purpose", ~pl.col("income")), "purpose", IN_PURPOSE, others),
        _part(rows.filter(pl.col("where") == "any", ~pl.col("income")), "purpose", IN_PURPOSE_BY_HAND, list(BY_HAND)),
    ]
    return pl.concat(parts)


def _part(rows: pl.DataFrame, column: str, factor: float, allowed: list[Channel]) -> pl.DataFrame:
    given = pl.when(pl.col("channels") == "").then(pl.lit("|".join(Channel))).otherwise("channels").str.split("|")
    channels = given.list.set_intersection(pl.lit(list(map(str, allowed)))).list.sort()
    part = rows.with_columns(channels=channels).filter(pl.col("channels").list.len() > 0)
    return part.select(
        "item",
        "none",
        pl.col("channels").list.join("|"),
        id=pl.lit(""),
        priority=pl.lit("0"),
        reason=pl.lit(""),
        confidence=(pl.col("weight") * factor).round(3).cast(pl.String),
        name=pl.col("words") if column == "name" else pl.lit(""),
        purpose=pl.col("words") if column == "purpose" else pl.lit(""),
    )
