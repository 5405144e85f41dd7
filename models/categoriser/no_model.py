"""The scorer that has learned nothing: with it, rules, partners and words decide alone."""

import polars as pl


class NoModel:
    """A scorer (`analytics.tagging.tag.Scorer`) without an answer to any line."""

    version = "none"

    def score(self, lines: pl.DataFrame, priors: pl.DataFrame | None = None) -> pl.DataFrame:  # noqa: ARG002  # as the protocol has it
        """No category for each line."""
        return lines.select("key", category=pl.lit(None, pl.String), confidence=pl.lit(0.0), words=pl.lit(""))
