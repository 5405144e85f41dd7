"""Affordability of users as JSON: the sums with their categories, the ratios, and the flags with their evidence."""

from decimal import Decimal
from typing import Annotated

import polars as pl
from pydantic import Field, WithJsonSchema

from analytics.analyses.suite import Frames
from pipelines.results.documents.fields import (
    Count,
    Day,
    DocumentPart,
    Euros,
    Rate,
    Text,
    Texts,
    Truth,
    Written,
    field_texts,
    shape,
)
from pipelines.results.documents.json_text import amount, day, json_list, json_object, quoted
from pipelines.results.documents.tags import EVIDENCE, SOME_DAY, SOME_IDS, TagTreeItemReference, TagWriter

DOCUMENT = "affordability"
ITEM = "AFFORDABILITY_INFORMATION"
PARTS = ("income", "necessities", "luxuries")
KINDS = {"regular": True, "irregular": False}
RENT = "most_recent_rental_payment"
WITHOUT_REASON = ("gambling", "credit_cards")
RESTS = {"": "discretionary", "_for_irregular_luxuries": "discretionary_for_irregular_luxuries"}
"""The columns of what is left, which can be below zero, by the endings of the names of their fields."""
NotNegativeEuros = Annotated[Decimal, WithJsonSchema({"type": "number", "minimum": 0}), Written(amount)]


class CategoryAmount(DocumentPart):
    """What a category has in a sum."""

    amount: Euros = Field(examples=[412.5])
    tag_tree_item: TagTreeItemReference


class RegularOrIrregular(DocumentPart):
    """A sum, and what it consists of."""

    amount: Euros = Field(examples=[412.5])
    amounts_per_tag_tree_item: list[CategoryAmount]


class RegularIrregular(DocumentPart):
    """A sum of what contracts bring or take, and all else."""

    amount: Euros = Field(examples=[612.5])
    regular: RegularOrIrregular
    irregular: RegularOrIrregular


class Expenses(DocumentPart):
    """What is spent, apart from savings."""

    amount: Euros = Field(examples=[1900])
    luxuries: RegularIrregular
    necessities: RegularIrregular


class Evidence(DocumentPart):
    """Why a flag is raised, or is not."""

    reason: Text | None = Field(
        None, examples=["3 Mietzahlungen, zuletzt am 01.11.2026"], description="Of flags, in the language of the response"
    )
    transaction_ids: Texts = Field(examples=SOME_IDS, description=EVIDENCE)


class AffordabilityEvidence(DocumentPart):
    """What the flags rest on."""

    existing_loans: Evidence
    mortgage_payments: Evidence
    rental_payments: Evidence
    return_debits: Evidence
    reminder_charges: Evidence
    seizure_payments: Evidence
    debt_collection_payments: Evidence
    overdraft: Evidence = Field(description="Counts in financial literacy")
    gambling: Evidence
    credit_cards: Evidence = Field(description="Settlements of cards that are not connected")


class AffordabilityDetails(DocumentPart):
    """A household in a month, on average over the window. Expenses are above zero."""

    discretionary: NotNegativeEuros = Field(examples=[900], description="Income without necessities; 0 if they exceed it")
    discretionary_for_irregular_luxuries: NotNegativeEuros = Field(
        examples=[800], description="The same without regular luxuries; 0 if nothing is left"
    )
    shortfall: NotNegativeEuros = Field(examples=[0], description="By how much necessities exceed income; else 0")
    shortfall_for_irregular_luxuries: NotNegativeEuros = Field(
        examples=[0], description="By how much necessities and regular luxuries exceed income; else 0"
    )
    savings: Euros = Field(examples=[200])
    gambling: Euros = Field(examples=[0])
    existing_loans: Truth = Field(examples=[False], description="Apart from mortgages")
    mortgage_payments: Truth = Field(examples=[False])
    rental_payments: Truth = Field(examples=[True])
    return_debits: Truth = Field(examples=[False])
    reminder_charges: Truth = Field(examples=[False])
    seizure_payments: Truth = Field(examples=[False])
    debt_collection_payments: Truth = Field(examples=[False])
    credit_cards: Count = Field(examples=[1])
    financial_literacy: Annotated[Text, shape("FinancialLiteracy", ["low", "neutral", "high"])] = Field(examples=["neutral"])
    ratio_luxuries_to_expenses: Rate = Field(examples=[0.2])
    ratio_necessities_to_expenses: Rate = Field(examples=[0.8])
    ratio_luxuries_to_income: Rate = Field(examples=[0.1375])
    ratio_necessities_to_income: Rate = Field(examples=[0.5413])
    ratio_expenses_to_income: Rate = Field(examples=[0.6788], description="At most 10")
    ratio_gambling_to_discretionary_for_irregular_luxuries: Rate = Field(examples=[0])
    expenses: Expenses
    income: RegularIrregular
    most_recent_rental_payment: Day | None = Field(None, examples=[SOME_DAY], description="If rent is paid")
    evidence: AffordabilityEvidence
    financial_literacy_reason: Text = Field(examples=["spart regelmäßig"])
    window_first: Day = Field(examples=["2025-11-01"])
    window_last: Day = Field(examples=["2026-10-31"])
    months: Count = Field(examples=[12])


def affordability(writer: TagWriter, frames: Frames, _: pl.DataFrame) -> pl.DataFrame:
    """`user` and the affordability of those who have enough months."""
    users = _with_categories(writer, frames["affordability"], frames["affordability_amounts"])
    rows = users.select("user", item=pl.lit(ITEM), suffix=pl.lit(ITEM), details=_details())
    return rows.select("user", writer.on_users("AFFORDABILITY", rows).alias(DOCUMENT))


def _with_categories(writer: TagWriter, users: pl.DataFrame, amounts: pl.DataFrame) -> pl.DataFrame:
    """The users with the JSON of each part's categories, regular and irregular."""
    item = pl.col("category").replace_strict(writer.item_texts("CATEGORIES", amounts["category"]), return_dtype=pl.String)
    element = json_object(field_texts(CategoryAmount, amount=amount("cents"), tag_tree_item=item))
    texts = amounts.sort("user", "category").select("user", "part", "regular", element=element)
    for part in PARTS:
        for kind, regular in KINDS.items():
            elements = texts.filter(pl.col("part") == part, pl.col("regular") == regular)
            lists = elements.group_by("user").agg(json_list(pl.col("element")).alias(f"{part}_{kind}_items"))
            users = users.join(lists, on="user", how="left", maintain_order="left")
    return users


def _details() -> pl.Expr:
    expenses = field_texts(
        Expenses, amount=amount("expenses"), luxuries=_regularity("luxuries"), necessities=_regularity("necessities")
    )
    details = field_texts(
        AffordabilityDetails,
        expenses=json_object(expenses),
        income=_regularity("income"),
        **{f"discretionary{ending}": amount(pl.col(rest).clip(0)) for ending, rest in RESTS.items()},
        **{f"shortfall{ending}": amount((-pl.col(rest)).clip(0)) for ending, rest in RESTS.items()},
        most_recent_rental_payment=day(pl.when("rental_payments").then(RENT)),
        evidence=json_object({str(field.alias): _evidence(name) for name, field in AffordabilityEvidence.model_fields.items()}),
    )
    return json_object(details)


def _regularity(part: str) -> pl.Expr:
    """The sum of a part, and its regular and irregular shares by category."""
    shares = {
        kind: json_object(
            field_texts(
                RegularOrIrregular,
                amount=amount(f"{part}_{kind}"),
                amounts_per_tag_tree_item=pl.col(f"{part}_{kind}_items").fill_null("[]"),
            )
        )
        for kind in KINDS
    }
    return json_object(field_texts(RegularIrregular, amount=amount(part), **shares))


def _evidence(name: str) -> pl.Expr:
    """The bookings behind a flag or an amount, and the reason if it is a flag."""
    reason = pl.lit(None, pl.String) if name in WITHOUT_REASON else quoted(f"{name}_reason")
    return json_object(field_texts(Evidence, reason=reason, transaction_ids=quoted(f"{name}_ids")))
