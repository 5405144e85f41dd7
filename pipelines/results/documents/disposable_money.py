"""Disposable money of users as JSON."""

import polars as pl

from analytics.analyses.suite import Frames
from pipelines.results.documents.json_text import amount, day, json_object, plain, quoted
from pipelines.results.documents.tags import TagWriter

DOCUMENT = "disposable-money"
ITEM = "DISPOSABLEMONEY_INFORMATION"
AMOUNTS = {
    "amountCashflow": "cashflow",
    "amountCurrentlyLeft": "currently_left",
    "amountDisposableMoney": "disposable_money",
    "amountExpectedFixedCashflow": "expected_fixed",
    "amountExpectedFlexCashflow": "expected_flex",
    "amountExpectedLeft": "expected_left",
    "amountExpectedLeftDaily": "expected_left_daily",
    "amountSalaryLatest": "salary_latest",
    "amountSalaryNext": "salary_next",
}


def disposable_money(writer: TagWriter, frames: Frames, _: pl.DataFrame) -> pl.DataFrame:
    """`user` and the disposable money of those who have a salary."""
    details = {
        **{name: amount(column) for name, column in AMOUNTS.items()},
        "dateSalaryLatest": day("date_salary_latest"),
        "dateSalaryNext": day("date_salary_next"),
        "daysUntilSalary": plain("days_until_salary"),
        "reason": quoted("reason"),
        "transactionIds": quoted("transactions"),
    }
    rows = frames["disposable_money"].select("user", item=pl.lit(ITEM), apart=pl.lit(ITEM), details=json_object(details))
    return rows.select("user", writer.on_users("DISPOSABLE_MONEY", rows).alias(DOCUMENT))
