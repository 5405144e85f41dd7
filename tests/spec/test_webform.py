"""The redirect form over HTTP, as a browser without script sees it. Real browsers are in `tests/browser`."""

import uuid
from typing import Any

import pytest

from pipelines.banks.demo import calls
from tests.spec.browsing import IP, WEBFORM, Browser, appended, connecting, location, renewing
from tests.support.stack import DEMO, Customer, Stack, TenantUnderTest, wait_until
from warehouse.stores import accesses, designs, tenants

ORDER: dict[str, Any] = {
    "instant": False,
    "transferDetails": {
        "recipient": "Stadtwerke",
        "iban": "DE02120300000000202051",
        "bic": None,
        "currency": "EUR",
        "amount": 12.5,
        "purpose": "Rechnung 4711",
    },
}


@pytest.fixture(scope="module")
def n1(stack: Stack) -> TenantUnderTest:
    """A redirect tenant."""
    return stack.tenant(regulated=False)


@pytest.fixture
def customer(n1: TenantUnderTest) -> Customer:
    return n1.customer()


@pytest.fixture
def browser(stack: Stack) -> Browser:
    return Browser(stack)


def fresh(userid: str) -> str:
    """A user id of the demo bank of whom it remembers nothing."""
    return f"{userid}_{uuid.uuid4().hex[:8]}"


def at_login(customer: Customer, browser: Browser) -> Browser:
    """A browser at the demo bank's login, for a new access."""
    return browser.open(appended(connecting(customer))).send("accept").send("bank", bank=DEMO)


def connected(customer: Customer, browser: Browser, userid: str = "demo1") -> str:
    """The id of an access that the customer has connected in the form."""
    key = f"k{uuid.uuid4().hex[:8]}"
    browser.open(appended(connecting(customer, key)))
    if "accept" in browser.moves:
        browser.send("accept")
    browser.send("bank", bank=DEMO).log_in(userid)
    browser.send("accounts").send("connect")
    assert browser.returned["baReentry"] == "ACCOUNT_CREATED"
    browser.cookie = None
    customer.wait_complete(key)
    return key


class TestCreateAccount:
    def test_the_whole_way(self, customer: Customer, browser: Browser) -> None:
        browser.open(appended(connecting(customer)))
        assert browser.place == "terms"
        assert browser.send("accept").place == "banks"
        assert browser.send("bank", bank=DEMO).place == "login"
        assert browser.log_in("demo1").place == "accounts"
        assert customer.read("/bankzugaenge") == {}
        assert browser.send("accounts").place == "summary"
        assert customer.read("/bankzugaenge") == {}
        assert browser.send("connect").returned == {"kunde": "4711", "baReentry": "ACCOUNT_CREATED"}
        assert customer.access("bank")["bankprodukte"]
        customer.wait_complete("bank")

    def test_only_chosen_accounts_are_connected(self, customer: Customer, browser: Browser) -> None:
        at_login(customer, browser).log_in("demo1")
        form = browser.form("accounts")
        accounts = [name for name in form.choices if name.startswith("account.")]
        assert len(accounts) > 1
        fields = {name: value for name, value in form.fields.items() if not name.startswith("account.")}
        browser.post({**fields, accounts[0]: "on"}).send("connect")
        assert [product["id"] for product in customer.access("bank")["bankprodukte"]] == [accounts[0].removeprefix("account.")]

    def test_a_bank_that_wants_a_confirmation_gets_one(self, customer: Customer, browser: Browser) -> None:
        at_login(customer, browser).log_in(fresh("test_sca_method_media"))
        assert browser.place == "methods"
        assert browser.send("method", method="942").place == "media"
        assert browser.send("medium", medium="Tablet").place == "tan"
        assert browser.send("tan", tan="1").place == "tan"
        assert "Verbleibende Versuche: 2" in browser.words
        assert browser.send("tan", tan="42").place == "accounts"
        browser.send("accounts").send("connect")
        assert browser.returned["baReentry"] == "ACCOUNT_CREATED"
        customer.wait_complete("bank")

    def test_terms_are_asked_once(self, customer: Customer, stack: Stack) -> None:
        Browser(stack).open(appended(connecting(customer))).send("accept")
        assert Browser(stack).open(appended(connecting(customer))).place == "banks"

    def test_a_changed_text_is_asked_again(self, customer: Customer, stack: Stack) -> None:
        tenant = stack.tenant(regulated=False)
        customer = tenant.customer()
        Browser(stack).open(appended(connecting(customer))).send("accept")
        with stack.database.acting_for(tenant.tenant_id) as owner:
            designs.change(owner, terms={"de": "Neu: {tenant} darf alles sehen."})
        again = Browser(stack).open(appended(connecting(customer)))
        assert again.place == "terms"
        assert f"Neu: {tenant.name} darf alles sehen." in again.words

    def test_who_declines_goes_back(self, customer: Customer, browser: Browser) -> None:
        browser.open(appended(connecting(customer))).send("decline")
        assert browser.returned["baReentry"] == "LEGAL_NOT_ACCEPTED"

    def test_three_wrong_logins(self, customer: Customer, browser: Browser) -> None:
        at_login(customer, browser)
        for _ in range(2):
            assert browser.log_in("demo1", "falsch").place == "login"
            assert 'value="demo1"' in browser.page.text
            assert "falsch" not in browser.page.text
        assert browser.log_in("demo1", "falsch").returned["baReentry"] == "INVALID_CREDENTIALS"
        assert customer.read("/bankzugaenge") == {}

    def test_another_bank_does_not_give_more_tries(self, customer: Customer, browser: Browser) -> None:
        at_login(customer, browser)
        for _ in range(2):
            browser.log_in("demo1", "falsch").send("other").send("bank", bank=DEMO)
        assert browser.log_in("demo1", "falsch").returned["baReentry"] == "INVALID_CREDENTIALS"

    def test_a_locked_login(self, customer: Customer, browser: Browser) -> None:
        assert at_login(customer, browser).log_in("test_locked").returned["baReentry"] == "INVALID_CREDENTIALS"

    def test_a_bank_that_is_away(self, customer: Customer, browser: Browser) -> None:
        assert at_login(customer, browser).log_in("test_unreachable").returned["baReentry"] == "BACKEND_ERROR"
        assert customer.read("/bankzugaenge") == {}

    def test_three_wrong_tans(self, customer: Customer, browser: Browser) -> None:
        at_login(customer, browser).log_in(fresh("test_sca_method_media")).send("method", method="942").send(
            "medium", medium="Tablet"
        )
        for _ in range(3):
            browser.send("tan", tan="1")
        assert browser.returned["baReentry"] == "INVALID_TAN"

    @pytest.mark.parametrize("steps", range(1, 8))
    def test_whoever_cancels_leaves_nothing_behind(self, customer: Customer, browser: Browser, stack: Stack, steps: int) -> None:
        browser.open(appended(connecting(customer)))
        userid = fresh("test_sca_method_media")
        way: list[tuple[str, dict[str, str]]] = [
            ("accept", {}),
            ("bank", {"bank": DEMO}),
            ("login", {"field.userid": userid, "field.pin": userid}),
            ("method", {"method": "942"}),
            ("medium", {"medium": "Tablet"}),
            ("tan", {"tan": "42"}),
            ("accounts", {}),
        ]
        for action, fields in way[:steps]:
            browser.send(action, **fields)
        assert browser.send("cancel").returned["baReentry"] == "USER_CANCELLED"
        assert customer.read("/bankzugaenge") == {}
        for table in ("sealed_values", "dialogues", "accesses"):
            assert not stack.sql(f"SELECT 1 FROM {table} WHERE user_id = :user", user=customer.user_id), table
        assert browser.open(f"{WEBFORM}/form").returned["baReentry"] == "USER_CANCELLED"

    def test_fields_that_do_not_fit_the_banks_format(self, customer: Customer, browser: Browser) -> None:
        at_login(customer, browser).log_in("ä b", "geheimes Wort")
        assert (browser.complains, browser.place) == (True, "login")
        assert 'value="ä b"' in browser.page.text
        assert "geheimes Wort" not in browser.page.text
        assert browser.send("login", **{"field.userid": "", "field.pin": ""}).complains
        assert browser.log_in("demo1").place == "accounts"

    def test_nothing_chosen(self, customer: Customer, browser: Browser) -> None:
        at_login(customer, browser).log_in("demo1")
        form = browser.form("accounts")
        browser.post({name: value for name, value in form.fields.items() if not name.startswith("account.")})
        assert (browser.complains, browser.place) == (True, "accounts")
        account = next(name for name in browser.form("accounts").choices if name.startswith("account."))
        assert not any(name.startswith("account.") for name in browser.form("accounts").fields)
        assert browser.send("accounts", **{account: "on"}).place == "summary"
        assert browser.send("back").place == "accounts"
        assert not browser.complains

    def test_a_bank_is_found(self, customer: Customer, browser: Browser) -> None:
        browser.open(appended(connecting(customer))).send("accept")
        assert DEMO in browser.open(f"{WEBFORM}/form?q=demo").page.text
        assert DEMO not in browser.open(f"{WEBFORM}/form?q=gibtesnicht").page.text
        assert browser.post({**browser_hidden(browser), "action": "bank", "bank": str(uuid.uuid4())}).complains

    def test_a_confirmation_in_an_app(self, customer: Customer, browser: Browser) -> None:
        at_login(customer, browser).log_in(fresh("test_sca_method_media")).send("method", method="944")
        if browser.place == "media":
            browser.send("medium", medium="iPhone")
        assert browser.place in ("app", "working")
        wait_until(lambda: browser.open(f"{WEBFORM}/form").place == "accounts", 30, lambda: browser.place)


def browser_hidden(browser: Browser) -> dict[str, str]:
    return {name: value for name, value in browser.form("cancel").fields.items() if name in ("token", "turn")}


class TestAuthenticateAccount:
    def test_the_whole_way(self, customer: Customer, browser: Browser) -> None:
        key = connected(customer, browser, fresh("test_consent_ends"))
        assert "start_sca" in rels(customer.access(key))
        browser.open(appended(renewing(customer, key)))
        assert browser.place == "start"
        assert to_tan(browser.send("start")).place == "tan"
        assert browser.send("tan", tan="42").place == "result"
        assert browser.moves == {"finish"}
        assert browser.send("finish").returned["baReentry"] == "FINISHED"
        customer.wait_idle(key)
        assert "start_sca" not in rels(customer.access(key))

    def test_the_relation_leads_here_too(self, customer: Customer, browser: Browser, stack: Stack) -> None:
        key = connected(customer, browser, fresh("test_consent_ends"))
        start = next(relation["href"] for relation in customer.access(key)["relations"] if relation["rel"] == "start_sca")
        answer = customer.call("POST", start, headers=IP)
        assert "useCase=AUTHENTICATE_ACCOUNT" in location(answer, stack)

    def test_a_login_that_is_refused_is_asked_for_and_taken_over(
        self, customer: Customer, browser: Browser, stack: Stack
    ) -> None:
        key = connected(customer, browser)
        change_pin(customer, key, "falsch")
        browser.open(appended(renewing(customer, key))).send("start")
        assert browser.place == "login"
        assert "other" not in browser.moves
        assert to_tan(browser.log_in("demo1")).send("tan", tan="42").place == "result"
        customer.wait_idle(key)
        assert customer.issues(key) == []
        assert browser.send("finish").returned["baReentry"] == "FINISHED"

    def test_three_wrong_logins(self, customer: Customer, browser: Browser) -> None:
        key = connected(customer, browser)
        change_pin(customer, key, "falsch")
        browser.open(appended(renewing(customer, key))).send("start")
        for _ in range(3):
            browser.log_in("demo1", "auchfalsch")
        assert browser.returned["baReentry"] == "INVALID_CREDENTIALS"

    def test_a_page_of_the_bank(self, customer: Customer, browser: Browser, stack: Stack) -> None:
        at_login(customer, browser).log_in(fresh("test_consent_redirect"))
        assert browser.place == "bank_page"
        back = next(word.split('"')[0] for word in browser.page.text.split('href="') if "demo-bank=" in word)
        assert back.startswith(f"{stack.base_url}{WEBFORM}/form?demo-bank=")
        browser.open(back)
        assert browser.place in ("app", "working", "accounts")
        wait_until(lambda: browser.open(f"{WEBFORM}/form").place == "accounts", 30, lambda: browser.place)


def rels(body: dict[str, Any]) -> set[str]:
    return {relation["rel"] for relation in body["relations"]}


def to_tan(browser: Browser) -> Browser:
    """A browser at the TAN, by pushTAN."""
    while browser.place in ("methods", "media"):
        choices = next(form.choices for form in browser.read.forms if {"method", "medium"} & set(form.choices))
        if "method" in choices:
            browser.send("method", method="942" if "942" in choices["method"] else choices["method"][0])
        else:
            browser.send("medium", medium=choices["medium"][0])
    return browser


def change_pin(customer: Customer, key: str, pin: str, userid: str = "demo1") -> None:
    """The customer has another PIN at the bank than the one that is stored: the stored one is wrong now."""
    stack = customer.tenant.stack
    with stack.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
        access = accesses.find(owner, key)
        accesses.seal_credentials(owner, stack.vault, access, {"userid": userid, "pin": pin})


def paying(customer: Customer, key: str, product: str | None = None, order: dict[str, Any] | None = None, **query: Any) -> str:
    """The address of the form for a transfer from a connected account."""
    product = product or payer(customer, key)
    path = f"/bankzugaenge/{key}/{product}/payment/single-transfer"
    answer = customer.call("POST", path, headers=IP, params=query, json=order or ORDER)
    return location(answer, customer.tenant.stack)


def payer(customer: Customer, key: str) -> str:
    return next(str(item["id"]) for item in customer.access(key)["bankprodukte"] if "initiate_single_transfer" in rels(item))


class TestSingleTransfer:
    @pytest.mark.parametrize(
        ("userid", "recipient", "result"),
        [("test_payee", "Stadtwerke", None), ("test_payee", "M. Stadtwerke", None), ("test_new_transactions", "Stadtwerke", "")],
        ids=["checked", "other_name", "unchecked"],
    )
    def test_the_tan_page_shows_what_it_confirms(
        self, customer: Customer, browser: Browser, userid: str, recipient: str, result: str | None
    ) -> None:
        key = connected(customer, browser, fresh(userid))
        details = {**ORDER["transferDetails"], "recipient": recipient}
        browser.open(appended(paying(customer, key, order={**ORDER, "transferDetails": details}))).send("pay")
        told = "Name und IBAN passen zusammen"
        if browser.place == "payee":
            told = "Name ist ähnlich" if "ähnlich" in browser.words else "Name passt nicht"
            browser.send("confirm_payee")
        if browser.place == "methods":
            browser.send("method", method="2")
        if browser.place == "media":
            browser.send("medium", medium=browser.form("medium").choices["medium"][0])
        assert browser.place == "tan"
        for text in ("12,50 €", recipient, "DE02 1203 0000 0000 2020 51"):
            assert text in browser.words
        assert (told in browser.words) == (result is None)

    def test_the_optical_code_belongs_to_the_order(self, customer: Customer, browser: Browser) -> None:
        key = connected(customer, browser, fresh("test_new_transactions"))
        pictures = []
        for amount in (12.5, 12.51):
            details = {**ORDER["transferDetails"], "amount": amount}
            browser.open(appended(paying(customer, key, order={**ORDER, "transferDetails": details}))).send("pay")
            browser.send("method", method="2")
            if browser.place == "media":
                browser.send("medium", medium=browser.form("medium").choices["medium"][0])
            assert browser.place == "tan"
            assert "Startcode" in browser.words
            pictures.append(Browser(browser.stack, browser.cookie).open(f"{WEBFORM}/flicker.svg").page.text)
            browser.send("cancel").cookie = None
        assert pictures[0] != pictures[1]

    def test_the_whole_way(self, customer: Customer, browser: Browser) -> None:
        key = connected(customer, browser)
        browser.open(appended(paying(customer, key, paymentId=str(uuid.uuid4()))))
        assert browser.place == "order"
        assert "DE02 1203 0000 0000 2020 51" in browser.words
        assert "12,50" in browser.words
        assert to_tan(browser.send("pay")).place == "tan"
        assert browser.send("tan", tan="42").place == "result"
        told = browser.send("finish").returned
        assert told["baReentry"] == "FINISHED"
        status = customer.read(f"/payments/{told['paymentId']}")
        assert [message["code"] for message in status["messages"]] == ["BA1111"]
        assert status["transfer"]["transferDetails"]["amount"] == 12.5

    def test_details_can_be_changed_if_the_tenant_says_so(self, customer: Customer, browser: Browser) -> None:
        key = connected(customer, browser)
        browser.open(appended(paying(customer, key, editableDetails="true")))
        for wrong in (
            {"iban": "DE00"},
            {"amount": "1,234"},
            {"amount": "0"},
            {"recipient": ""},
            {"purpose": "語"},
            {"amount": "1e3"},
        ):
            browser.send("pay", **wrong)
            assert (browser.complains, browser.place) == (True, "order"), wrong
            browser.open(f"{WEBFORM}/form")
        changed = {"recipient": "Müller & Söhne", "iban": "DE89 3704 0044 0532 0130 00", "amount": "1.034,5", "purpose": "Miete"}
        to_tan(browser.send("pay", **changed)).send("tan", tan="42")
        told = browser.send("finish").returned
        details = customer.read(f"/payments/{told['paymentId']}")["transfer"]["transferDetails"]
        assert (details["recipient"], details["iban"], details["amount"]) == (
            "Mueller + Soehne",
            "DE89370400440532013000",
            1034.5,
        )

    def test_details_cannot_be_changed_otherwise(self, customer: Customer, browser: Browser) -> None:
        key = connected(customer, browser)
        browser.open(appended(paying(customer, key)))
        to_tan(browser.send("pay", recipient="Eve", iban="DE89370400440532013000", amount="999,00")).send("tan", tan="42")
        details = customer.read(f"/payments/{browser.send('finish').returned['paymentId']}")["transfer"]["transferDetails"]
        assert (details["recipient"], details["amount"]) == ("Stadtwerke", 12.5)

    def test_a_transfer_that_needs_no_yes_in_the_form(self, customer: Customer, browser: Browser) -> None:
        key = connected(customer, browser, fresh("test_transfer_exempt"))
        browser.open(appended(paying(customer, key, autoConfirm="true")))
        assert browser.place == "result"
        assert browser.send("finish").returned["baReentry"] == "FINISHED"

    def test_three_wrong_tans(self, customer: Customer, browser: Browser) -> None:
        key = connected(customer, browser)
        to_tan(browser.open(appended(paying(customer, key))).send("pay"))
        for _ in range(3):
            browser.send("tan", tan="1")
        assert browser.returned["baReentry"] == "INVALID_TAN"

    def test_who_cancels_before_the_tan_has_paid_nothing(self, customer: Customer, browser: Browser) -> None:
        key = connected(customer, browser)
        to_tan(browser.open(appended(paying(customer, key))).send("pay"))
        told = browser.send("cancel").returned
        assert told["baReentry"] == "USER_CANCELLED"
        status = customer.read(f"/payments/{told['paymentId']}")
        assert [message["code"] for message in status["messages"]] == ["BA1104"]

    def test_a_refusal_of_the_bank_is_told(self, customer: Customer, browser: Browser) -> None:
        key = connected(customer, browser, fresh("test_transfer_refused"))
        to_tan(browser.open(appended(paying(customer, key))).send("pay")).send("tan", tan="42")
        assert browser.place == "result"
        assert "Die Bank führt diesen Auftrag nicht aus." in browser.words
        assert browser.send("finish").returned["baReentry"] == "ERROR"

    def test_an_unknown_end_is_told(self, customer: Customer, browser: Browser) -> None:
        key = connected(customer, browser, fresh("test_transfer_lost"))
        to_tan(browser.open(appended(paying(customer, key))).send("pay")).send("tan", tan="42")
        assert browser.place == "result"
        assert browser.moves == {"finish"}
        assert browser.send("finish").returned["baReentry"] == "BACKEND_ERROR"

    def test_without_an_access_the_customer_logs_in_and_chooses(self, customer: Customer, browser: Browser, stack: Stack) -> None:
        answer = customer.call("POST", "/payment/single-transfer", headers=IP, json=ORDER)
        browser.open(appended(location(answer, stack))).send("accept").send("bank", bank=DEMO).log_in("demo1")
        assert browser.place == "accounts"
        account = next(form.choices["account"][0] for form in browser.read.forms if "account" in form.choices)
        assert browser.send("accounts", account=account).place == "order"
        to_tan(browser.send("pay")).send("tan", tan="42")
        told = browser.send("finish").returned
        assert told["baReentry"] == "FINISHED"
        assert customer.read(f"/payments/{told['paymentId']}")["transfer"]["product"] == account
        assert customer.read("/bankzugaenge") == {}
        assert not stack.sql("SELECT 1 FROM sealed_values WHERE user_id = :user AND subject LIKE 'form:%'", user=customer.user_id)

    def test_the_same_order_again_is_taken_for_a_mistake(self, customer: Customer, browser: Browser) -> None:
        key = connected(customer, browser)
        addresses = [appended(paying(customer, key)) for _ in range(2)]
        to_tan(browser.open(addresses[0]).send("pay")).send("tan", tan="42").send("finish")
        again = Browser(browser.stack).open(addresses[1]).send("pay")
        assert (again.complains, again.place) == (True, "order")


class TestTenantsSide:
    def test_only_what_the_form_can_do_is_offered(self, customer: Customer, browser: Browser) -> None:
        key = connected(customer, browser)
        offered = {rel for product in customer.access(key)["bankprodukte"] for rel in rels(product)}
        assert {rel for rel in offered if not rel.startswith(("self", "get_"))} == {"initiate_single_transfer"}

    @pytest.mark.parametrize("extra", [{"provider": DEMO}, {"credentials": {"userid": "x", "pin": "y"}}])
    def test_a_redirect_tenant_sends_neither_provider_nor_login(self, customer: Customer, extra: dict[str, Any]) -> None:
        answer = customer.call("POST", "/payment/single-transfer", headers=IP, json=ORDER | extra)
        assert answer.status_code == 400
        assert next(iter(extra)) in answer.text

    def test_an_order_is_checked_before_the_form(self, customer: Customer) -> None:
        wrong = {**ORDER, "transferDetails": {**ORDER["transferDetails"], "iban": "DE00"}}
        assert customer.call("POST", "/payment/single-transfer", headers=IP, json=wrong).status_code == 400
        assert customer.call("POST", "/payment/single-transfer", json=ORDER).status_code == 400

    def test_many_transfers_at_once_are_not_for_the_form(self, customer: Customer, browser: Browser) -> None:
        key = connected(customer, browser)
        order = {"instant": False, "transfers": [ORDER["transferDetails"]]}
        path = f"/bankzugaenge/{key}/{payer(customer, key)}/payment/bulk-transfer"
        assert customer.call("POST", path, headers=IP, json=order).status_code == 403

    def test_an_access_that_is_not_there(self, customer: Customer) -> None:
        assert customer.call("POST", "/bankzugaenge/fehlt/consent", headers=IP).status_code == 404
        assert customer.call("POST", "/bankzugaenge/fehlt/x/payment/single-transfer", headers=IP, json=ORDER).status_code == 404


class TestLogins:
    """A redirect tenant is never asked for credentials: whatever needs a login leads into the form."""

    @pytest.mark.parametrize(
        "body",
        [
            {"providerId": "", "credentials": {}, "selectedBankProducts": [], "sync": None},
            {"providerId": None, "credentials": None, "selectedBankProducts": None},
        ],
    )
    def test_empty_and_null_fields_of_redirect_tenants_count_as_absent(
        self, customer: Customer, browser: Browser, body: dict[str, Any]
    ) -> None:
        key = connected(customer, browser)
        order = {**ORDER, **{name: body.get(field, "") for name, field in (("provider", "providerId"), ("product", "none"))}}
        order["credentials"] = body["credentials"]
        answers = [
            customer.call("POST", "/bankzugaenge", json={"neu": body}),
            customer.call("POST", f"/bankzugaenge/{key}/consent", headers=IP, json={key: body}),
            customer.call("POST", "/payment/single-transfer", headers=IP, json=order),
        ]
        assert [(answer.status_code, answer.content) for answer in answers] == [(451, b"")] * 3
        assert customer.call("POST", "/bankzugaenge", params={"refresh": "true"}, headers=IP, json={key: body}).status_code == 201

    def test_a_redirect_tenant_is_never_asked_for_credentials(self, customer: Customer, browser: Browser, stack: Stack) -> None:
        key = connected(customer, browser)
        assert "start_sca" not in rels(customer.access(key))
        change_pin(customer, key, "falsch")
        answer = customer.refresh(key)
        assert "useCase=AUTHENTICATE_ACCOUNT" in location(answer, stack), "the fetch that found the login refused"
        assert (customer.codes(key), customer.issues(key)) == (["BA1011"], ["BA1011"])
        assert {"start_sca"} <= rels(customer.access(key)) & rels(customer.read(f"/bankzugaenge/{key}/issues"))
        before = sessions(stack)
        start = next(relation["href"] for relation in customer.access(key)["relations"] if relation["rel"] == "start_sca")
        for again in (customer.refresh(key), customer.call("POST", start, headers=IP)):
            assert browser.open(appended(location(again, stack))).place == "login"
            browser.cookie = None
        assert sessions(stack) == before, "no bank is asked with a login that it has refused"
        browser.open(appended(location(customer.refresh(key), stack)))
        assert to_tan(browser.log_in("demo1")).send("tan", tan="42").place == "result"
        customer.wait_idle(key)
        assert (customer.codes(key), customer.issues(key)) == ([], [])
        assert customer.refresh(key).status_code == 201

    def test_fields_that_are_missing_are_asked_for_in_the_form_alone(
        self, customer: Customer, browser: Browser, stack: Stack
    ) -> None:
        key = connected(customer, browser)
        change_pin(customer, key, "test_incomplete", userid="test_incomplete")
        assert customer.refresh(key).status_code == 451
        for body in (customer.access(key), customer.read(f"/bankzugaenge/{key}/issues")):
            assert [(message["code"], "details" in message) for message in body["messages"]] == [("BA1012", False)]

    def test_accesses_that_can_be_fetched_are_fetched_beside_one_that_cannot(
        self, customer: Customer, browser: Browser, stack: Stack
    ) -> None:
        works, waits = connected(customer, browser, "demo8"), connected(customer, browser)
        change_pin(customer, waits, "falsch")
        assert customer.refresh(waits).status_code == 451
        before = sessions(stack)
        both: dict[str, Any] = {works: {}, waits: {}}
        answer = customer.call("POST", "/bankzugaenge", params={"refresh": "true"}, headers=IP, json=both)
        assert answer.status_code == 201
        customer.wait_idle(works)
        assert sessions(stack) == before

    def test_an_older_transfer_without_credentials_is_refused_and_not_asked_for_them(self, customer: Customer) -> None:
        answer = customer.call("POST", f"/ueberweisung/{DEMO}/DE02120300000000202051", json={})
        assert answer.status_code == 403
        assert "credentials" not in answer.text


def sessions(stack: Stack) -> int:
    """How often the demo bank was called with the login of these tests."""
    return sum(call["user_id"] == "demo1" and call["event"] == "begin" for call in calls(stack.home / "demo-bank"))


class TestCallback:
    def test_none_at_all(self, customer: Customer, browser: Browser) -> None:
        browser.open(connecting(customer))
        assert browser.page.status_code == 400
        assert str(browser.page.url).endswith("baReentry=NO_CALLBACK_URL")
        assert "NO_CALLBACK_URL" in browser.words
        assert browser.open(f"{WEBFORM}/form").place == "stopped"

    def test_the_one_of_the_request_is_the_fallback_and_the_appended_one_wins(self, customer: Customer, stack: Stack) -> None:
        key = connected(customer, Browser(stack))
        kept = Browser(stack).open(renewing(customer, key, callbackUrl="https://kept.example/")).send("cancel")
        assert kept.read.refresh == "https://kept.example/?baReentry=USER_CANCELLED"
        both = Browser(stack).open(appended(renewing(customer, key, callbackUrl="https://kept.example/"))).send("cancel")
        assert both.returned["baReentry"] == "USER_CANCELLED"

    def test_one_that_is_not_on_the_list(self, stack: Stack) -> None:
        tenant = stack.tenant(regulated=False)
        with stack.database.acting_for(tenant.tenant_id) as owner:
            tenants.add_callback(owner, "https://good.example/return")
        customer = tenant.customer()
        for wrong in (
            "https://evil.example/return",
            "https://good.example/returns",
            "javascript:alert(1)",
            "https://good.example@evil.example/return",
        ):
            browser = Browser(stack).open(appended(connecting(customer), wrong))
            assert browser.page.status_code == 400
            assert "INVALID_CALLBACK_URL" in browser.words
            assert "evil" not in browser.page.text
            assert browser.open(f"{WEBFORM}/form").place == "stopped"
        good = Browser(stack).open(appended(connecting(customer), "https://good.example/return/a?b=c&baReentry=FINISHED"))
        assert good.send("decline").read.refresh == "https://good.example/return/a?b=c&baReentry=LEGAL_NOT_ACCEPTED"
        key = connected_by_hand(customer)
        path = f"/bankzugaenge/{key}/consent"
        assert customer.call("POST", path, headers=IP, params={"callbackUrl": "https://evil.example/"}).status_code == 400


def connected_by_hand(customer: Customer) -> str:
    """An access that nobody has connected in the form."""
    stack = customer.tenant.stack
    with stack.database.acting_for(customer.tenant.tenant_id, customer.user_id) as owner:
        accesses.add(owner, "hand", uuid.UUID(DEMO), b"x" * 16, sync=True)
    return "hand"


class TestSessions:
    def test_an_unknown_one_and_an_expired_one_look_alike(self, customer: Customer, stack: Stack) -> None:
        unknown = Browser(stack).open(f"{WEBFORM}?session=nix&useCase=CREATE_ACCOUNT&callbackUrl=https://a.example/")
        address = appended(connecting(customer))
        stack.sql("UPDATE redirect_sessions SET expires_at = now() - interval '1 s' WHERE user_id = :user", user=customer.user_id)
        expired = Browser(stack).open(address)
        assert unknown.page.status_code == expired.page.status_code == 400
        assert unknown.page.text == expired.page.text
        assert Browser(stack).open(f"{WEBFORM}/form").page.text == expired.page.text
        assert Browser(stack).open(appended(connecting(customer))).place == "terms"

    def test_it_belongs_to_the_first_browser(self, customer: Customer, stack: Stack) -> None:
        address = appended(connecting(customer))
        first = Browser(stack).open(address)
        other = Browser(stack).open(address)
        assert other.page.status_code == 400
        assert other.cookie is None
        assert first.open(address).send("accept").place == "banks"

    @pytest.mark.parametrize("column", ["expires_at = now() - interval '1 s'", "seen_at = now() - interval '301 s'"])
    def test_it_ends_in_use(self, customer: Customer, browser: Browser, stack: Stack, column: str) -> None:
        at_login(customer, browser)
        stack.sql(f"UPDATE redirect_sessions SET {column} WHERE user_id = :user", user=customer.user_id)
        assert browser.log_in("demo1").page.status_code == 400
        assert browser.place == "stopped"
        assert customer.read("/bankzugaenge") == {}

    @pytest.mark.parametrize("column", ["expires_at = now() - interval '1 s'", "seen_at = now() - interval '301 s'"])
    def test_an_expired_one_is_the_tenants_and_leads_back(self, stack: Stack, browser: Browser, column: str) -> None:
        tenant = stack.tenant(regulated=False)
        with stack.database.acting_for(tenant.tenant_id) as owner:
            designs.change(owner, name="Haushaltsbuch Nord", colour="#0a5c36")
        customer = tenant.customer()
        at_login(customer, browser)
        typed = {"field.userid": "demo1", "field.pin": "demo"}
        form = {**browser.form("login").fields, **typed}
        stack.sql(f"UPDATE redirect_sessions SET {column} WHERE user_id = :user", user=customer.user_id)
        find = "SELECT 1 FROM redirect_sessions WHERE user_id = :user AND outcome = 'EXPIRED'"
        for _ in range(2):  # also after everything that was typed is gone
            assert browser.post(form).place == "stopped"
            assert "Haushaltsbuch Nord" in browser.words
            assert "baReentry=ERROR" in browser.page.text
            assert "#0a5c36" in browser.open(f"{WEBFORM}/design.css").page.text
            wait_until(lambda: bool(stack.sql(find, user=customer.user_id)), 30)
        rows = stack.sql(
            "SELECT provider_id, access_key, progress FROM redirect_sessions WHERE user_id = :user", user=customer.user_id
        )
        assert [tuple(row) for row in rows] == [(None, None, {"language": "de"})]
        stack.sql(
            "UPDATE redirect_sessions SET expires_at = now() - interval '61 minutes' WHERE user_id = :user", user=customer.user_id
        )
        wait_until(lambda: not stack.sql(find, user=customer.user_id), 30)
        assert "Haushaltsbuch Nord" not in browser.open(f"{WEBFORM}/form").page.text

    def test_it_can_be_extended_up_to_an_hour(self, customer: Customer, browser: Browser, stack: Stack) -> None:
        left = "SELECT extract(epoch FROM expires_at - now()) FROM redirect_sessions WHERE user_id = :user"
        at_login(customer, browser)
        stack.sql(
            "UPDATE redirect_sessions SET expires_at = now() + interval '30 s' WHERE user_id = :user", user=customer.user_id
        )
        assert 'data-ends="' in browser.open(f"{WEBFORM}/form").page.text
        assert extended(browser, stack, "x" * 64) == 0
        assert float(stack.sql(left, user=customer.user_id)[0][0]) < 31
        assert extended(browser, stack) > 200
        assert float(stack.sql(left, user=customer.user_id)[0][0]) > 1000
        stack.sql(
            "UPDATE redirect_sessions SET created_at = now() - interval '59 minutes', expires_at = now() + interval '30 s' "
            "WHERE user_id = :user",
            user=customer.user_id,
        )
        assert 30 < extended(browser, stack) <= 60
        stack.sql("UPDATE redirect_sessions SET expires_at = now() - interval '1 s' WHERE user_id = :user", user=customer.user_id)
        assert extended(browser, stack) == 0

    def test_the_tenant_ends_all(self, customer: Customer, browser: Browser, stack: Stack) -> None:
        at_login(customer, browser).log_in("demo1")
        assert customer.call("DELETE", "/regprotect/sessions").status_code == 200
        assert browser.send("accounts").place == "stopped"
        for table in ("sealed_values", "dialogues", "redirect_sessions"):
            assert not stack.sql(f"SELECT 1 FROM {table} WHERE user_id = :user", user=customer.user_id), table

    def test_what_was_typed_goes_with_a_session_that_is_left_alone(
        self, customer: Customer, browser: Browser, stack: Stack
    ) -> None:
        at_login(customer, browser).log_in("demo1")
        stack.sql("UPDATE redirect_sessions SET expires_at = now() - interval '1 s' WHERE user_id = :user", user=customer.user_id)
        find = "SELECT 1 FROM sealed_values WHERE user_id = :user"
        wait_until(lambda: not stack.sql(find, user=customer.user_id), 30)

    def test_an_inactive_user_is_shut_out(self, customer: Customer, browser: Browser, stack: Stack) -> None:
        at_login(customer, browser)
        stack.sql("UPDATE users SET active = false WHERE id = :user", user=customer.user_id)
        assert browser.open(f"{WEBFORM}/form").place == "stopped"

    def test_another_use_case_in_the_address_ends_it(self, customer: Customer, browser: Browser) -> None:
        address = appended(connecting(customer)).replace("CREATE_ACCOUNT", "SINGLE_TRANSFER")
        assert browser.open(address).returned["baReentry"] == "ERROR"


def extended(browser: Browser, stack: Stack, token: str | None = None) -> int:
    """The seconds that are left after the customer has asked for more time."""
    fields = {"token": token or browser_hidden(browser)["token"]}
    answer = stack.http.post(
        f"{WEBFORM}/extend", data=fields, headers={"Cookie": f"__Host-kontor-form={browser.cookie}", "Accept": "application/json"}
    )
    assert answer.status_code == 200
    seconds: int = answer.json()["seconds"]
    return seconds


class TestLanguage:
    @pytest.mark.parametrize(
        ("accepted", "language"), [(None, "de"), ("en-GB,en;q=0.9", "en"), ("de-DE,de;q=0.9,en;q=0.8", "de"), ("fr", "de")]
    )
    def test_it_is_the_browsers(self, customer: Customer, browser: Browser, accepted: str | None, language: str) -> None:
        browser.language = accepted
        browser.open(appended(connecting(customer)))
        assert f'<html lang="{language}">' in browser.page.text

    def test_who_switches_keeps_it(self, customer: Customer, browser: Browser) -> None:
        browser.language = "en"
        browser.open(appended(connecting(customer)))
        browser.open(f"{WEBFORM}/form?lang=de").send("accept")
        assert "Bei welcher Bank sind Sie?" in browser.words

    def test_hints_and_labels_are_in_it_too(self, customer: Customer, browser: Browser) -> None:
        browser.language = "en"
        at_login(customer, browser)
        assert "demo1 to demo8, or one of the test ids" in browser.words
        assert "User id" in browser.words
        browser.log_in(fresh("test_sca_method_media"))
        assert "Hold your TAN generator against the flickering picture." in browser.words

    def test_a_page_outside_a_session(self, stack: Stack) -> None:
        assert '<html lang="en">' in Browser(stack, language="en").open(f"{WEBFORM}/form").page.text


class TestBankList:
    def test_a_bank_that_was_used_before_comes_first(self, customer: Customer, browser: Browser) -> None:
        connected(customer, browser)
        browser.open(appended(connecting(customer, "zweite")))
        first = browser.page.text.split("<ul>")[1].split("</li>")[0]
        assert DEMO in first
        assert "Zuletzt genutzt" in first

    def test_a_paused_bank_is_marked(self, customer: Customer, browser: Browser, stack: Stack) -> None:
        browser.open(appended(connecting(customer))).send("accept")
        name, bank = f"Schweigebank {uuid.uuid4().hex[:8]}", uuid.uuid4()
        stack.sql("INSERT INTO providers (id, name, connector) VALUES (:bank, :name, 'demo')", bank=bank, name=name)
        pause = "UPDATE providers SET paused_at = now(), pause_code = 'BA1051', updated_at = clock_timestamp() WHERE id = :bank"
        resume = "UPDATE providers SET paused_at = NULL, pause_code = NULL, updated_at = clock_timestamp() WHERE id = :bank"
        try:
            stack.sql(pause, bank=bank)
            assert name in browser.open(f"{WEBFORM}/form?q={name}").words
            assert "Antwortet gerade nicht zuverlässig" in browser.words
            stack.sql(resume, bank=bank)
            assert "Antwortet gerade nicht zuverlässig" not in browser.open(f"{WEBFORM}/form?q={name}").words
        finally:
            stack.sql("DELETE FROM providers WHERE id = :bank", bank=bank)


class TestOpener:
    ORIGIN = "https://app.tenant.example"

    @pytest.fixture
    def person(self, stack: Stack) -> Customer:
        tenant = stack.tenant(regulated=False)
        with stack.database.acting_for(tenant.tenant_id) as owner:
            tenants.add_callback(owner, f"{self.ORIGIN}/")
        return tenant.customer()

    def address(self, customer: Customer, opener: str) -> str:
        return f"{appended(connecting(customer))}&opener={opener}"

    def test_a_page_of_the_tenant_may_open_it(self, person: Customer, browser: Browser) -> None:
        browser.open(self.address(person, self.ORIGIN))
        assert browser.place == "terms"
        assert f'data-opener="{self.ORIGIN}"' in browser.page.text
        assert browser.page.headers["cross-origin-opener-policy"] == "unsafe-none"
        browser.send("decline")
        assert f'data-opener="{self.ORIGIN}"' in browser.page.text
        assert browser.returned["baReentry"] == "LEGAL_NOT_ACCEPTED"

    @pytest.mark.parametrize(
        "opener",
        [
            "https://evil.example",
            "http://app.tenant.example",
            "https://app.tenant.example:8443",
            "https://app.tenant.example.evil.example",
            "https://app.tenant.example/sub",
            "https://u:p@app.tenant.example",
            "null",
            "*",
            "javascript:alert(1)",
        ],
    )
    def test_no_other_page_may(self, person: Customer, browser: Browser, opener: str) -> None:
        browser.open(self.address(person, opener))
        assert (browser.place, browser.page.status_code) == ("stopped", 400)
        assert "INVALID_CALLBACK_URL" in browser.words
        assert "data-opener" not in browser.page.text

    def test_without_an_allow_list_nobody_may(self, customer: Customer, browser: Browser) -> None:
        assert browser.open(self.address(customer, self.ORIGIN)).place == "stopped"

    def test_without_an_opener_the_window_is_on_its_own(self, person: Customer, browser: Browser) -> None:
        browser.open(appended(connecting(person)))
        assert browser.page.headers["cross-origin-opener-policy"] == "same-origin"
        assert "data-opener" not in browser.page.text

    def test_the_script_may_be_loaded_by_other_pages(self, stack: Stack) -> None:
        answer = stack.http.get(f"{WEBFORM}/static/embed.js", headers={"Accept-Encoding": "gzip"})
        assert answer.status_code == 200
        assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
        assert answer.headers["content-encoding"] == "gzip"
        assert "Kontor.open" in answer.text
        assert "cross-origin-resource-policy" not in stack.http.get(f"{WEBFORM}/static/form.js").headers


class TestForms:
    def test_a_form_sent_twice_counts_once(self, customer: Customer, browser: Browser) -> None:
        browser.open(appended(connecting(customer)))
        old = browser.form("accept").fields
        assert browser.post(old).place == "banks"
        assert browser.post(old).place == "banks"
        cancelled = {**old, "action": "cancel"}
        assert browser.post(cancelled).place == "banks"

    def test_a_form_needs_its_token(self, customer: Customer, browser: Browser, stack: Stack) -> None:
        browser.open(appended(connecting(customer)))
        fields = browser.form("accept").fields
        other = Browser(stack).open(appended(connecting(customer)))
        for token in ("", "x", other.form("accept").fields["token"]):
            wrong = Browser(stack, browser.cookie).post({**fields, "token": token})
            assert (wrong.page.status_code, wrong.place) == (400, "stopped")
        assert browser.open(f"{WEBFORM}/form").place == "terms"

    @pytest.mark.parametrize("action", ["connect", "finish", "pay", "tan", "nix", ""])
    def test_a_move_that_does_not_belong_here_changes_nothing(self, customer: Customer, browser: Browser, action: str) -> None:
        browser.open(appended(connecting(customer)))
        fields = browser.form("accept").fields
        assert browser.post({**fields, "action": action, "tan": "42"}).place == "terms"

    @pytest.mark.parametrize(
        "content",
        [b"token=%ff", b"a=1&a=2", b"token=%00", b"&".join(b"f%d=1" % n for n in range(60)), b"x" * 2_000_000],
    )
    def test_what_is_no_form(self, customer: Customer, browser: Browser, stack: Stack, content: bytes) -> None:
        browser.open(appended(connecting(customer)))
        headers = {"Cookie": f"__Host-kontor-form={browser.cookie}", "Content-Type": "application/x-www-form-urlencoded"}
        answer = stack.http.post(f"{WEBFORM}/form", content=content, headers=headers)
        assert answer.status_code in (400, 413)
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["x-correlation-id"]

    def test_headers_and_cookie(self, customer: Customer, browser: Browser, stack: Stack) -> None:
        entered = stack.http.get(appended(connecting(customer)))
        assert entered.status_code == 303
        (cookie,) = entered.headers.get_list("set-cookie")
        stack.http.cookies.clear()
        assert cookie.startswith("__Host-kontor-form=")
        assert {part.strip().lower() for part in cookie.split(";")[1:]} == {"path=/", "secure", "httponly", "samesite=lax"}
        page = browser.open(appended(connecting(customer))).page
        policy = page.headers["content-security-policy"]
        assert {"default-src 'self'", "frame-ancestors 'none'", "form-action 'self'"} <= {
            part.strip() for part in policy.split(";")
        }
        assert "unsafe" not in policy
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["cross-origin-opener-policy"] == "same-origin"
        assert page.headers["strict-transport-security"]
        assert page.headers["x-frame-options"] == "DENY"

    def test_languages(self, customer: Customer, browser: Browser) -> None:
        browser.open(appended(connecting(customer)))
        assert '<html lang="de">' in browser.page.text
        assert '<html lang="en">' in browser.open(f"{WEBFORM}/form?lang=en").page.text
        assert '<html lang="en">' in browser.send("accept").page.text

    def test_pictures_for_a_tan(self, customer: Customer, browser: Browser, stack: Stack) -> None:
        at_login(customer, browser).log_in(fresh("test_sca_method_media"))
        browser.send("method", method="2")
        if browser.place == "media":
            choices = next(form.choices["medium"] for form in browser.read.forms if "medium" in form.choices)
            browser.send("medium", medium=choices[0])
        picture = browser.open(f"{WEBFORM}/flicker.svg").page
        assert picture.headers["content-type"] == "image/svg+xml; charset=utf-8"
        assert picture.text.startswith("<svg")
        assert browser.open(f"{WEBFORM}/photo.png").page.status_code == 404
        assert Browser(stack).open(f"{WEBFORM}/flicker.svg").page.status_code == 404

    def test_how_a_tenant_wants_it_to_look(self, stack: Stack) -> None:
        tenant = stack.tenant(regulated=False)
        with stack.database.acting_for(tenant.tenant_id) as owner:
            designs.change(owner, name="Haus & Hof <b>", colour="#0a5c36", logo=b"\x89PNG\r\n\x1a\n" + bytes(30))
        browser = Browser(stack).open(appended(connecting(tenant.customer())))
        assert "Haus &amp; Hof &lt;b&gt;" in browser.page.text
        assert "#0a5c36" in browser.open(f"{WEBFORM}/design.css").page.text
        logo = browser.open(f"{WEBFORM}/logo").page
        assert logo.headers["content-type"] == "image/png"
        assert "sandbox" in logo.headers["content-security-policy"]
        assert Browser(stack).open(f"{WEBFORM}/logo").page.status_code == 404

    def test_files(self, stack: Stack) -> None:
        style = stack.http.get(f"{WEBFORM}/static/form.css")
        assert style.headers["content-type"] == "text/css; charset=utf-8"
        assert "immutable" in style.headers["cache-control"]
        again = stack.http.get(f"{WEBFORM}/static/form.css", headers={"If-None-Match": style.headers["etag"]})
        assert again.status_code == 304
        for wrong in ("nix.css", "..%2fviews.py", "form.html"):
            assert stack.http.get(f"{WEBFORM}/static/{wrong}").status_code == 404

    def test_garbage_of_a_bank_is_not_shown(self, customer: Customer, browser: Browser) -> None:
        assert at_login(customer, browser).log_in("test_garbage_html").returned["baReentry"] == "BACKEND_ERROR"
