"""Analyses of bookings that come with the request: nothing is stored, and nothing that is stored is looked at."""

import json
from datetime import date, timedelta
from typing import Any

import httpx
import pytest

from api.schemas.analyses import AnalysesBody
from tests.support.stack import Customer, TenantUnderTest
from warehouse import scopes

PATH = "/ai/v1/analyses/"
FIELDS = {
    "contracts": "contracts",
    "cashflow": "cashflow",
    "disposableMoney": "disposable-money",
    "lifeEvents": "life-events",
    "lifeStages": "life/stages",
    "salesTriggers": "sales-triggers",
    "affordability": "affordability",
    "creditRisk": "credit-risk",
}
RECORD = {
    "betrag": -54.9,
    "buchungsdatum": "2026-11-02 00:00:00",
    "verwendungszweck": "Abschlag Strom",
    "gegenkontoInhaber": "Stadtwerke Musterstadt",
    "user": "kunde-1",
    "provider": "bank-1",
    "product": "konto-1",
    "tenant": "mandant-1",
}


@pytest.fixture(scope="module")
def bearer(r1: TenantUnderTest) -> dict[str, str]:
    return r1.bearer("app", "anna", scopes.CUSTOMER_READ)


def body(*records: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A request for these records, as of a day in the past."""
    given = {"asOf": "2026-11-15", "transactions": list(records or [RECORD]), **more}
    return {name: value for name, value in given.items() if value is not ...}


def monthly(count: int, **change: Any) -> list[dict[str, Any]]:
    """A record for each of so many months before November 2026."""
    days = [date(2026 - (12 - 11 + back) // 12, (10 - back) % 12 + 1, 2) for back in range(count)]
    return [{**RECORD, "buchungsdatum": f"{day} 00:00:00", "id": f"b-{place}", **change} for place, day in enumerate(days)]


def test_anonymous(http: httpx.Client) -> None:
    assert http.post(PATH, json=body()).status_code == 401


def test_wrong_scope(http: httpx.Client, r1: TenantUnderTest) -> None:
    token = r1.bearer("app", "anna", scopes.CUSTOMER_MODIFY)
    assert http.post(PATH, json=body(), headers=token).status_code == 403


def test_a_clients_token_serves_too(http: httpx.Client, r1: TenantUnderTest) -> None:
    answer = http.post(PATH, json=body(), headers=r1.bearer("app", scope=scopes.CUSTOMER_READ))
    assert answer.status_code == 200, answer.text
    AnalysesBody.model_validate_json(answer.content)


def test_bookings_that_come_with_the_request_are_analysed_as_those_that_are_stored(
    http: httpx.Client, r1: TenantUnderTest
) -> None:
    customer = r1.customer()
    key = customer.connected("demo1")
    today = customer.get("/ai/contracts").headers["ETag"].strip('"').split("-", 1)[1][:10]
    answer = http.post(PATH, json=records_of(customer, key, today), headers=customer.bearer)
    assert answer.status_code == 200, answer.text
    for field, name in FIELDS.items():
        assert json.loads(answer.content)[field] == customer.read(f"/ai/{name}"), name


def records_of(customer: Customer, key: str, as_of: str) -> dict[str, Any]:
    """All that is stored of a customer, as a request, in the order in which it came."""
    wanted = {name for name in RECORD if name not in ("user", "provider", "product", "tenant")}
    wanted |= {"id", "buchungstext", "gegenkontoIban", "gegenkontoBic", "gegenkontoInhaberAbweichend", "gvCode", "waehrung"}
    wanted |= {"primanotaNummer", "wertstellungsdatum"}
    rows, products = [], []
    for item in customer.access(key)["bankprodukte"]:
        about = {"user": str(customer.user_id), "provider": "p", "product": item["id"], "tenant": "t"}
        products.append({"id": item["id"], "iban": item.get("iban"), "category": item["kategorie"], "owner": item["inhaber"]})
        if item.get("waehrung") == "EUR":
            products[-1]["saldo"] = item.get("saldo")
        answer = customer.get(f"/bankzugaenge/{key}/{item['id']}/kontoumsaetze")
        listed = answer.json() if answer.status_code == 200 else []
        stored = [row for row in reversed(listed) if not row.get("vorgemerkt")]
        rows += [{**about, "verwendungszweck": "", **{k: v for k, v in row.items() if k in wanted}} for row in stored]
    return {"asOf": as_of, "transactions": rows, "products": products}


def test_a_contract_is_found_in_a_few_bookings(http: httpx.Client, bearer: dict[str, str]) -> None:
    found = http.post(PATH, json=body(*monthly(12)), headers=bearer).json()
    (contract,) = found["contracts"]
    assert contract["entity"]["id"] == "kunde-1"
    assert contract["tagTreeItemPeriod"]["systemName"] == "MONTH_ONE"
    assert contract["details"]["transactionIds"] == [f"b-{place}" for place in reversed(range(12))]
    assert contract["details"]["dateNext"] == "2026-12-02"


def test_the_day_is_today_if_none_is_given(http: httpx.Client, bearer: dict[str, str]) -> None:
    answer = http.post(PATH, json=body(*monthly(3), asOf=...), headers=bearer)
    assert answer.status_code == 200
    assert any(element["tagTreeItem"]["systemName"] == f"{date.today().year}_Y" for element in _total(answer.json()))


def _total(found: dict[str, Any]) -> list[dict[str, Any]]:
    statistics: list[dict[str, Any]] = found["cashflow"][0]["details"]["statistics"]
    return statistics


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"transactions": []}, "transactions"),
        ({"transactions": ...}, "transactions"),
        ({"transactions": [{**RECORD, "betrag": "10.00"}]}, "betrag"),
        ({"transactions": [{**RECORD, "id": "a"}, {**RECORD, "id": "a"}]}, "transactions.id: steht mehrfach"),
        ({"transactions": [RECORD, {**RECORD, "user": "kunde-2"}]}, "transactions: gehören mehreren Benutzern"),
        ({"asOf": "2026-13-01"}, "asOf"),
        ({"asOf": str(date.today() + timedelta(days=2))}, "asOf: liegt in der Zukunft"),
        ({"products": [{"id": "x", "category": "KONTO"}]}, "category"),
        ({"products": {}}, "products"),
    ],
)
def test_what_is_wrong_is_said(http: httpx.Client, bearer: dict[str, str], given: dict[str, Any], told: str) -> None:
    answer = http.post(PATH, json=body(**given), headers=bearer)
    assert answer.status_code == 400, answer.text
    assert told in answer.json()["messages"][0]["details"]


@pytest.mark.parametrize(
    "rows",
    [
        [{**RECORD, "betrag": 0}],
        [{**RECORD, "waehrung": "CHF"}] * 1,
        [{**RECORD, "betrag": 999999999999.99, "id": "x"}, {**RECORD, "betrag": -999999999999.99, "id": "y"}],
        [{**RECORD, "verwendungszweck": "", "gegenkontoInhaber": None}],
        [{**RECORD, "buchungsdatum": "1970-01-02"}],
        monthly(30, betrag=0),
        monthly(30, waehrung="USD"),
        [*monthly(6), {**RECORD, "waehrung": "USD", "betrag": -1000, "id": "usd"}],
    ],
)
def test_odd_bookings_get_sensible_answers(http: httpx.Client, bearer: dict[str, str], rows: list[dict[str, Any]]) -> None:
    answer = http.post(PATH, json=body(*rows), headers=bearer)
    assert answer.status_code == 200, answer.text
    AnalysesBody.model_validate_json(answer.content)
    assert b"NaN" not in answer.content


def test_another_currency_is_not_added_to_the_main_one(http: httpx.Client, bearer: dict[str, str]) -> None:
    rows = [*monthly(6), {**RECORD, "waehrung": "USD", "betrag": -1000, "id": "usd"}]
    found = http.post(PATH, json=body(*rows), headers=bearer).json()
    net = next(instance for instance in found["cashflow"] if instance["tagTreeItem"]["systemName"] == "NET")
    total = next(e for e in net["details"]["statistics"] if e["tagTreeItem"]["systemName"] == "TOTAL_TOTAL")
    assert total["cashflow"] == -6 * 54.9


def test_ten_thousand_bookings_and_not_one_more(http: httpx.Client, bearer: dict[str, str]) -> None:
    days = [date(2026, 11, 15) - timedelta(days=place % 900) for place in range(10_001)]
    rows = [{**RECORD, "buchungsdatum": str(day), "betrag": -(place % 97) - 1} for place, day in enumerate(days)]
    assert http.post(PATH, json=body(*rows), headers=bearer).status_code == 400
    assert http.post(PATH, json=body(*rows[:10_000]), headers=bearer).status_code == 200
