"""Tag views: bookings with their tags and classifications."""

import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from analytics import trees
from tests.support.accounts import add_rule
from tests.support.stack import Customer, Stack, TenantUnderTest
from warehouse import scopes

TREE_OF_VIEW = {
    "true": "CATEGORIES",
    "categories": "CATEGORIES",
    "insurances": "INSURANCE_TYPES",
    "insurance-types": "INSURANCE_TYPES",
    "business-partners": "BUSINESS_PARTNERS",
    "freelancer-categories": "FREELANCER_CATEGORIES",
}
TREE_IDS = {"CATEGORIES": 1, "INSURANCE_TYPES": 2, "BUSINESS_PARTNERS": 3, "FREELANCER_CATEGORIES": 15}
SOURCES = {"USER", "RULE", "PARTNER", "MODEL", "FALLBACK"}
QUERIES = {
    "get_kontoumsaetze": "",
    "get_kontoumsaetze_tagged": "tag=true",
    "get_kontoumsaetze_insurances": "tag=insurance-types",
    "get_kontoumsaetze_business_partners": "tag=business-partners",
    "get_kontoumsaetze_freelancer_categories": "tag=freelancer-categories",
    "get_kontoumsaetze_kategorisiert": "categorize=true",
}
RELATIONS = ["tag_trees", "tag_tree", "tag_tree_items", "tag_tree_item"]


@pytest.fixture(scope="module")
def account(r1: TenantUnderTest) -> tuple[Customer, str]:
    """A customer, and the path of the bookings of a checking account."""
    customer = r1.customer()
    key = customer.connected("demo1")
    product = next(item for item in customer.access(key)["bankprodukte"] if item["kategorie"] == "GIROKONTO")
    return customer, f"/bankzugaenge/{key}/{product['id']}/kontoumsaetze"


def without_tags(bookings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in booking.items() if name not in ("tags", "classifications")} for booking in bookings]


def test_anonymous(http: httpx.Client) -> None:
    assert http.get("/customer/v2/bankzugaenge/a/b/kontoumsaetze", params={"tag": "true"}).status_code == 401


def test_wrong_scope(http: httpx.Client, r1: TenantUnderTest) -> None:
    token = r1.bearer("app", "anna", scopes.CUSTOMER_MODIFY)
    answer = http.get("/customer/v2/bankzugaenge/a/b/kontoumsaetze", params={"tag": "true"}, headers=token)
    assert answer.status_code == 403


@pytest.mark.parametrize("view", TREE_OF_VIEW)
def test_every_booking_has_one_tag_of_the_view(account: tuple[Customer, str], stack: Stack, view: str) -> None:
    customer, path = account
    bookings = customer.read(path, params={"tag": view})
    tree = trees.tree(TREE_OF_VIEW[view])
    assert without_tags(bookings) == customer.read(path)
    for booking in bookings:
        (tag,) = booking["tags"]
        item = tag["tagTreeItem"]
        known = tree.item(item["systemName"])
        assert known.assignable
        assert (item["systemId"], item["displayName"]) == (known.id, known.display_name)
        assert (item["tagTree"]["systemName"], item["tagTree"]["systemId"]) == (tree.system_name, TREE_IDS[tree.system_name])
        assert item["tagTree"]["isClientGenerated"] is False
        assert tag["entity"]["entityClass"] == "TRANSACTION"
        assert (tag["entity"]["id"], tag["entity"]["userId"]) == (booking["id"], str(customer.user_id))
        assert tag["entity"]["displayName"]
        assert [relation["rel"] for relation in tag["relations"]] == RELATIONS
        assert all(relation["href"].startswith(f"{stack.base_url}/tags/v1/tag-trees/") for relation in tag["relations"])
        assert "classifications" not in booking
    assert len({booking["tags"][0]["id"] for booking in bookings}) == len(bookings)


@pytest.mark.parametrize("view", ["categories", "insurance-types", "business-partners", "freelancer-categories"])
def test_every_tag_says_why(account: tuple[Customer, str], view: str) -> None:
    for booking in account[0].read(account[1], params={"tag": view, "limit": 500}):
        details = booking["tags"][0]["details"]
        assert details.keys() >= {"confidenceLevel", "source", "reason", "modelVersion"}
        assert details.keys() <= {"confidenceLevel", "source", "reason", "modelVersion", "refundOf", "pairOf"}
        assert 0 <= details["confidenceLevel"] <= 1
        assert details["source"] in SOURCES
        assert details["reason"]
        assert details["modelVersion"]


def test_classifications(account: tuple[Customer, str]) -> None:
    customer, path = account
    bookings = customer.read(path, params={"categorize": "true"})
    tagged = customer.read(path, params={"tag": "categories"})
    assert without_tags(bookings) == customer.read(path)
    assert [booking["tags"] for booking in bookings] == [booking["tags"] for booking in tagged]
    for booking in bookings:
        (found,) = booking["classifications"]
        item = trees.tree("CATEGORIES").item(found["category"])
        assert booking["tags"][0]["tagTreeItem"]["systemName"] == found["category"]
        assert found.get("parentCategory") == (item.parent or None)
        assert found["displayName"] == item.display_name
        assert found["confidenceLevel"] == booking["tags"][0]["details"]["confidenceLevel"]


def test_classifications_beside_another_view(account: tuple[Customer, str]) -> None:
    for booking in account[0].read(account[1], params={"categorize": "true", "tag": "insurances", "limit": 10}):
        assert len(booking["classifications"]) == 1
        assert [tag["tagTreeItem"]["tagTree"]["systemName"] for tag in booking["tags"]] == ["INSURANCE_TYPES"]


def test_not_categorized(account: tuple[Customer, str]) -> None:
    customer, path = account
    assert customer.get(path, params={"categorize": "false"}).content == customer.get(path).content


@pytest.mark.parametrize(
    "query",
    [
        {"tag": "unknown"},
        {"tag": "false"},
        {"tag": "True"},
        {"tag": "CATEGORIES"},
        {"tag": "categories,insurances"},
        {"tag": ""},
        {"categorize": "1"},
        {"categorize": "maybe"},
        {"categorize": ""},
    ],
)
def test_a_wrong_query(account: tuple[Customer, str], query: dict[str, str]) -> None:
    answer = account[0].get(account[1], params=query)
    assert (answer.status_code, answer.json()["messages"][0]["code"]) == (400, "BA400")
    assert f"{next(iter(query))}: muss " in answer.json()["messages"][0]["details"]


@pytest.mark.parametrize("limit", [7, 400])
def test_pages_are_the_whole_list(account: tuple[Customer, str], limit: int) -> None:
    customer, path = account
    query: dict[str, Any] = {"limit": limit, "from": "2026-10-01", "to": "2026-11-10", "tag": "true", "categorize": "true"}
    answer, found = customer.get(path, params=query), []
    while True:
        found += answer.json()
        assert 0 < len(answer.json()) <= limit
        if "Link" not in answer.headers:
            break
        answer = customer.get(answer.links["next"]["url"])
    del query["limit"]
    assert found == customer.read(path, params=query)
    assert without_tags(found) == customer.read(path, params={"from": "2026-10-01", "to": "2026-11-10"})


def test_amounts_have_two_decimals(account: tuple[Customer, str]) -> None:
    text = account[0].get(account[1], params={"tag": "true", "limit": 300}).text
    assert len(re.findall(r'"betrag":-?\d+\.\d\d[,}]', text)) == 300


def test_the_same_twice(account: tuple[Customer, str]) -> None:
    customer, path = account
    first, second = (customer.get(path, params={"tag": "categories"}) for _ in range(2))
    assert first.content == second.content
    assert first.headers["ETag"] == second.headers["ETag"]


def test_unknown_products(account: tuple[Customer, str]) -> None:
    for path in ("/bankzugaenge/unknown/x/kontoumsaetze", "/".join([*account[1].split("/")[:3], "x/kontoumsaetze"])):
        assert account[0].get(path, params={"tag": "true"}).status_code == 404


def test_another_users_bookings_are_missing(account: tuple[Customer, str], r1: TenantUnderTest, r2: TenantUnderTest) -> None:
    for stranger in (r1.customer(), r2.customer()):
        assert stranger.get(account[1], params={"tag": "true"}).status_code == 404


def test_a_product_without_bookings(r1: TenantUnderTest) -> None:
    customer = r1.customer()
    key = customer.connected("test_many_0")
    product = customer.access(key)["bankprodukte"][0]["id"]
    assert customer.bookings(key, product, tag="true", categorize="true") == []


def test_what_has_not_changed_is_not_sent_again(r1: TenantUnderTest, http: httpx.Client) -> None:
    customer = r1.customer()
    key = customer.connected("test_many_3")
    path = f"/bankzugaenge/{key}/{customer.access(key)['bankprodukte'][0]['id']}/kontoumsaetze"
    known = customer.get(path, params={"tag": "true"}).headers["ETag"]

    def unchanged() -> bool:
        return customer.get(path, params={"tag": "true"}, headers={"If-None-Match": known}).status_code == 304

    assert unchanged()
    add_rule(http, customer.bearer)
    assert not unchanged()
    known = customer.get(path, params={"tag": "true"}).headers["ETag"]
    assert unchanged()
    add_rule(http, r1.bearer("app"), counterpartyName="Irgendwer")
    assert not unchanged()


@pytest.mark.parametrize("count", [10_500, pytest.param(50_000, marks=pytest.mark.thorough)])
def test_thousands_in_one_request(r1: TenantUnderTest, count: int) -> None:
    customer = r1.customer()
    key = customer.connected(f"test_many_{count}")
    product = customer.access(key)["bankprodukte"][0]["id"]
    bookings = customer.bookings(key, product, tag="true")
    assert without_tags(bookings) == customer.bookings(key, product)
    assert all(len(booking["tags"]) == 1 for booking in bookings)


def test_many_at_once(account: tuple[Customer, str]) -> None:
    customer, path = account
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: customer.get(path, params={"tag": "true", "limit": 50}), range(16)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1


class TestRelations:
    def test_they_lead_to_the_views(self, account: tuple[Customer, str]) -> None:
        customer, path = account
        product = customer.read(path.removesuffix("/kontoumsaetze"))
        relations = {relation["rel"]: relation["href"] for relation in product["relations"]}
        for name, query in QUERIES.items():
            assert httpx.URL(relations[name]).query.decode() == query
            assert customer.get(relations[name]).status_code == 200

    def test_both_forms_have_them(self, account: tuple[Customer, str], http: httpx.Client) -> None:
        for product in http.get("/ai/v1/products", headers=account[0].bearer).json():
            names = {relation["rel"] for relation in product["relations"]}
            assert (names >= QUERIES.keys()) == (product["category"] != "DEPOT")


def test_ids_of_tags_are_of_their_bookings(account: tuple[Customer, str]) -> None:
    for booking in account[0].read(account[1], params={"tag": "business-partners", "limit": 20}):
        assert str(uuid.UUID(booking["tags"][0]["id"].partition(".")[0])) == booking["id"]
