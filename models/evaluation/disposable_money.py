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
from models.evaluation.best_possible import (
    end_is_unseen,
    payments_after_ends,
    times_the_best,
    usual_cents_of_days,
    with_beginnings,
)
from models.evaluation.metrics import Figure, figure, ratio
from models.evaluation.perfect_tags import NAME
from models.simulator import Corpus

SALARY = "INCOME_SALARY"
TIME_BEFORE_SALARY = timedelta(days=10)
SALARIES_PER_USER = 3
MIN_PLANNED_SAVINGS = 6
_ERROR = (pl.col("predicted") - pl.col("left")).abs()


def disposable_figures(corpus: Corpus, disposable: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """The share of exact sums, and the error of the money expected to be left: as a share of the household's income, and compared
    with the best possible one.
    """
    spans = _spans(corpus, disposable, "expected_left")
    parts = pl.col("salary_latest") + pl.col("cashflow") + pl.col("expected_fixed") + pl.col("expected_flex")
    return {
        "disposable_identity": figure(disposable, ratio(parts == pl.col("expected_left")), "user", times),
        "disposable_error": _error(spans, times),
        "disposable_times_best": times_the_best(spans, _ERROR, (pl.col("best") - pl.col("left")).abs(), times),
    }


def disposable_baselines(corpus: Corpus, disposable: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """The error if no further bookings were expected, and the error of the analysis as a multiple of that of a forecast that also
    knows which contracts end.
    """
    spans = _spans(corpus, disposable, "expected_left")
    return {
        "disposable_error": _error(_spans(corpus, disposable, "currently_left"), times),
        "disposable_times_best": times_the_best(spans, _ERROR, (pl.col("knowing_ends") - pl.col("left")).abs(), times),
    }


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
    """For the last, the last but one and so on: `user`, `date_latest`, `date_next` of the largest salary, even if it has
    ended: in its time the analysis takes no other.
    """
    largest = (
        corpus.contracts.filter(pl.col("category") == SALARY)
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


def _error(spans: pl.DataFrame, times: int) -> Figure:
    return figure(spans, ratio(_ERROR, pl.col("income_cents")), "user", times)


def _spans(corpus: Corpus, disposable: pl.DataFrame, column: str) -> pl.DataFrame:
    """By user and span between two salaries: the `predicted` and the `best` possible sum, one that also knows which contracts end
    (`knowing_ends`), what was `left`, and the income.
    """
    flows = _flows(corpus)
    salaries = disposable.select("user", "date_latest", "date_next", predicted=column)
    as_of, day = pl.col("date_next") - TIME_BEFORE_SALARY, pl.col("booked_on")
    is_due = pl.col("planned") | (pl.col("regular") & (pl.col("begun_on") <= as_of)).fill_null(value=False)
    flows_of_spans = salaries.join(flows, on="user").filter(day.is_between("date_latest", "date_next", closed="left"))
    spans = flows_of_spans.group_by("user", "date_next").agg(
        pl.first("predicted"),
        left=pl.col("amount_cents").sum(),
        foreseen=pl.col("amount_cents").filter((day <= as_of) | is_due).sum(),
    )
    unseen = salaries.join(payments_after_ends(flows, corpus.contracts), on="user").filter(
        day > as_of, day < pl.col("date_next"), end_is_unseen(as_of)
    )
    unseen_cents = unseen.group_by("user", "date_next").agg(unseen=pl.col("amount_cents").sum())
    incomes = corpus.users.select("income_cents", user=NAME)
    first_days = salaries.group_by("user").agg(until=pl.col("date_next").min() - TIME_BEFORE_SALARY)
    earlier_flows = flows.join(first_days, on="user").filter(day <= pl.col("until"))
    usual = usual_cents_of_days(earlier_flows, TIME_BEFORE_SALARY.days - 1)
    return (
        spans.join(incomes, on="user")
        .join(usual, on="user", how="left")
        .join(unseen_cents, on=["user", "date_next"], how="left")
        .with_columns(knowing_ends=pl.col("foreseen") + pl.col("usual").fill_null(0))
        .with_columns(best=pl.col("knowing_ends") + pl.col("unseen").fill_null(0))
    )


def _flows(corpus: Corpus) -> pl.DataFrame:
    """What changes the money that is left, by true categories; `planned` are standing orders to own savings."""
    rows = corpus.transactions.select("user", "booked_on", "amount_cents", "pending").with_columns(
        corpus.truth.select("effective_category", "contract_id", "regular")
    )
    is_own = pl.col("effective_category").str.starts_with("TRANSFER_")
    return with_beginnings(rows.filter(~pl.col("pending"), ~is_own | _is_planned_saving()).with_columns(planned=is_own))


def _is_planned_saving() -> pl.Expr:
    """Whether a booking belongs to a standing order to own savings: in the simulated world these alone keep their amount."""
    is_saving = pl.col("effective_category").is_in(OWN_SAVINGS) & (pl.col("amount_cents") < 0)
    return is_saving & (pl.len().over("user", "effective_category", "amount_cents") >= MIN_PLANNED_SAVINGS)
