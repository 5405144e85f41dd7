"""The freelancer category: the item of the tax statement that category, insurance type and words of a booking lead to.

It is decided as if the account were a business account; whether a user is self-employed is not decided here. Takes lines, and
rows whose category a pass has changed: any frame with the texts of lines, `category` and `insurance`.
"""

import polars as pl

from analytics.frames import add_columns_by_row
from analytics.tagging.rule_matching import LineWords, first_hits, match_rules, quoted_reasons
from analytics.tagging.rulebooks import rulebooks

PRIVATE, FALLBACK_CONFIDENCE = "PRIVATE", 0.6


def add_freelancer(lines: pl.DataFrame, words: LineWords | None = None) -> pl.DataFrame:
    """The lines with `freelancer`, `freelancer_confidence`, `freelancer_source` and `freelancer_reason`."""
    matches = match_rules(lines, rulebooks()["freelancer"], words)
    best = first_hits(matches.hits, pl.col("priority"), -pl.col("confidence"))
    reason = quoted_reasons(best, matches.words)
    answers = best.select("line", freelancer="item", freelancer_confidence="confidence", freelancer_reason=reason)
    return add_columns_by_row(lines, answers).with_columns(
        pl.col("freelancer").fill_null(PRIVATE),
        pl.col("freelancer_confidence").fill_null(FALLBACK_CONFIDENCE),
        pl.col("freelancer_reason").fill_null("kein betrieblicher Bezug erkannt"),
        freelancer_source=pl.when(pl.col("freelancer").is_null()).then(pl.lit("FALLBACK")).otherwise(pl.lit("RULE")),
    )
