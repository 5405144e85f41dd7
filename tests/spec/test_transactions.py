"""Bookings: complete lists, pages, and what tenants push."""

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.support.stack import Customer, Stack, TenantUnderTest
from warehouse import scopes

FIELDS = {"id", "betrag", "buchungsdatum", "waehrung", "hash"}
OPTIONAL = {
    "verwendungszweck",
    "buchungstext",
    "gvCode",
    "primanotaNummer",
    "wertstellungsdatum",
    "gegenkontoInhaber",
    "gegenkontoIban",
    "gegenkontoBic",
}


@pytest.fixture(scope="module")
def account(r1: TenantUnderTest) -> tuple[Customer, str]:
    """A customer, and the path of the bookings of a checking account."""
    customer = r1.customer()
    key = customer.connected("demo1")
    product = next(item for item in customer.access(key)["bankprodukte"] if item["kategorie"] == "GIROKONTO")
    return customer, f"/bankzugaenge/{key}/{product['id']}/kontoumsaetze"


@pytest.fixture
def empty(r1: TenantUnderTest) -> tuple[Customer, str]:
    """A customer with an account of a few bookings, to push into."""
    customer = r1.customer()
    key = customer.connected("test_many_3")
    return customer, f"/bankzugaenge/{key}/{customer.access(key)['bankprodukte'][0]['id']}/kontoumsaetze"


def pushed(batch: str = "b1", **change: Any) -> dict[str, Any]:
    booking = {
        "betrag": -12.50,
        "buchungsdatum": "2026-11-02 00:00:00",
        "verwendungszweck": "Rechnung 4711",
        "gegenkontoInhaber": "Stadtwerke",
        "identifier": {"batchId": batch},
        **change,
    }
    return {name: value for name, value in booking.items() if value is not ...}


def push(place: tuple[Customer, str], *bookings: dict[str, Any]) -> httpx.Response:
    customer, path = place
    return customer.call("POST", path, json=list(bookings))


def of_batch(place: tuple[Customer, str]) -> list[dict[str, Any]]:
    return [booking for booking in place[0].read(place[1]) if "identifier" in booking]


class TestReading:
    def test_anonymous(self, http: httpx.Client) -> None:
        assert http.get("/customer/v2/bankzugaenge/a/b/kontoumsaetze").status_code == 401

    def test_wrong_scope(self, http: httpx.Client, r1: TenantUnderTest) -> None:
        token = r1.bearer("app", "anna", scopes.CUSTOMER_MODIFY)
        assert http.get("/customer/v2/bankzugaenge/a/b/kontoumsaetze", headers=token).status_code == 403

    def test_every_field(self, account: tuple[Customer, str]) -> None:
        customer, path = account
        bookings = customer.read(path)
        assert len(bookings) > 1000
        assert set().union(*bookings) >= FIELDS | OPTIONAL
        for booking in bookings:
            assert booking.keys() >= FIELDS
            assert str(uuid.UUID(booking["id"])) == booking["id"]
            assert booking["buchungsdatum"].endswith(" 00:00:00")
            assert None not in booking.values()
        assert len({booking["id"] for booking in bookings}) == len(bookings)

    def test_the_newest_come_first_in_a_stable_order(self, account: tuple[Customer, str]) -> None:
        customer, path = account
        bookings = customer.read(path)
        assert [booking["hash"] for booking in bookings] == sorted((booking["hash"] for booking in bookings), reverse=True)
        assert customer.get(path).content == customer.get(path).content

    def test_amounts_have_two_decimals(self, account: tuple[Customer, str]) -> None:
        import re

        text = account[0].get(account[1]).text
        assert len(re.findall(r'"betrag":-?\d+\.\d\d[,}]', text)) == len(account[0].read(account[1]))

    def test_from_and_to_are_days_inside(self, account: tuple[Customer, str]) -> None:
        customer, path = account
        inside = customer.read(path, params={"from": "2026-10-05", "to": "2026-10-12"})
        expected = [item for item in customer.read(path) if "2026-10-05" <= item["buchungsdatum"][:10] <= "2026-10-12"]
        assert inside == expected
        assert inside

    @pytest.mark.parametrize("limit", [1, 7, 500, 1000])
    def test_pages_are_the_whole_list(self, account: tuple[Customer, str], limit: int) -> None:
        customer, path = account
        query: dict[str, Any] = {"limit": limit, "from": "2026-07-01"}
        answer, found, pages = customer.get(path, params=query), [], 0
        while True:
            pages += 1
            found += answer.json()
            assert len(answer.json()) <= limit
            if "Link" not in answer.headers or pages > 60:
                break
            assert answer.links["next"]["url"].startswith("http")
            answer = customer.get(answer.links["next"]["url"])
        whole = customer.read(path, params={"from": "2026-07-01"})
        assert found == whole[: len(found)]
        assert len(found) == min(len(whole), limit * pages)

    @pytest.mark.parametrize(
        "query",
        [
            {"limit": "0"},
            {"limit": "-1"},
            {"limit": "10001"},
            {"limit": "x"},
            {"limit": "1_0"},
            {"limit": "+5"},
            {"limit": "5.0"},
            {"cursor": ""},
            {"from": "2026-W46-5"},
            {"cursor": "nonsense"},
            {"cursor": "MjAyNi0xMy00NS4x"},
            {"from": "2026-02-30"},
            {"from": "yesterday"},
            {"to": ""},
            {"from": "2026-10-01T00:00:00"},
        ],
    )
    def test_a_wrong_query(self, account: tuple[Customer, str], query: dict[str, str]) -> None:
        answer = account[0].get(account[1], params=query)
        assert (answer.status_code, answer.json()["messages"][0]["code"]) == (400, "BA400")

    def test_an_unchanged_list_is_not_sent_again(self, empty: tuple[Customer, str]) -> None:
        customer, path = empty
        etag = customer.get(path).headers["ETag"]
        assert customer.get(path, headers={"If-None-Match": etag}).status_code == 304
        assert push(empty, pushed()).status_code == 201
        fresh = customer.get(path, headers={"If-None-Match": etag})
        assert fresh.status_code == 200
        assert fresh.headers["ETag"] != etag

    def test_fifty_thousand_in_one_request(self, r1: TenantUnderTest) -> None:
        customer = r1.customer()
        key = customer.connected("test_many_50000")
        product = customer.access(key)["bankprodukte"][0]["id"]
        bookings = customer.bookings(key, product)
        assert len(bookings) == len({booking["id"] for booking in bookings}) == 50_000
        assert [booking["hash"] for booking in bookings] == sorted((booking["hash"] for booking in bookings), reverse=True)
        page = customer.get(f"/bankzugaenge/{key}/{product}/kontoumsaetze", params={"limit": 10_000})
        assert page.json() == bookings[:10_000]
        assert "next" in page.links


class TestPushing:
    def test_anonymous(self, http: httpx.Client) -> None:
        assert http.post("/customer/v2/bankzugaenge/a/b/kontoumsaetze", json=[pushed()]).status_code == 401

    def test_wrong_scope(self, http: httpx.Client, r1: TenantUnderTest) -> None:
        token = r1.bearer("app", "anna", scopes.CUSTOMER_READ)
        assert http.post("/customer/v2/bankzugaenge/a/b/kontoumsaetze", json=[pushed()], headers=token).status_code == 403

    def test_unknown_product(self, empty: tuple[Customer, str]) -> None:
        customer, _ = empty
        assert push((customer, "/bankzugaenge/unknown/x/kontoumsaetze"), pushed()).status_code == 404

    def test_what_was_pushed_is_read(self, empty: tuple[Customer, str], stack: Stack) -> None:
        _, path = empty
        answer = push(empty, pushed(), pushed(betrag=3, gegenkontoIban="DE02120300000000202051", waehrung="USD"))
        assert (answer.status_code, answer.content) == (201, b"")
        assert answer.headers["Location"] == f"{stack.base_url}/customer/v2{path}"
        second, first = of_batch(empty)
        assert (first["betrag"], first["verwendungszweck"]) == (-12.5, "Rechnung 4711")
        assert first["identifier"] == {"batchId": "b1"}
        assert (second["betrag"], second["waehrung"]) == (3, "USD")

    def test_the_same_batch_again_adds_nothing(self, empty: tuple[Customer, str]) -> None:
        bookings = [pushed(), pushed(), pushed(betrag=-1)]
        for _ in range(2):
            assert push(empty, *bookings).status_code == 201
            assert len(of_batch(empty)) == 3
        assert push(empty, *bookings, pushed(betrag=-2)).status_code == 201
        assert len(of_batch(empty)) == 4

    def test_ten_at_once_store_each_once(self, empty: tuple[Customer, str]) -> None:
        bookings = [pushed(betrag=-n - 1) for n in range(20)]
        with ThreadPoolExecutor(10) as pool:
            answers = list(pool.map(lambda _: push(empty, *bookings), range(10)))
        assert {answer.status_code for answer in answers} == {201}
        assert len(of_batch(empty)) == 20

    def test_equal_content_of_another_batch_is_another_booking(self, empty: tuple[Customer, str]) -> None:
        push(empty, pushed("b1"), pushed("b2"))
        assert len(of_batch(empty)) == 2

    def test_a_refresh_leaves_them_alone(self, empty: tuple[Customer, str]) -> None:
        customer, path = empty
        push(empty, pushed())
        before = customer.read(path)
        customer.refresh(path.split("/")[2])
        assert customer.read(path) == before

    @pytest.mark.parametrize(
        "change",
        [
            {"betrag": "1.00"},
            {"betrag": 1.005},
            {"betrag": 10**15},
            {"betrag": ...},
            {"betrag": True},
            {"buchungsdatum": "2026-02-30 00:00:00"},
            {"buchungsdatum": "0001-01-01 00:00:00"},
            {"buchungsdatum": ...},
            {"buchungsdatum": "2026-11-02 25:00:00"},
            {"buchungsdatum": 20261102},
            {"buchungsdatum": "2026-W46-5"},
            {"verwendungszweck": "x" * 4001},
            {"gegenkontoInhaber": "two\nlines"},
            {"waehrung": "XXQ"},
            {"waehrung": "eur"},
            {"identifier": ...},
            {"identifier": {}},
            {"identifier": {"batchId": ""}},
        ],
    )
    def test_one_bad_row_stores_nothing(self, empty: tuple[Customer, str], change: dict[str, Any]) -> None:
        answer = push(empty, pushed(), pushed(**change))
        assert answer.status_code == 400, answer.text
        assert of_batch(empty) == []

    @pytest.mark.parametrize("body", ["[]", "{}", "null", '[{"betrag": NaN}]'])
    def test_no_list_of_bookings(self, empty: tuple[Customer, str], body: str) -> None:
        customer, path = empty
        answer = customer.call("POST", path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 400

    @pytest.mark.parametrize(
        "amount", ["1e400", "1E999999999999999999", "8." + "9" * 30, "1e-99999999999", "8.999999999999999999", "-1e13"]
    )
    def test_amounts_are_exact_or_refused(self, empty: tuple[Customer, str], amount: str) -> None:
        customer, path = empty
        body = json.dumps([pushed(betrag=0)]).replace('"betrag": 0', f'"betrag": {amount}')
        answer = customer.call("POST", path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 400

    @pytest.mark.parametrize(("amount", "cents"), [("1e2", 100.0), ("12.50000", 12.5), ("-0.01", -0.01), ("0", 0)])
    def test_amounts_may_be_written_in_several_ways(self, empty: tuple[Customer, str], amount: str, cents: float) -> None:
        customer, path = empty
        body = json.dumps([pushed(betrag=0)]).replace('"betrag": 0', f'"betrag": {amount}')
        assert customer.call("POST", path, content=body, headers={"Content-Type": "application/json"}).status_code == 201
        assert [booking["betrag"] for booking in of_batch(empty)] == [cents]

    def test_the_limits(self, empty: tuple[Customer, str]) -> None:
        assert push(empty, *([pushed(verwendungszweck="x")] * 10_001)).status_code == 400
        assert push(empty, *[pushed(betrag=-n) for n in range(10_000)]).status_code == 201
        assert len(of_batch(empty)) == 10_000
        assert push(empty, *([pushed(verwendungszweck="x" * 4000)] * 3000)).status_code == 413


class TestDeleting:
    def test_anonymous(self, http: httpx.Client) -> None:
        for path in ("", f"/{uuid.uuid4()}"):
            assert http.delete(f"/customer/v2/bankzugaenge/a/b/kontoumsaetze{path}?batchId=b").status_code == 401

    def test_wrong_scope(self, http: httpx.Client, r1: TenantUnderTest) -> None:
        token = r1.bearer("app", "anna", scopes.CUSTOMER_READ)
        for path in ("", f"/{uuid.uuid4()}"):
            assert http.delete(f"/customer/v2/bankzugaenge/a/b/kontoumsaetze{path}?batchId=b", headers=token).status_code == 403

    def test_somebody_elses(self, empty: tuple[Customer, str], r1: TenantUnderTest) -> None:
        _, path = empty
        push(empty, pushed())
        stranger = r1.customer()
        (row,) = of_batch(empty)
        assert stranger.call("DELETE", f"{path}/{row['id']}").status_code == 404
        key = stranger.connected("test_many_1", key=path.split("/")[2])
        own = f"/bankzugaenge/{key}/{stranger.access(key)['bankprodukte'][0]['id']}/kontoumsaetze"
        assert stranger.call("DELETE", f"{own}/{row['id']}").status_code == 404
        assert stranger.call("DELETE", f"{own}?batchId=b1").status_code == 404
        assert of_batch(empty) == [row]

    def test_one(self, empty: tuple[Customer, str]) -> None:
        customer, path = empty
        push(empty, pushed(), pushed(betrag=-1))
        first, second = of_batch(empty)
        assert customer.call("DELETE", f"{path}/{first['id']}").status_code == 200
        assert of_batch(empty) == [second]
        assert customer.call("DELETE", f"{path}/{first['id']}").status_code == 404
        assert push(empty, pushed(), pushed(betrag=-1)).status_code == 201
        assert len(of_batch(empty)) == 2

    def test_a_batch(self, empty: tuple[Customer, str]) -> None:
        customer, path = empty
        push(empty, pushed("b1"), pushed("b1"), pushed("b2"))
        etag = customer.get(path).headers["ETag"]
        assert customer.call("DELETE", path, params={"batchId": "b1"}).status_code == 200
        assert [row["identifier"]["batchId"] for row in of_batch(empty)] == ["b2"]
        assert customer.get(path, headers={"If-None-Match": etag}).status_code == 200
        assert customer.call("DELETE", path, params={"batchId": "b1"}).status_code == 404

    def test_a_booking_of_the_bank_stays(self, empty: tuple[Customer, str]) -> None:
        customer, path = empty
        row = customer.read(path)[0]
        answer = customer.call("DELETE", f"{path}/{row['id']}")
        assert (answer.status_code, answer.json()["messages"][0]["code"]) == (409, "BA409")
        assert row in customer.read(path)

    @pytest.mark.parametrize("query", ["", "?batchId=", "?batchId=" + "x" * 129])
    def test_without_a_batch_nothing_goes(self, empty: tuple[Customer, str], query: str) -> None:
        customer, path = empty
        before = customer.read(path)
        assert customer.call("DELETE", path + query).status_code == 400
        assert customer.read(path) == before

    @pytest.mark.parametrize("name", ["x", "9b1f6c1e-2f0e-4b53-9d5c-2a1c0f1d7e11"])
    def test_unknown(self, empty: tuple[Customer, str], name: str) -> None:
        customer, path = empty
        assert customer.call("DELETE", f"{path}/{name}").status_code == 404
