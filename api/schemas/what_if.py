"""Bodies of the analyses with and without assumptions about a household."""

from datetime import date
from decimal import Decimal
from typing import Annotated

from pydantic import Field, StringConstraints, WithJsonSchema

from analytics.analyses.what_if import AssumptionKind
from api.schemas.analyses import AffordabilityBody, CashflowBody, CreditRiskBody, DisposableMoneyBody, Nothing
from api.schemas.base import Amount, Count, Line, Number, Wire

MAX_ASSUMPTIONS = 10
MAX_MONTHLY_AMOUNT = Decimal("100000.00")
CHILD_BENEFIT = Decimal("259.00")
"""Kindergeld of a month since January 2026 (§ 6 BKGG)."""
CHILD_COSTS = Decimal("486.00")
"""The minimum maintenance of a child below six since January 2026 (Mindestunterhaltsverordnung)."""


MonthlyAmount = Annotated[
    Amount,
    Field(ge=0, le=MAX_MONTHLY_AMOUNT),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": int(MAX_MONTHLY_AMOUNT), "examples": [250]}),
]


class AssumptionInput(Wire):
    """Something to assume. It then holds for the whole history, as if it had always been so."""

    kind: AssumptionKind = Field(
        examples=["ADD_INSTALMENT"],
        description="`CANCEL_CONTRACT` needs `contractId`; `ADD_INSTALMENT`, `ADD_RENT` and `CHANGE_SALARY` need `amount`; "
        "`CHILD_BORN` needs nothing",
    )
    contract_id: Annotated[Line, StringConstraints(min_length=1, max_length=128)] | None = Field(
        None,
        alias="contractId",
        examples=["5f0c6f0e-3c52-4d3c-9a52-0d7b0a3f9c11.1.3a2b8c1e-7c7c-4c39-8d8a-2f5a5d3c1b10"],
        description="`id` of the contract, as the list of contracts has it",
    )
    amount: MonthlyAmount | None = Field(
        None,
        examples=[250],
        description=f"Euros of a month from 0 to {MAX_MONTHLY_AMOUNT}: the instalment, the rent, the new salary, or what a child "
        f"costs (else {CHILD_COSTS})",
    )
    benefit: MonthlyAmount | None = Field(
        None,
        alias="amountBenefit",
        examples=[259],
        description=f"Of `CHILD_BORN`: child benefit of a month (else {CHILD_BENEFIT})",
    )


class WhatIfInput(Wire):
    """What to assume; without an assumption both sides are the analyses as they are."""

    assumptions: list[AssumptionInput] = Field(max_length=MAX_ASSUMPTIONS)


class AssumptionBody(Wire):
    """An assumption, with what it means in the language of the response."""

    kind: AssumptionKind = Field(examples=["ADD_INSTALMENT"])
    reason: str = Field(examples=["Neue Rate von 250,00 Euro im Monat"])


class HouseholdBody(Wire):
    """One side of the comparison: each analysis as its own endpoint answers it; cashflow by month, of the last twelve and those
    to come, as sums of income, expenses and net.
    """

    cashflow: list[CashflowBody]
    disposable_money: DisposableMoneyBody | Nothing = Field(alias="disposableMoney")
    affordability: AffordabilityBody | Nothing
    credit_risk: CreditRiskBody | Nothing = Field(alias="creditRisk")


class DifferencesBody(Wire):
    """What the assumptions change, as `with` less `without`. What one side does not know is left out."""

    expected_left: Number | None = Field(None, alias="amountExpectedLeft", examples=[-250], description="Until the next salary")
    expected_left_daily: Number | None = Field(None, alias="amountExpectedLeftDaily", examples=[-20.83])
    income: Number | None = Field(None, alias="amountIncome", examples=[0], description="This and all below: of a mean month")
    expenses: Number | None = Field(None, alias="amountExpenses", examples=[250])
    surplus: Number | None = Field(None, alias="amountSurplus", examples=[-250])
    debt_service: Number | None = Field(None, alias="amountDebtService", examples=[250])
    affordable_instalment: Number | None = Field(None, alias="amountAffordableInstalment", examples=[-250])
    score: Count | None = Field(None, examples=[-7], description="Points of the credit risk")


class WhatIfBody(Wire):
    """The analyses without and with the assumptions, and the difference."""

    as_of: date | None = Field(None, alias="asOf", examples=["2026-11-13"])
    assumptions: list[AssumptionBody]
    without: HouseholdBody
    with_assumptions: HouseholdBody = Field(alias="with")
    differences: DifferencesBody
