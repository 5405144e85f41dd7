"""How good disposable money is: ten days before each of the last salaries, compared with what was left when the salary came.

The as-of date differs from user to user, and lies in the past of the simulated world: what came after it is known.
"""

from datetime import timedelta

import polars as pl

from analytics.analyses.cashflow import cashflow
from analytics.analyses.contracts.streams import OWN_SAVINGS
from analytics.analyses.disposable_money import disposable_money
from analytics.analyses.snapshot import snapshot
from analytics.frames import AS_OF, checked
from models.evaluation.metrics import Figure, figure, ratio
from models.evaluation.perfect_tags import NAME
from models.simulator import Corpus

SALARY = "INCOME_SALARY"
TIME_BEFORE_SALARY = timedelta(days=10)
SALARIES_PER_USER = 3
MIN_PLANNED_SAVINGS = 6


def disposable_figures(corpus: Corpus, disposable: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """The share of exact sums, and the error of the money expected to be left as a share of the household's income."""
    parts = pl.col("salary_latest") + pl.col("cashflow") + pl.col("expected_fixed") + pl.col("expected_flex")
    return {
        "disposable_identity": figure(disposable, ratio(parts == pl.col("expected_left")), "user", times),
        "disposable_error": _error(corpus, disposable, "expected_left", times),
    }


def disposable_baselines(corpus: Corpus, disposable: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """The error if no further bookings were expected."""
    return {"disposable_error": _error(corpus, disposable, "currently_left", times)}


def before_salaries(corpus: Corpus, tagged_bookings: pl.DataFrame) -> pl.DataFrame:
    """The analysis ten days before each of the last salaries (columns of `DISPOSABLE`), for users who were paid since.

    The true dates of the salary before and the one after are in `date_latest` and `date_next`.
    """
    results = []
    for dates in _salaries(corpus):
        as_of = checked(dates.select("user", as_of=pl.col("date_next") - TIME_BEFORE_SALARY), AS_OF)
        then = snapshot(tagged_bookings, corpus.products, as_of)
        results.append(disposable_money(then, cashflow(then)).join(dates, on="user"))
    return pl.concat(results)


def _salaries(corpus: Corpus) -> list[pl.DataFrame]:
    """For the last, the last but one and so on: `user`, `date_latest`, `date_next` of the largest salary that is still paid."""
    largest = (
        corpus.contracts.filter(pl.col("category") == SALARY, pl.col("status") == "ACTIVE")
        .sort("user", "amount_median", descending=[False, True])
        .unique("user", keep="first", maintain_order=True)
    )
    payments = corpus.truth.join(largest, on="contract_id", how="semi").filter(~pl.col("future"), "regular")
    dated_payments = payments.join(corpus.transactions.select("id", "booked_on"), on="id").sort("user", "booked_on")
    days = dated_payments.group_by("user", maintain_order=True).agg(day=pl.col("booked_on").unique(maintain_order=True))
    day = pl.col("day")
    return [
        days.select(
            user=NAME, date_latest=day.list.get(-nth - 1, null_on_oob=True), date_next=day.list.get(-nth, null_on_oob=True)
        )
        .drop_nulls()
        .filter(pl.col("date_latest") <= pl.col("date_next") - TIME_BEFORE_SALARY)
        for nth in range(1, SALARIES_PER_USER + 1)
    ]


def _error(corpus: Corpus, disposable: pl.DataFrame, column: str, times: int) -> Figure:
    rows = corpus.transactions.select("user", "booked_on", "amount_cents", "pending").with_columns(
        corpus.truth["effective_category"]
    )
    is_own = pl.col("effective_category").str.starts_with("TRANSFER_")
    flows = rows.filter(~pl.col("pending"), ~is_own | _is_planned_saving())
    spans = disposable.select("user", "date_latest", "date_next", predicted=column)
    flows_of_spans = spans.join(flows, on="user").filter(
        pl.col("booked_on").is_between("date_latest", "date_next", closed="left")
    )
    left = flows_of_spans.group_by("user", "date_next").agg(pl.first("predicted"), left=pl.col("amount_cents").sum())
    incomes = corpus.users.select("income_cents", user=NAME)
    error = ratio((pl.col("predicted") - pl.col("left")).abs(), pl.col("income_cents"))
    return figure(left.join(incomes, on="user"), error, "user", times)


def _is_planned_saving() -> pl.Expr:
    """Whether a booking belongs to a standing order to own savings: in the simulated world these alone keep their amount."""
    is_saving = pl.col("effective_category").is_in(OWN_SAVINGS) & (pl.col("amount_cents") < 0)
    return is_saving & (pl.len().over("user", "effective_category", "amount_cents") >= MIN_PLANNED_SAVINGS)
