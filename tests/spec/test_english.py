"""English for callers that prefer it: analyses, tags and tag trees. German is the default and stays as it is."""

import re
from typing import Any

import httpx
import pytest

from tests.spec.test_analyses import NAMES
from tests.support.stack import Customer, TenantUnderTest

ENGLISH = {"Accept-Language": "en-GB,en;q=0.9,de;q=0.5"}
TREES = "/tags/v1/tag-trees"
TEXTS = {"displayName", "description", "reason", "classReason", "financialLiteracyReason", "notice", "missing"}
GERMAN = re.compile(r"\b(?:der|das|dem|und|oder|eine?[rs]?|im|am|vom|nicht|keine?|seit|zuletzt|Zahlungen|Miete|Gehalt)\b")
QUOTED = re.compile("“[^”]*”|\\([^)]*\\)")


@pytest.fixture(scope="module")
def customer(r1: TenantUnderTest) -> Customer:
    customer = r1.customer()
    customer.connected("demo1")
    return customer


def texts_of(node: Any, key: str = "") -> list[str]:
    """All texts for people in a body, without the names of partners and counterparties."""
    if isinstance(node, dict):
        is_partner = node.get("tagTree", {}).get("systemName") == "BUSINESS_PARTNERS" or "entityClass" in node
        return [] if is_partner else [text for name, value in node.items() for text in texts_of(value, name)]
    if isinstance(node, list):
        return [text for value in node for text in texts_of(value, key)]
    return [node] if isinstance(node, str) and key in TEXTS else []


def without_texts(node: Any) -> Any:
    if isinstance(node, dict):
        return {name: without_texts(value) for name, value in node.items() if name not in TEXTS}
    return [without_texts(value) for value in node] if isinstance(node, list) else node


@pytest.mark.parametrize("path", ["/customer/v2/ai/contracts/", f"{TREES}/1/tag-tree-items/"])
def test_anonymous(http: httpx.Client, path: str) -> None:
    assert http.get(path, headers=ENGLISH).status_code == 401


@pytest.mark.parametrize("name", NAMES)
def test_an_analysis_is_the_same_in_english_but_for_its_texts(customer: Customer, name: str) -> None:
    german, english = customer.get(f"/ai/{name}/"), customer.get(f"/ai/{name}/", headers=ENGLISH)
    assert (german.headers["Content-Language"], english.headers["Content-Language"]) == ("de", "en")
    assert german.headers["Vary"] == english.headers["Vary"] == "Accept-Encoding, Accept-Language"
    assert without_texts(english.json()) == without_texts(german.json())
    assert {text for text in texts_of(english.json()) if GERMAN.search(QUOTED.sub("", text))} == set()
    assert customer.get(f"/ai/{name}/").content == german.content


@pytest.mark.parametrize("name", ["contracts", "cashflow"])
def test_an_etag_of_one_language_is_none_of_the_other(customer: Customer, name: str) -> None:
    german, english = customer.get(f"/ai/{name}/"), customer.get(f"/ai/{name}/", headers=ENGLISH)
    assert german.headers["ETag"] != english.headers["ETag"]
    for etag, headers, status in (
        (english.headers["ETag"], ENGLISH, 304),
        (german.headers["ETag"], {}, 304),
        (german.headers["ETag"], ENGLISH, 200),
        (english.headers["ETag"], {}, 200),
    ):
        answer = customer.get(f"/ai/{name}/", headers={**headers, "If-None-Match": etag})
        assert (answer.status_code, "Accept-Language" in answer.headers["Vary"]) == (status, True)


def test_contracts_say_in_english_what_they_rest_on(customer: Customer) -> None:
    contracts = customer.read("/ai/contracts/", headers=ENGLISH)
    rent = next(item for item in contracts if item["tagTreeItem"]["systemName"] == "HOUSING_RENT")
    assert rent["tagTreeItem"]["displayName"] == "Rent"
    assert rent["tagTreeItemPeriod"]["displayName"] == "Monthly"
    assert re.fullmatch(r"\d+ payments, monthly(?:, always the same amount)?; next amount: .*", rent["details"]["reason"])
    assert rent["entity"]["displayName"] == "Customer"


def test_a_view_of_cashflow_is_english_too(customer: Customer) -> None:
    times = customer.read("/ai/cashflow/", params={"focus": "tag", "granularity": "year"}, headers=ENGLISH)
    assert {item["tagTreeItem"]["displayName"] for item in times} & {"Year 2024", "Year 2025"}


@pytest.mark.parametrize("query", [{"tag": "categories"}, {"tag": "insurance-types"}, {"categorize": "true"}])
def test_tags_of_bookings_are_english(customer: Customer, query: dict[str, str]) -> None:
    params = {**query, "limit": "50"}
    german, english = (customer.get("/kontoumsaetze", params=params, headers=headers) for headers in ({}, ENGLISH))
    assert (german.headers["Content-Language"], english.headers["Content-Language"]) == ("de", "en")
    assert german.headers["ETag"] != english.headers["ETag"]
    assert without_texts(english.json()) == without_texts(german.json())
    assert {text for text in texts_of(english.json()) if GERMAN.search(QUOTED.sub("", text))} == set()


def test_tag_trees_are_english(http: httpx.Client, customer: Customer) -> None:
    def read(path: str, **query: str) -> Any:
        answer = http.get(f"{TREES}{path}", params=query, headers={**customer.bearer, **ENGLISH})
        assert (answer.status_code, answer.headers["Content-Language"]) == (200, "en"), answer.text
        return answer.json()

    assert [tree["displayName"] for tree in read("/")][:2] == ["Categories", "Types of insurance"]
    assert read("/1/")["displayName"] == "Categories"
    assert len(read("/1/tag-tree-items/")) == len(http.get(f"{TREES}/1/tag-tree-items/", headers=customer.bearer).json())
    assert [item["systemName"] for item in read("/1/tag-tree-items/", q="groceries")] == ["LIVING_GROCERIES"]
    assert read("/1/tag-tree-items/10101/")["displayName"] == "Groceries"


def test_assumptions_are_english(customer: Customer) -> None:
    body = {"assumptions": [{"kind": "ADD_RENT", "amount": 1200}]}
    answer = customer.call("POST", "/ai/what-if", headers=ENGLISH, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["assumptions"][0]["reason"] == "New rent of €1,200.00 a month"
    assert {text for text in texts_of(answer.json()) if GERMAN.search(QUOTED.sub("", text))} == set()
