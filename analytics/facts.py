"""What a line says that only together with a user's other bookings decides anything: facts for the passes over rows.

Each fact is a boolean column. Words stand in `groups.csv`; what follows from the facts stands in `transfers` and `income`.
"""

from functools import cache

import polars as pl

from analytics.judging import judge
from analytics.rulebook import Rulebook, compile_rules, lists

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


def facts(lines: pl.DataFrame) -> pl.DataFrame:
    """The lines with a boolean column for every fact."""
    hits = judge(lines, book()).hits.select("line", "item").unique()
    found = [pl.int_range(pl.len(), dtype=pl.UInt32).is_in(_lines(hits, fact)).alias(fact) for fact in FACTS]
    return lines.with_columns(found)


@cache
def book() -> Rulebook:
    """The facts as rules."""
    rows = [
        {"id": fact, "item": fact, "priority": "0", "confidence": "1", "reason": "", **words} for fact, words in FACTS.items()
    ]
    return compile_rules(pl.DataFrame(rows, infer_schema_length=None).fill_null(""), lists())


def _lines(hits: pl.DataFrame, fact: str) -> pl.Series:
    return hits.filter(pl.col("item") == fact)["line"].implode()
