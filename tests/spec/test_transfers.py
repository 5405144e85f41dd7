"""Transfers in the older form over HTTP: one request with everything, then the TAN."""

import uuid
from datetime import date, timedelta
from typing import Any

import httpx
import pytest

from pipelines.banks.demo import executed_orders
from tests.spec.dialogues import Status, codes, href, rels
from tests.support.stack import DEMO, Customer, Stack, TenantUnderTest, wait_until

IBAN = "DE02120300000000202051"


@pytest.fixture(scope="module")
def tenant(stack: Stack) -> TenantUnderTest:
    return stack.tenant()


@pytest.fixture(scope="module")
def customer(tenant: TenantUnderTest) -> Customer:
    return tenant.customer()


@pytest.fixture(scope="module")
def product(customer: Customer) -> str:
    """The checking account of `demo1`."""
    access = customer.connected("demo1")
    found = next(product for product in customer.access(access)["bankprodukte"] if product["kategorie"] == "GIROKONTO")
    assert href(found, "start_ueberweisung").endswith(f"/ueberweisung/{DEMO}/{found['id']}")
    return str(found["id"])


def form(customer: Customer, userid: str = "demo1", **other: Any) -> dict[str, Any]:
    """A transfer that nobody has sent before."""
    return {
        "credentials": customer.entry(userid)["credentials"],
        "empfaenger": "Stadtwerke München",
        "verwendungszweck": f"Rechnung {uuid.uuid4().hex[:10]}",
        "iban": IBAN,
        "bic": None,
        "waehrung": "EUR",
        "betrag": 12.5,
        "sicherheitsverfahrenKodierung": "1",
        "tanMediumName": "",
        **other,
    }


def post(customer: Customer, product: str, body: Any) -> httpx.Response:
    return customer.call("POST", f"/ueberweisung/{DEMO}/{product}", json=body)


def begun(customer: Customer, product: str, **other: Any) -> Status:
    answer = post(customer, product, form(customer, **other))
    assert answer.status_code == 200, answer.text
    found: Status = answer.json()
    return found


def tried(customer: Customer, status: Status, tan: str) -> Status:
    answer = customer.call("PUT", href(status, "submit_text_tan"), json={"tan": tan})
    assert answer.status_code == 200, answer.text
    found: Status = answer.json()
    return found


PATHS: list[tuple[str, str, Any]] = [
    ("POST", f"/ueberweisung/{DEMO}/{IBAN}", {}),
    ("GET", f"/ueberweisung/{DEMO}/{IBAN}/{DEMO}", None),
    ("PUT", f"/ueberweisung/{DEMO}/{IBAN}/{DEMO}", {"tan": "42"}),
    ("POST", f"/ueberweisung/{DEMO}/{IBAN}/{DEMO}/payee", {"payeeConfirmed": True}),
]


@pytest.mark.parametrize(("method", "path", "body"), PATHS)
def test_a_token_is_needed(stack: Stack, method: str, path: str, body: Any) -> None:
    assert stack.http.request(method, f"/customer/v2{path}", json=body).status_code == 401


@pytest.mark.parametrize(("method", "path", "body"), PATHS)
def test_the_scope_is_needed(tenant: TenantUnderTest, method: str, path: str, body: Any) -> None:
    stranger = tenant.customer()
    stranger.bearer = tenant.bearer("app", stranger.username, "http://service/customer/modify")
    assert stranger.call(method, path, json=body).status_code == 403


def test_a_right_tan_pays(customer: Customer, product: str, stack: Stack) -> None:
    purpose = f"Genau das {uuid.uuid4().hex[:8]}"
    status = begun(customer, product, verwendungszweck=purpose)
    assert (codes(status), rels(status)) == (["BA1110"], ["submit_text_tan", "self"])
    assert status["timeout"]
    assert status["challenge"]["name"] == "chipTAN manuell"
    status = tried(customer, status, "42")
    assert (codes(status), rels(status)) == (["BA1111"], [])
    assert "timeout" not in status
    assert "challenge" not in status
    paid = [order for order in executed_orders(stack.home / "demo-bank", "demo1") if order["transfers"][0]["purpose"] == purpose]
    assert [(order["transfers"][0]["recipient"], order["transfers"][0]["amount_cents"]) for order in paid] == [
        ("Stadtwerke Muenchen", 1250)
    ]


def test_a_wrong_tan_leaves_time_and_relation(customer: Customer, product: str) -> None:
    first = begun(customer, product)
    second = tried(customer, first, "41")
    assert second["hinweis"] == "Die TAN war falsch. Noch 2 Versuche."
    assert (second["timeout"], second["relations"]) == (first["timeout"], first["relations"])
    third = tried(customer, second, "41")
    assert third["hinweis"] == "Die TAN war falsch. Noch 1 Versuch."
    end = tried(customer, third, "41")
    assert (codes(end), rels(end)) == (["BA1103"], [])
    assert customer.call("PUT", href(first, "submit_text_tan"), json={"tan": "42"}).status_code == 409


@pytest.mark.parametrize(
    ("method", "shows"), [("2", {"HHD", "HHDUC"}), ("972", {"photo"}), ("942", set())], ids=["flicker", "photo", "push"]
)
def test_the_challenge_helps(customer: Customer, stack: Stack, method: str, shows: set[str]) -> None:
    user = f"test_transfer_slow_0_{customer.username}"
    access = customer.connected(user)
    body = customer.access(access)
    medium = next((item["name"] for item in body["tanMedien"] if item["medienklasse"] in {"GENERATOR", "MOBIL", "PUSHTAN"}), "")
    answer = post(customer, body["bankprodukte"][0]["id"], form(customer, user, sicherheitsverfahrenKodierung=method))
    status = answer.json()
    if codes(status) == ["BA1101"]:  # several media serve the method: one must be named
        status = begun_with(customer, user, body, method, medium)
    assert set(status["challenge"]["content"]) == {"instructions", *shows}


def begun_with(customer: Customer, user: str, access: dict[str, Any], method: str, medium: str) -> Status:
    names = [item["name"] for item in access["tanMedien"]]
    for name in (medium, *names):
        given = form(customer, user, sicherheitsverfahrenKodierung=method, tanMediumName=name)
        status: Status = post(customer, access["bankprodukte"][0]["id"], given).json()
        if codes(status) == ["BA1110"]:
            return status
    raise AssertionError(names)


def test_a_transfer_that_is_confirmed_elsewhere_is_told_until_its_end(customer: Customer) -> None:
    access = customer.access(customer.connected("demo3"))
    body = form(customer, "demo3", sicherheitsverfahrenKodierung="944")
    status: Status = post(customer, access["bankprodukte"][0]["id"], body).json()
    assert (codes(status), rels(status)) == (["BA2002"], ["self"])
    itself = href(status, "self")
    wait_until(lambda: codes(customer.read(itself)) == ["BA1111"], 20)
    assert rels(customer.read(itself)) == []


def test_an_order_for_a_later_day_is_scheduled_not_executed(customer: Customer, product: str) -> None:
    day = date.today() + timedelta(days=30)
    status = tried(customer, begun(customer, product, ausfuehrungsdatum=day.isoformat()), "42")
    assert codes(status) == ["BA1111"]
    assert status["messages"][0]["message"] == f"Die Überweisung wurde angenommen und ist für den {day:%d.%m.%Y} vorgemerkt."


class TestRefusals:
    def test_an_unknown_method_is_ba1101(self, customer: Customer, product: str) -> None:
        status = begun(customer, product, sicherheitsverfahrenKodierung="4711")
        assert (codes(status), rels(status)) == (["BA1101"], [])

    def test_an_unknown_medium_is_ba1101(self, customer: Customer) -> None:
        user = f"test_transfer_slow_0_{customer.username}"
        (product,) = customer.access(customer.connected(user))["bankprodukte"]
        given = form(customer, user, sicherheitsverfahrenKodierung="942", tanMediumName="nobody's")
        status = post(customer, product["id"], given).json()
        assert (codes(status), rels(status)) == (["BA1101"], [])

    def test_a_wrong_login_is_ba1011(self, customer: Customer, product: str) -> None:
        credentials = customer.entry("demo1", "wrong")["credentials"]
        assert codes(begun(customer, product, credentials=credentials)) == ["BA1011"]

    def test_an_account_that_cannot_pay_is_ba1104(self, customer: Customer) -> None:
        assert codes(begun(customer, "nothing-of-the-kind")) == ["BA1104"]

    def test_call_money_pays_only_to_its_reference_account(self, customer: Customer, product: str) -> None:
        access = next(key for key in customer.read("/bankzugaenge"))
        call_money = next(item for item in customer.access(access)["bankprodukte"] if item["kategorie"] == "TAGESGELDKONTO")
        assert codes(begun(customer, call_money["id"])) == ["BA1100"]
        assert codes(begun(customer, call_money["id"], iban=product)) == ["BA1110"]

    def test_a_repeated_equal_order_is_refused_with_a_transfer_status(self, customer: Customer, product: str) -> None:
        body = form(customer)
        assert post(customer, product, body).status_code == 200
        again = post(customer, product, {**body, "credentials": customer.entry("demo1")["credentials"]})
        assert (again.status_code, codes(again.json()), rels(again.json())) == (200, ["BA1104"], [])

    @pytest.mark.parametrize(
        "other",
        [
            *({name: None} for name in ("empfaenger", "verwendungszweck", "iban", "waehrung", "betrag", "credentials")),
            {"betrag": "12.50"},
            {"betrag": 12.505},
            {"betrag": 0},
            {"iban": "DE00"},
            {"waehrung": "USD"},
            {"ausfuehrungsdatum": "2020-01-01"},
            {"sicherheitsverfahrenKodierung": 1},
            {"credentials": {"userid": "x", "pin": "y"}},
            {"credentials": {}},
        ],
    )
    def test_what_breaks_a_rule_is_400(self, customer: Customer, product: str, other: dict[str, Any]) -> None:
        assert post(customer, product, form(customer, **other)).status_code == 400

    def test_a_form_without_bic_is_400(self, customer: Customer, product: str) -> None:
        body = form(customer)
        del body["bic"]
        assert post(customer, product, body).status_code == 400

    def test_an_unknown_provider_in_the_path_is_404(self, customer: Customer, product: str) -> None:
        assert customer.call("POST", f"/ueberweisung/{uuid.uuid4()}/{product}", json=form(customer)).status_code == 404

    def test_others_see_nothing(self, customer: Customer, tenant: TenantUnderTest, product: str) -> None:
        place = href(begun(customer, product), "submit_text_tan")
        assert tenant.customer().call("PUT", place, json={"tan": "42"}).status_code == 404
        wrong = place.replace(DEMO, str(uuid.uuid4()))
        assert customer.call("PUT", wrong, json={"tan": "42"}).status_code == 404
        assert customer.call("PUT", place.rsplit("/", 1)[0] + f"/{uuid.uuid4()}", json={"tan": "42"}).status_code == 404

    def test_a_redirect_tenant_may_not(self, stack: Stack, product: str) -> None:
        other = stack.tenant(regulated=False).customer()
        assert post(other, product, form(other)).status_code == 403
