"""Stress values, and the highest instalment that a household can afford."""

import polars as pl

from analytics.analyses.credit_risk.scorecard import CLASSES, Scorecard
from analytics.analyses.credit_risk.signals import ratio_to_income
from analytics.frames import CREDIT_RISK_STRESSES, divided

INCOME_LESS_10, INCOME_LESS_20, RATE_PLUS_2 = CREDIT_RISK_STRESSES
INCOME_FACTORS = {INCOME_LESS_10: 0.9, INCOME_LESS_20: 0.8}
RATE_STEP = 0.02
"""Percentage points by which interest rates rise, as a share."""
INSTALMENT_INCOME_FACTOR = 0.9
"""A new instalment must be affordable with this share of the income."""
MAX_DEBT_SERVICE_SHARE = 0.4
"""The highest share of income for all instalments together, with the new one."""


def with_instalment(values: pl.DataFrame) -> pl.DataFrame:
    """The values with `surplus` and `affordable_instalment`, in cents a month.

    The instalment is what is left of nine tenths of the income after all expenses, and at most what keeps all instalments at two
    fifths of the income; never below zero, and rounded down to whole cents.
    """
    left = pl.col("income") * INSTALMENT_INCOME_FACTOR - pl.col("expenses")
    room = pl.col("income") * MAX_DEBT_SERVICE_SHARE - pl.col("debt_service_cents")
    instalment = pl.min_horizontal(left, room).clip(0.0)
    return values.with_columns(
        surplus=pl.col("income") - pl.col("expenses"),
        affordable_instalment=(instalment + 1e-6).floor().cast(pl.Int64),
    )


def with_stress(values: pl.DataFrame, card: Scorecard) -> pl.DataFrame:
    """The values with the columns of every stress: surplus, debt service to income, score and class."""
    stressed = {name: _with_income(values, factor) for name, factor in INCOME_FACTORS.items()}
    stressed[RATE_PLUS_2] = _with_interest(values)
    columns = []
    for name, frame in stressed.items():
        assessment = card.assess(frame)
        columns += [
            (frame["income"] - frame["expenses"]).alias(f"{name}_surplus"),
            frame["debt_service"].alias(f"{name}_debt_service"),
            pl.Series(f"{name}_score", assessment.scores, pl.Int64),
            pl.Series(f"{name}_class", [CLASSES[place] for place in assessment.classes], pl.String),
        ]
    return values.hstack(columns)


def _with_income(values: pl.DataFrame, factor: float) -> pl.DataFrame:
    income = (pl.col("income") * factor).round().cast(pl.Int64)
    return values.with_columns(income=income, income_height=divided(income, 100), **_ratios(income))


def _with_interest(values: pl.DataFrame) -> pl.DataFrame:
    """The values if what is left to pay on loans cost `RATE_STEP` more a year."""
    interest = divided(pl.col("remaining_cents") * RATE_STEP, 12).round().cast(pl.Int64)
    higher = values.with_columns(
        pl.col("expenses", "debt_service_cents", "fixed_cents") + interest,
    )
    return higher.with_columns(**_ratios(pl.col("income")))


def _ratios(income: pl.Expr) -> dict[str, pl.Expr]:
    """The signals that are ratios to income."""
    columns = {
        "fixed_costs": "fixed_cents",
        "rent_burden": "rent_cents",
        "debt_service": "debt_service_cents",
        "gambling": "gambling_cents",
    }
    return {signal: ratio_to_income(cents, income) for signal, cents in columns.items()}
