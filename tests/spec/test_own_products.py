"""Products that a tenant keeps itself: `POST …/bankprodukte`, and `PATCH` and `DELETE` of a product without a bank."""

import threading
from typing import Any

import httpx
import pytest

from tests.support.copies import Copy
from tests.support.stack import CUSTOMER, Customer, TenantUnderTest
from warehouse import scopes

OWN = "00000000-0000-0000-0000-000000000003"
KASSE = {"id": "kasse", "bezeichnung": "Bargeldkasse", "kategorie": "SONSTIGESKONTO"}
CALLS = (("POST", "bankprodukte"), ("PATCH", "kasse"), ("DELETE", "kasse"))


@pytest.fixture
def customer(r1: TenantUnderTest) -> Customer:
    """A customer with an access without a bank."""
    found = r1.customer()
    assert found.call("POST", "/bankzugaenge", json={"eigene": {"providerId": OWN}}).status_code == 201
    return found


def add(customer: Customer, access: str = "eigene", **values: Any) -> httpx.Response:
    return customer.call("POST", f"/bankzugaenge/{access}/bankprodukte", json={**KASSE, **values})


def change(customer: Customer, product: str = "kasse", **values: Any) -> httpx.Response:
    return customer.call("PATCH", f"/bankzugaenge/eigene/{product}", json=values)


def read(customer: Customer, product: str = "kasse") -> dict[str, Any]:
    found: dict[str, Any] = customer.read(f"/bankzugaenge/eigene/{product}")
    return found


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_anonymous(http: httpx.Client, method: str, path: str) -> None:
    assert http.request(method, f"{CUSTOMER}/bankzugaenge/eigene/{path}").status_code == 401


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_wrong_scope(http: httpx.Client, r1: TenantUnderTest, method: str, path: str) -> None:
    token = r1.bearer("app", "anna", scopes.CUSTOMER_READ)
    assert http.request(method, f"{CUSTOMER}/bankzugaenge/eigene/{path}", headers=token).status_code == 403


def test_a_product_is_named_typed_changed_and_deleted(customer: Customer) -> None:
    answer = add(customer, saldo=120.5, saldoDatum="2026-10-31 00:00:00", inhaber="Erika Mustermann")
    assert answer.status_code == 201
    assert answer.headers["Location"].endswith("/bankzugaenge/eigene/kasse")
    product = read(customer)
    assert (product["bezeichnung"], product["kategorie"], product["waehrung"]) == ("Bargeldkasse", "SONSTIGESKONTO", "EUR")
    assert (product["saldo"], product["saldoDatum"], product["inhaber"]) == (120.5, "2026-10-31 00:00:00", "Erika Mustermann")
    assert product["status"] == "VOLLSTAENDIG"
    assert {"change_bankprodukt", "delete_bankprodukt"} <= {relation["rel"] for relation in product["relations"]}
    assert change(customer, bezeichnung="Kasse Laden", kategorie="SPARKONTO", saldo=98.2).status_code == 200
    product = read(customer)
    assert (product["bezeichnung"], product["kategorie"], product["saldo"]) == ("Kasse Laden", "SPARKONTO", 98.2)
    assert product["inhaber"] == "Erika Mustermann"
    assert change(customer, saldo=None).status_code == 200
    assert "saldo" not in read(customer)
    assert customer.call("DELETE", "/bankzugaenge/eigene/kasse").status_code == 200
    assert customer.access("eigene")["bankprodukte"] == []
    assert customer.call("DELETE", "/bankzugaenge/eigene/kasse").status_code == 404
    assert change(customer, saldo=1).status_code == 404


def test_without_an_id_it_gets_one(customer: Customer) -> None:
    answer = add(customer, id=None)
    key = answer.headers["Location"].rpartition("/")[2]
    assert len(key) == 36
    assert read(customer, key)["bezeichnung"] == "Bargeldkasse"


def test_an_id_is_taken_once(customer: Customer) -> None:
    assert add(customer).status_code == 201
    assert add(customer, bezeichnung="Andere").status_code == 409
    assert read(customer)["bezeichnung"] == "Bargeldkasse"


def test_pushed_bookings_have_a_home_and_everything_follows(customer: Customer) -> None:
    copy = Copy(customer)
    copy.follow()
    add(customer, kategorie="GIROKONTO")
    bookings = [
        {
            "betrag": amount,
            "buchungsdatum": f"2026-{month:02d}-0{day} 00:00:00",
            "verwendungszweck": text,
            "gegenkontoInhaber": name,
            "identifier": {"batchId": "alles"},
        }
        for month in range(1, 11)
        for day, amount, text, name in (
            (1, 2500, "Lohn Gehalt", "Muster GmbH"),
            (2, -800, "Miete Wohnung", "Wohnbau eG"),
        )
    ]
    path = "/bankzugaenge/eigene/kasse/kontoumsaetze"
    assert customer.call("POST", path, json=bookings).status_code == 201
    copy.follow()
    assert len(copy.bookings) == 20
    tags = {
        tag["tagTreeItem"]["systemName"] for booking in customer.read(path, params={"tag": "true"}) for tag in booking["tags"]
    }
    assert {"HOUSING_RENT"} <= tags
    assert customer.read("/ai/cashflow")
    assert customer.read("/ai/contracts")
    assert customer.call("DELETE", "/bankzugaenge/eigene/kasse").status_code == 200
    copy.follow()
    assert copy.bookings == {}
    assert customer.read("/ai/contracts") == []


@pytest.mark.parametrize(
    "values",
    [
        {"bezeichnung": ""},
        {"bezeichnung": None},
        {"bezeichnung": "x" * 71},
        {"bezeichnung": "zwei\nZeilen"},
        {"kategorie": "GELDBEUTEL"},
        {"kategorie": None},
        {"waehrung": "QQQ"},
        {"saldo": "12"},
        {"saldo": 1.234},
        {"saldoDatum": "gestern"},
        {"iban": "DE 12"},
        {"blz": "123"},
        {"id": "consent"},
        {"id": "bankprodukte"},
        {"id": "mit/Strich"},
        {"id": ""},
    ],
)
def test_wrong_values_are_refused(customer: Customer, values: dict[str, Any]) -> None:
    answer = add(customer, **values)
    assert answer.status_code == 400, answer.text
    (field,) = answer.json()["messages"][0]["fields"]
    assert field["field"] == next(iter(values))
    assert customer.access("eigene")["bankprodukte"] == []


def test_what_a_product_must_have_cannot_be_emptied(customer: Customer) -> None:
    add(customer, iban="DE02120300000000202051")
    assert change(customer, bezeichnung=None, kategorie=None, waehrung=None, iban=None).status_code == 200
    product = read(customer)
    assert (product["bezeichnung"], product["kategorie"], product["waehrung"]) == ("Bargeldkasse", "SONSTIGESKONTO", "EUR")
    assert "iban" not in product


def test_products_of_a_bank_are_the_banks(customer: Customer) -> None:
    customer.connected("demo3", key="bank")
    product = customer.access("bank")["bankprodukte"][0]
    assert add(customer, access="bank").status_code == 409
    for method, body in (("PATCH", {"bezeichnung": "Meins"}), ("DELETE", None)):
        answer = customer.call(method, f"/bankzugaenge/bank/{product['id']}", json=body)
        assert answer.status_code == 409
        assert "von der Bank" in answer.json()["messages"][0]["details"]
    assert customer.access("bank")["bankprodukte"][0] == product


def test_no_other_tenant_and_no_other_user_reaches_it(customer: Customer, r1: TenantUnderTest, r2: TenantUnderTest) -> None:
    add(customer)
    for stranger in (r1.customer(), r2.customer()):
        assert add(stranger).status_code == 404
        assert change(stranger, saldo=1).status_code == 404
        assert stranger.call("DELETE", "/bankzugaenge/eigene/kasse").status_code == 404
    assert read(customer)["bezeichnung"] == "Bargeldkasse"


def test_there_is_an_end_to_products(customer: Customer) -> None:
    customer.tenant.stack.sql(
        "INSERT INTO products (id, tenant_id, user_id, access_id, key, ordinal, status, category, name, owner_name, "
        "transfer_support, bulk_transfer_support, fetched_at) "
        "SELECT gen_random_uuid(), tenant_id, user_id, id, 'p' || n, n, 'COMPLETE', 'CHECKING', 'x', '', false, false, now() "
        "FROM accesses, generate_series(1, 199) n WHERE user_id = :user",
        user=customer.user_id,
    )
    assert add(customer).status_code == 201
    assert add(customer, id="zuviel").status_code == 409


def test_of_parallel_requests_one_adds_it(customer: Customer) -> None:
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(add(customer).status_code)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [201, 409, 409, 409, 409]


@pytest.mark.parametrize("product", ["consent", "kontoauszuege", "bankprodukte"])
@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_addresses_of_operations_are_no_products(customer: Customer, method: str, product: str) -> None:
    answer = customer.call(method, f"/bankzugaenge/eigene/{product}", json={} if method == "PATCH" else None)
    assert answer.status_code == 405
