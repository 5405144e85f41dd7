"""Bodies of the analyses of a user: tags on the user, whose details are what was found. `results.documents` writes them."""

from datetime import date
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from api.schemas.base import Number, Wire, shape
from api.schemas.tags import TagBody, TagTreeItemReference

ID = "3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10"
IDS = [[ID]]
DAY = "2026-11-13"
BY_DAY = [{DAY: -54.9}]
EVIDENCE = "The bookings on which this rests, by day"
AmountsByDay = Annotated[dict[date, Number], shape("AmountsByDay")]


class Analysed(Wire):
    """A part of an analysis. Its names on the wire are ours in camel case; what is not known is left out."""

    model_config = ConfigDict(alias_generator=to_camel)


class Nothing(Wire):
    """An empty object: there is nothing to tell."""


class PriceChange(Analysed):
    """When the regular amount of a contract became another one."""

    changed_on: date = Field(alias="date", examples=[DAY])
    amount_before: Number = Field(examples=[-49.9])
    amount_after: Number = Field(examples=[-54.9])


class Loan(Analysed):
    """What a contract of a loan tells about it: an estimate, of which the reason says how good it is."""

    installment: Number = Field(examples=[250], description="Above zero, as all amounts of a loan")
    installments_paid: int = Field(examples=[12])
    amount_total: Number | None = Field(None, examples=[10000], description="What was borrowed, without interest")
    interest_rate: Number | None = Field(None, examples=[0.0699], description="Nominal, of a year: 0.07 is 7 %")
    term_months: int | None = Field(None, examples=[48])
    remaining_amount: Number | None = Field(None, examples=[7500], description="Capital that is left, without interest to come")
    date_end: date | None = Field(None, examples=[DAY])
    confidence_level: Number = Field(examples=[0.9])
    reason: str = Field(examples=["Zins- und Tilgungsanteile in den Buchungen"])


class ContractDetails(Analysed):
    """A contract. Amounts are signed; all but the totals are about regular payments."""

    amount_first: Number = Field(examples=[-49.9])
    amount_latest: Number = Field(examples=[-54.9])
    amount_maximum: Number = Field(examples=[-49.9])
    amount_mean: Number = Field(examples=[-51.65])
    amount_median: Number = Field(examples=[-49.9])
    amount_minimum: Number = Field(examples=[-54.9])
    amount_next: Number | None = Field(None, examples=[-54.9], description="Of active contracts")
    amount_total: Number = Field(examples=[-600], description="Sum of the next two")
    amount_total_non_regular: Number = Field(examples=[20], description="Refunds, adjustments, fees")
    amount_total_regular: Number = Field(examples=[-620])
    contract_numbers: list[str] = Field(examples=[["K-4711"]])
    customer_numbers: list[str] = Field(examples=[["123456"]])
    cost_development: AmountsByDay = Field(examples=BY_DAY, description="What was paid on each day")
    cost_development_non_regular: AmountsByDay = Field(examples=BY_DAY)
    cost_development_regular: AmountsByDay = Field(examples=BY_DAY)
    counterparty_bic: str | None = Field(None, examples=["BYLADEM1001"])
    counterparty_iban: str | None = Field(None, examples=["DE02120300000000202051"])
    counterparty_name: str | None = Field(None, examples=["Stadtwerke"])
    counterparty_name_ultimate: str | None = Field(None, examples=["Stadtwerke Vertrieb"])
    date_first: date = Field(examples=[DAY])
    date_latest: date = Field(examples=[DAY])
    date_next: date | None = Field(None, examples=[DAY], description="Of active contracts")
    date_start: date = Field(examples=[DAY], description="When the first span began that was paid for, if it is known")
    days_age: int = Field(examples=[365])
    growth_rate: Number | None = Field(None, examples=[0.1002], description="From the first amount to the latest")
    standard_deviation: Number = Field(examples=[2.38])
    status: Annotated[str, shape("ContractStatus", ["ACTIVE", "INACTIVE"])] = Field(examples=["ACTIVE"])
    overdue: bool = Field(examples=[False], description="A payment is late, but not so late that the contract is over")
    transaction_ids: list[str] = Field(examples=IDS, description="Those of the next two, by day")
    transaction_ids_non_regular: list[str] = Field(examples=IDS)
    transaction_ids_regular: list[str] = Field(examples=IDS)
    period_confidence_level: Number | None = Field(None, examples=[0.7], description="Left out where the period is sure")
    confidence_level: Number = Field(examples=[0.93])
    reason: str = Field(examples=["12 Zahlungen, monatlich, immer derselbe Betrag"])
    price_changes: list[PriceChange]
    loan: Loan | None = Field(None, description="Of loans only")


class ContractBody(TagBody):
    """A contract of a user; its item is its category."""

    details: ContractDetails
    tag_tree_item_business_partner: TagTreeItemReference = Field(alias="tagTreeItemBusinessPartner")
    tag_tree_item_category: TagTreeItemReference = Field(alias="tagTreeItemCategory")
    tag_tree_item_insurance_type: TagTreeItemReference = Field(alias="tagTreeItemInsuranceType")
    tag_tree_item_period: TagTreeItemReference = Field(alias="tagTreeItemPeriod")


class CashflowStatistic(Analysed):
    """What flowed. The item is a time item if the focus is on time, and else a category or partner."""

    cashflow: Number = Field(examples=[-312.5])
    tag_tree_item: TagTreeItemReference


class CashflowPrediction(CashflowStatistic):
    """What is expected to flow, in all of the current or the next time item."""

    cashflow_fixed: Number = Field(examples=[-120], description="Of contracts")
    cashflow_flex: Number = Field(examples=[-192.5], description="All else")
    cashflow_lower: Number = Field(examples=[-400])
    cashflow_upper: Number = Field(examples=[-250])


class CashflowDetails(Analysed):
    """What flowed and what is expected."""

    statistics: list[CashflowStatistic]
    predictions: list[CashflowPrediction]


class CashflowBody(TagBody):
    """The cashflow of a category or partner if the focus is on time, and else of a time item."""

    details: CashflowDetails


class DisposableMoneyDetails(Analysed):
    """What is left of the latest salary, and will be left when the next one comes."""

    amount_cashflow: Number = Field(examples=[-900], description="What was booked since the salary")
    amount_currently_left: Number = Field(examples=[1900])
    amount_disposable_money: Number = Field(examples=[1100], description="What is left after what contracts will still take")
    amount_expected_fixed_cashflow: Number = Field(examples=[-800])
    amount_expected_flex_cashflow: Number = Field(examples=[-600])
    amount_expected_left: Number = Field(examples=[500])
    amount_expected_left_daily: Number = Field(examples=[31.25])
    amount_salary_latest: Number = Field(examples=[2800])
    amount_salary_next: Number = Field(examples=[2800])
    date_salary_latest: date = Field(examples=["2026-10-30"])
    date_salary_next: date = Field(examples=["2026-11-30"])
    days_until_salary: int = Field(examples=[17])
    reason: str = Field(examples=["Gehalt von Muster GmbH am 30.10.2026, das nächste am 30.11.2026"])
    transaction_ids: list[str] = Field(examples=IDS, description="The salary, and what was booked since")


class DisposableMoneyBody(TagBody):
    """The disposable money of a user with a salary."""

    details: DisposableMoneyDetails


class Finding(Analysed):
    """How sure something is that was found, and why."""

    confidence_level: Number = Field(examples=[0.95], description="From 0 to 1")
    reason: str = Field(examples=["Miete endet (Wohnbau eG) am 31.10.2026"], description="In German")
    transaction_ids: list[str] = Field(examples=IDS, description=EVIDENCE)


class LifeEventDetails(Finding):
    """When something changed in a user's life."""

    event_date: date = Field(examples=[DAY])
    amount: Number | None = Field(None, examples=[750], description="Where it is about one")


class LifeEventBody(TagBody):
    """An event in a user's life."""

    details: LifeEventDetails


class LifeStageDetails(Finding):
    """Since when a user lives so."""

    date_since: date = Field(examples=[DAY])


class LifeStageBody(TagBody):
    """How a user works, lives or saves, or how old the youngest child is."""

    details: LifeStageDetails


class SalesTriggerDetails(Finding):
    """Since when there is an occasion."""

    trigger_date: date = Field(examples=[DAY])
    event_date: date = Field(examples=[DAY], description="The same day")
    amount: Number | None = Field(None, examples=[3200], description="Where it is about one")


class SalesTriggerBody(TagBody):
    """An occasion to talk with a user."""

    details: SalesTriggerDetails


class CategoryAmount(Analysed):
    """What a category has in a sum."""

    amount: Number = Field(examples=[412.5])
    tag_tree_item: TagTreeItemReference


class RegularOrIrregular(Analysed):
    """A sum, and what it consists of."""

    amount: Number = Field(examples=[412.5])
    amounts_per_tag_tree_item: list[CategoryAmount]


class RegularIrregular(Analysed):
    """A sum of what contracts bring or take, and all else."""

    amount: Number = Field(examples=[612.5])
    regular: RegularOrIrregular
    irregular: RegularOrIrregular


class Expenses(Analysed):
    """What is spent, apart from savings."""

    amount: Number = Field(examples=[1900])
    luxuries: RegularIrregular
    necessities: RegularIrregular


class Evidence(Analysed):
    """Why a flag is raised, or is not."""

    reason: str | None = Field(None, examples=["3 Mietzahlungen, zuletzt am 01.11.2026"], description="Of flags, in German")
    transaction_ids: list[str] = Field(examples=IDS, description=EVIDENCE)


class AffordabilityEvidence(Analysed):
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


class AffordabilityDetails(Analysed):
    """A household in a month, on average over the window. Expenses are above zero."""

    discretionary: Number = Field(examples=[900], description="Income without necessities")
    discretionary_for_irregular_luxuries: Number = Field(examples=[800], description="The same without regular luxuries")
    savings: Number = Field(examples=[200])
    gambling: Number = Field(examples=[0])
    existing_loans: bool = Field(examples=[False], description="Apart from mortgages")
    mortgage_payments: bool = Field(examples=[False])
    rental_payments: bool = Field(examples=[True])
    return_debits: bool = Field(examples=[False])
    reminder_charges: bool = Field(examples=[False])
    seizure_payments: bool = Field(examples=[False])
    debt_collection_payments: bool = Field(examples=[False])
    credit_cards: int = Field(examples=[1])
    financial_literacy: Annotated[str, shape("FinancialLiteracy", ["low", "neutral", "high"])] = Field(examples=["neutral"])
    ratio_luxuries_to_expenses: Number = Field(examples=[0.2])
    ratio_necessities_to_expenses: Number = Field(examples=[0.8])
    ratio_luxuries_to_income: Number = Field(examples=[0.1375])
    ratio_necessities_to_income: Number = Field(examples=[0.5413])
    ratio_expenses_to_income: Number = Field(examples=[0.6788], description="At most 10")
    ratio_gambling_to_discretionary_for_irregular_luxuries: Number = Field(examples=[0])
    expenses: Expenses
    income: RegularIrregular
    most_recent_rental_payment: date | None = Field(None, examples=[DAY], description="If rent is paid")
    evidence: AffordabilityEvidence
    financial_literacy_reason: str = Field(examples=["spart regelmäßig"])
    window_first: date = Field(examples=["2025-11-01"])
    window_last: date = Field(examples=["2026-10-31"])
    months: int = Field(examples=[12])


class AffordabilityBody(TagBody):
    """The affordability of a user with at least three full months."""

    details: AffordabilityDetails


class AnalysesBody(Analysed):
    """All analyses, each as its own endpoint answers."""

    contracts: list[ContractBody]
    cashflow: list[CashflowBody]
    disposable_money: DisposableMoneyBody | Nothing
    life_events: list[LifeEventBody]
    life_stages: list[LifeStageBody]
    sales_triggers: list[SalesTriggerBody]
    affordability: AffordabilityBody | Nothing
