"""The route of analyses with and without assumptions about a household."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import orjson
from starlette.responses import Response

from analytics.analyses.what_if import Assumption, AssumptionKind, NoSalary, UnknownContract
from api.bodies.cashflow_windows import Granularity, tags_of, window_of
from api.customer import Reads, reading_for
from api.http.errors import Problem, wrong
from api.http.mistakes import UNKNOWN, missing
from api.http.negotiation import current_language
from api.http.route import JSON, router
from api.report.formats import money
from api.schemas.base import amount, cents
from api.schemas.languages import Language, Text
from api.schemas.what_if import CHILD_BENEFIT, CHILD_COSTS, AssumptionInput, WhatIfBody, WhatIfInput
from api.services import AppServices, Services
from pipelines.results import what_if
from pipelines.results.calibration import calibration_in_use
from pipelines.results.documents.cashflow import CashflowView
from pipelines.results.english import english_document
from pipelines.results.what_if import Comparison, ComparisonOptions
from warehouse.stores.callers import Caller

routes = router("/customer/v2/ai", "Analyses")
NO_SALARY = Text("es kommt kein Gehalt, das sich ändern könnte", "there is no salary that could change")
CASHFLOW_TAGS = "EXPENSES,INCOME,NET"
CASHFLOW_MONTHS = 12
NEEDED_FIELDS = {
    AssumptionKind.CANCEL_CONTRACT: "contractId",
    AssumptionKind.ADD_INSTALMENT: "amount",
    AssumptionKind.ADD_RENT: "amount",
    AssumptionKind.CHANGE_SALARY: "amount",
}
DOCUMENT_NAMES = {
    "cashflow": "cashflow",
    "disposableMoney": "disposable-money",
    "affordability": "affordability",
    "creditRisk": "credit-risk",
}
"""The documents by the fields of the response that carry them."""
DIFFERENCES = {
    "amountExpectedLeft": "expected_left",
    "amountExpectedLeftDaily": "expected_left_daily",
    "amountIncome": "income",
    "amountExpenses": "expenses",
    "amountSurplus": "surplus",
    "amountDebtService": "debt_service_cents",
    "amountAffordableInstalment": "affordable_instalment",
}
"""The amounts of the response, and the columns in cents that they come from."""
REASONS = {
    AssumptionKind.CANCEL_CONTRACT: "Der Vertrag ist gekündigt",
    AssumptionKind.ADD_INSTALMENT: "Neue Rate von {amount} im Monat",
    AssumptionKind.ADD_RENT: "Neue Miete von {amount} im Monat",
    AssumptionKind.CHANGE_SALARY: "Das Gehalt ist {amount}",
    AssumptionKind.CHILD_BORN: "Ein Kind mit {amount} Bedarf und {benefit} Kindergeld im Monat",
}


@routes.post("/what-if", response_model=WhatIfBody, responses={429: {}})
async def compare_assumptions(assumed: WhatIfInput, caller: Reads, services: AppServices) -> Response:
    """Cashflow, disposable money, affordability and credit risk without and with assumptions: a contract is cancelled, an
    instalment or a rent is added, the salary changes, a child is born. Nothing is stored.

    An assumption holds for the whole history, as if it had always been so; balances stay what they are. Without an assumption,
    both sides are what the endpoints of these analyses answer.
    """
    assumptions = [_assumption(number, item) for number, item in enumerate(assumed.assumptions)]
    async with services.analyses.of(caller.user_id or caller.client_id):
        return await services.compute(caller, _compare, services, caller, assumptions, current_language())


def _compare(services: Services, caller: Caller, assumptions: Sequence[Assumption], language: Language) -> Response:
    options = ComparisonOptions(
        services.settings.base_url,
        _cashflow_view(caller.state[1] if caller.state else None),
        calibration_in_use(services.settings.home, caller.tenant_id),
    )
    try:
        with reading_for(services, caller) as owner:
            comparison = what_if.compare(owner, assumptions, options, services.recent_tags)
    except NoSalary as error:
        raise wrong(f"assumptions[{error.number}].kind", NO_SALARY, sent_value=AssumptionKind.CHANGE_SALARY.value) from error
    except UnknownContract as error:
        raise wrong(f"assumptions[{error.number}].contractId", UNKNOWN) from error
    body = orjson.dumps(_body(comparison, assumptions))
    return Response(english_document(body) if language == "en" else body, media_type=JSON)


def _assumption(number: int, item: AssumptionInput) -> Assumption:
    """The assumption of a request; what it does not say about a child is what the law says."""
    field = NEEDED_FIELDS.get(item.kind)
    if (field == "contractId" and item.contract_id is None) or (field == "amount" and item.amount is None):
        raise Problem(400, mistakes=missing(f"assumptions[{number}].{field}"))
    if item.kind is AssumptionKind.CANCEL_CONTRACT:
        return Assumption(item.kind, contract=(item.contract_id or "").rpartition(".")[2])
    is_child = item.kind is AssumptionKind.CHILD_BORN
    monthly = item.amount if item.amount is not None else CHILD_COSTS
    benefit = item.benefit if item.benefit is not None else CHILD_BENEFIT
    return Assumption(item.kind, cents=cents(monthly), benefit_cents=cents(benefit) if is_child else 0)


def _cashflow_view(as_of: date | None) -> CashflowView:
    """The sums of the last twelve months and of those to come."""
    first = None if as_of is None else as_of.replace(year=as_of.year - CASHFLOW_MONTHS // 12, day=1)
    return CashflowView(
        level="main", window=window_of(first, None, Granularity.MONTH, tags_of(CASHFLOW_TAGS, "CATEGORIES", "main"))
    )


def _body(comparison: Comparison, assumptions: Sequence[Assumption]) -> dict[str, Any]:
    differences: dict[str, Any] = {
        field: orjson.Fragment(str(amount(comparison.differences[column])))
        for field, column in DIFFERENCES.items()
        if column in comparison.differences
    }
    if "score" in comparison.differences:
        differences["score"] = comparison.differences["score"]
    return {
        **({"asOf": comparison.as_of.isoformat()} if comparison.as_of else {}),
        "assumptions": [{"kind": assumption.kind.value, "reason": _reason(assumption)} for assumption in assumptions],
        "without": _household(comparison.without_documents),
        "with": _household(comparison.with_documents),
        "differences": differences,
    }


def _household(documents: Mapping[str, bytes]) -> dict[str, orjson.Fragment]:
    return {field: orjson.Fragment(documents[name]) for field, name in DOCUMENT_NAMES.items()}


def _reason(assumption: Assumption) -> str:
    return REASONS[assumption.kind].format(amount=money(assumption.cents), benefit=money(assumption.benefit_cents))
