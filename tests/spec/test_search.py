"""The search over the bookings of all accounts."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.support.stack import Customer, TenantUnderTest
from warehouse import scopes

SEARCH = "/kontoumsaetze"


def booking(amount: float, day: str, **more: Any) -> dict[str, Any]:
    return {"betrag": amount, "buchungsdatum": f"{day} 00:00:00", "identifier": {"batchId": "b"}, **more}


PUSHED = [
    booking(-12.5, "2026-11-02", verwendungszweck="Rechnung 4711", gegenkontoInhaber="Stadtwerke Köln"),
    booking(-80, "2026-11-03", verwendungszweck="100% Rabatt_Aktion", gegenkontoInhaber="Müller GmbH"),
    booking(-80, "2026-11-03", verwendungszweck="1000 Rabatt-Aktion", gegenkontoInhaber="MUELLER & SOHN"),
    booking(2400, "2026-11-04", verwendungszweck="Gehalt", gegenkontoIban="DE02120300000000202051"),
    booking(0, "2026-11-05", verwendungszweck="Nullbuchung Straße"),
]


@pytest.fixture(scope="module")
def customer(r1: TenantUnderTest) -> Customer:
    """A customer with two accesses, one of them with bookings of our own."""
    someone = r1.customer()
    someone.connected("demo3", key="bank")
    someone.connected("test_many_3", key="eigene")
    product = someone.access("eigene")["bankprodukte"][0]["id"]
    assert someone.call("POST", f"/bankzugaenge/eigene/{product}/kontoumsaetze", json=PUSHED).status_code == 201
    return someone


def everything(customer: Customer) -> list[dict[str, Any]]:
    """All bookings as the lists of the accounts show them, with where they belong."""
    return [
        {**row, "accessId": key, "productId": product["id"]}
        for key, access in customer.read("/bankzugaenge").items()
        for product in access["bankprodukte"]
        for row in customer.bookings(key, product["id"])
    ]


def search(customer: Customer, **query: Any) -> list[dict[str, Any]]:
    """All pages of a search."""
    answer = customer.get(SEARCH, params=query)
    rows: list[dict[str, Any]] = []
    while True:
        assert answer.status_code == 200, answer.text
        rows += answer.json()
        if "next" not in answer.links:
            return rows
        answer = customer.get(answer.links["next"]["url"])


def purposes(rows: list[dict[str, Any]]) -> list[str]:
    return [row["verwendungszweck"] for row in rows]


class TestCallers:
    def test_anonymous(self, http: httpx.Client) -> None:
        assert http.get("/customer/v2/kontoumsaetze").status_code == 401

    def test_wrong_scope(self, http: httpx.Client, r1: TenantUnderTest) -> None:
        token = r1.bearer("app", "anna", scopes.CUSTOMER_MODIFY)
        assert http.get("/customer/v2/kontoumsaetze", headers=token).status_code == 403

    def test_others_see_nothing(self, customer: Customer, r1: TenantUnderTest, r2: TenantUnderTest) -> None:
        for stranger in (r1.customer(), r2.customer()):
            assert stranger.read(SEARCH) == []
            assert stranger.read(SEARCH, params={"accessId": "eigene", "text": "Rechnung"}) == []


class TestOrder:
    @pytest.mark.parametrize("limit", [37, 10_000])
    @pytest.mark.parametrize(("sort", "order"), [("date", "desc"), ("date", "asc"), ("amount", "desc"), ("amount", "asc")])
    def test_pages_are_the_whole_in_order(self, customer: Customer, sort: str, order: str, limit: int) -> None:
        rows = search(customer, sort=sort, order=order, limit=limit, **{"from": "2026-08-01"})
        expected = [row for row in everything(customer) if row["buchungsdatum"] >= "2026-08-01"]

        def key(row: dict[str, Any]) -> tuple[Any, int]:
            return row["buchungsdatum"] if sort == "date" else row["betrag"], int(row["hash"][8:])

        assert rows == sorted(expected, key=key, reverse=order == "desc")
        assert len(rows) > 60

    def test_a_new_booking_moves_no_page(self, r1: TenantUnderTest) -> None:
        someone = r1.customer()
        key = someone.connected("test_many_20")
        path = f"/bankzugaenge/{key}/{someone.access(key)['bankprodukte'][0]['id']}/kontoumsaetze"
        first = someone.get(SEARCH, params={"limit": 10})
        assert someone.call("POST", path, json=[booking(-1, "2026-11-16")]).status_code == 201
        second = someone.get(first.links["next"]["url"])
        assert len({row["id"] for row in (*first.json(), *second.json())}) == 20

    def test_the_default_is_a_page_of_a_hundred(self, customer: Customer) -> None:
        answer = customer.get(SEARCH)
        assert len(answer.json()) == 100
        assert parse_qs(urlsplit(answer.links["next"]["url"]).query).keys() == {"cursor"}


class TestConditions:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("rechnung 4711", ["Rechnung 4711"]),
            ("4711 RECHNUNG", ["Rechnung 4711"]),
            ("stadtwerke koln", ["Rechnung 4711"]),
            ("Köln", ["Rechnung 4711"]),
            ("koeln", ["Rechnung 4711"]),
            ("müller", ["1000 Rabatt-Aktion", "100% Rabatt_Aktion"]),
            ("mueller", ["1000 Rabatt-Aktion", "100% Rabatt_Aktion"]),
            ("100%", ["100% Rabatt_Aktion"]),
            ("t_a", ["100% Rabatt_Aktion"]),
            ("strasse", ["Nullbuchung Straße"]),
            ("DE02 1203 0000 0000 2020 51", ["Gehalt"]),
            ("de0212030000", ["Gehalt"]),
            ("rechnung gehalt", []),
            ("' OR 1=1 --", []),
            ("\\", []),
        ],
    )
    def test_text(self, customer: Customer, text: str, expected: list[str]) -> None:
        assert purposes(search(customer, text=text, accessId="eigene")) == expected

    def test_blanks_are_no_condition(self, customer: Customer) -> None:
        assert search(customer, text="  ", accessId="eigene") == search(customer, accessId="eigene")

    def test_many_words_are_bounded(self, customer: Customer) -> None:
        assert search(customer, text=" ".join(f"{number:x}" for number in range(30)), accessId="eigene") == []

    def test_amounts_and_direction(self, customer: Customer) -> None:
        own = {"accessId": "eigene", "from": "2026-11-01", "text": "a"}
        assert purposes(search(customer, minAmount="-80", maxAmount="-80.00", **own)) == purposes(search(customer, text="rabatt"))
        assert purposes(search(customer, direction="in", **own)) == ["Gehalt"]
        assert {row["betrag"] for row in search(customer, direction="out", **own)} <= {-80, -12.5}

    def test_access_and_product(self, customer: Customer) -> None:
        rows = everything(customer)
        for key, access in customer.read("/bankzugaenge").items():
            for product in access["bankprodukte"]:
                found = search(customer, accessId=key, productId=product["id"], limit=10_000)
                assert sorted(row["id"] for row in found) == sorted(
                    row["id"] for row in rows if (row["accessId"], row["productId"]) == (key, product["id"])
                )

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("limit", "0"),
            ("limit", "10001"),
            ("cursor", "nonsense"),
            ("cursor", "ZGF0ZS5kZXNjLjk5OTk5OTk5OS4x"),
            ("cursor", "YW1vdW50LmFzYy4xLjE"),
            ("sort", "name"),
            ("order", "up"),
            ("minAmount", "1e3"),
            ("minAmount", "1.005"),
            ("maxAmount", "NaN"),
            ("category", "NO_SUCH"),
            ("partner", "no such"),
            ("direction", "both"),
            ("text", "x" * 101),
            ("from", "2026-02-30"),
        ],
    )
    def test_a_wrong_query(self, customer: Customer, name: str, value: str) -> None:
        answer = customer.get(SEARCH, params={name: value})
        assert (answer.status_code, answer.json()["messages"][0]["code"]) == (400, "BA400")
        assert name in answer.json()["messages"][0]["details"]


class TestTags:
    @pytest.fixture(scope="class")
    def tagged(self, customer: Customer) -> list[dict[str, Any]]:
        return search(customer, categorize="true", limit=10_000)

    def test_bookings_have_the_tags_of_their_list(self, customer: Customer, tagged: list[dict[str, Any]]) -> None:
        product = customer.access("eigene")["bankprodukte"][0]["id"]
        expected = customer.bookings("eigene", product, categorize="true")
        own = [row for row in tagged if row["accessId"] == "eigene"]
        assert [{**row, "accessId": "eigene", "productId": product} for row in expected] == own

    @pytest.mark.parametrize("level", ["parentCategory", "category"])
    def test_a_category_has_its_items(self, customer: Customer, tagged: list[dict[str, Any]], level: str) -> None:
        name = next(row["classifications"][0][level] for row in tagged if level in row["classifications"][0])
        expected = [
            row["id"] for row in tagged if name in (row["classifications"][0]["category"], row["classifications"][0].get(level))
        ]
        assert [row["id"] for row in search(customer, category=name, limit=17)] == expected

    def test_a_correction_is_found_at_once(self, customer: Customer) -> None:
        (row,) = search(customer, text="Rechnung 4711")
        path = f"/bankzugaenge/{row['accessId']}/{row['productId']}/kontoumsaetze/{row['id']}"
        for item in ("LIVING_GROCERIES", "HOUSING_RENT"):
            body = {"tags": {"systemName": item, "tagTree": {"systemName": "CATEGORIES"}}}
            assert customer.call("PUT", path, json=body).status_code == 200
            assert [found["id"] for found in search(customer, category=item, text="4711")] == [row["id"]]

    def test_partners(self, customer: Customer) -> None:
        rows = search(customer, tag="business-partners", limit=10_000)
        names = [row["tags"][0]["tagTreeItem"]["systemName"] for row in rows]
        name = next(name for name in names if name != "UNKNOWN")
        expected = [row["id"] for row, partner in zip(rows, names, strict=True) if partner == name]
        assert [row["id"] for row in search(customer, partner=name)] == expected
