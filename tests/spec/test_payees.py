"""Payees that a bank checks with the order: shown, confirmed or cancelled within the same payment."""

import uuid
from typing import Any

import pytest

from pipelines.banks.demo import executed_orders
from tests.spec.browsing import IP as BROWSER_IP
from tests.spec.browsing import Browser, appended, connecting, location
from tests.spec.dialogues import BACK, IP, TRANSFER, Status, codes, href, moved, rels, up_to_tan
from tests.support.stack import DEMO, Customer, Stack, TenantUnderTest, wait_until

MATCH, CLOSE_MATCH = "DE89370400440532013000", "DE63370400440532013080"
NO_MATCH, NOT_POSSIBLE = "DE84370400440532013090", "DE46370400440532013095"
PUSH = 942


@pytest.fixture(scope="module")
def tenant(stack: Stack) -> TenantUnderTest:
    return stack.tenant()


@pytest.fixture
def customer(tenant: TenantUnderTest) -> Customer:
    return tenant.customer()


@pytest.fixture
def userid() -> str:
    return f"test_payee_{uuid.uuid4().hex[:10]}"


def begun(customer: Customer, userid: str, *ibans: str, recipient: str = "Anna Muster") -> Status:
    """The status of a payment of one or several transfers, from a new access."""
    access = customer.connected(userid)
    product = customer.access(access)["bankprodukte"][0]["id"]
    details = [{**TRANSFER, "recipient": recipient, "iban": iban} for iban in ibans]
    way = "single-transfer" if len(details) == 1 else "bulk-transfer"
    body = {"instant": False, **({"transferDetails": details[0]} if len(details) == 1 else {"transfers": details})}
    path = f"/bankzugaenge/{access}/{product}/payment/{way}"
    answer = customer.call("POST", path, json=body, params={"callbackUrl": BACK}, headers=IP)
    assert answer.status_code == 200, answer.text
    status: Status = answer.json()
    return status


def executed(stack: Stack, userid: str) -> int:
    return len(executed_orders(stack.home / "demo-bank", userid))


@pytest.mark.parametrize(
    ("iban", "result"), [(CLOSE_MATCH, "CLOSE_MATCH"), (NO_MATCH, "NO_MATCH"), (NOT_POSSIBLE, "NOT_POSSIBLE")]
)
def test_a_payee_that_is_no_match_is_confirmed_in_the_same_payment(
    customer: Customer, stack: Stack, userid: str, iban: str, result: str
) -> None:
    status = begun(customer, userid, iban)
    assert (codes(status), rels(status)) == (["BA3030"], ["self", "confirm_payee"])
    name = {"name": "Anna M. Muster"} if result == "CLOSE_MATCH" else {}
    assert status["payees"] == [{"recipient": "Anna Muster", "iban": iban, "result": result, **name}]
    assert "timeout" in status
    assert status["messages"][0]["details"].startswith("Wenn Sie den Auftrag dennoch freigeben")
    assert customer.read(href(status, "self")) == status
    status = moved(customer, status, "confirm_payee", payeeConfirmed=True)
    assert "payees" not in status
    status = moved(customer, up_to_tan(customer, status, PUSH), "submit_text_tan", tan="42")
    assert codes(status) == ["BA1111"]
    assert executed(stack, userid) == 1


def test_a_payee_that_matches_is_not_asked_about(customer: Customer, userid: str) -> None:
    assert codes(begun(customer, userid, MATCH)) == ["BA3010"]


def test_each_transfer_of_many_has_its_payee(customer: Customer, userid: str) -> None:
    status = begun(customer, userid, MATCH, NO_MATCH, CLOSE_MATCH)
    assert [payee["result"] for payee in status["payees"]] == ["MATCH", "NO_MATCH", "CLOSE_MATCH"]
    assert [payee["iban"] for payee in status["payees"]] == [MATCH, NO_MATCH, CLOSE_MATCH]


def test_who_cancels_has_paid_nothing(customer: Customer, stack: Stack, userid: str) -> None:
    status = begun(customer, userid, NO_MATCH)
    address = href(status, "confirm_payee")
    status = moved(customer, status, "confirm_payee", payeeConfirmed=False)
    assert (codes(status), rels(status)) == (["BA1104"], ["self"])
    assert status["messages"][0]["details"] == "Der Kunde hat den Auftrag abgebrochen."
    assert customer.call("POST", address, json={"payeeConfirmed": True}).status_code == 409
    assert executed(stack, userid) == 0


def test_a_decision_is_a_truth_and_nothing_else_goes_on(customer: Customer, userid: str) -> None:
    status = begun(customer, userid, NO_MATCH)
    address = href(status, "confirm_payee")
    bodies: list[Any] = [{}, {"payeeConfirmed": None}, {"payeeConfirmed": "true"}, {"payeeConfirmed": 1}, []]
    for body in bodies:
        assert customer.call("POST", address, json=body).status_code == 400
    self_address = href(status, "self")
    assert customer.call("POST", f"{self_address}/method", json={"chosenScaMethodId": PUSH}).status_code == 409
    assert customer.call("PUT", f"{self_address}/tan", json={"tan": "42"}).status_code == 409
    assert customer.read(self_address) == status


def test_a_decision_is_only_wanted_where_it_is_asked_for(customer: Customer, userid: str) -> None:
    status = begun(customer, userid, MATCH)
    address = f"{href(status, 'self')}/payee"
    assert customer.call("POST", address, json={"payeeConfirmed": False}).status_code == 409
    assert codes(customer.read(href(status, "self"))) == ["BA3010"]


def test_a_check_that_takes_time_is_polled(customer: Customer, stack: Stack) -> None:
    userid = f"test_payee_slow_{uuid.uuid4().hex[:10]}"
    status = begun(customer, userid, CLOSE_MATCH)
    assert (codes(status), rels(status)) == (["BA2002"], ["self"])
    wait_until(lambda: codes(customer.read(href(status, "self"))) == ["BA3030"], 20)
    status = moved(customer, customer.read(href(status, "self")), "confirm_payee", payeeConfirmed=True)
    assert codes(moved(customer, up_to_tan(customer, status, PUSH), "submit_text_tan", tan="42")) == ["BA1111"]
    assert executed(stack, userid) == 1


@pytest.mark.parametrize(("confirmed", "end"), [(True, "BA1111"), (False, "BA1104")])
def test_the_older_form_asks_too(customer: Customer, stack: Stack, userid: str, confirmed: bool, end: str) -> None:
    product = customer.access(customer.connected(userid))["bankprodukte"][0]["id"]
    body = {
        "credentials": customer.entry(userid)["credentials"],
        **{"empfaenger": "Anna Muster", "verwendungszweck": "Rechnung", "iban": CLOSE_MATCH, "bic": None},
        **{"waehrung": "EUR", "betrag": 12.5, "sicherheitsverfahrenKodierung": "1", "tanMediumName": "Sparkassen-Card 1234"},
    }
    status: Status = customer.call("POST", f"/ueberweisung/{DEMO}/{product}", json=body).json()
    assert (codes(status), rels(status)) == (["BA3030"], ["self", "confirm_payee"])
    assert status["payees"][0]["name"] == "Anna M. Muster"
    status = moved(customer, status, "confirm_payee", payeeConfirmed=confirmed)
    if confirmed:
        assert codes(status) == ["BA1110"]
        status = moved(customer, status, "submit_text_tan", tan="42")
    assert (codes(status), rels(status)) == ([end], [])
    assert executed(stack, userid) == int(confirmed)


class TestForm:
    @pytest.fixture
    def redirected(self, stack: Stack) -> Customer:
        return stack.tenant(regulated=False).customer()

    def at_payee(self, customer: Customer, browser: Browser, userid: str, iban: str) -> Browser:
        """A browser at the question about a payee."""
        browser.open(appended(connecting(customer, "k"))).send("accept").send("bank", bank=DEMO).log_in(userid)
        browser.send("accounts").send("connect")
        browser.cookie = None
        customer.wait_complete("k")
        product = customer.access("k")["bankprodukte"][0]["id"]
        order: dict[str, Any] = {"instant": False, "transferDetails": {**TRANSFER, "recipient": "Anna Muster", "iban": iban}}
        answer = customer.call("POST", f"/bankzugaenge/k/{product}/payment/single-transfer", headers=BROWSER_IP, json=order)
        return browser.open(appended(location(answer, customer.tenant.stack))).send("pay")

    def test_the_customer_sees_the_right_name_and_goes_on(self, redirected: Customer, stack: Stack, userid: str) -> None:
        browser = self.at_payee(redirected, Browser(stack), userid, CLOSE_MATCH)
        assert (browser.place, set(browser.moves)) == ("payee", {"confirm_payee", "cancel"})
        assert "Anna M. Muster" in browser.words
        assert "DE63 3704 0044 0532 0130 80" in browser.words
        assert "Wenn Sie den Auftrag dennoch freigeben" in browser.words
        assert browser.send("confirm_payee").place == "methods"
        assert browser.send("method", method=str(PUSH)).place == "media"
        browser.send("medium", medium="Tablet").send("tan", tan="42")
        assert browser.send("finish").returned["baReentry"] == "FINISHED"
        assert executed(stack, userid) == 1

    @pytest.mark.parametrize("iban", [NO_MATCH, NOT_POSSIBLE])
    def test_who_cancels_has_paid_nothing(self, redirected: Customer, stack: Stack, userid: str, iban: str) -> None:
        browser = self.at_payee(redirected, Browser(stack), userid, iban)
        assert browser.place == "payee"
        assert browser.send("cancel").returned["baReentry"] == "USER_CANCELLED"
        assert executed(stack, userid) == 0
