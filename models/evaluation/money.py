"""How good forecasts of cashflow and figures of affordability are, against what simulated people did next and how they live."""

import polars as pl

from analytics.analyses.cashflow import select_view
from analytics.analyses.cashflow.flows import EXPENSES, INCOME, category_groups
from models.evaluation.metrics import Figure, Measure, figure, ratio
from models.simulator import Corpus
from models.simulator.truth.affordability import affordability_truth

FLAGS = (
    "existing_loans",
    "mortgage_payments",
    "rental_payments",
    "return_debits",
    "reminder_charges",
    "seizure_payments",
    "debt_collection_payments",
)
RATIOS = ("ratio_luxuries_to_expenses", "ratio_necessities_to_income", "ratio_expenses_to_income")


def cashflow_figures(corpus: Corpus, predictions: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """The next month of each user: the error as a share of what flowed, what it gains on last month, and what bounds hold."""
    rows = forecasts(corpus, predictions)
    off, then = (pl.col("cents") - pl.col("next")).abs(), (pl.col("last") - pl.col("next")).abs()
    held = pl.col("next").is_between("lower", "upper")
    figures = {}
    for name, of in _by_aggregate(rows):
        figures[f"{name}_error"] = figure(of, ratio(off, pl.col("next").abs()), "user", times)
        figures[f"{name}_gain"] = figure(of, _gain(off, then), "user", times)
        figures[f"{name}_bounds"] = figure(of, ratio(held), "user", times)
    return figures


def cashflow_baselines(corpus: Corpus, predictions: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """The errors if the next month were like the last one."""
    then = (pl.col("last") - pl.col("next")).abs()
    by = _by_aggregate(forecasts(corpus, predictions))
    return {f"{name}_error": figure(of, ratio(then, pl.col("next").abs()), "user", times) for name, of in by}


def forecasts(corpus: Corpus, predictions: pl.DataFrame) -> pl.DataFrame:
    """Of each user and aggregate the forecast of the next month, what flowed in it, and what flowed in the last one."""
    return _months(corpus).join(_said(corpus, predictions), on=["user", "aggregate"], how="inner").fill_null(0)


def _by_aggregate(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    return [(f"cashflow_{name.lower()}", rows.filter(pl.col("aggregate") == name)) for name in (EXPENSES, INCOME)]


def affordability_figures(corpus: Corpus, found: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """Precision and recall of all flags together, and how far ratios are off."""
    named = corpus.truth.select("user").with_columns(name=corpus.transactions["user"]).unique("user")
    true = affordability_truth(corpus).join(named, on="user").drop("user").rename({"name": "user"})
    both = found.join(true, on="user", suffix="_true")
    flags = pl.concat(
        [both.select("user", found=flag, there=f"{flag}_true").filter(pl.col("there").is_not_null()) for flag in FLAGS]
    )
    gaps = pl.concat([both.select("user", off=(pl.col(name) - pl.col(f"{name}_true")).abs()) for name in RATIOS])
    return {
        "affordability_precision": figure(flags.filter("found"), ratio(pl.col("there")), "user", times),
        "affordability_recall": figure(flags.filter("there"), ratio(pl.col("found")), "user", times),
        "affordability_ratios": figure(gaps, ratio(pl.col("off")), "user", times),
        "affordability_identities": figure(found, ratio(_identities()), "user", times),
    }


def _months(corpus: Corpus) -> pl.DataFrame:
    """What flowed of each user in the month of the as-of date and in the one after it, by true categories."""
    rows = corpus.transactions.select("user", "booked_on", "amount_cents", "pending").with_columns(
        corpus.truth["effective_category"]
    )
    counted = rows.join(category_groups(), left_on="effective_category", right_on="tag").filter(
        ~pl.col("pending"), pl.col("aggregate").is_not_null()
    )
    month, now = pl.col("booked_on").dt.month_start(), pl.lit(corpus.as_of).dt.month_start()
    sums = [
        pl.col("amount_cents").filter(month == when).sum().alias(name)
        for name, when in (("last", now), ("next", now.dt.offset_by("1mo")))
    ]
    return counted.group_by("user", "aggregate").agg(sums)


def _said(corpus: Corpus, predictions: pl.DataFrame) -> pl.DataFrame:
    """The forecasts of that month."""
    year, month = divmod(corpus.as_of.year * 12 + corpus.as_of.month, 12)
    told = select_view(predictions).filter(pl.col("level") == "aggregate", pl.col("item") == f"{year}_M{month + 1:02}")
    return told.select("user", "cents", "lower", "upper", aggregate="tag")


def _gain(off: pl.Expr, then: pl.Expr) -> Measure:
    """By which share an error is smaller than another."""
    share = ratio(off, then)
    return Measure(share.tally, lambda sums: 1 - share.formula(sums))


def _identities() -> pl.Expr:
    """Whether all sums are those of their parts, and what is left is the same by each of the three ways."""
    whole = [
        pl.col(name) == pl.col(f"{name}_regular") + pl.col(f"{name}_irregular") for name in ("income", "necessities", "luxuries")
    ]
    left = pl.col("income") - pl.col("expenses")
    ways = [
        pl.col("expenses") == pl.col("necessities") + pl.col("luxuries"),
        left == pl.col("discretionary") - pl.col("luxuries"),
        left == pl.col("discretionary_for_irregular_luxuries") - pl.col("luxuries_irregular"),
    ]
    return pl.all_horizontal(*whole, *ways)
