"""Facts of a line for the passes over bookings: they decide only together with a user's other bookings.

Each fact is a boolean column. The words are in `rulebooks.FACTS`; what follows from a fact is in `own_transfers`, `wages` and
`refunds`.
"""

import numpy as np
import polars as pl

from analytics.tagging.rule_matching import LineWords, match_rules
from analytics.tagging.rulebooks import FACTS, rulebooks


def add_facts(lines: pl.DataFrame, words: LineWords | None = None) -> pl.DataFrame:
    """The lines with a boolean column for every fact."""
    rulebook = rulebooks()["facts"]
    hits = match_rules(lines, rulebook, words).hits
    facts = np.zeros((len(FACTS), lines.height), np.bool_)
    facts[hits["rule"].to_numpy(), hits["line"].to_numpy()] = True
    return lines.with_columns(pl.Series(fact, facts[rule]) for rule, fact in enumerate(rulebook.rules["item"]))
