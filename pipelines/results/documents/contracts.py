"""The contracts of users as JSON."""

from datetime import date
from functools import cache
from typing import Annotated

import polars as pl
from pydantic import Field

from analytics.analyses.suite import Frames
from analytics.frames import collected
from pipelines.results.documents.fields import (
    Column,
    Confidence,
    Count,
    Day,
    DocumentPart,
    Euros,
    MeanEuros,
    Rate,
    Text,
    Texts,
    Truth,
    field_texts,
    shape,
)
from pipelines.results.documents.json_text import amount, day, fields, json_list, json_object, quoted
from pipelines.results.documents.tags import SOME_DAY, SOME_IDS, TagWriter

UNRELATED, HOME_SAVINGS = "UNRELATED_OTHER", "SAVINGS_LIFEBUILDING"
ALL, INSURANCE, EXTENDED = "contracts", "contracts-insurance", "contracts-insurance-extended"
"""The documents: all contracts, those with an insurance, and those with home savings as well."""
KEY = ("user", "contract")
PARTS = {"": pl.col("regular").is_not_null(), "_non_regular": ~pl.col("regular"), "_regular": pl.col("regular")}
"""The bookings that count, by the endings of the names of fields about them."""
ITEMS = {
    "tagTreeItemBusinessPartner": ("BUSINESS_PARTNERS", "partner"),
    "tagTreeItemCategory": ("CATEGORIES", "category"),
    "tagTreeItemInsuranceType": ("INSURANCE_TYPES", "insurance"),
    "tagTreeItemPeriod": ("PERIODS", "period"),
}
RELATION_ENDINGS = {
    "_category": ("CATEGORIES", "category"),
    "_insurance_type": ("INSURANCE_TYPES", "insurance"),
    "_period": ("PERIODS", "period"),
    "_business_partner": ("BUSINESS_PARTNERS", "partner"),
}
"""The endings of the names of relations to the items of a contract, with the tree and the column of each item."""
AmountsByDay = Annotated[dict[date, Euros], shape("AmountsByDay")]
SOME_AMOUNTS = [{SOME_DAY: -54.9}]


class PriceChange(DocumentPart):
    """When the regular amount of a contract became another one."""

    changed_on: Day = Field(alias="date", examples=[SOME_DAY], description="Changed on")
    amount_before: Euros = Field(examples=[-49.9])
    amount_after: Euros = Field(examples=[-54.9])


class Loan(DocumentPart):
    """What a contract of a loan tells about it: an estimate, of which the reason says how good it is."""

    installment: Euros = Field(examples=[250], description="Above zero, as all amounts of a loan")
    installments_paid: Count = Field(examples=[12])
    amount_total: Euros | None = Field(None, examples=[10000], description="What was borrowed, without interest")
    interest_rate: Rate | None = Field(None, examples=[0.0699], description="Nominal, of a year: 0.07 is 7 %")
    term_months: Count | None = Field(None, examples=[48])
    remaining_amount: Euros | None = Field(None, examples=[7500], description="Capital that is left, without interest to come")
    date_end: Day | None = Field(None, examples=[SOME_DAY])
    confidence_level: Confidence = Field(examples=[0.9])
    reason: Text = Field(examples=["Zins- und Tilgungsanteile in den Buchungen"])


class ContractDetails(DocumentPart):
    """A contract. Amounts are signed; all but the totals are about regular payments."""

    amount_first: Euros = Field(examples=[-49.9])
    amount_latest: Euros = Field(examples=[-54.9])
    amount_maximum: Euros = Field(examples=[-49.9])
    amount_mean: MeanEuros = Field(examples=[-51.65])
    amount_median: MeanEuros = Field(examples=[-49.9])
    amount_minimum: Euros = Field(examples=[-54.9])
    amount_next: Euros | None = Field(None, examples=[-54.9], description="Of active contracts")
    amount_total: Euros = Field(examples=[-600], description="Sum of the next two")
    amount_total_non_regular: Euros = Field(examples=[20], description="Refunds, adjustments, fees")
    amount_total_regular: Euros = Field(examples=[-620])
    contract_numbers: Texts = Field(examples=[["K-4711"]])
    customer_numbers: Texts = Field(examples=[["123456"]])
    cost_development: AmountsByDay = Field(examples=SOME_AMOUNTS, description="What was paid on each day")
    cost_development_non_regular: AmountsByDay = Field(examples=SOME_AMOUNTS)
    cost_development_regular: AmountsByDay = Field(examples=SOME_AMOUNTS)
    counterparty_bic: Text | None = Field(None, examples=["BYLADEM1001"])
    counterparty_iban: Text | None = Field(None, examples=["DE02120300000000202051"])
    counterparty_name: Text | None = Field(None, examples=["Stadtwerke"])
    counterparty_name_ultimate: Annotated[Text, Column("ultimate_name")] | None = Field(None, examples=["Stadtwerke Vertrieb"])
    date_first: Day = Field(examples=[SOME_DAY])
    date_latest: Day = Field(examples=[SOME_DAY])
    date_next: Day | None = Field(None, examples=[SOME_DAY], description="Of active contracts")
    date_start: Day = Field(examples=[SOME_DAY], description="When the first span began that was paid for, if it is known")
    days_age: Count = Field(examples=[365])
    growth_rate: Rate | None = Field(
        None,
        examples=[-0.1002],
        description="(amountLatest - amountFirst) / |amountFirst|. Amounts are signed: a cost that rises by 10 % has -0.1, "
        "an income that rises by 10 % has 0.1",
    )
    standard_deviation: MeanEuros = Field(examples=[2.38])
    status: Annotated[Text, shape("ContractStatus", ["ACTIVE", "INACTIVE"])] = Field(examples=["ACTIVE"])
    overdue: Truth = Field(examples=[False], description="A payment is late, but not so late that the contract is over")
    transaction_ids: Texts = Field(examples=SOME_IDS, description="Those of the next two, by day")
    transaction_ids_non_regular: Texts = Field(examples=SOME_IDS)
    transaction_ids_regular: Texts = Field(examples=SOME_IDS)
    period_confidence_level: Annotated[Rate, Column("period_confidence")] | None = Field(
        None, examples=[0.7], description="Left out where the period is sure"
    )
    confidence_level: Confidence = Field(examples=[0.93])
    reason: Text = Field(
        examples=["12 Zahlungen, monatlich, immer derselbe Betrag; nächster Betrag wie zuletzt"],
        description="In the language of the response: what the contract rests on, and where amountNext comes from",
    )
    price_changes: list[PriceChange]
    loan: Loan | None = Field(None, description="Of loans only")


LOAN_ORDER = (
    *("installment", "amount_total", "remaining_amount", "installments_paid", "term_months"),
    *("interest_rate", "date_end", "confidence_level", "reason"),
)
CONTRACT_ORDER = (
    *("amount_first", "amount_latest", "amount_maximum", "amount_minimum", "amount_next"),
    *("amount_mean", "amount_median", "standard_deviation"),
    *("amount_total", "amount_total_non_regular", "amount_total_regular"),
    *("contract_numbers", "customer_numbers", "counterparty_bic", "counterparty_iban", "counterparty_name", "status", "reason"),
    *("counterparty_name_ultimate", "date_first", "date_latest", "date_next", "date_start"),
    *("days_age", "growth_rate", "overdue"),
    *("cost_development", "cost_development_non_regular", "cost_development_regular"),
    *("transaction_ids", "transaction_ids_non_regular", "transaction_ids_regular"),
    *("confidence_level", "period_confidence_level", "price_changes", "loan"),
)
"""The fields in the order in which they are sent, which is not that of the OpenAPI document."""


def contracts(writer: TagWriter, frames: Frames, _: pl.DataFrame) -> pl.DataFrame:
    """`user` and the three documents."""
    contract_rows = frames["contracts"].lazy().rename({"id": "contract"}).sort(KEY)
    bookings = frames["contract_bookings"].lazy()
    for texts in (_costs(bookings), _ids(bookings), _loans(frames["loans"].lazy())):
        contract_rows = contract_rows.join(texts, on=KEY, how="left", maintain_order="left")
    rows = collected(contract_rows)
    parts = {"item": pl.col("category"), "suffix": pl.col("contract"), "details": _details(), "more": _items(writer, rows)}
    parts["relations"] = _relations(writer, rows)
    tags = rows.select("user", "insurance", "category", **parts)
    insured = pl.col("insurance") != UNRELATED
    filters = {ALL: pl.col("user").is_not_null(), INSURANCE: insured, EXTENDED: insured | (pl.col("category") == HOME_SAVINGS)}
    by_user = tags.with_columns(text=writer.on_users("CATEGORIES", tags)).group_by("user", maintain_order=True)
    return by_user.agg(**{name: json_list(pl.col("text").filter(matches)) for name, matches in filters.items()})


@cache
def _details() -> pl.Expr:
    total = pl.col("amount_total_regular") + pl.col("amount_total_non_regular")
    texts = field_texts(
        ContractDetails,
        CONTRACT_ORDER,
        amount_total=amount(total),
        price_changes=_price_changes(),
        loan=pl.col("loan"),
        **{f"cost_development{part}": pl.col(f"costs{part}").fill_null("{}") for part in PARTS},
        **{f"transaction_ids{part}": pl.col(f"ids{part}").fill_null("[]") for part in PARTS},
    )
    return json_object(texts)


def _items(writer: TagWriter, rows: pl.DataFrame) -> pl.Expr:
    """The items of a contract in four trees; that of the partner with its categories."""
    texts = {name: writer.item_texts(tree, rows[column], with_categories=True) for name, (tree, column) in ITEMS.items()}
    return fields(
        {name: pl.col(column).replace_strict(texts[name], return_dtype=pl.String) for name, (_, column) in ITEMS.items()}
    )


def _relations(writer: TagWriter, rows: pl.DataFrame) -> pl.Expr:
    """The three relations to each of the items of a contract."""
    texts = {ending: writer.relation_texts(tree, rows[column], ending) for ending, (tree, column) in RELATION_ENDINGS.items()}
    return pl.concat_str(
        [
            pl.col(column).replace_strict(texts[ending], return_dtype=pl.String)
            for ending, (_, column) in RELATION_ENDINGS.items()
        ],
        separator=",",
    )


def _price_changes() -> pl.Expr:
    change = pl.element().struct
    texts = field_texts(
        PriceChange,
        changed_on=day(change.field("date")),
        amount_before=amount(change.field("before")),
        amount_after=amount(change.field("after")),
    )
    return pl.concat_str(pl.lit("["), pl.col("price_changes").list.eval(json_object(texts)).list.join(","), pl.lit("]"))


def _costs(bookings: pl.LazyFrame) -> pl.LazyFrame:
    """The JSON of the payments of each day: all, regular, and non-regular ones."""
    names = [f"costs{part}" for part in PARTS]
    payments = bookings.select(
        *KEY, "booked_on", *(pl.when(matches).then("amount_cents").alias(f"costs{part}") for part, matches in PARTS.items())
    )
    days = payments.group_by(*KEY, "booked_on").agg(
        pl.when(pl.col(name).count() > 0).then(pl.sum(name)).alias(name) for name in names
    )
    texts = days.sort(*KEY, "booked_on").select(
        *KEY, *(pl.concat_str(day("booked_on"), pl.lit(":"), amount(name)).alias(name) for name in names)
    )
    objects = {name: pl.concat_str(pl.lit("{"), pl.col(name).str.join(","), pl.lit("}")) for name in names}
    return texts.group_by(KEY, maintain_order=True).agg(**objects)


def _ids(bookings: pl.LazyFrame) -> pl.LazyFrame:
    """The JSON of the bookings of each contract, by day and id."""
    by_contract = bookings.sort(*KEY, "booked_on", "id").group_by(KEY, maintain_order=True)
    lists = by_contract.agg(**{f"ids{part}": pl.col("id").filter(matches) for part, matches in PARTS.items()})
    return lists.with_columns(quoted(f"ids{part}").alias(f"ids{part}") for part in PARTS)


def _loans(loans: pl.LazyFrame) -> pl.LazyFrame:
    """The JSON of the estimates of each loan."""
    return loans.select(*KEY, loan=json_object(field_texts(Loan, LOAN_ORDER)))
