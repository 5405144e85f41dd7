"""How good the figures of affordability are, compared with how simulated people live."""

import polars as pl

from models.evaluation.metrics import Figure, figure, ratio
from models.evaluation.perfect_tags import user_names
from models.simulator import Corpus
from models.simulator.truth.affordability import FLAGS, affordability_truth

RATIOS = ("ratio_luxuries_to_expenses", "ratio_necessities_to_income", "ratio_expenses_to_income")


def affordability_figures(corpus: Corpus, affordability: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """Precision and recall of all flags together, the mean error of the ratios, and the share of exact sums."""
    truth = affordability_truth(corpus).join(user_names(corpus), on="user").drop("user").rename({"name": "user"})
    both = affordability.join(truth, on="user", suffix="_true")
    flags = pl.concat(
        [both.select("user", found=flag, there=f"{flag}_true").filter(pl.col("there").is_not_null()) for flag in FLAGS]
    )
    gaps = pl.concat([both.select("user", off=(pl.col(name) - pl.col(f"{name}_true")).abs()) for name in RATIOS])
    return {
        "affordability_precision": figure(flags.filter("found"), ratio(pl.col("there")), "user", times),
        "affordability_recall": figure(flags.filter("there"), ratio(pl.col("found")), "user", times),
        "affordability_ratios": figure(gaps, ratio(pl.col("off")), "user", times),
        "affordability_identities": figure(affordability, ratio(_identities()), "user", times),
    }


def _identities() -> pl.Expr:
    """Whether all sums equal those of their parts, and the remainder is the same in each of the three ways to compute it."""
    sums = [
        pl.col(name) == pl.col(f"{name}_regular") + pl.col(f"{name}_irregular") for name in ("income", "necessities", "luxuries")
    ]
    left = pl.col("income") - pl.col("expenses")
    ways = [
        pl.col("expenses") == pl.col("necessities") + pl.col("luxuries"),
        left == pl.col("discretionary") - pl.col("luxuries"),
        left == pl.col("discretionary_for_irregular_luxuries") - pl.col("luxuries_irregular"),
    ]
    return pl.all_horizontal(*sums, *ways)
