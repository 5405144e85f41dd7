"""Bodies of the analyses of a user: tags on the user. Their details stand beside their writers, in `results.documents`."""

from pydantic import Field

from api.schemas.base import Wire
from api.schemas.tags import TagBody
from pipelines.results.documents.affordability import AffordabilityDetails
from pipelines.results.documents.cashflow import CashflowDetails
from pipelines.results.documents.contracts import ContractDetails
from pipelines.results.documents.credit_risk import CreditRiskDetails
from pipelines.results.documents.disposable_money import DisposableMoneyDetails
from pipelines.results.documents.life import LifeEventDetails, LifeStageDetails, SalesTriggerDetails
from pipelines.results.documents.tags import TagTreeItemReference


class Nothing(Wire):
    """An empty object: there is nothing to tell."""


class ContractBody(TagBody):
    """A contract of a user; its item is its category."""

    details: ContractDetails
    tag_tree_item_business_partner: TagTreeItemReference = Field(alias="tagTreeItemBusinessPartner")
    tag_tree_item_category: TagTreeItemReference = Field(alias="tagTreeItemCategory")
    tag_tree_item_insurance_type: TagTreeItemReference = Field(alias="tagTreeItemInsuranceType")
    tag_tree_item_period: TagTreeItemReference = Field(alias="tagTreeItemPeriod")


class CashflowBody(TagBody):
    """The cashflow of a category or partner if the focus is on time, and else of a time item."""

    details: CashflowDetails


class DisposableMoneyBody(TagBody):
    """The disposable money of a user with a salary."""

    details: DisposableMoneyDetails


class LifeEventBody(TagBody):
    """An event in a user's life."""

    details: LifeEventDetails


class LifeStageBody(TagBody):
    """How a user works, lives or saves, or how old the youngest child is."""

    details: LifeStageDetails


class SalesTriggerBody(TagBody):
    """An occasion to talk with a user."""

    details: SalesTriggerDetails


class AffordabilityBody(TagBody):
    """The affordability of a user with at least three full months."""

    details: AffordabilityDetails


class CreditRiskBody(TagBody):
    """The credit risk of a user with at least three full months; its item is the class."""

    details: CreditRiskDetails


class AnalysesBody(Wire):
    """All analyses, each as its own endpoint answers."""

    contracts: list[ContractBody]
    cashflow: list[CashflowBody]
    disposable_money: DisposableMoneyBody | Nothing = Field(alias="disposableMoney")
    life_events: list[LifeEventBody] = Field(alias="lifeEvents")
    life_stages: list[LifeStageBody] = Field(alias="lifeStages")
    sales_triggers: list[SalesTriggerBody] = Field(alias="salesTriggers")
    affordability: AffordabilityBody | Nothing
    credit_risk: CreditRiskBody | Nothing = Field(alias="creditRisk")
