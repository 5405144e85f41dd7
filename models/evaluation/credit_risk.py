"""How good the figures of credit risk are, compared with how simulated people live.

They say how well signals are read and whether the score ranks households as a reader of the scorecard expects. They do not say
how well it predicts defaults: no simulated household defaults, and trouble in payments is itself a part of the score.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analytics.analyses.affordability import affordability
from analytics.analyses.credit_risk import credit_risk
from analytics.analyses.life_events import sum_months
from analytics.analyses.loans import loans
from analytics.analyses.snapshot import Snapshot
from models.evaluation.metrics import Figure, Floats, Measure, figure, ratio
from models.evaluation.perfect_tags import user_names
from models.simulator import Corpus
from models.simulator.truth.credit_risk import COUNTED_TROUBLES, credit_risk_truth

SCORES = 101


def credit_risk_figures(
    corpus: Corpus, users: pl.DataFrame, signals: pl.DataFrame, true_snapshot: Snapshot, times: int = 1000
) -> dict[str, Figure]:
    """The share of scores that are the sum of their points, of classes and points that are those of true tags, of counts of
    trouble that are true, and of pairs in which the household with trouble in payments has the lower score.
    """
    sums = signals.group_by("user").agg(pl.sum("points"))
    added = users.select("user", "score").join(sums, on="user", how="left")
    true_users = _of_true_tags(true_snapshot)
    both = users.select("user", "score", "risk_class").join(true_users, on="user", suffix="_true")
    truth = credit_risk_truth(corpus).join(user_names(corpus), on="user").drop("user").rename({"name": "user"})
    counts = signals.filter(pl.col("signal").is_in(list(COUNTED_TROUBLES.values()))).select("user", "signal", "value")
    true_counts = truth.unpivot(index="user", variable_name="signal", value_name="true_value")
    trouble_counts = counts.join(true_counts, on=["user", "signal"]).filter((pl.col("value") > 0) | (pl.col("true_value") > 0))
    has_trouble = pl.any_horizontal(pl.col(*COUNTED_TROUBLES.values()) > 0)
    ranked = users.select("user", "score").join(truth.select("user", troubled=has_trouble), on="user")
    return {
        "credit_risk_sums": figure(added, ratio(pl.col("score") == pl.col("points")), "user", times),
        "credit_risk_classes": figure(both, ratio(pl.col("risk_class") == pl.col("risk_class_true")), "user", times),
        "credit_risk_score_error": figure(both, ratio((pl.col("score") - pl.col("score_true")).abs()), "user", times),
        "credit_risk_counts": figure(trouble_counts, ratio(pl.col("value") == pl.col("true_value")), "user", times),
        "credit_risk_ranking": figure(ranked, _ranking(), "user", times),
    }


def _of_true_tags(snapshot: Snapshot) -> pl.DataFrame:
    """The credit risk if every tag and contract were true."""
    user_loans = loans(snapshot)
    afforded = affordability(snapshot, user_loans)
    return credit_risk(snapshot, afforded, user_loans, sum_months(snapshot)).credit_risk.select("user", "score", "risk_class")


def _ranking() -> Measure:
    """The share of pairs of a household with trouble and one without in which the first has the lower score; equal ones count
    half.
    """

    def tally(frame: pl.DataFrame, groups: NDArray[np.int64], count: int) -> Floats:
        score, troubled = frame["score"].to_numpy(), frame["troubled"].to_numpy()
        sums = np.zeros((count, 2 * SCORES))
        np.add.at(sums, (groups, score + SCORES * troubled), 1)
        return sums

    def formula(sums: Floats) -> Floats:
        others, troubled = np.split(sums, 2, axis=-1)
        above = others.sum(axis=-1, keepdims=True) - np.cumsum(others, axis=-1)
        pairs = others.sum(axis=-1) * troubled.sum(axis=-1)
        won = (troubled * (above + others / 2)).sum(axis=-1)
        return np.asarray(np.divide(won, pairs, out=np.full(np.shape(pairs), np.nan), where=np.asarray(pairs) != 0))

    return Measure(tally, formula)
