"""What a line says that only together with a user's other bookings decides anything: facts for the passes over rows.

Each fact is a boolean column. Words stand in `groups.csv`; what follows from the facts stands in `transfers` and `income`.
"""

import numpy as np
import polars as pl

from analytics.tagging.rule_matching import Words, judge
from analytics.tagging.rulebooks import FACTS, books

__all__ = ["FACTS", "facts"]


def facts(lines: pl.DataFrame, words: Words | None = None) -> pl.DataFrame:
    """The lines with a boolean column for every fact."""
    book = books()["facts"]
    hits = judge(lines, book, words).hits
    said = np.zeros((len(FACTS), lines.height), np.bool_)
    said[hits["rule"].to_numpy(), hits["line"].to_numpy()] = True
    return lines.with_columns(pl.Series(fact, said[rule]) for rule, fact in enumerate(book.rules["item"]))
