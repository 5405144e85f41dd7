"""Analyses of a customer: contracts, cashflow, disposable money, life events and stages, sales triggers, affordability, risk."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from decimal import Decimal
from itertools import product as every
from typing import Any

import httpx
import orjson
import pytest
from pydantic import TypeAdapter

from api.schemas import analyses as bodies
from tests.support.accounts import Account
from tests.support.stack import Customer, Stack, TenantUnderTest
from warehouse import scopes

LISTS = ("contracts", "cashflow", "life-events", "life/stages", "sales-triggers")
OBJECTS = ("disposable-money", "affordability", "credit-risk")
NAMES = (*LISTS, *OBJECTS)
PATHS = [f"/customer/v2/ai/{name}/" for name in NAMES]
SHAPES: dict[str, Any] = {
    "contracts": list[bodies.ContractBody],
    "cashflow": list[bodies.CashflowBody],
    "disposable-money": bodies.DisposableMoneyBody,
    "life-events": list[bodies.LifeEventBody],
    "life/stages": list[bodies.LifeStageBody],
    "sales-triggers": list[bodies.SalesTriggerBody],
    "affordability": bodies.AffordabilityBody,
    "credit-risk": bodies.CreditRiskBody,
}
VIEWS = [
    {"focus": focus, "tag": tag, "catLevel": level, "excludeSavings": savings}
    for focus, (tag, level), savings in every(
        ("time", "tag"), (("CATEGORIES", "sub"), ("CATEGORIES", "main"), ("BUSINESS_PARTNERS", "sub")), ("false", "true")
    )
]


@pytest.fixture(scope="module")
def family(r1: TenantUnderTest) -> Customer:
    """A customer of the demo bank with years of bookings."""
    customer = r1.customer()
    customer.connected("demo1")
    return customer


def read(customer: Customer, name: str, **query: str) -> Any:
    """The body, amounts exact."""
    answer = customer.get(f"/ai/{name}", params=query)
    assert answer.status_code == 200, answer.text
    return exact(answer.content)


def exact(content: bytes) -> Any:
    return json.loads(content, parse_float=Decimal)


def booked(customer: Customer) -> list[dict[str, Any]]:
    """All bookings of a customer that are not pending."""
    found = []
    for key, access in customer.read("/bankzugaenge").items():
        for item in access["bankprodukte"]:
            answer = customer.get(f"/bankzugaenge/{key}/{item['id']}/kontoumsaetze")
            if answer.status_code == 200:
                found += exact(answer.content)
    return [row for row in found if not row.get("vorgemerkt")]


@pytest.mark.parametrize("path", PATHS)
def test_anonymous(http: httpx.Client, path: str) -> None:
    assert http.get(path).status_code == 401


@pytest.mark.parametrize("path", PATHS)
def test_wrong_scope(http: httpx.Client, r1: TenantUnderTest, path: str) -> None:
    others = " ".join(scope for scope in scopes.CUSTOMER if scope != scopes.CUSTOMER_READ)
    assert http.get(path, headers=r1.bearer("app", "anna", others)).status_code == 403
    assert http.get(path, headers=r1.bearer("app", scope=scopes.CUSTOMER_READ)).status_code == 403  # a client is no customer


@pytest.mark.parametrize("name", NAMES)
def test_a_customer_without_bookings_gets_nothing(r1: TenantUnderTest, name: str) -> None:
    answer = r1.customer().get(f"/ai/{name}/")
    assert (answer.status_code, answer.json()) == (200, {} if name in OBJECTS else [])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_answered_has_the_documented_shape(family: Customer, name: str) -> None:
    answer = family.get(f"/ai/{name}/")
    assert answer.status_code == 200, answer.text
    TypeAdapter(SHAPES[name]).validate_json(answer.content)
    assert answer.content == family.get(f"/ai/{name}").content


@pytest.mark.parametrize("name", NAMES)
def test_the_correlation_id_comes_back_and_the_revision_is_told(family: Customer, name: str) -> None:
    answer = family.get(f"/ai/{name}/", headers={"x-correlation-id": "abc-123"})
    assert answer.headers["x-correlation-id"] == "abc-123"
    assert int(answer.headers["X-Analysis-Revision"]) > 0
    assert answer.headers["X-Analysis-Source"] in ("live", "precomputed")


@pytest.mark.parametrize("name", NAMES)
def test_who_has_the_answer_gets_no_second_one(family: Customer, name: str) -> None:
    first = family.get(f"/ai/{name}/")
    again = family.get(f"/ai/{name}/", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [("gzip", True), ("br;q=1.0, GZIP;q=0.5", True), ("identity", False), ("gzip;q=0", False), ("zstd", False), ("", False)],
)
def test_a_long_answer_comes_packed_to_who_takes_that(family: Customer, accepted: str, packed: bool) -> None:
    plain = family.get("/ai/cashflow/", headers={"Accept-Encoding": "identity"})
    asked = {**family.bearer, "Accept-Encoding": accepted}
    with family.tenant.stack.http.stream("GET", "/customer/v2/ai/cashflow/", headers=asked) as answer:
        sent = b"".join(answer.iter_raw())
    assert answer.headers.get("Content-Encoding") == ("gzip" if packed else None)
    assert answer.headers["Vary"] == "Accept-Encoding, Accept-Language"
    assert int(answer.headers["Content-Length"]) == len(sent)
    assert (gzip.decompress(sent) if packed else sent) == plain.content
    assert answer.headers["ETag"] == ("W/" if packed else "") + plain.headers["ETag"]
    assert len(sent) < len(plain.content) / 5 or not packed
    again = family.get("/ai/cashflow/", headers={"If-None-Match": answer.headers["ETag"], "Accept-Encoding": accepted})
    assert (again.status_code, again.content, again.headers["Vary"]) == (304, b"", "Accept-Encoding, Accept-Language")


def test_a_short_answer_is_not_packed(r1: TenantUnderTest) -> None:
    answer = r1.customer().get("/ai/contracts/", headers={"Accept-Encoding": "gzip"})
    assert (answer.content, answer.headers.get("Content-Encoding")) == (b"[]", None)


@pytest.mark.parametrize(
    ("name", "query"),
    [
        *((name, {"asOf": value}) for name in NAMES for value in ("gestern", "2026-02-30", "20261001", "")),
        ("contracts", {"insuranceOnly": "1"}),
        ("contracts", {"insuranceOnlyExtended": "ja"}),
        ("cashflow", {"focus": "money"}),
        ("cashflow", {"tag": "categories"}),
        ("cashflow", {"catLevel": "leaf"}),
        ("cashflow", {"excludeSavings": ""}),
        ("cashflow", {"granularity": "day"}),
        ("cashflow", {"from": "2026-02-30"}),
        ("cashflow", {"to": ""}),
        ("cashflow", {"from": "2026-02-02", "to": "2026-02-01"}),
        ("cashflow", {"tags": ""}),
        ("cashflow", {"tags": "LIVING,"}),
        ("cashflow", {"tags": ",".join(f"LIVING{number}" for number in range(51))}),
        ("cashflow", {"tags": "x" * 4_000}),
        ("cashflow", {"tags": "LIVING_GROCERIES", "catLevel": "main"}),
        ("cashflow", {"tags": "LIVING", "tag": "BUSINESS_PARTNERS"}),
    ],
)
def test_what_is_no_value_is_refused(family: Customer, name: str, query: dict[str, str]) -> None:
    answer = family.get(f"/ai/{name}/", params=query)
    assert answer.status_code == 400
    assert answer.json()["messages"][0]["code"] == "BA400"
    assert next(iter(query)) in answer.json()["messages"][0]["details"]


@pytest.mark.parametrize(
    ("query", "closest"),
    [
        ({"tags": "LIVING_GROCERY"}, "LIVING_GROCERIES"),
        ({"tags": "INCOME,housing_rent"}, "HOUSING_RENT"),
        ({"tags": "REWEE", "tag": "BUSINESS_PARTNERS"}, "REWE"),
    ],
)
def test_for_an_unknown_tag_the_closest_one_is_named(family: Customer, query: dict[str, str], closest: str) -> None:
    answer = family.get("/ai/cashflow/", params=query)
    assert (answer.status_code, answer.headers["X-Correlation-ID"] != "") == (400, True)
    (mistake,) = answer.json()["messages"][0]["fields"]
    assert (mistake["field"], mistake["didYouMean"]) == ("tags", closest)


def cashflow_cells(found: Any) -> dict[tuple[str, str], Any]:
    """Amounts of the past by tag and time item, where the focus is on time."""
    return {
        (instance["tagTreeItem"]["systemName"], element["tagTreeItem"]["systemName"]): element["cashflow"]
        for instance in found
        for element in instance["details"]["statistics"]
    }


def test_a_window_of_the_cashflow_is_a_part_of_the_whole_in_kilobytes(family: Customer) -> None:
    whole = family.get("/ai/cashflow/")
    cells = cashflow_cells(whole.json())
    (last_month,) = sorted({item for _, item in cells if item[4:6] == "_M"})[-2:-1]
    day = f"{last_month[:4]}-{last_month[6:]}-15"
    query = {"from": day, "to": day, "granularity": "month", "tags": "LIVING,NET"}
    part = family.get("/ai/cashflow/", params=query)
    shown = cashflow_cells(part.json())
    assert len(part.content) < 16_000 < len(whole.content)
    assert {item for _, item in shown} == {last_month}
    assert {tag for tag, _ in shown} > {"NET", "LIVING_GROCERIES"}
    assert all(tag == "NET" or tag.startswith("LIVING_") for tag, _ in shown)
    assert all(cells[cell] == amount for cell, amount in shown.items())
    assert family.get("/ai/cashflow/", params=query).content == part.content
    assert family.get("/ai/cashflow/").content == whole.content
    TypeAdapter(SHAPES["cashflow"]).validate_json(part.content)


def test_the_total_of_a_window_is_the_sum_of_its_months(family: Customer) -> None:
    query = {"from": "2025-11-03", "to": "2026-04-10", "tag": "BUSINESS_PARTNERS"}
    total, months = (read(family, "cashflow", **query, granularity=kind) for kind in ("total", "month"))
    sums: dict[str, Any] = {}
    for (tag, _), amount in cashflow_cells(months).items():
        sums[tag] = sums.get(tag, 0) + amount
    assert {tag: amount for (tag, _), amount in cashflow_cells(total).items()} == sums
    assert len(sums) > 3


def test_a_window_without_bookings_is_empty(family: Customer) -> None:
    assert read(family, "cashflow", **{"from": "1999-01-01", "to": "1999-12-31"}) == []


def test_a_day_to_come_is_refused(family: Customer) -> None:
    answer = family.get("/ai/contracts", params={"asOf": str(date.today() + timedelta(days=2))})
    assert answer.status_code == 400
    assert answer.json()["messages"][0]["details"] == "asOf: liegt in der Zukunft"


def test_instances_are_of_the_user_and_have_links_and_ids_of_their_own(family: Customer) -> None:
    found = [body for name in LISTS for body in read(family, name)] + [read(family, name) for name in OBJECTS]
    assert len({body["id"] for body in found}) == len(found)
    for body in found:
        assert body["entity"]["entityClass"] == "USER"
        assert body["entity"]["id"] == body["entity"]["userId"] == str(family.user_id)
        links = {relation["rel"]: relation["href"] for relation in body["relations"]}
        assert list(links)[:4] == ["tag_trees", "tag_tree", "tag_tree_items", "tag_tree_item"]
        item = family.call("GET", links["tag_tree_item"]).json()
        assert item["systemName"] == body["tagTreeItem"]["systemName"]
        assert (len(links) == 16) == ("tagTreeItemPeriod" in body)


def test_the_twelve_relations_of_a_contract_lead_to_its_items(family: Customer) -> None:
    contract = read(family, "contracts")[0]
    links = {relation["rel"]: relation["href"] for relation in contract["relations"]}
    fields = {
        "category": "Category",
        "insurance_type": "InsuranceType",
        "period": "Period",
        "business_partner": "BusinessPartner",
    }
    for ending, field in fields.items():
        item = contract[f"tagTreeItem{field}"]
        assert family.call("GET", links[f"tag_tree_item_{ending}"]).json()["systemName"] == item["systemName"]
        assert family.call("GET", links[f"tag_tree_{ending}"]).json()["systemName"] == item["tagTree"]["systemName"]
        assert links[f"tag_tree_item_{ending}"].startswith(links[f"tag_tree_items_{ending}"])


def test_contracts_rest_on_bookings_that_are_there(family: Customer) -> None:
    amounts = {row["id"]: row["betrag"] for row in booked(family)}
    contracts = read(family, "contracts")
    assert {contract["tagTreeItemCategory"]["systemName"] for contract in contracts} >= {"INCOME_SALARY", "HOUSING_RENT"}
    for contract in contracts:
        details = contract["details"]
        assert details["amountTotal"] == sum(amounts[id_] for id_ in details["transactionIds"])
        assert sorted(details["transactionIds"]) == sorted(details["transactionIdsRegular"] + details["transactionIdsNonRegular"])
        assert details["status"] in ("ACTIVE", "INACTIVE")
        assert ("dateNext" in details) == (details["status"] == "ACTIVE")
        assert details["reason"]


def test_only_insurances_and_with_home_savings(family: Customer) -> None:
    ids = {
        name: {contract["id"] for contract in read(family, "contracts", **query)}
        for name, query in (
            ("all", {}),
            ("insurance", {"insuranceOnly": "true"}),
            ("extended", {"insuranceOnlyExtended": "true"}),
            ("both", {"insuranceOnly": "true", "insuranceOnlyExtended": "true"}),
        )
    }
    assert set() < ids["insurance"] <= ids["extended"] < ids["all"]
    assert ids["both"] == ids["extended"]
    insured = read(family, "contracts", insuranceOnly="true")
    assert all(contract["tagTreeItemInsuranceType"]["systemName"] != "UNRELATED_OTHER" for contract in insured)


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_of_cashflow_adds_up_to_what_was_booked(family: Customer, view: dict[str, str]) -> None:
    found = read(family, "cashflow", **view)
    sums = {"NET", "INCOME", "EXPENSES"} if view["focus"] == "time" and view["tag"] == "CATEGORIES" else set()
    cells = {}
    for instance in found:
        outer = instance["tagTreeItem"]["systemName"]
        for element in instance["details"]["statistics"]:
            inner = element["tagTreeItem"]["systemName"]
            tag, item = (outer, inner) if view["focus"] == "time" else (inner, outer)
            cells[tag, item] = element["cashflow"]
    total = sum(cents for (tag, item), cents in cells.items() if item == "TOTAL_TOTAL" and tag not in sums)
    months = sum(cents for (tag, item), cents in cells.items() if item[4:6] == "_M" and tag not in sums)
    assert total == months
    if view["excludeSavings"] == "false" and not sums:
        assert total == sum(row["betrag"] for row in booked(family))
    for item in {item for tag, item in cells if tag == "NET"}:
        assert cells["NET", item] == cells.get(("INCOME", item), 0) + cells.get(("EXPENSES", item), 0)
    assert any(instance["details"]["predictions"] for instance in found)


def test_disposable_money_adds_up(family: Customer) -> None:
    details = read(family, "disposable-money")["details"]
    parts = ("amountSalaryLatest", "amountCashflow", "amountExpectedFixedCashflow", "amountExpectedFlexCashflow")
    assert details["amountExpectedLeft"] == sum(details[part] for part in parts)
    assert details["amountCurrentlyLeft"] == details["amountSalaryLatest"] + details["amountCashflow"]
    assert details["dateSalaryLatest"] <= details["dateSalaryNext"]
    assert details["transactionIds"]


def test_affordability_adds_up(family: Customer) -> None:
    details = read(family, "affordability")["details"]
    income, expenses = details["income"]["amount"], details["expenses"]
    luxuries = expenses["luxuries"]
    assert income - expenses["amount"] == details["discretionary"] - details["shortfall"] - luxuries["amount"]
    rest = details["discretionaryForIrregularLuxuries"] - details["shortfallForIrregularLuxuries"]
    assert income - expenses["amount"] == rest - luxuries["irregular"]["amount"]
    assert details["financialLiteracy"] in ("low", "neutral", "high")


def test_one_stage_for_each_dimension(family: Customer) -> None:
    stages = [stage["tagTreeItem"]["systemName"].partition("_")[0] for stage in read(family, "life/stages")]
    assert sorted(set(stages)) == ["HOUSING", "LABOURMARKET", "PARENTHOOD", "SAVINGS"]


def test_a_wish_is_seen_at_once(r1: TenantUnderTest) -> None:
    account = Account(r1.customer())
    (booking,) = account.push({"betrag": -77.77, "verwendungszweck": "Xyz", "gegenkontoInhaber": "Qwertz GmbH"})
    customer = account.customer

    def of(tag: str) -> list[Decimal]:
        return [
            element["cashflow"]
            for instance in read(customer, "cashflow")
            if instance["tagTreeItem"]["systemName"] == tag
            for element in instance["details"]["statistics"]
            if element["tagTreeItem"]["systemName"] == "TOTAL_TOTAL"
        ]

    assert of("TAXES") == []
    wished = {"tags": {"systemName": "TAXES", "tagTree": {"systemName": "CATEGORIES"}}}
    assert customer.call("PUT", f"{account.path}/{booking}", json=wished).status_code == 200
    assert of("TAXES") == [Decimal("-77.77")]


def test_an_earlier_day_is_answered_as_on_that_day(r1: TenantUnderTest, stack: Stack) -> None:
    customer = r1.customer()
    customer.connected("demo1")
    day = date.today() - timedelta(days=45)
    then = {name: customer.get(f"/ai/{name}", params={"asOf": str(day)}).content for name in NAMES}
    assert then["cashflow"] != customer.get("/ai/cashflow").content
    later = "SELECT coalesce(sum(amount_cents), 0) FROM transactions t WHERE t.product_id = products.id AND NOT t.pending"
    set_back = f"UPDATE products SET balance_cents = balance_cents - ({later} AND t.booked_on > :day) WHERE user_id = :user"
    stack.sql(set_back, user=customer.user_id, day=day)
    stack.sql("DELETE FROM transactions WHERE user_id = :user AND booked_on > :day", user=customer.user_id, day=day)
    stack.sql("UPDATE users SET refreshed_on = :day, revision = revision + 1 WHERE id = :user", user=customer.user_id, day=day)
    assert {name: customer.get(f"/ai/{name}").content for name in NAMES} == then
    assert {name: customer.get(f"/ai/{name}", params={"asOf": str(date.today())}).content for name in NAMES} == then


def test_before_the_first_booking_there_is_nothing(family: Customer) -> None:
    assert read(family, "contracts", asOf="1999-12-31") == []
    assert read(family, "disposable-money", asOf="1999-12-31") == {}


def test_many_questions_at_once_get_the_same_answers(r1: TenantUnderTest) -> None:
    customer = r1.customer()
    customer.connected("demo2")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda name: (name, customer.get(f"/ai/{name}").content), NAMES * 3))
    assert len(set(found)) == len(NAMES)


def test_an_account_connected_twice_counts_once(r1: TenantUnderTest) -> None:
    customer = r1.customer()
    customer.connected("demo1")

    def told() -> list[Any]:
        """What is said about the money, without what names bookings and instances."""
        money, afforded = (read(customer, name)["details"] for name in OBJECTS[:2])
        flows = [(row["tagTreeItem"]["systemName"], row["details"]["statistics"]) for row in read(customer, "cashflow")]
        amounts = {name: value for name, value in money.items() if name not in ("reason", "transactionIds")}
        return [flows, amounts, afforded["income"]["amount"], afforded["expenses"]["amount"], len(read(customer, "contracts"))]

    once, shown = told(), len(booked(customer))
    customer.connected("demo1")
    assert told() == once
    assert len(booked(customer)) == 2 * shown, "each access shows its own"


def test_an_access_that_has_expired_is_in_no_answer(r1: TenantUnderTest, stack: Stack) -> None:
    customer = r1.customer()
    key = customer.connected("demo1", sync=False)
    assert read(customer, "contracts")
    stack.sql("UPDATE accesses SET expires_at = now() WHERE user_id = :user AND key = :key", user=customer.user_id, key=key)
    for name in NAMES:
        assert read(customer, name) == ({} if name in OBJECTS else [])


def test_nobody_sees_others(family: Customer, r1: TenantUnderTest, r2: TenantUnderTest) -> None:
    mine = orjson.dumps(family.read("/ai/contracts"))
    for other in (r1.customer(), r2.customer()):
        assert other.read("/ai/contracts") == []
        assert str(other.user_id).encode() not in mine
