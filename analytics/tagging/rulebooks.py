"""The rulebooks of all tagging steps, compiled together: one automaton finds the words of all of them in one pass.

Here is which files and tables are rules, and how the lexicon becomes rules. What follows from a rule is decided by the step that
uses the rulebook.
"""

from functools import cache

import polars as pl

from analytics import trees
from analytics.bank_text.channels import Channel
from analytics.knowledge.files import TABLES
from analytics.native.word_scan import Dictionary
from analytics.tagging.rulebook import Rulebook, compile_rulebooks, read_table, word_lists

HANDWRITTEN_CHANNELS = (Channel.TRANSFER, Channel.STANDINGORDER)
"""Here people write the purpose themselves: a trade word in it is what they write about, not who was paid."""
PURPOSE_FACTOR, HANDWRITTEN_PURPOSE_FACTOR = 0.9, 0.75
"""Factors of a word's weight where it stands in the purpose instead of the name."""

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
    "is_company": {"name": "@legalforms|@authority"},
    "is_person": {"name": "@firstnames", "name_none": "@company"},
}
"""The facts of `line_facts`, and the conditions under which each holds, as columns of a rule."""


@cache
def rulebooks() -> dict[str, Rulebook]:
    """The rulebooks by name: those of the files, and `facts`."""
    tables = {name: read_table(TABLES / f"{name}.csv") for name in ("rules", "insurance", "freelancer")}
    return compile_rulebooks(
        {**tables, "lexicon": lexicon_rules(read_table(TABLES / "lexicon.csv")), "facts": _fact_rules()}, word_lists()
    )


def shared_dictionary() -> Dictionary:
    """The words of all rulebooks."""
    return rulebooks()["rules"].dictionary


def _fact_rules() -> pl.DataFrame:
    rows = [
        {"id": fact, "item": fact, "priority": "0", "confidence": "1", "reason": "", **words} for fact, words in FACTS.items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None).fill_null("")


def lexicon_rules(table: pl.DataFrame) -> pl.DataFrame:
    """The lexicon as rules. A word for names counts less in a purpose, and least in one that people write."""
    income = pl.col("item").is_in(trees.categories_frame().filter(pl.col("sign") == "+")["system_name"].implode())
    rows = table.with_columns(weight=pl.col("weight").cast(pl.Float64), income=income)
    others = [channel for channel in Channel if channel not in HANDWRITTEN_CHANNELS]
    parts = [
        _lexicon_part(rows.filter(pl.col("where") != "purpose"), "name", 1.0, list(Channel)),
        _lexicon_part(rows.filter((pl.col("where") == "purpose") | pl.col("income")), "purpose", 1.0, list(Channel)),
        _lexicon_part(rows.filter(pl.col("where") != "purpose", ~pl.col("income")), "purpose", PURPOSE_FACTOR, others),
        _lexicon_part(
            rows.filter(pl.col("where") == "any", ~pl.col("income")),
            "purpose",
            HANDWRITTEN_PURPOSE_FACTOR,
            list(HANDWRITTEN_CHANNELS),
        ),
    ]
    return pl.concat(parts)


def _lexicon_part(rows: pl.DataFrame, column: str, factor: float, allowed: list[Channel]) -> pl.DataFrame:
    listed_channels = pl.when(pl.col("channels") == "").then(pl.lit("|".join(Channel))).otherwise("channels").str.split("|")
    channels = listed_channels.list.set_intersection(pl.lit(list(map(str, allowed)))).list.sort()
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
