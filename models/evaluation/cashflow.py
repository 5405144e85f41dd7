"""How good the cashflow forecasts are, compared with what simulated people earned and spent in the next month."""

from datetime import date

import polars as pl

from analytics.analyses.cashflow import select_view
from analytics.analyses.cashflow.flows import EXPENSES, INCOME, category_groups
from models.evaluation.best_possible import MONTH_KEYS, expected_next_month, payments_after_ends, times_the_best
from models.evaluation.metrics import Figure, Measure, figure, ratio
from models.simulator import Corpus

_FORECAST_ERROR = (pl.col("cents") - pl.col("next")).abs()
_LAST_MONTH_ERROR = (pl.col("last") - pl.col("next")).abs()
_BEST_ERROR = (pl.col("best") - pl.col("next")).abs()
_ERROR_KNOWING_ENDS = (pl.col("knowing_ends") - pl.col("next")).abs()


def cashflow_figures(corpus: Corpus, predictions: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """The error as a share of what flowed and as a multiple of the best possible one, its gain over last month's value, and how
    often the next month is within bounds.
    """
    figures = {}
    for name, rows in _by_aggregate(forecasts(corpus, predictions)):
        figures[f"{name}_error"] = figure(rows, ratio(_FORECAST_ERROR, pl.col("next").abs()), "user", times)
        figures[f"{name}_times_best"] = times_the_best(rows, _FORECAST_ERROR, _BEST_ERROR, times)
        figures[f"{name}_gain"] = figure(rows, _gain(_FORECAST_ERROR, _LAST_MONTH_ERROR), "user", times)
        figures[f"{name}_bounds"] = figure(rows, ratio(pl.col("next").is_between("lower", "upper")), "user", times)
    return figures


def cashflow_baselines(corpus: Corpus, predictions: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """The errors if the next month were like the last one, and the errors of the forecasts as multiples of those of one that also
    knows which contracts end.
    """
    figures = {}
    for name, rows in _by_aggregate(forecasts(corpus, predictions)):
        figures[f"{name}_error"] = figure(rows, ratio(_LAST_MONTH_ERROR, pl.col("next").abs()), "user", times)
        figures[f"{name}_times_best"] = times_the_best(rows, _FORECAST_ERROR, _ERROR_KNOWING_ENDS, times)
    return figures


def forecasts(corpus: Corpus, predictions: pl.DataFrame) -> pl.DataFrame:
    """Cents of each user and aggregate: the forecast of the next month, the `best` possible one, one that also knows which
    contracts end (`knowing_ends`), and what flowed in it (`next`) and in the `last` one.
    """
    flows = _flows(corpus)
    unseen = payments_after_ends(flows, corpus.contracts)
    best = expected_next_month(flows, unseen, corpus.as_of)
    knowing_ends = expected_next_month(flows, unseen.clear(), corpus.as_of).rename({"best": "knowing_ends"})
    months = _months(flows, corpus.as_of).join(best, on=MONTH_KEYS, how="left").join(knowing_ends, on=MONTH_KEYS, how="left")
    return months.join(_next_month(corpus, predictions), on=MONTH_KEYS, how="inner").fill_null(0)


def _by_aggregate(rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    return [(f"cashflow_{name.lower()}", rows.filter(pl.col("aggregate") == name)) for name in (EXPENSES, INCOME)]


def _flows(corpus: Corpus) -> pl.DataFrame:
    """The bookings that count, by true categories, before and after the as-of date."""
    rows = corpus.transactions.select("user", "booked_on", "amount_cents", "pending").with_columns(
        corpus.truth.select("effective_category", "contract_id", "regular")
    )
    return rows.join(category_groups(), left_on="effective_category", right_on="tag").filter(
        ~pl.col("pending"), pl.col("aggregate").is_not_null()
    )


def _months(flows: pl.DataFrame, as_of: date) -> pl.DataFrame:
    """What flowed for each user in the month of the as-of date and in the one after it."""
    month, current_month = pl.col("booked_on").dt.month_start(), pl.lit(as_of).dt.month_start()
    sums = [
        pl.col("amount_cents").filter(month == which).sum().alias(name)
        for name, which in (("last", current_month), ("next", current_month.dt.offset_by("1mo")))
    ]
    return flows.group_by(MONTH_KEYS).agg(sums)


def _next_month(corpus: Corpus, predictions: pl.DataFrame) -> pl.DataFrame:
    """The forecasts of the month after the as-of date."""
    year, month = divmod(corpus.as_of.year * 12 + corpus.as_of.month, 12)
    rows = select_view(predictions).filter(pl.col("level") == "aggregate", pl.col("item") == f"{year}_M{month + 1:02}")
    return rows.select("user", "cents", "lower", "upper", aggregate="tag")


def _gain(error: pl.Expr, other_error: pl.Expr) -> Measure:
    """The share by which an error is smaller than another."""
    share = ratio(error, other_error)
    return Measure(share.tally, lambda sums: 1 - share.formula(sums))
