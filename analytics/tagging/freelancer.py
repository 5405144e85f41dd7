"""What a booking is for the self-employed: the item of their tax statement that category, insurance product and words say.

It is told as if the account were a business account; whether somebody is self-employed is not asked here. Works on lines and
again on rows whose category was laid over, so it takes any frame with the texts of lines, `category` and `insurance`.
"""

import polars as pl

from analytics.frames import beside
from analytics.tagging.rule_matching import Words, because, first, judge
from analytics.tagging.rulebooks import books

PRIVATE, UNSURE = "PRIVATE", 0.6


def freelancer(lines: pl.DataFrame, words: Words | None = None) -> pl.DataFrame:
    """The lines with `freelancer`, `freelancer_confidence`, `freelancer_source` and `freelancer_reason`."""
    judged = judge(lines, books()["freelancer"], words)
    best = first(judged.hits, pl.col("priority"), -pl.col("confidence"))
    found = best.select("line", item="item", sure="confidence", said=because(best, judged.words))
    return (
        beside(lines, found)
        .with_columns(
            freelancer=pl.col("item").fill_null(PRIVATE),
            freelancer_confidence=pl.col("sure").fill_null(UNSURE),
            freelancer_source=pl.when(pl.col("item").is_null()).then(pl.lit("FALLBACK")).otherwise(pl.lit("RULE")),
            freelancer_reason=pl.col("said").fill_null("kein betrieblicher Bezug erkannt"),
        )
        .drop("item", "sure", "said")
    )
