"""Disposable money of users as JSON."""

from typing import Annotated

import polars as pl
from pydantic import Field

from analytics.analyses.suite import Frames
from pipelines.results.documents.fields import Column, Count, Day, DocumentPart, Euros, Text, Texts, field_texts
from pipelines.results.documents.json_text import json_object
from pipelines.results.documents.tags import SOME_IDS, TagWriter

DOCUMENT = "disposable-money"
ITEM = "DISPOSABLEMONEY_INFORMATION"


class DisposableMoneyDetails(DocumentPart):
    """What is left of the latest salary, and will be left when the next one comes."""

    amount_cashflow: Annotated[Euros, Column("cashflow")] = Field(examples=[-900], description="What was booked since the salary")
    amount_savings: Annotated[Euros, Column("savings")] = Field(
        examples=[-150], description="The part of amountCashflow that a standing order put into own savings"
    )
    amount_currently_left: Annotated[Euros, Column("currently_left")] = Field(examples=[1900])
    amount_disposable_money: Annotated[Euros, Column("disposable_money")] = Field(
        examples=[1100], description="What is left after what contracts will still take"
    )
    amount_expected_fixed_cashflow: Annotated[Euros, Column("expected_fixed")] = Field(examples=[-800])
    amount_expected_savings: Annotated[Euros, Column("expected_savings")] = Field(
        examples=[0], description="The part of amountExpectedFixedCashflow that a standing order will put into own savings"
    )
    amount_expected_flex_cashflow: Annotated[Euros, Column("expected_flex")] = Field(examples=[-600])
    amount_expected_left: Annotated[Euros, Column("expected_left")] = Field(examples=[500])
    amount_expected_left_daily: Annotated[Euros, Column("expected_left_daily")] = Field(examples=[31.25])
    amount_salary_latest: Annotated[Euros, Column("salary_latest")] = Field(examples=[2800])
    amount_salary_next: Annotated[Euros, Column("salary_next")] = Field(examples=[2800])
    date_salary_latest: Day = Field(examples=["2026-10-30"])
    date_salary_next: Day = Field(examples=["2026-11-30"])
    days_until_salary: Count = Field(examples=[17])
    reason: Text = Field(examples=["Gehalt von Muster GmbH am 30.10.2026, das nächste am 30.11.2026"])
    transaction_ids: Annotated[Texts, Column("transactions")] = Field(
        examples=SOME_IDS, description="The salary, and what was booked since"
    )


def disposable_money(writer: TagWriter, frames: Frames, _: pl.DataFrame) -> pl.DataFrame:
    """`user` and the disposable money of those who have a salary."""
    details = json_object(field_texts(DisposableMoneyDetails))
    rows = frames["disposable_money"].select("user", item=pl.lit(ITEM), suffix=pl.lit(ITEM), details=details)
    return rows.select("user", writer.on_users("DISPOSABLE_MONEY", rows).alias(DOCUMENT))
