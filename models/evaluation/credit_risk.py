"""How good the figures of credit risk are, compared with how simulated people live.

They say how well signals are read. They do not say how well the score predicts defaults: no simulated household defaults, and
ranking those with trouble in payments would be circular, since that trouble is a part of the score.
"""

import polars as pl

from analytics.analyses.affordability import affordability
from analytics.analyses.credit_risk import credit_risk
from analytics.analyses.life_events import sum_months
from analytics.analyses.loans import loans
from analytics.analyses.snapshot import Snapshot
from models.evaluation.metrics import Figure, figure, ratio
from models.evaluation.perfect_tags import user_names
from models.simulator import Corpus
from models.simulator.truth.credit_risk import COUNTED_TROUBLES, credit_risk_truth


def credit_risk_figures(
    corpus: Corpus, users: pl.DataFrame, signals: pl.DataFrame, true_snapshot: Snapshot, times: int = 1000
) -> dict[str, Figure]:
    """The share of scores that are the sum of their points, and of classes that are those of true tags; the points by which
    scores differ from those of true tags; and the share of counts of payment trouble that are true.
    """
    sums = signals.group_by("user").agg(pl.sum("points"))
    added = users.select("user", "score").join(sums, on="user", how="left")
    true_users = _of_true_tags(true_snapshot)
    both = users.select("user", "score", "risk_class").join(true_users, on="user", suffix="_true")
    truth = credit_risk_truth(corpus).join(user_names(corpus), on="user").drop("user").rename({"name": "user"})
    counts = signals.filter(pl.col("signal").is_in(list(COUNTED_TROUBLES.values()))).select("user", "signal", "value")
    true_counts = truth.unpivot(index="user", variable_name="signal", value_name="true_value")
    trouble_counts = counts.join(true_counts, on=["user", "signal"]).filter((pl.col("value") > 0) | (pl.col("true_value") > 0))
    return {
        "credit_risk_sums": figure(added, ratio(pl.col("score") == pl.col("points")), "user", times),
        "credit_risk_classes": figure(both, ratio(pl.col("risk_class") == pl.col("risk_class_true")), "user", times),
        "credit_risk_score_error": figure(both, ratio((pl.col("score") - pl.col("score_true")).abs()), "user", times),
        "credit_risk_counts": figure(trouble_counts, ratio(pl.col("value") == pl.col("true_value")), "user", times),
    }


def _of_true_tags(snapshot: Snapshot) -> pl.DataFrame:
    """The credit risk if every tag and contract were true."""
    user_loans = loans(snapshot)
    afforded = affordability(snapshot, user_loans)
    return credit_risk(snapshot, afforded, user_loans, sum_months(snapshot)).credit_risk.select("user", "score", "risk_class")
