"""Payments in the newer form over HTTP: confirmed, refused, repeated, unknown; and the verification of payee."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from pipelines.banks.demo import executed_orders
from pipelines.banks.demo.ledger import calls
from pipelines.fetching import connect
from tests.spec.dialogues import BACK, IP, Status, codes, href, moved, rels, up_to_tan
from tests.support.stack import DEMO, Customer, Stack, TenantUnderTest, wait_until
from warehouse.errors import Busy
from warehouse.stores import accesses, tenants

IBAN = "DE02120300000000202051"
DETAILS = {
    "recipient": "Stadtwerke München",
    "purpose": "Rechnung 4711",
    "iban": "de02 1203 0000 0000 2020 51",
    "bic": None,
    "currency": "EUR",
    "amount": 12.5,
}
SHOWN = {
    "recipient": "Stadtwerke Muenchen",
    "purpose": "Rechnung 4711",
    "iban": IBAN,
    "currency": "EUR",
    "amount": 12.5,
}


@pytest.fixture(scope="module")
def tenant(stack: Stack) -> TenantUnderTest:
    return stack.tenant()


@pytest.fixture
def customer(tenant: TenantUnderTest) -> Customer:
    return tenant.customer()


class Account:
    """A connected account from which is paid."""

    def __init__(self, customer: Customer, userid: str = "demo1") -> None:
        self.customer, self.userid = customer, userid
        self.access = customer.connected(userid)
        products = customer.access(self.access)["bankprodukte"]
        self.body = next(product for product in products if product["transferSupport"])
        self.product = self.body["id"]

    def order(self, *, way: str = "single-transfer", details: Any = None, form: Any = None, **query: str) -> httpx.Response:
        body = form if form is not None else {"instant": False, "transferDetails": details or DETAILS}
        path = f"/bankzugaenge/{self.access}/{self.product}/payment/{way}"
        return self.customer.call("POST", path, json=body, params={"callbackUrl": BACK, **query}, headers=IP)

    def begun(self, **given: Any) -> Status:
        answer = self.order(**given)
        assert answer.status_code == 200, answer.text
        found: Status = answer.json()
        return found

    @property
    def bank(self) -> Path:
        return self.customer.tenant.stack.home / "demo-bank"

    def executed(self) -> list[dict[str, Any]]:
        return executed_orders(self.bank, self.userid)

    def moves(self) -> int:
        """How many moves have reached the bank: it executes an order once, however often we would send it."""
        asked = [call for call in calls(self.bank) if call["event"] == "begin" and call["user_id"] == self.userid]
        return sum(call["operation"] == "resume" for call in asked)


PATHS = [
    ("POST", "/bankzugaenge/a/b/payment/single-transfer", {"instant": False, "transferDetails": DETAILS}),
    ("POST", "/bankzugaenge/a/b/payment/bulk-transfer", {"instant": False, "transfers": [DETAILS]}),
    ("POST", "/payment/single-transfer", {"instant": False, "transferDetails": DETAILS}),
    ("GET", "/payments/00000000-0000-0000-0000-000000000001", None),
    ("POST", "/payments/00000000-0000-0000-0000-000000000001/method", {"chosenScaMethodId": 942}),
    ("POST", "/payments/00000000-0000-0000-0000-000000000001/medium", {"chosenScaMedia": "iPhone"}),
    ("PUT", "/payments/00000000-0000-0000-0000-000000000001/tan", {"tan": "42"}),
    ("POST", "/payments/00000000-0000-0000-0000-000000000001/payee", {"payeeConfirmed": True}),
    ("POST", "/bankzugaenge/a/b/payment/verification-of-payee", {"paymentId": DEMO, "name": "Anna", "iban": IBAN}),
]


@pytest.mark.parametrize(("method", "path", "body"), PATHS)
def test_a_token_is_needed(stack: Stack, method: str, path: str, body: Any) -> None:
    assert stack.http.request(method, f"/customer/v2{path}", json=body, headers=IP).status_code == 401


@pytest.mark.parametrize(("method", "path", "body"), PATHS)
def test_the_scope_is_needed(tenant: TenantUnderTest, customer: Customer, method: str, path: str, body: Any) -> None:
    customer.bearer = tenant.bearer("app", customer.username, "http://service/customer/modify http://service/customer/read")
    assert customer.call(method, path, json=body, headers=IP).status_code == 403


def test_a_transfer_from_the_order_to_the_end(customer: Customer) -> None:
    account = Account(customer)
    assert {"start_ueberweisung", "initiate_single_transfer"} <= set(rels(account.body))
    payment = str(uuid.uuid4())
    status = account.begun(paymentId=payment)
    assert (codes(status), rels(status)) == (["BA3010"], ["self", "set_method"])
    expected = {"provider": DEMO, "product": account.product, "paymentId": payment, "ebics": False, "instant": False}
    assert status["transfer"] == {**expected, "transferDetails": SHOWN}
    assert '"amount":12.50' in customer.get(href(status, "self")).text
    status = up_to_tan(customer, status, 1)
    assert (codes(status), rels(status)) == (["BA1110"], ["self", "submit_text_tan"])
    assert status["timeout"]
    status = moved(customer, status, "submit_text_tan", tan="42")
    assert (codes(status), rels(status)) == (["BA1111"], ["self"])
    assert "timeout" not in status
    assert status["transfer"]["transferDetails"] == SHOWN
    assert status == customer.read(href(status, "self"))
    (done,) = [order for order in account.executed() if order["reference"] == payment]
    (transfer,) = done["transfers"]
    assert {name: transfer[name] for name in ("recipient", "purpose", "iban")} == {
        name: SHOWN[name] for name in ("recipient", "purpose", "iban")
    }
    assert transfer["amount_cents"] == 1250


class TestOncePerPaymentId:
    def test_the_same_again_is_told_how_it_stands(self, customer: Customer) -> None:
        account, payment = Account(customer), str(uuid.uuid4())
        first = account.begun(paymentId=payment)
        assert account.begun(paymentId=payment) == first
        status = up_to_tan(customer, first, 1)
        moved(customer, status, "submit_text_tan", tan="42")
        assert codes(account.begun(paymentId=payment)) == ["BA1111"]
        assert len([order for order in account.executed() if order["reference"] == payment]) == 1

    def test_another_order_is_409(self, customer: Customer) -> None:
        account, payment = Account(customer), str(uuid.uuid4())
        account.begun(paymentId=payment)
        answer = account.order(paymentId=payment, details={**DETAILS, "amount": 12.51})
        assert (answer.status_code, codes(answer.json())) == (409, ["BA1104"])

    def test_without_one_an_equal_order_within_a_minute_is_409(self, customer: Customer) -> None:
        account = Account(customer)
        details = {**DETAILS, "purpose": f"Einmal {uuid.uuid4().hex[:8]}"}
        with ThreadPoolExecutor(4) as threads:
            answers = list(threads.map(lambda _: account.order(details=details), range(4)))
        assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
        assert codes(next(answer.json() for answer in answers if answer.status_code == 409)) == ["BA1104"]

    def test_ten_at_once_are_one(self, customer: Customer) -> None:
        account, payment = Account(customer), str(uuid.uuid4())
        with ThreadPoolExecutor(10) as threads:
            answers = list(threads.map(lambda _: account.order(paymentId=payment), range(10)))
        assert {answer.status_code for answer in answers} == {200}
        found = customer.tenant.stack.sql("SELECT count(*) FROM dialogues WHERE payment_id = :id", id=payment)
        assert found[0][0] == 1

    def test_another_access_is_409(self, customer: Customer) -> None:
        account, payment = Account(customer), str(uuid.uuid4())
        account.begun(paymentId=payment)
        account.access = customer.connected("demo1")
        answer = account.order(paymentId=payment)
        assert (answer.status_code, codes(answer.json())) == (409, ["BA1104"])

    def test_another_login_is_409(self, customer: Customer) -> None:
        account, payment = Account(customer), str(uuid.uuid4())
        given: dict[str, Any] = {"params": {"callbackUrl": BACK, "paymentId": payment}, "headers": IP}

        def pay(userid: str, pin: str = "demo") -> httpx.Response:
            form = {"provider": DEMO, "credentials": customer.entry(userid, pin)["credentials"], "product": account.product}
            form |= {"instant": False, "transferDetails": DETAILS}
            return customer.call("POST", "/payment/single-transfer", json=form, **given)

        first = pay("demo1")
        assert first.status_code == 200, first.text
        refused = pay("demo2")
        assert (refused.status_code, codes(refused.json())) == (409, ["BA1104"])
        assert account.order(paymentId=payment).status_code == 409, "nor from an access with the same login"
        assert pay("demo1", "other").json() == first.json(), "another PIN is no other login"


class TestDeletedAccess:
    """A payment that meets the deletion of its access is refused, or finds that the access is gone."""

    def test_at_the_same_moment(self, customer: Customer) -> None:
        for _ in range(5):
            account, payment = Account(customer, "test_transfer_slow_0_x"), str(uuid.uuid4())
            with ThreadPoolExecutor(2) as threads:
                ordering = threads.submit(account.order, paymentId=payment)
                deleting = threads.submit(customer.call, "DELETE", f"/bankzugaenge/{account.access}")
            assert deleting.result().status_code == 200
            assert ordering.result().status_code in (200, 404, 409), ordering.result().text
            if ordering.result().status_code == 404:
                assert customer.get(f"/payments/{payment}").status_code == 404

    def test_an_access_stays_until_its_payment_is_stored(self, customer: Customer, stack: Stack) -> None:
        key, tenant = customer.connected("test_empty"), customer.tenant.tenant_id
        with stack.database.acting_for(tenant, customer.user_id) as owner:
            accesses.hold(owner, key)
            with pytest.raises(Busy):
                connect.disconnect(stack.database, tenant, customer.user_id, key)
        connect.disconnect(stack.database, tenant, customer.user_id, key)

    def test_before_the_bank_is_asked(self, customer: Customer, tenant: TenantUnderTest) -> None:
        """The bank is busy with the same login for somebody else, and the access goes meanwhile."""
        userid, payment = "test_slow_0.3017", str(uuid.uuid4())
        account, other = Account(customer, userid), tenant.customer()
        fetches = len(calls(account.bank))
        find = "SELECT 1 FROM dialogues WHERE payment_id = :id"
        with ThreadPoolExecutor(2) as threads:
            blocking = threads.submit(other.add, userid)
            wait_until(lambda: len(calls(account.bank)) > fetches, 20)
            ordering = threads.submit(account.order, paymentId=payment)
            wait_until(lambda: tenant.stack.sql(find, id=payment), 20)
            assert customer.call("DELETE", f"/bankzugaenge/{account.access}").status_code == 200
            answer = ordering.result()
            assert (answer.status_code, codes(answer.json())) == (409, ["BA409"])
            assert blocking.result()[1].status_code == 201
        assert account.moves() == 0
        assert codes(customer.read(f"/payments/{payment}")) == ["BA1051"]


class TestTans:
    def test_twenty_right_ones_at_once_pay_once(self, customer: Customer) -> None:
        account, payment = Account(customer, f"test_transfer_slow_0_{customer.username}"), str(uuid.uuid4())
        status = up_to_tan(customer, account.begun(paymentId=payment), 1)
        before = account.moves()
        with ThreadPoolExecutor(20) as threads:
            tan = href(status, "submit_text_tan")
            answers = list(threads.map(lambda _: customer.call("PUT", tan, json={"tan": "42"}), range(20)))
        assert {answer.status_code for answer in answers} <= {200, 409}
        assert sum(answer.status_code == 200 for answer in answers) == 1
        assert account.moves() - before == 1
        assert len([order for order in account.executed() if order["reference"] == payment]) == 1

    def test_of_fifty_wrong_ones_three_reach_the_bank(self, customer: Customer) -> None:
        account, payment = Account(customer, f"test_transfer_slow_0_{customer.username}"), str(uuid.uuid4())
        status = up_to_tan(customer, account.begun(paymentId=payment), 1)
        before, tan = account.moves(), href(status, "submit_text_tan")
        with ThreadPoolExecutor(25) as threads:
            answers = list(threads.map(lambda _: customer.call("PUT", tan, json={"tan": "41"}), range(50)))
        assert {answer.status_code for answer in answers} <= {200, 409}
        assert 1 <= sum(answer.status_code == 200 for answer in answers) <= 3
        while codes(customer.read(href(status, "self"))) == ["BA1110"]:
            customer.call("PUT", tan, json={"tan": "41"})
        assert codes(customer.read(href(status, "self"))) == ["BA1103"]
        assert account.moves() - before == 3
        assert not [order for order in account.executed() if order["reference"] == payment]

    def test_nothing_secret_is_left(self, customer: Customer, stack: Stack) -> None:
        account, payment = Account(customer), str(uuid.uuid4())
        status = up_to_tan(customer, account.begun(paymentId=payment), 1)
        moved(customer, status, "submit_text_tan", tan="42")
        (row,) = stack.sql("SELECT id FROM dialogues WHERE payment_id = :id", id=payment)
        assert not stack.sql("SELECT field FROM sealed_values WHERE subject = :s", s=f"dialogue:{row[0]}")


class TestUnknown:
    def test_a_lost_answer_is_unknown_never_sent_again_and_found_out(self, customer: Customer) -> None:
        account = Account(customer, f"test_transfer_unknown_{customer.username}")
        status = up_to_tan(customer, account.begun(paymentId=str(uuid.uuid4())), 1)
        status = moved(customer, status, "submit_text_tan", tan="42")
        assert (codes(status), rels(status)) == (["BA1119"], ["self"])
        assert len(account.executed()) == 1
        wait_until(lambda: codes(customer.read(href(status, "self"))) == ["BA1111"], 40)
        assert len(account.executed()) == 1

    def test_an_order_that_was_lost_on_the_way_stays_unknown(self, customer: Customer) -> None:
        account = Account(customer, f"test_transfer_lost_{customer.username}")
        status = up_to_tan(customer, account.begun(paymentId=str(uuid.uuid4())), 1)
        status = moved(customer, status, "submit_text_tan", tan="42")
        assert codes(status) == ["BA1119"]
        assert customer.call("PUT", f"{href(status, 'self')}/tan", json={"tan": "42"}).status_code == 409
        assert account.executed() == []


class TestRefusals:
    @pytest.fixture(scope="class")
    def account(self, tenant: TenantUnderTest) -> Account:
        return Account(tenant.customer())

    @pytest.mark.parametrize(
        "details",
        [
            *({"amount": amount} for amount in (0, -1, 0.001, 1_000_000_000, "10.00", True, None)),
            *({"iban": iban} for iban in ("DE02120300000000202052", "DE0212030000000020205", "US64SVBKUS6S3300958879", "", 7)),
            *({"bic": bic} for bic in ("BYLADEM", "BYLAFRM1001", "bad!")),
            *({"currency": currency} for currency in ("USD", "", None)),
            *({"recipient": text} for text in ("", " ", "x" * 71, "漢字", "a\u0000b", None)),
            *({"purpose": text} for text in ("", "x" * 141)),
            *({"endToEndId": text} for text in ("x" * 36, "ü", "/a")),
            *({"purposeCode": text} for text in ("sala", "SALARY")),
        ],
    )
    def test_details_that_break_a_rule_are_400(self, account: Account, details: dict[str, Any]) -> None:
        answer = account.order(details={**DETAILS, **details})
        assert answer.status_code == 400, answer.text
        assert answer.json()["messages"][0]["details"]

    @pytest.mark.parametrize("day", ["2020-01-01", "2026-02-30", "2199-01-01", "01.01.2027", 7])
    def test_a_day_that_cannot_be_is_400(self, account: Account, day: Any) -> None:
        form = {"instant": False, "requestedExecutionDate": day, "transferDetails": DETAILS}
        assert account.order(form=form).status_code == 400

    def test_a_day_and_instant_is_400(self, account: Account) -> None:
        form = {"instant": True, "requestedExecutionDate": "2026-12-24", "transferDetails": DETAILS}
        assert account.order(form=form).status_code == 400

    @pytest.mark.parametrize(
        ("query", "headers"),
        [({}, IP), ({"callbackUrl": BACK}, {}), ({"callbackUrl": "ftp://x"}, IP), ({"callbackUrl": BACK, "paymentId": "7"}, IP)],
    )
    def test_what_must_be_said_is_400(self, account: Account, query: dict[str, str], headers: dict[str, str]) -> None:
        path = f"/bankzugaenge/{account.access}/{account.product}/payment/single-transfer"
        body = {"instant": False, "transferDetails": DETAILS}
        assert account.customer.call("POST", path, json=body, params=query, headers=headers).status_code == 400

    def test_unknown_places_are_404(self, account: Account) -> None:
        body = {"instant": False, "transferDetails": DETAILS}
        for path in (f"/bankzugaenge/{account.access}/nothing", f"/bankzugaenge/nobody/{account.product}"):
            answer = account.customer.call(
                "POST", f"{path}/payment/single-transfer", json=body, params={"callbackUrl": BACK}, headers=IP
            )
            assert answer.status_code == 404
        assert account.customer.get(f"/payments/{uuid.uuid4()}").status_code == 404

    def test_another_customer_does_not_see_it(self, account: Account, tenant: TenantUnderTest) -> None:
        place = href(account.begun(paymentId=str(uuid.uuid4())), "self")
        other = tenant.customer()
        assert other.get(place).status_code == 404
        assert other.call("PUT", f"{place}/tan", json={"tan": "42"}).status_code == 404

    def test_a_callback_off_the_list_is_400(self, stack: Stack) -> None:
        tenant = stack.tenant()
        with stack.database.acting_for(tenant.tenant_id) as owner:
            tenants.add_callback(owner, "https://tenant.example/back")
        account = Account(tenant.customer())
        for url, status in (
            ("https://tenant.example/back", 200),
            ("https://tenant.example/back/here?x=1", 200),
            ("https://tenant.example/backwards", 400),
            ("https://tenant.example.evil.example/back", 400),
            ("https://tenant.example:8443/back", 400),
            ("https://tenant.example/back/../away", 400),
            ("https:\\\\evil.example\\back", 400),
        ):
            assert account.order(callbackUrl=url, paymentId=str(uuid.uuid4())).status_code == status, url


class TestWaysToTheEnd:
    def test_without_money_a_customer_may_prefer_a_refusal(self, customer: Customer) -> None:
        account = Account(customer)
        details = {**DETAILS, "amount": 900_000_000}
        body = {"instant": False, "transferDetails": details}
        path = f"/bankzugaenge/{account.access}/{account.product}/payment/single-transfer"
        given: dict[str, Any] = {"params": {"callbackUrl": BACK, "paymentId": str(uuid.uuid4())}}
        refused = customer.call("POST", path, json=body, headers={**IP, "Rejection-NoFunds-Preferred": "true"}, **given)
        assert codes(refused.json()) == ["BA1104"]
        status = up_to_tan(customer, account.begun(details=details, paymentId=str(uuid.uuid4())), 1)
        assert codes(moved(customer, status, "submit_text_tan", tan="42")) == ["BA1111"]

    def test_an_order_without_sca_is_done_at_once(self, customer: Customer) -> None:
        account = Account(customer, f"test_transfer_exempt_{customer.username}")
        assert codes(account.begun(paymentId=str(uuid.uuid4()))) == ["BA1111"]
        assert len(account.executed()) == 1

    def test_the_app_confirms_without_a_tan(self, customer: Customer) -> None:
        account = Account(customer, "demo3")
        status = up_to_tan(customer, account.begun(paymentId=str(uuid.uuid4())), 944)
        assert codes(status) == ["BA2002"]
        wait_until(lambda: codes(customer.read(href(status, "self"))) == ["BA1111"], 20)

    def test_a_bank_may_refuse_after_the_tan(self, customer: Customer) -> None:
        account = Account(customer, f"test_transfer_refused_{customer.username}")
        status = up_to_tan(customer, account.begun(paymentId=str(uuid.uuid4())), 1)
        assert codes(moved(customer, status, "submit_text_tan", tan="42")) == ["BA1104"]
        assert account.executed() == []


class TestVerificationOfPayee:
    def test_the_answer_goes_with_the_order(self, customer: Customer) -> None:
        account, payment = Account(customer), str(uuid.uuid4())
        question = {"paymentId": payment, "name": DETAILS["recipient"], "iban": DETAILS["iban"]}
        path = f"/bankzugaenge/{account.access}/{account.product}/payment/verification-of-payee"
        answer = customer.call("POST", path, json=question)
        assert answer.status_code == 200, answer.text
        assert answer.json()["result"] in {"MATCH", "CLOSE_MATCH", "NO_MATCH", "NOT_POSSIBLE"}
        form = {"instant": False, "vopId": answer.json()["vopId"], "transferDetails": DETAILS}
        assert account.order(form=form, paymentId=payment).status_code == 200
        assert account.order(form=form, paymentId=str(uuid.uuid4())).status_code == 400
        assert account.order(form={**form, "vopId": str(uuid.uuid4())}, paymentId=payment).status_code == 404


class TestBulk:
    def test_several_transfers_are_confirmed_together(self, customer: Customer) -> None:
        account = Account(customer, f"test_transfer_slow_0_{customer.username}")
        assert "initiate_bulk_transfer" in rels(account.body)
        payment = str(uuid.uuid4())
        form = {"instant": False, "transfers": [DETAILS, {**DETAILS, "amount": 1}]}
        status = account.begun(way="bulk-transfer", form=form, paymentId=payment)
        assert [transfer["amount"] for transfer in status["transfer"]["transfers"]] == [12.5, 1]
        status = moved(customer, up_to_tan(customer, status, 1), "submit_text_tan", tan="42")
        assert codes(status) == ["BA1111"]
        (order,) = account.executed()
        assert [transfer["amount_cents"] for transfer in order["transfers"]] == [1250, 100]


def test_an_account_that_is_not_connected_pays_with_a_login_for_one_order(customer: Customer, stack: Stack) -> None:
    account, payment = Account(customer), str(uuid.uuid4())
    login = customer.entry("demo1")["credentials"]
    form = {"provider": DEMO, "credentials": login, "product": account.product, "instant": False, "transferDetails": DETAILS}
    given: dict[str, Any] = {"params": {"callbackUrl": BACK, "paymentId": payment}, "headers": IP}
    answer = customer.call("POST", "/payment/single-transfer", json=form, **given)
    assert answer.status_code == 200, answer.text
    (row,) = stack.sql("SELECT id FROM dialogues WHERE payment_id = :id", id=payment)
    assert stack.sql("SELECT field FROM sealed_values WHERE subject = :s", s=f"dialogue:{row[0]}")
    status = moved(customer, up_to_tan(customer, answer.json(), 1), "submit_text_tan", tan="42")
    assert codes(status) == ["BA1111"]
    assert not stack.sql("SELECT field FROM sealed_values WHERE subject = :s", s=f"dialogue:{row[0]}")
    for name in ("provider", "credentials", "product"):
        without = {key: value for key, value in form.items() if key != name}
        assert customer.call("POST", "/payment/single-transfer", json=without, **given).status_code == 400
