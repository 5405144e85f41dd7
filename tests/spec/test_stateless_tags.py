"""Tags for bookings that come with the request: nothing is stored, and nothing that is stored is looked at."""

import json
import re
from typing import Any

import httpx
import pytest

from analytics import trees
from tests.support.accounts import add_rule
from tests.support.stack import Stack, TenantUnderTest
from warehouse import scopes

PATH = "/ai/v1/transactions/tags/"
TREES = ["CATEGORIES", "INSURANCE_TYPES", "BUSINESS_PARTNERS", "FREELANCER_CATEGORIES"]


def record(**change: Any) -> dict[str, Any]:
    """A record with all that is needed; `...` leaves a field out."""
    given = {
        "betrag": -12.5,
        "buchungsdatum": "2026-11-02 00:00:00",
        "verwendungszweck": "Rechnung 4711",
        "user": "kunde-1",
        "provider": "bank-1",
        "product": "konto-1",
        "tenant": "mandant-1",
        **change,
    }
    return {name: value for name, value in given.items() if value is not ...}


EVERYTHING = {
    "buchungstext": "LASTSCHRIFT",
    "gegenkontoBic": "BYLADEM1001",
    "gegenkontoIban": "DE02120300000000202051",
    "gegenkontoInhaber": "Stadtwerke Musterstadt",
    "gegenkontoInhaberAbweichend": "Stadtwerke Vertrieb",
    "gvCode": "105",
    "hash": "h-1",
    "id": "id-1",
    "primanotaNummer": "9248",
    "waehrung": "EUR",
    "wertstellungsdatum": "2026-11-03 00:00:00",
}


@pytest.fixture(scope="module")
def bearer(r1: TenantUnderTest) -> dict[str, str]:
    return r1.bearer("app", "anna", scopes.CUSTOMER_READ)


@pytest.fixture
def tag(http: httpx.Client, bearer: dict[str, str]) -> Any:
    """The answer to records that must be right."""

    def post(*records: dict[str, Any]) -> list[dict[str, Any]]:
        answer = http.post(PATH, json=list(records), headers=bearer)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()
        return found

    return post


def test_anonymous(http: httpx.Client) -> None:
    assert http.post(PATH, json=[record()]).status_code == 401


def test_wrong_scope(http: httpx.Client, r1: TenantUnderTest) -> None:
    token = r1.bearer("app", "anna", scopes.CUSTOMER_MODIFY)
    assert http.post(PATH, json=[record()], headers=token).status_code == 403


def test_a_clients_token_serves_too(http: httpx.Client, r1: TenantUnderTest) -> None:
    token = r1.bearer("app", scope=scopes.CUSTOMER_READ)
    assert http.post(PATH, json=[record()], headers=token).status_code == 200


def test_four_tags_for_each(tag: Any, stack: Stack) -> None:
    (found,) = tag(record(**EVERYTHING))
    assert [item["tagTreeItem"]["tagTree"]["systemName"] for item in found["tags"]] == TREES
    for item in found["tags"]:
        tree = trees.tree(item["tagTreeItem"]["tagTree"]["systemName"])
        assert tree.item(item["tagTreeItem"]["systemName"]).assignable
        assert item["entity"] == {
            "displayName": "Stadtwerke Musterstadt",
            "entityClass": "TRANSACTION",
            "id": "id-1",
            "userId": "kunde-1",
        }
        assert item["details"].keys() >= {"confidenceLevel", "source", "reason", "modelVersion"}
        assert item["relations"][0]["href"].startswith(stack.base_url)


@pytest.mark.parametrize("given", [{}, EVERYTHING, dict.fromkeys(EVERYTHING)])
def test_the_records_come_back_as_they_were(tag: Any, given: dict[str, Any]) -> None:
    (found,) = tag(record(**given))
    found.pop("tags")
    assert found == record(**given)


def test_the_order_stays(tag: Any) -> None:
    records = [record(betrag=-n - 0.25, id=f"id-{n * 7919 % 1500}", user=f"kunde-{n % 7}") for n in range(1500)]
    found = tag(*records)
    assert [item["betrag"] for item in found] == [item["betrag"] for item in records]
    assert all(tag["entity"]["id"] == item["id"] for item in found for tag in item["tags"])


@pytest.mark.parametrize(
    ("given", "name"),
    [({"id": "a", "hash": "b"}, "a"), ({"hash": "b"}, "b"), ({"id": "", "hash": None}, "1"), ({}, "1")],
)
def test_by_what_a_record_is_called(tag: Any, given: dict[str, Any], name: str) -> None:
    _, found = tag(record(), record(**given))
    assert {item["entity"]["id"] for item in found["tags"]} == {name}


def test_names_need_not_differ(tag: Any) -> None:
    found = tag(record(id="a", betrag=-1), record(id="a", betrag=1))
    assert [item["tags"][0]["entity"]["id"] for item in found] == ["a", "a"]
    assert found[0]["tags"][0]["tagTreeItem"] != found[1]["tags"][0]["tagTreeItem"]


def test_tags_that_come_are_replaced(tag: Any) -> None:
    plain = tag(record())
    for given in ([], None, [{"id": "x"}], "nonsense", plain[0]["tags"]):
        assert tag(record(tags=given)) == plain


def test_unknown_fields_are_ignored(tag: Any) -> None:
    assert tag(record(farbe="blau")) == tag(record())


def test_users_have_nothing_to_do_with_each_other(tag: Any) -> None:
    mine = [record(id=f"a{n}", betrag=-n - 1, gegenkontoInhaber="REWE") for n in range(5)]
    others = [record(id=f"b{n}", betrag=n + 1, gegenkontoInhaber="REWE", user="kunde-2") for n in range(5)]
    elsewhere = [record(id=f"c{n}", betrag=n + 1, gegenkontoInhaber="REWE", tenant="mandant-2") for n in range(5)]
    mixed = tag(*(item for three in zip(mine, others, elsewhere, strict=True) for item in three))
    assert [mixed[place::3] for place in range(3)] == [tag(*mine), tag(*others), tag(*elsewhere)]


def test_nothing_of_what_is_stored_counts(tag: Any, r1: TenantUnderTest, http: httpx.Client, stack: Stack) -> None:
    customer = r1.customer()
    own = record(user=str(customer.user_id), tenant=r1.name, gegenkontoInhaber="Vermieter Schulz")
    before = tag(own)
    add_rule(http, customer.bearer, counterpartyName="Vermieter Schulz")
    assert tag(own) == before
    assert stack.sql("SELECT count(*) FROM transactions WHERE user_id = :user", user=customer.user_id)[0][0] == 0


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("2026-11-02T08:15:00", "2026-11-02 08:15:00"),
        ("2026-11-02 08:15:00", "2026-11-02 08:15:00"),
        ("2026-11-02", "2026-11-02 00:00:00"),
        ("2026-11-02T23:59:59Z", "2026-11-02 23:59:59"),
        ("2026-11-02T00:30:00.123+01:00", "2026-11-02 00:30:00"),
    ],
)
def test_days_with_a_blank_or_a_letter(tag: Any, given: str, shown: str) -> None:
    (found,) = tag(record(buchungsdatum=given, wertstellungsdatum=given))
    assert (found["buchungsdatum"], found["wertstellungsdatum"]) == (shown, shown)


@pytest.mark.parametrize("amount", ["-12.50", "12", "1e2", "-0.01", "0"])
def test_amounts_have_two_decimals(http: httpx.Client, bearer: dict[str, str], amount: str) -> None:
    body = json.dumps([record(betrag=0)]).replace('"betrag": 0', f'"betrag": {amount}')
    answer = http.post(PATH, content=body, headers={**bearer, "Content-Type": "application/json"})
    assert re.findall(r'"betrag":(-?\d+\.\d\d)[,}]', answer.text) == [f"{float(amount):.2f}"]


class TestWrongRecords:
    @pytest.mark.parametrize("field", ["betrag", "buchungsdatum", "verwendungszweck", "user", "provider", "product", "tenant"])
    @pytest.mark.parametrize(("value", "what"), [(..., "fehlt"), (None, "muss ein")])
    def test_needed_fields(self, http: httpx.Client, bearer: dict[str, str], field: str, value: Any, what: str) -> None:
        answer = http.post(PATH, json=[record(), record(), record(**{field: value})], headers=bearer)
        assert answer.status_code == 400
        assert answer.json()["messages"][0]["details"].startswith(f"[2].{field}: {what}")

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("betrag", "1.00"),
            ("betrag", 1.005),
            ("betrag", 10**15),
            ("betrag", True),
            ("buchungsdatum", "2026-02-30 00:00:00"),
            ("buchungsdatum", "0001-01-01 00:00:00"),
            ("buchungsdatum", "2026-11-02 25:00:00"),
            ("buchungsdatum", "2026-11-02_00:00:00"),
            ("buchungsdatum", "2026-11-02 00:00"),
            ("buchungsdatum", "20261102"),
            ("buchungsdatum", ""),
            ("buchungsdatum", 20261102),
            ("wertstellungsdatum", "gestern"),
            ("verwendungszweck", 7),
            ("user", ""),
            ("user", 7),
            ("user", "zwei\nZeilen"),
            ("product", ["konto-1"]),
            ("gegenkontoInhaber", "zwei\nZeilen"),
            ("gegenkontoInhaber", {}),
            ("gegenkontoIban", 7),
            ("waehrung", "XXQ"),
            ("waehrung", "eur"),
            ("id", 7),
        ],
    )
    def test_wrong_values_are_named(self, http: httpx.Client, bearer: dict[str, str], field: str, value: Any) -> None:
        answer = http.post(PATH, json=[record(), record(**{field: value}), record(betrag=None)], headers=bearer)
        assert answer.status_code == 400
        (problem,) = answer.json()["messages"][0]["fields"]
        assert problem["field"] == f"[1].{field}"
        assert "given" in problem

    @pytest.mark.parametrize(("field", "length"), [("verwendungszweck", 4001), ("gegenkontoInhaber", 257), ("user", 129)])
    def test_too_long(self, http: httpx.Client, bearer: dict[str, str], field: str, length: int) -> None:
        answer = http.post(PATH, json=[record(**{field: "x" * length})], headers=bearer)
        assert answer.json()["messages"][0]["details"] == f"[0].{field}: ist zu lang: höchstens {length - 1} Zeichen"

    @pytest.mark.parametrize("body", ["[]", "{}", "null", "[null]", "[[]]", '"x"', "7", '[{"betrag": NaN}]', "", "["])
    def test_no_list_of_records(self, http: httpx.Client, bearer: dict[str, str], body: str) -> None:
        answer = http.post(PATH, content=body, headers={**bearer, "Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["messages"][0]["code"]) == (400, "BA400")

    def test_another_content_type(self, http: httpx.Client, bearer: dict[str, str]) -> None:
        answer = http.post(PATH, content=json.dumps([record()]), headers={**bearer, "Content-Type": "text/plain"})
        assert answer.status_code == 415


class TestLimits:
    def test_ten_thousand(self, tag: Any) -> None:
        found = tag(*(record(id=str(n), betrag=-n) for n in range(10_000)))
        assert [item["tags"][0]["entity"]["id"] for item in found] == [str(n) for n in range(10_000)]

    def test_one_more(self, http: httpx.Client, bearer: dict[str, str]) -> None:
        assert http.post(PATH, json=[record()] * 10_001, headers=bearer).status_code == 400

    def test_ten_mebibytes(self, http: httpx.Client, bearer: dict[str, str]) -> None:
        assert http.post(PATH, json=[record(verwendungszweck="x" * 4000)] * 3000, headers=bearer).status_code == 413
