"""What a booking is for the self-employed: the item of their tax statement that category, insurance product and words say.

It is told as if the account were a business account; whether somebody is self-employed is not asked here. Works on lines and
again on rows whose category was laid over, so it takes any frame with the texts of lines, `category` and `insurance`.
"""

from functools import cache

import polars as pl

from analytics.judging import because, first, judge
from analytics.rulebook import Rulebook, compile_rules, lists, read

PRIVATE, UNSURE = "PRIVATE", 0.6


def freelancer(lines: pl.DataFrame) -> pl.DataFrame:
    """The lines with `freelancer`, `freelancer_confidence`, `freelancer_source` and `freelancer_reason`."""
    judged = judge(lines, rules())
    best = first(judged.hits, pl.col("priority"), -pl.col("confidence"))
    found = best.select("line", item="item", sure="confidence", said=because(best, judged.text))
    joined = lines.with_row_index("line").join(found, on="line", how="left", maintain_order="left")
    return joined.with_columns(
        freelancer=pl.col("item").fill_null(PRIVATE),
        freelancer_confidence=pl.col("sure").fill_null(UNSURE),
        freelancer_source=pl.when(pl.col("item").is_null()).then(pl.lit("FALLBACK")).otherwise(pl.lit("RULE")),
        freelancer_reason=pl.col("said").fill_null("kein betrieblicher Bezug erkannt"),
    ).drop("line", "item", "sure", "said")


@cache
def rules() -> Rulebook:
    """The rules and the table of categories, compiled."""
    return compile_rules(read("freelancer"), lists())
