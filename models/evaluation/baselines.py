"""What simple means reach, to be beaten: on the same users and with the same measures as the analyses.

Here belong baselines of contracts. Those of cashflow, disposable money and stages stand beside their measures.
"""

import polars as pl

from models.evaluation.contracts import compared, detail_figures, recognition_figures
from models.evaluation.metrics import Figure
from models.simulator import Corpus

SAID = {
    "contract_": "equal gaps",
    "contract_status": "always active",
    "period_": "always a month",
    "next_date_": "last + period",
    "next_amount_": "the last one",
    "cashflow_": "last month",
    "disposable_": "what is left now",
    "stage_": "the most frequent",
}
"""What a baseline does, by how the names of its figures begin; of two the longer one."""
EQUAL_GAPS = 0.3
"""Gaps whose standard deviation is at most this share of their mean are equal."""
LEAST_GAP_DAYS = 5
LEAST_BOOKINGS = 3
MONTHS = {
    "MONTH_ONE": 1,
    "MONTH_TWO": 2,
    "QUARTER_ONE": 3,
    "MONTH_FOUR": 4,
    "HALFYEAR_ONE": 6,
    "YEAR_ONE": 12,
    "YEAR_TWO": 24,
}
WEEKS = {"WEEK_ONE": 1, "WEEK_TWO": 2, "WEEK_FOUR": 4}


def named(figure: str) -> str:
    """What the baseline of a figure does."""
    return SAID[max((name for name in SAID if figure.startswith(name)), key=len)]


def contract_baselines(
    corpus: Corpus, tagged: pl.DataFrame, contracts: pl.DataFrame, payments: pl.DataFrame, times: int = 1000
) -> dict[str, Figure]:
    """Contracts wherever the gaps between bookings of a counterparty are equal; and for contracts that the analysis found: always
    monthly, next on the last date plus the period, with the last amount, and always active.
    """
    found = recognition_figures(corpus, equally_spaced(tagged), times)
    both = compared(corpus, contracts, payments)
    plain = detail_figures(
        both.with_columns(period=pl.lit("MONTH_ONE"), date_next=_last_and_period(), amount_next="amount_latest"), times
    )
    status = detail_figures(both.with_columns(status=pl.lit("ACTIVE")), times)["contract_status"]
    del found["contract_few_precision"], found["contract_few_recall"], plain["period_fallback_error"]
    return {**found, **plain, "contract_status": status}


def equally_spaced(tagged: pl.DataFrame) -> pl.DataFrame:
    """Bookings of one counterparty and sign, if the gaps between them are equal: columns of `CONTRACT_BOOKINGS`."""
    rows = tagged.filter(~pl.col("pending"), pl.col("counterparty_key") != "").select(
        "user", "id", "booked_on", "amount_cents", key="counterparty_key", positive=pl.col("amount_cents") > 0
    )
    of = ["user", "key", "positive"]
    gap = pl.col("booked_on").diff().dt.total_days().over(of)
    spaced = rows.sort(*of, "booked_on", "id").with_columns(gap=gap)
    mean = pl.col("gap").mean().over(of)
    equal = (pl.len().over(of) >= LEAST_BOOKINGS) & (mean >= LEAST_GAP_DAYS) & (pl.col("gap").std().over(of) <= EQUAL_GAPS * mean)
    kept = spaced.with_columns(contract=pl.col("id").first().over(of)).filter(equal)
    return kept.select("contract", "user", "id", "booked_on", "amount_cents", regular=pl.lit(value=True))


def _last_and_period() -> pl.Expr:
    months = pl.col("period").replace_strict(MONTHS, default=0, return_dtype=pl.Int64)
    weeks = pl.col("period").replace_strict(WEEKS, default=0, return_dtype=pl.Int64)
    return pl.col("date_latest").dt.offset_by(pl.format("{}mo{}w", months, weeks))
