"""What would be if, over HTTP: assumptions change what they should, nothing is stored, and nobody learns of others' contracts."""

from typing import Any

import httpx
import pytest

from tests.support.stack import Customer, Stack, TenantUnderTest

PATH = "/ai/what-if"


@pytest.fixture(scope="module")
def customer(stack: Stack) -> Customer:
    """A customer with a salary, contracts and a long history, in a tenant of its own."""
    connected_customer = stack.tenant().customer()
    connected_customer.connected("demo1")
    return connected_customer


def compare(customer: Customer, *assumptions: dict[str, Any]) -> dict[str, Any]:
    answer = customer.call("POST", PATH, json={"assumptions": list(assumptions)})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def difference(customer: Customer, *assumptions: dict[str, Any]) -> dict[str, Any]:
    differences: dict[str, Any] = compare(customer, *assumptions)["differences"]
    return differences


def contract(customer: Customer, partner: str) -> dict[str, Any]:
    contracts: list[dict[str, Any]] = customer.read("/ai/contracts")
    return next(item for item in contracts if partner in item["tagTreeItemBusinessPartner"]["displayName"])


def test_anonymous_and_the_wrong_scope(http: httpx.Client, r1: TenantUnderTest) -> None:
    body: dict[str, list[Any]] = {"assumptions": []}
    assert http.post(f"/customer/v2{PATH}", json=body).status_code == 401
    assert http.post(f"/customer/v2{PATH}", json=body, headers=r1.bearer()).status_code == 403


def test_without_an_assumption_both_sides_are_the_analyses(customer: Customer) -> None:
    body = compare(customer)
    assert body["without"] == body["with"]
    for field, path in (("disposableMoney", "disposable-money"), ("affordability",) * 2, ("creditRisk", "credit-risk")):
        assert body["without"][field] == customer.read(f"/ai/{path}")
    first = body["asOf"].replace(body["asOf"][:4], str(int(body["asOf"][:4]) - 1))[:8] + "01"
    query = {"catLevel": "main", "granularity": "month", "tags": "EXPENSES,INCOME,NET", "from": first}
    assert body["without"]["cashflow"] == customer.read("/ai/cashflow", params=query)
    assert set(body["differences"].values()) == {0}


def test_nothing_is_stored(customer: Customer) -> None:
    before = customer.get("/ai/credit-risk")
    compare(customer, {"kind": "ADD_RENT", "amount": 900})
    after = customer.get("/ai/credit-risk")
    assert (after.content, after.headers["ETag"]) == (before.content, before.headers["ETag"])


def test_a_new_instalment_is_a_debt(customer: Customer) -> None:
    body = compare(customer, {"kind": "ADD_INSTALMENT", "amount": 250.5})
    assert body["assumptions"] == [{"kind": "ADD_INSTALMENT", "reason": "Neue Rate von 250,50\N{NO-BREAK SPACE}€ im Monat"}]
    differences = body["differences"]
    assert differences["amountDebtService"] == 250.5
    assert differences["amountExpenses"] == pytest.approx(250.5, abs=0.02)
    assert differences["amountSurplus"] == pytest.approx(-250.5, abs=0.02)
    assert differences["amountIncome"] == 0
    assert differences["amountExpectedLeft"] == pytest.approx(-250.5, abs=0.02)
    assert differences["amountAffordableInstalment"] < 0
    assert differences["score"] < 0
    signals = [
        {item["signal"]: item["value"] for item in body[side]["creditRisk"]["details"]["signals"]} for side in ("without", "with")
    ]
    assert signals[0]["days_below_zero"] == signals[1]["days_below_zero"]


def test_a_new_rent_is_a_rent(customer: Customer) -> None:
    body = compare(customer, {"kind": "ADD_RENT", "amount": 400})
    burdens = [
        next(item["value"] for item in body[side]["creditRisk"]["details"]["signals"] if item["signal"] == "rent_burden")
        for side in ("without", "with")
    ]
    assert burdens[0] < burdens[1]
    assert body["differences"]["amountExpenses"] == pytest.approx(400, abs=0.02)
    assert body["differences"]["amountDebtService"] == 0


def test_a_cancelled_contract_is_never_paid(customer: Customer) -> None:
    netflix = contract(customer, "Netflix")
    differences = difference(customer, {"kind": "CANCEL_CONTRACT", "contractId": netflix["id"]})
    assert differences["amountExpenses"] == pytest.approx(netflix["details"]["amountLatest"], abs=0.02)
    assert differences["amountIncome"] == 0
    assert differences["score"] >= 0


def test_a_salary_changes_what_comes_in(customer: Customer) -> None:
    latest = customer.read("/ai/disposable-money")["details"]["amountSalaryLatest"]
    same = difference(customer, {"kind": "CHANGE_SALARY", "amount": latest})
    assert set(same.values()) == {0}
    body = compare(customer, {"kind": "CHANGE_SALARY", "amount": latest + 300})
    assert body["differences"]["amountIncome"] > 250
    assert body["differences"]["amountExpectedLeft"] == pytest.approx(300, abs=0.02)
    assert body["with"]["disposableMoney"]["details"]["amountSalaryLatest"] == pytest.approx(latest + 300, abs=0.01)


def test_a_child_costs_more_than_the_state_gives(customer: Customer) -> None:
    body = compare(customer, {"kind": "CHILD_BORN"})
    assert body["differences"]["amountIncome"] == pytest.approx(259, abs=0.02)
    assert body["differences"]["amountExpenses"] == pytest.approx(486, abs=0.02)
    own = difference(customer, {"kind": "CHILD_BORN", "amount": 600, "amountBenefit": 0})
    assert own["amountIncome"] == 0
    assert own["amountExpenses"] == pytest.approx(600, abs=0.02)


def test_assumptions_add_up(customer: Customer) -> None:
    several = difference(customer, {"kind": "ADD_RENT", "amount": 100}, {"kind": "ADD_INSTALMENT", "amount": 50})
    assert several["amountExpenses"] == pytest.approx(150, abs=0.02)


@pytest.mark.parametrize(
    ("assumption", "field"),
    [
        ({"kind": "WIN_THE_LOTTERY"}, "assumptions[0].kind"),
        ({}, "assumptions[0].kind"),
        ({"kind": "ADD_RENT"}, "assumptions[0].amount"),
        ({"kind": "CHANGE_SALARY"}, "assumptions[0].amount"),
        ({"kind": "ADD_RENT", "amount": -1}, "assumptions[0].amount"),
        ({"kind": "ADD_RENT", "amount": 100_000.01}, "assumptions[0].amount"),
        ({"kind": "ADD_RENT", "amount": 1.234}, "assumptions[0].amount"),
        ({"kind": "ADD_RENT", "amount": "100"}, "assumptions[0].amount"),
        ({"kind": "CANCEL_CONTRACT"}, "assumptions[0].contractId"),
        ({"kind": "CANCEL_CONTRACT", "contractId": "nothing"}, "assumptions[0].contractId"),
        ({"kind": "CANCEL_CONTRACT", "contractId": "x" * 129}, "assumptions[0].contractId"),
        ({"kind": "CHILD_BORN", "amountBenefit": -5}, "assumptions[0].amountBenefit"),
    ],
)
def test_bad_assumptions_are_refused_by_name(customer: Customer, assumption: dict[str, Any], field: str) -> None:
    answer = customer.call("POST", PATH, json={"assumptions": [assumption]})
    assert answer.status_code == 400
    assert field in answer.text


def test_at_most_ten_can_be_assumed(customer: Customer) -> None:
    answer = customer.call("POST", PATH, json={"assumptions": [{"kind": "CHILD_BORN"}] * 11})
    assert answer.status_code == 400
    assert customer.call("POST", PATH, json={}).status_code == 400


def test_contracts_of_another_user_are_unknown(customer: Customer) -> None:
    other = customer.tenant.customer()
    netflix = contract(customer, "Netflix")
    answer = other.call("POST", PATH, json={"assumptions": [{"kind": "CANCEL_CONTRACT", "contractId": netflix["id"]}]})
    assert answer.status_code == 400
    assert "assumptions[0].contractId" in answer.text


def test_who_has_no_bookings_gets_empty_analyses(customer: Customer) -> None:
    other = customer.tenant.customer()
    body = compare(other, {"kind": "ADD_RENT", "amount": 500})
    assert body["with"] == body["without"] == {"cashflow": [], "disposableMoney": {}, "affordability": {}, "creditRisk": {}}
    assert body["differences"] == {}
    answer = other.call("POST", PATH, json={"assumptions": [{"kind": "CHANGE_SALARY", "amount": 100}]})
    assert answer.status_code == 400
    assert "Gehalt" in answer.text
