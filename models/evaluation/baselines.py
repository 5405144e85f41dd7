"""What simple methods reach, on the same users and with the same measures as the analyses.

Here are the baselines of contracts. Those of cashflow, disposable money and stages are beside their measures.
"""

import polars as pl

from models.evaluation.contracts import compare_contracts, detail_figures, recognition_figures
from models.evaluation.metrics import Figure
from models.simulator import Corpus

DESCRIPTIONS = {
    "contract_": "equal gaps",
    "contract_status": "always active",
    "period_": "always a month",
    "next_date_": "last + period",
    "next_amount_": "the last one",
    "cashflow_": "last month",
    "cashflow_expenses_times_best": "times one that knows ends, too",
    "cashflow_income_times_best": "times one that knows ends, too",
    "disposable_": "what is left now",
    "disposable_times_best": "times one that knows ends, too",
    "stage_": "the most frequent",
}
"""What a baseline does, by the longest prefix of the figure's name."""
MAX_GAP_DEVIATION = 0.3
"""Gaps count as equal if their standard deviation is at most this share of their mean."""
MIN_GAP_DAYS = 5
MIN_BOOKINGS = 3
PERIOD_MONTHS = {
    "MONTH_ONE": 1,
    "MONTH_TWO": 2,
    "QUARTER_ONE": 3,
    "MONTH_FOUR": 4,
    "HALFYEAR_ONE": 6,
    "YEAR_ONE": 12,
    "YEAR_TWO": 24,
}
PERIOD_WEEKS = {"WEEK_ONE": 1, "WEEK_TWO": 2, "WEEK_FOUR": 4}


def description(figure: str) -> str:
    """What the baseline of a figure does."""
    return DESCRIPTIONS[max((name for name in DESCRIPTIONS if figure.startswith(name)), key=len)]


def contract_baselines(
    corpus: Corpus, tagged_bookings: pl.DataFrame, contracts: pl.DataFrame, payments: pl.DataFrame, times: int = 1000
) -> dict[str, Figure]:
    """The figures of simple rules.

    A contract is wherever the gaps between bookings of a counterparty are equal. For contracts that the analysis found: always
    monthly, next on the last date plus the period, with the last amount, and always active.
    """
    recognition = recognition_figures(corpus, equally_spaced(tagged_bookings), times)
    both = compare_contracts(corpus, contracts, payments)
    details = detail_figures(
        both.with_columns(period=pl.lit("MONTH_ONE"), date_next=_last_and_period(), amount_next="amount_latest"), times
    )
    status = detail_figures(both.with_columns(status=pl.lit("ACTIVE")), times)["contract_status"]
    del recognition["contract_few_precision"], recognition["contract_few_recall"], details["period_fallback_error"]
    return {**recognition, **details, "contract_status": status}


def equally_spaced(tagged_bookings: pl.DataFrame) -> pl.DataFrame:
    """Bookings of one counterparty and sign, if the gaps between them are equal: columns of `CONTRACT_BOOKINGS`."""
    rows = tagged_bookings.filter(~pl.col("pending"), pl.col("counterparty_key") != "").select(
        "user", "id", "booked_on", "amount_cents", key="counterparty_key", positive=pl.col("amount_cents") > 0
    )
    stream = ["user", "key", "positive"]
    gap = pl.col("booked_on").diff().dt.total_days().over(stream)
    bookings = rows.sort(*stream, "booked_on", "id").with_columns(gap=gap)
    mean = pl.col("gap").mean().over(stream)
    equal = (
        (pl.len().over(stream) >= MIN_BOOKINGS)
        & (mean >= MIN_GAP_DAYS)
        & (pl.col("gap").std().over(stream) <= MAX_GAP_DEVIATION * mean)
    )
    members = bookings.with_columns(contract=pl.col("id").first().over(stream)).filter(equal)
    return members.select("contract", "user", "id", "booked_on", "amount_cents", regular=pl.lit(value=True))


def _last_and_period() -> pl.Expr:
    months = pl.col("period").replace_strict(PERIOD_MONTHS, default=0, return_dtype=pl.Int64)
    weeks = pl.col("period").replace_strict(PERIOD_WEEKS, default=0, return_dtype=pl.Int64)
    return pl.col("date_latest").dt.offset_by(pl.format("{}mo{}w", months, weeks))
