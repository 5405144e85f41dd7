"""Products and positions, in both forms."""

from decimal import Decimal
from typing import Any

import httpx
import pytest

from tests.support.stack import Customer, TenantUnderTest
from warehouse import scopes

CATEGORIES = {
    "GIROKONTO",
    "SPARKONTO",
    "FESTGELDKONTO",
    "KREDITKONTO",
    "TAGESGELDKONTO",
    "BAUSPARKONTO",
    "SONSTIGESKONTO",
    "KREDITKARTE",
    "SONSTIGEKARTE",
    "DEPOT",
    "SONSTIGESPRODUKT",
}
ALWAYS = {"id", "status", "bezeichnung", "kategorie", "aktualisierungszeitpunkt", "inhaber", "relations", "transferSupport"}
BOOKINGS = {
    "get_kontoumsaetze",
    "get_kontoumsaetze_tagged",
    "get_kontoumsaetze_insurances",
    "get_kontoumsaetze_business_partners",
    "get_kontoumsaetze_freelancer_categories",
    "get_kontoumsaetze_kategorisiert",
}
HOME_SAVINGS = {
    "vertragsnummer",
    "vertragstyp",
    "vertragsstatus",
    "rating",
    "vertragssumme",
    "sparzinssatz",
    "schuldzinssatz",
    "sparfortschritt",
    "sparzustand",
    "vertragsDatum",
}
ENGLISH = {
    "accountNumber",
    "balance",
    "balanceDataSource",
    "balanceDate",
    "balances",
    "bankCode",
    "bic",
    "bulkTransferSupport",
    "contractAmount",
    "contractDate",
    "contractNumber",
    "contractStatus",
    "contractType",
    "creditDrawn",
    "creditLimit",
    "currency",
}


@pytest.fixture(scope="module")
def customer(r1: TenantUnderTest) -> Customer:
    """A user with accesses of demo customers that have products of all kinds."""
    found = r1.customer()
    for userid in ("demo1", "demo2", "demo3", "demo4", "demo5", "demo7"):
        found.connected(userid, key=userid)
    return found


@pytest.fixture(scope="module")
def products(customer: Customer) -> list[tuple[str, dict[str, Any]]]:
    """All products with the access that each belongs to."""
    return [(key, product) for key, access in customer.read("/bankzugaenge").items() for product in access["bankprodukte"]]


def of_kind(products: list[tuple[str, dict[str, Any]]], kind: str) -> list[tuple[str, dict[str, Any]]]:
    return [(key, product) for key, product in products if product["kategorie"] == kind]


def test_anonymous(http: httpx.Client) -> None:
    for path in ("/customer/v2/bankzugaenge/a/b", "/customer/v2/bankzugaenge/a/b/depotpositionen", "/ai/v1/products/"):
        assert http.get(path).status_code == 401


def test_wrong_scope(http: httpx.Client, r1: TenantUnderTest) -> None:
    token = r1.bearer("app", "anna", scopes.CUSTOMER_MODIFY)
    for path in ("/customer/v2/bankzugaenge/a/b", "/customer/v2/bankzugaenge/a/b/depotpositionen", "/ai/v1/products/"):
        assert http.get(path, headers=token).status_code == 403


def test_all_eleven_categories(products: list[tuple[str, dict[str, Any]]]) -> None:
    assert {product["kategorie"] for _, product in products} == CATEGORIES


def test_what_every_product_has(products: list[tuple[str, dict[str, Any]]]) -> None:
    for _, product in products:
        assert product.keys() >= ALWAYS
        assert ("saldoDatenquelle" in product) == (product["kategorie"] == "DEPOT")
        assert HOME_SAVINGS.isdisjoint(product) or product["kategorie"] == "BAUSPARKONTO"
        if product["kategorie"] in ("KREDITKARTE", "SONSTIGEKARTE", "DEPOT"):
            assert not {"ueberziehungslimit"} & product.keys()


def test_verfuegungsrahmen_only_on_accounts(customer: Customer, products: list[tuple[str, dict[str, Any]]]) -> None:
    english = customer.tenant.stack.http.get("/ai/v1/products", headers=customer.bearer).json()
    assert "KREDITKARTE" in {product["category"] for product in english if product["availableAmount"] is not None}
    of_accounts = {"ueberziehungslimit", "verfuegungsrahmen", "verfuegterBetrag"}
    assert all(product["kategorie"].endswith("KONTO") for _, product in products if of_accounts & product.keys())


def test_one_product_is_as_in_its_access(customer: Customer, products: list[tuple[str, dict[str, Any]]]) -> None:
    for key, product in products:
        assert customer.read(f"/bankzugaenge/{key}/{product['id']}") == product


def test_unknown_products(customer: Customer) -> None:
    for path in ("/bankzugaenge/demo1/unknown", "/bankzugaenge/unknown/unknown", "/bankzugaenge/demo1/unknown/depotpositionen"):
        assert customer.get(path).status_code == 404


def test_amounts_have_two_decimals(customer: Customer) -> None:
    import re

    text = customer.get("/bankzugaenge").text
    assert re.findall(r'"saldo":(-?\d+\.\d{2})[,}]', text)
    assert len(re.findall(r'"saldo":', text)) == len(re.findall(r'"saldo":-?\d+\.\d{2}[,}]', text))


def test_home_savings_have_their_contract(products: list[tuple[str, dict[str, Any]]]) -> None:
    (_, contract), *_ = of_kind(products, "BAUSPARKONTO")
    assert contract.keys() >= HOME_SAVINGS
    assert contract["sparzustand"] in (True, False)
    assert len(contract["vertragsDatum"]) == 19


def test_card_numbers_are_masked(products: list[tuple[str, dict[str, Any]]]) -> None:
    for _, card in of_kind(products, "KREDITKARTE") + of_kind(products, "SONSTIGEKARTE"):
        assert "*" in card["kontonummer"]
        assert card["kontonummer"].replace("*", "")[-4:] not in ("", None)


def test_relations_are_those_that_work(products: list[tuple[str, dict[str, Any]]]) -> None:
    for _, product in products:
        names = {relation["rel"] for relation in product["relations"]}
        pays = {"start_ueberweisung", "initiate_single_transfer"} if product["transferSupport"] else set()
        expected = {"self", *pays, *({"get_depotpositionen"} if product["kategorie"] == "DEPOT" else BOOKINGS)}
        assert names - {"initiate_bulk_transfer"} == expected
        assert pays or "initiate_bulk_transfer" not in names


def test_relations_are_only_those_that_the_token_may_follow(customer: Customer, r1: TenantUnderTest) -> None:
    def shown(*granted: str) -> set[str]:
        token = r1.bearer("app", customer.username, " ".join((scopes.CUSTOMER_READ, *granted)))
        body = customer.read(headers=token)
        below = [body, *body["bankzugaenge"].values()]
        below += [product for access in body["bankzugaenge"].values() for product in access["bankprodukte"]]
        return {relation["rel"] for item in below for relation in item["relations"]}

    changing = {"add_bankzugaenge", "delete_bankzugaenge", "delete_bankzugang", "delete_regprotect_sessions"}
    paying = {"start_ueberweisung", "initiate_single_transfer"}
    reading = shown()
    assert {rel for rel in reading if rel != "self" and not rel.startswith("get_")} == set()
    assert shown(scopes.CUSTOMER_MODIFY) - reading == changing
    assert shown(scopes.CUSTOMER_TRANSFER) - reading - {"initiate_bulk_transfer"} == paying


def test_positions_of_a_depot(customer: Customer, products: list[tuple[str, dict[str, Any]]]) -> None:
    for key, depot in of_kind(products, "DEPOT"):
        positions = customer.read(f"/bankzugaenge/{key}/{depot['id']}/depotpositionen")
        assert positions
        for position in positions:
            assert position["handelseinheit"] in ("STUECK", "NOMINAL")
            assert {"name", "menge", "isin", "wkn", "kurs", "kursDatum", "waehrung", "gesamtwert"} <= position.keys()
        total = sum(Decimal(str(position["gesamtwert"])) for position in positions)
        assert total == Decimal(str(depot["saldo"]))
        assert depot["saldoDatenquelle"] in ("SWIFTMSG", "SONSTIGES")


def test_a_security_in_another_currency(customer: Customer) -> None:
    found = [
        position
        for product in customer.access("demo7")["bankprodukte"]
        if product["kategorie"] == "DEPOT"
        for position in customer.read(f"/bankzugaenge/demo7/{product['id']}/depotpositionen")
    ]
    assert any(position["waehrung"] == "USD" and position["waehrungskurs"] for position in found)
    assert any(position["handelseinheit"] == "NOMINAL" for position in found)


def test_an_account_has_no_positions(customer: Customer, products: list[tuple[str, dict[str, Any]]]) -> None:
    key, account = of_kind(products, "GIROKONTO")[0]
    assert customer.get(f"/bankzugaenge/{key}/{account['id']}/depotpositionen").status_code == 404


class TestEnglishForm:
    @pytest.fixture(scope="class")
    def english(self, customer: Customer, http: httpx.Client) -> list[dict[str, Any]]:
        answer = http.get("/ai/v1/products/", headers=customer.bearer)
        assert answer.status_code == 200
        found: list[dict[str, Any]] = answer.json()
        return found

    def test_all_products_with_all_fields(self, english: list[dict[str, Any]], products: list[Any]) -> None:
        assert {(item["access"], item["id"]) for item in english} == {(key, product["id"]) for key, product in products}
        assert all(item.keys() >= ENGLISH for item in english)

    def test_it_tells_the_same(self, english: list[dict[str, Any]], products: list[tuple[str, dict[str, Any]]]) -> None:
        german = {(key, product["id"]): product for key, product in products}
        for item in english:
            product = german[item["access"], item["id"]]
            assert item["balance"] == product.get("saldo")
            assert item["creditLimit"] == product.get("ueberziehungslimit")
            assert item["creditDrawn"] == product.get("verfuegterBetrag")
            assert item["contractNumber"] == product.get("vertragsnummer")
            assert item["contractDate"] == product.get("vertragsDatum")
            assert item["category"] == product["kategorie"]
            assert item["currency"] == product["waehrung"]

    def test_a_multicurrency_account_has_balances(self, english: list[dict[str, Any]]) -> None:
        several = [item for item in english if item["balances"]]
        assert several
        for item in several:
            assert len(item["balances"]) > 1
            assert all(set(balance) == {"balance", "balanceDate", "currency"} for balance in item["balances"].values())
            assert all(balance["currency"] == code for code, balance in item["balances"].items())

    def test_a_customer_without_accesses(self, r1: TenantUnderTest, http: httpx.Client) -> None:
        assert http.get("/ai/v1/products", headers=r1.customer().bearer).json() == []
