"""How good disposable money is: seen ten days before each of the last salaries, against what was left when the salary came.

The as-of date differs from user to user, and lies in the past of the simulated world: what came after it is known.
"""

from datetime import timedelta

import polars as pl

from analytics.analyses.cashflow import cashflow
from analytics.analyses.disposable_money import disposable_money
from analytics.analyses.snapshot import snapshot
from analytics.frames import AS_OF, checked
from models.evaluation.metrics import Figure, figure, ratio
from models.evaluation.perfect_tags import NAME
from models.simulator import Corpus

SALARY = "INCOME_SALARY"
BEFORE = timedelta(days=10)
SALARIES = 3
"""So many salaries of each user are looked forward to."""


def disposable_figures(corpus: Corpus, said: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """How often the sums are exact, and the error of what is expected to be left as a share of the household's income."""
    parts = pl.col("salary_latest") + pl.col("cashflow") + pl.col("expected_fixed") + pl.col("expected_flex")
    return {
        "disposable_identity": figure(said, ratio(parts == pl.col("expected_left")), "user", times),
        "disposable_error": _error(corpus, said, "expected_left", times),
    }


def disposable_baselines(corpus: Corpus, said: pl.DataFrame, times: int = 1000) -> dict[str, Figure]:
    """The error if nothing more were expected to be booked."""
    return {"disposable_error": _error(corpus, said, "currently_left", times)}


def before_salaries(corpus: Corpus, tagged: pl.DataFrame) -> pl.DataFrame:
    """What is said ten days before each of the last salaries, of users who were paid since (columns of `DISPOSABLE`), beside the
    truth: `date_latest` and `date_next`, when the last salary came and the next one did.
    """
    told = []
    for dates in _salaries(corpus):
        asked = checked(dates.select("user", as_of=pl.col("date_next") - BEFORE), AS_OF)
        known = snapshot(tagged, corpus.products, asked)
        told.append(disposable_money(known, cashflow(known)).join(dates, on="user"))
    return pl.concat(told)


def _salaries(corpus: Corpus) -> list[pl.DataFrame]:
    """For the last, the last but one and so on: `user`, `date_latest`, `date_next` of the largest salary that is still paid."""
    largest = (
        corpus.contracts.filter(pl.col("category") == SALARY, pl.col("status") == "ACTIVE")
        .sort("user", "amount_median", descending=[False, True])
        .unique("user", keep="first", maintain_order=True)
    )
    own = corpus.truth.join(largest, on="contract_id", how="semi").filter(~pl.col("future"), "regular")
    paid = own.join(corpus.transactions.select("id", "booked_on"), on="id").sort("user", "booked_on")
    days = paid.group_by("user", maintain_order=True).agg(day=pl.col("booked_on").unique(maintain_order=True))
    day = pl.col("day")
    return [
        days.select(
            user=NAME, date_latest=day.list.get(-place - 1, null_on_oob=True), date_next=day.list.get(-place, null_on_oob=True)
        )
        .drop_nulls()
        .filter(pl.col("date_latest") <= pl.col("date_next") - BEFORE)
        for place in range(1, SALARIES + 1)
    ]


def _error(corpus: Corpus, said: pl.DataFrame, what: str, times: int) -> Figure:
    rows = corpus.transactions.select("user", "booked_on", "amount_cents", "pending").with_columns(
        corpus.truth["effective_category"]
    )
    own = rows.filter(~pl.col("pending"), ~pl.col("effective_category").str.starts_with("TRANSFER_"))
    spans = said.select("user", "date_latest", "date_next", said=what)
    flowed = spans.join(own, on="user").filter(pl.col("booked_on").is_between("date_latest", "date_next", closed="left"))
    left = flowed.group_by("user", "date_next").agg(pl.first("said"), left=pl.col("amount_cents").sum())
    incomes = corpus.users.select("income_cents", user=NAME)
    return figure(
        left.join(incomes, on="user"), ratio((pl.col("said") - pl.col("left")).abs(), pl.col("income_cents")), "user", times
    )
