"""The redirect form in a real browser, over the running service: every way through every use case.

The main way of each use case is gone by all kinds of browsers; the others by a phone without script or a desktop with it. All of
them are watched (`driving.Watch`): no complaint of the browser, no foreign house, no secret in an address.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, Request, expect

from pipelines.banks.demo import ledger, payments
from tests.browser.driving import (
    COOKIE,
    DESKTOP,
    DESKTOP_WITH_SCRIPT,
    KINDS,
    PATIENCE,
    PHONE,
    PLAIN_PHONE,
    App,
    Way,
)
from tests.spec.browsing import IP, WEBFORM, Browser, appended, connecting, location, renewing
from tests.spec.test_webform import ORDER, connected, fresh, paying
from tests.support.stack import DEMO, Customer, Stack, wait_until
from warehouse.stores import tenants

FORM = f"{WEBFORM}/form"
FIRST_PAGE_BYTES = 30_000
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PICTURES = Path(os.environ.get("KONTOR_SCREENSHOTS") or Path(__file__).parents[2] / "test-artefacts" / "form")
EXEMPT, PAYER = "test_transfer_exempt", "test_new_transactions"
SCA = "test_sca_method_media"

everywhere = pytest.mark.parametrize(
    "way",
    [kind if kind in (PLAIN_PHONE, DESKTOP_WITH_SCRIPT) else pytest.param(kind, marks=pytest.mark.thorough) for kind in KINDS],
    indirect=True,
    ids=str,
)
both = pytest.mark.parametrize(
    "way", [PLAIN_PHONE, pytest.param(DESKTOP_WITH_SCRIPT, marks=pytest.mark.thorough)], indirect=True, ids=str
)
over_http_too = pytest.mark.thorough
"""What tests/spec/test_webform.py shows without a browser, and others in a browser: repetition."""
on_phone = pytest.mark.parametrize("way", [PLAIN_PHONE], indirect=True, ids=str)


@pytest.fixture
def address(customer: Customer, app: App) -> str:
    """The address of the form for a new access."""
    return appended(connecting(customer), app.back(customer.username))


def reached(customer: Customer, app: App, place: str, userid: str = "") -> Browser:
    """A browser without a window at a place of a new access, from where a real one goes on."""
    userid = userid or fresh(SCA)
    browser = Browser(customer.tenant.stack).open(appended(connecting(customer), app.back(customer.username)))
    way: list[tuple[str, dict[str, str]]] = [
        ("accept", {}),
        ("bank", {"bank": DEMO}),
        ("login", {"field.userid": userid, "field.pin": "demo" if userid.startswith("demo") else userid}),
        ("method", {"method": "942"}),
        ("medium", {"medium": "Tablet"}),
        ("tan", {"tan": "42"}),
        ("accounts", {}),
    ]
    for action, fields in way:
        if browser.place == place:
            break
        if action in browser.moves:
            browser.send(action, **fields)
            wait_until(lambda: browser.place != "working" or browser.open(FORM).place != "working", 60)
    assert browser.place == place
    return browser


def calls(stack: Stack, userid: str, operation: str) -> int:
    """How often the demo bank was asked for something."""
    lines = ledger.calls(stack.home / "demo-bank")
    return sum((line["user_id"], line["operation"], line["event"]) == (userid, operation, "begin") for line in lines)


def paid(stack: Stack, userid: str) -> int:
    """How many transfers the demo bank has executed."""
    return len(payments.executed_orders(stack.home / "demo-bank", userid))


class TestCreateAccount:
    @everywhere
    def test_the_whole_way(self, way: Way, customer: Customer, address: str) -> None:
        way.open(address).at("terms").send("accept").at("banks")
        way.page.get_by_label("Bank suchen").fill("provider")
        if way.kind.script:
            way.page.wait_for_url(f"**{FORM}?q=provider")
        else:
            with way.page.expect_navigation():
                way.press(way.page.get_by_role("button", name="Suchen"))
        way.at("banks").send("bank").at("login")
        assert way.page.locator('input[name="field.pin"]').get_attribute("type") == "password"
        way.log_in("demo1").at("accounts")
        offered = way.page.locator("input[type=checkbox]").count()
        way.press(way.page.locator("label:has(input[type=checkbox])").last)
        way.send("accounts").at("summary")
        assert way.page.locator(".chosen li").count() == offered - 1
        assert customer.read("/bankzugaenge") == {}
        assert way.send("connect").returned == {"baReentry": "ACCOUNT_CREATED"}
        assert len(customer.access("bank")["bankprodukte"]) == offered - 1

    @on_phone
    @over_http_too
    def test_a_bank_that_is_not_there_is_not_found(self, way: Way, customer: Customer, app: App) -> None:
        way.take_over(reached(customer, app, "banks")).at("banks")
        way.page.get_by_label("Bank suchen").fill("gibt es nicht")
        with way.page.expect_navigation():
            way.page.keyboard.press("Enter")
        expect(way.page.get_by_role("status").first).to_contain_text("keine Bank gefunden")
        assert way.button("bank").count() == 0

    @on_phone
    @over_http_too
    def test_who_declines_goes_back(self, way: Way, customer: Customer, address: str) -> None:
        assert way.open(address).send("decline").returned == {"baReentry": "LEGAL_NOT_ACCEPTED"}
        assert customer.read("/bankzugaenge") == {}

    @both
    @over_http_too
    def test_a_bank_that_wants_a_confirmation_gets_one(self, way: Way, customer: Customer, app: App) -> None:
        way.take_over(reached(customer, app, "login")).at("login").log_in(fresh(SCA)).at("methods")
        way.send("method", method="942").at("media").send("medium", medium="Tablet").at("tan")
        way.send("tan", tan="987654").at("tan")
        assert "Verbleibende Versuche: 2" in way.words
        way.send("tan", tan="42").at("accounts").send("accounts").at("summary").send("connect")
        assert way.returned == {"baReentry": "ACCOUNT_CREATED"}
        customer.wait_complete("bank")

    @pytest.mark.parametrize(
        ("way", "method", "picture"),
        [(PLAIN_PHONE, "2", "flicker.svg"), (DESKTOP_WITH_SCRIPT, "2", "flicker.svg"), (DESKTOP_WITH_SCRIPT, "972", "photo.png")],
        indirect=["way"],
        ids=str,
    )
    def test_a_picture_helps_to_the_tan(self, way: Way, customer: Customer, app: App, method: str, picture: str) -> None:
        way.take_over(reached(customer, app, "methods")).at("methods").send("method", method=method).at("media")
        way.send("medium", medium=way.page.locator("input[name=medium]").first.get_attribute("value") or "").at("tan")
        image = way.page.locator(f'img[src$="{picture}"]')
        expect(image).to_be_visible()
        assert image.evaluate("image => image.complete && image.naturalWidth > 0")
        if method == "2":
            way.press(way.page.get_by_text("Aus", exact=True))
            expect(image).not_to_be_visible()
        way.send("tan", tan="42").at("accounts")

    @pytest.mark.parametrize(
        ("way", "chosen"), [(PLAIN_PHONE, False), (DESKTOP_WITH_SCRIPT, True)], indirect=["way"], ids=["phone", "desktop"]
    )
    def test_an_app_confirms_and_the_page_goes_on_by_itself(self, way: Way, customer: Customer, app: App, chosen: bool) -> None:
        if chosen:
            way.take_over(reached(customer, app, "methods")).at("methods").send("method", method="944")
            way.at("media").send("medium", medium="iPhone")
        else:
            way.take_over(reached(customer, app, "login")).at("login").log_in(fresh("test_consent_app"))
        way.at("app").at("accounts")

    @both
    def test_a_page_of_the_bank(self, way: Way, customer: Customer, app: App) -> None:
        way.take_over(reached(customer, app, "login")).at("login").log_in(fresh("test_consent_redirect")).at("bank_page")
        way.press(way.page.get_by_role("link", name="Weiter zu"))
        way.at("accounts")
        assert way.page.url == f"{way.stack.base_url}{FORM}"

    @both
    @over_http_too
    def test_three_wrong_logins(self, way: Way, customer: Customer, app: App) -> None:
        way.take_over(reached(customer, app, "login"))
        for left in (2, 1):
            way.at("login").log_in("demo1", "falsch").at("login")
            assert f"Verbleibende Versuche: {left}" in way.words
            assert way.page.locator('input[name="field.userid"]').input_value() == "demo1"
            assert way.page.locator('input[name="field.pin"]').input_value() == ""
            assert "falsch" not in way.page.content()
        assert way.log_in("demo1", "falsch").returned == {"baReentry": "INVALID_CREDENTIALS"}
        assert customer.read("/bankzugaenge") == {}

    @on_phone
    @over_http_too
    def test_three_wrong_tans(self, way: Way, customer: Customer, app: App) -> None:
        way.take_over(reached(customer, app, "tan"))
        for _ in range(2):
            way.at("tan").send("tan", tan="987654").at("tan")
        assert way.send("tan", tan="987654").returned == {"baReentry": "INVALID_TAN"}
        assert customer.read("/bankzugaenge") == {}

    @pytest.mark.parametrize(
        ("way", "userid", "told"),
        [
            (PLAIN_PHONE, "test_unreachable", "BACKEND_ERROR"),
            (DESKTOP_WITH_SCRIPT, "test_garbage_html", "BACKEND_ERROR"),
            (DESKTOP_WITH_SCRIPT, "test_locked", "INVALID_CREDENTIALS"),
        ],
        indirect=["way"],
        ids=str,
    )
    @over_http_too
    def test_a_bank_that_does_not_let_in(self, way: Way, customer: Customer, app: App, userid: str, told: str) -> None:
        assert way.take_over(reached(customer, app, "login")).log_in(userid).returned == {"baReentry": told}
        assert customer.read("/bankzugaenge") == {}

    @both
    def test_what_cannot_be_a_login_is_not_sent(self, way: Way, customer: Customer, app: App) -> None:
        way.take_over(reached(customer, app, "login")).at("login").type_login("ä b", "x")
        way.press(way.button("login"))
        expect(way.page.locator('input[name="field.userid"]:invalid')).to_be_attached()
        assert way.watch.moves == ["GET"]
        way.log_in("demo1").at("accounts")

    @both
    @over_http_too
    def test_nothing_chosen(self, way: Way, customer: Customer, app: App) -> None:
        way.take_over(reached(customer, app, "accounts")).at("accounts")
        way.press(way.page.locator("label:has(input[type=checkbox])"))
        way.send("accounts").at("accounts")
        assert "noch nichts ausgewählt" in way.words
        assert not way.page.locator("input[type=checkbox]").is_checked()
        way.press(way.page.locator("label:has(input[type=checkbox])"))
        way.send("accounts").at("summary").send("back").at("accounts")

    @both
    @over_http_too
    def test_whoever_cancels_leaves_nothing_behind(self, way: Way, customer: Customer, app: App, stack: Stack) -> None:
        for place in ("banks", "login", "methods", "media", "tan", "accounts", "summary"):
            way.take_over(reached(customer, app, place)).at(place)
            assert way.send("cancel").returned == {"baReentry": "USER_CANCELLED"}, place
            for table in ("sealed_values", "dialogues", "accesses"):
                assert not stack.sql(f"SELECT 1 FROM {table} WHERE user_id = :user", user=customer.user_id), (place, table)

    @on_phone
    def test_whoever_does_not_wait_can_cancel(self, way: Way, customer: Customer, app: App) -> None:
        for userid, place in (("test_consent_app", "app"), ("test_consent_redirect", "bank_page")):
            way.take_over(reached(customer, app, "login")).at("login").log_in(fresh(userid)).at(place)
            assert way.send("cancel").returned == {"baReentry": "USER_CANCELLED"}, place
        assert customer.read("/bankzugaenge") == {}


class TestAuthenticateAccount:
    @everywhere
    def test_the_whole_way(self, way: Way, customer: Customer, app: App, stack: Stack) -> None:
        key = connected(customer, Browser(stack), fresh("test_consent_ends"))
        way.open(appended(renewing(customer, key), app.back(key))).at("start").send("start").to_tan()
        way.send("tan", tan="42").at("result")
        assert "Alles erledigt" in way.words
        assert way.send("finish").returned == {"baReentry": "FINISHED"}
        customer.wait_idle(key)
        assert "start_sca" not in {relation["rel"] for relation in customer.access(key)["relations"]}

    @on_phone
    @over_http_too
    def test_who_cancels_keeps_the_access(self, way: Way, customer: Customer, app: App, stack: Stack) -> None:
        key = connected(customer, Browser(stack), fresh("test_consent_ends"))
        for steps in range(2):
            way.open(appended(renewing(customer, key), app.back(key))).at("start")
            if steps:
                way.send("start").to_tan()
            assert way.send("cancel").returned == {"baReentry": "USER_CANCELLED"}
        assert "start_sca" in {relation["rel"] for relation in customer.access(key)["relations"]}


class TestSingleTransfer:
    @everywhere
    def test_the_whole_way(self, way: Way, customer: Customer, app: App, stack: Stack) -> None:
        userid = fresh(PAYER)
        key = connected(customer, Browser(stack), userid)
        way.open(appended(paying(customer, key), app.back(key))).at("order")
        for text in ("12,50 €", "Stadtwerke", "DE02 1203 0000 0000 2020 51", "Rechnung 4711"):
            assert text in way.words
        way.send("pay").to_tan().send("tan", tan="42").at("result")
        assert "Überweisung beauftragt" in way.words
        told = way.send("finish").returned
        assert told["baReentry"] == "FINISHED"
        assert customer.read(f"/payments/{told['paymentId']}")["messages"][0]["code"] == "BA1111"
        assert paid(stack, userid) == 1

    @both
    @over_http_too
    def test_details_can_be_changed_if_the_tenant_says_so(self, way: Way, customer: Customer, app: App, stack: Stack) -> None:
        key = connected(customer, Browser(stack), fresh(PAYER))
        way.open(appended(paying(customer, key, editableDetails="true"), app.back(key))).at("order")
        changed = {"recipient": "Müller & Söhne", "iban": "DE89 3704 0044 0532 0130 01", "amount": "1.034,5", "purpose": "Miete"}
        way.send("pay", **changed).at("order")
        assert "Diese IBAN ist nicht gültig" in way.words
        assert {name: way.page.locator(f"input[name={name}]").input_value() for name in changed} == changed
        way.send("pay", iban="DE89 3704 0044 0532 0130 00").to_tan().send("tan", tan="42").at("result")
        payment = way.send("finish").returned["paymentId"]
        details = customer.read(f"/payments/{payment}")["transfer"]["transferDetails"]
        assert (details["iban"], details["amount"]) == ("DE89370400440532013000", 1034.5)

    @both
    @over_http_too
    def test_a_transfer_that_needs_no_yes_in_the_form(self, way: Way, customer: Customer, app: App, stack: Stack) -> None:
        userid = fresh(EXEMPT)
        key = connected(customer, Browser(stack), userid)
        address = appended(paying(customer, key, autoConfirm="true"), app.back(key))
        way.open(address).at("result").open(address).at("result")
        assert way.send("finish").returned["baReentry"] == "FINISHED"
        assert paid(stack, userid) == 1

    @pytest.mark.parametrize(
        ("way", "userid", "text", "told"),
        [
            (PLAIN_PHONE, "test_transfer_refused", "Überweisung nicht ausgeführt", "ERROR"),
            (DESKTOP_WITH_SCRIPT, "test_transfer_lost", "Ausgang noch unbekannt", "BACKEND_ERROR"),
        ],
        indirect=["way"],
        ids=str,
    )
    @over_http_too
    def test_a_bad_end_is_told(
        self, way: Way, customer: Customer, app: App, stack: Stack, userid: str, text: str, told: str
    ) -> None:
        key = connected(customer, Browser(stack), fresh(userid))
        way.open(appended(paying(customer, key), app.back(key))).send("pay").to_tan().send("tan", tan="42").at("result")
        assert text in way.words
        assert way.button("cancel").count() == 0
        assert way.send("finish").returned["baReentry"] == told

    @both
    @over_http_too
    def test_without_an_access_the_customer_logs_in_and_chooses(
        self, way: Way, customer: Customer, app: App, stack: Stack
    ) -> None:
        answer = customer.call("POST", "/payment/single-transfer", headers=IP, json=ORDER)
        way.open(appended(location(answer, stack), app.back(customer.username))).at("terms").send("accept").at("banks")
        way.send("bank").at("login").log_in("demo1").at("accounts")
        way.press(way.page.locator("label:has(input[name=account])").first)
        way.send("accounts").at("order").send("pay").to_tan().send("tan", tan="42").at("result")
        told = way.send("finish").returned
        assert told["baReentry"] == "FINISHED"
        assert customer.read("/bankzugaenge") == {}

    @on_phone
    @over_http_too
    def test_who_cancels_has_paid_nothing(self, way: Way, customer: Customer, app: App, stack: Stack) -> None:
        userid = fresh(PAYER)
        key = connected(customer, Browser(stack), userid)
        way.open(appended(paying(customer, key), app.back(key))).at("order")
        assert way.send("cancel").returned["baReentry"] == "USER_CANCELLED"
        way.open(appended(paying(customer, key), app.back(key))).send("pay").to_tan()
        assert way.send("cancel").returned["baReentry"] == "USER_CANCELLED"
        assert paid(stack, userid) == 0


class TestStops:
    @on_phone
    @over_http_too
    def test_no_way_back(self, way: Way, customer: Customer) -> None:
        way.open(connecting(customer)).at("stopped")
        assert "NO_CALLBACK_URL" in way.words
        assert way.button("accept").count() == 0

    @over_http_too
    def test_a_way_back_that_is_not_allowed(self, way: Way, stack: Stack, app: App) -> None:
        tenant = stack.tenant(regulated=False)
        with stack.database.acting_for(tenant.tenant_id) as owner:
            tenants.add_callback(owner, "https://good.example/return")
        way.open(appended(connecting(tenant.customer()), app.back("evil"))).at("stopped")
        assert "INVALID_CALLBACK_URL" in way.words
        assert way.page.locator("main a, main button").count() == 0
        assert not any("evil" in path for path, _, _ in app.calls)

    @both
    @over_http_too
    def test_unknown_and_expired_ones_look_alike(self, way: Way, customer: Customer, address: str, stack: Stack) -> None:
        way.open(f"{WEBFORM}?session=nichtvonuns&useCase=CREATE_ACCOUNT&callbackUrl=https://a.example/").at("stopped")
        unknown = way.page.content()
        stack.sql("UPDATE redirect_sessions SET expires_at = now() - interval '1 s' WHERE user_id = :user", user=customer.user_id)
        assert way.open(address).at("stopped").page.content() == unknown
        assert way.context.cookies() == []

    @both
    def test_it_belongs_to_the_first_browser(self, way: Way, address: str) -> None:
        way.open(address).at("terms")
        other = Way(way.profiles, way.kind, way.stack, way.app, way.watch)
        other.open(address).at("stopped")
        assert other.context.cookies() == []
        other.close()
        way.open(address).at("terms").send("accept").at("banks")

    @both
    @over_http_too
    def test_the_tenant_ends_all(self, way: Way, customer: Customer, app: App, stack: Stack) -> None:
        way.take_over(reached(customer, app, "accounts")).at("accounts")
        assert customer.call("DELETE", "/regprotect/sessions").status_code == 200
        way.send("accounts").at("stopped")
        assert customer.read("/bankzugaenge") == {}

    def test_a_page_that_waits_notices_the_end(self, way: Way, customer: Customer, app: App) -> None:
        way.take_over(reached(customer, app, "login")).at("login").log_in(fresh("test_consent_app")).at("app")
        assert customer.call("DELETE", "/regprotect/sessions").status_code == 200
        way.at("stopped")


class TestTime:
    def test_a_page_warns_before_the_end_and_extends(self, way: Way, customer: Customer, address: str, stack: Stack) -> None:
        way.open(address).at("terms")
        stack.sql(
            "UPDATE redirect_sessions SET expires_at = now() + interval '55 s' WHERE user_id = :user", user=customer.user_id
        )
        way.page.reload()
        expect(way.page.locator("#ending")).to_be_visible(timeout=PATIENCE)
        way.press(way.page.get_by_role("button", name="Sitzung verlängern"))
        expect(way.page.locator("#ending")).to_be_hidden(timeout=PATIENCE)
        left = "SELECT expires_at > now() + interval '10 minutes' FROM redirect_sessions WHERE user_id = :user"
        assert stack.sql(left, user=customer.user_id)[0][0]
        way.send("accept").at("banks")

    @both
    def test_an_expired_one_says_so_and_leads_back(self, way: Way, customer: Customer, app: App, stack: Stack) -> None:
        way.take_over(reached(customer, app, "login")).at("login")
        stack.sql("UPDATE redirect_sessions SET expires_at = now() + interval '2 s' WHERE user_id = :user", user=customer.user_id)
        if way.kind.script:
            way.page.reload()  # the page moves on by itself
        else:
            stack.sql("UPDATE redirect_sessions SET expires_at = now() WHERE user_id = :user", user=customer.user_id)
            way.log_in("demo1")
        way.at("stopped")
        assert "abgelaufen" in way.words
        way.press(way.page.get_by_role("link", name="Zurück zu"))
        assert way.returned == {"baReentry": "ERROR"}


HEARING_LATE = """() => {
    const add = window.addEventListener;
    const late = hear => event => setTimeout(() => hear(event), 550);
    window.addEventListener = (type, hear) => add.call(window, type, type === "message" ? late(hear) : hear);
}"""
"""A message is heard after the first look at whether the window is closed, which is at most half a second after it has closed."""


class TestOpener:
    @pytest.fixture
    def person(self, stack: Stack, app: App) -> Customer:
        """A customer of a tenant whose app may open the form in a window."""
        tenant = stack.tenant(regulated=False)
        with stack.database.acting_for(tenant.tenant_id) as owner:
            tenants.add_callback(owner, f"{app.base_url}/")
        return tenant.customer()

    def window(self, way: Way, customer: Customer, app: App, prepare: str = "") -> Way:
        way.page.goto(f"{app.base_url}/opener?{way.stack.base_url}")
        way.page.evaluate(prepare)
        values = [connecting(customer), app.back(customer.username)]
        way.page.evaluate("values => { [window.address, window.callback] = values }", values)
        with way.page.expect_popup() as popup:
            way.page.locator("button").click()
        return way.in_window(popup.value).at("terms")

    def result(self, way: Way) -> object:
        way.page.wait_for_function("window.result")
        return way.page.evaluate("window.result")

    def test_it_tells_each_step_and_the_end(self, way: Way, person: Customer, app: App) -> None:
        window = self.window(way, person, app)
        window.send("accept").at("banks").send("bank").at("login").log_in("demo1").at("accounts").send("accounts").at("summary")
        with window.page.expect_event("close"):
            window.press(window.button("connect"))
        assert self.result(way) == {"type": "done", "reentry": "ACCOUNT_CREATED", "paymentId": None}
        steps = [event["place"] for event in way.page.evaluate("window.events") if event["type"] == "step"]
        assert [place for place in steps if place != "working"] == ["terms", "banks", "login", "accounts", "summary"]
        assert list(person.read("/bankzugaenge")) == ["bank"]
        assert [path for path, _, _ in app.calls if person.username in path] == []

    def test_the_end_is_told_though_the_window_is_closed_before_it_is_heard(self, way: Way, person: Customer, app: App) -> None:
        window = self.window(way, person, app, prepare=HEARING_LATE)
        with window.page.expect_event("close"):
            window.press(window.button("decline"))
        assert self.result(way) == {"type": "done", "reentry": "LEGAL_NOT_ACCEPTED", "paymentId": None}

    def test_a_window_that_is_closed_is_noticed(self, way: Way, person: Customer, app: App) -> None:
        self.window(way, person, app).page.close()
        assert self.result(way) == {"type": "closed"}

    def test_a_page_that_is_not_on_the_list_hears_nothing(self, way: Way, customer: Customer, app: App) -> None:
        way.page.goto(f"{app.base_url}/opener?{way.stack.base_url}")
        values = [connecting(customer), app.back(customer.username)]
        way.page.evaluate("values => { [window.address, window.callback] = values }", values)
        with way.page.expect_popup() as popup:
            way.page.locator("button").click()
        window = way.in_window(popup.value).at("stopped")
        assert "INVALID_CALLBACK_URL" in window.words
        assert self.result(way) == {"type": "closed"}
        assert way.page.evaluate("window.events") == [{"type": "closed"}]

    def test_messages_of_other_pages_are_not_believed(self, way: Way, person: Customer, app: App) -> None:
        window = self.window(way, person, app)
        forged = {"source": "kontor", "type": "done", "reentry": "FINISHED", "paymentId": None}
        way.page.evaluate("message => window.postMessage(message, '*')", forged)
        with window.page.expect_event("close"):
            window.press(window.button("decline"))
        assert self.result(way) == {"type": "done", "reentry": "LEGAL_NOT_ACCEPTED", "paymentId": None}

    def test_where_no_window_opens_the_form_comes_instead(self, way: Way, person: Customer, app: App) -> None:
        way.page.goto(f"{app.base_url}/opener?{way.stack.base_url}")
        values = [connecting(person), app.back(person.username)]
        way.page.evaluate("values => { [window.address, window.callback] = values; window.open = () => null }", values)
        with way.page.expect_navigation():
            way.page.locator("button").click()
        way._keep_cookie()
        assert way.at("terms").send("decline").returned == {"baReentry": "LEGAL_NOT_ACCEPTED"}


class TestHistory:
    @both
    def test_reload_and_back_at_every_step(self, way: Way, customer: Customer, address: str, stack: Stack) -> None:
        userid = fresh(SCA)
        steps: list[tuple[str, str, dict[str, str]]] = [
            ("terms", "accept", {}),
            ("banks", "bank", {}),
            ("login", "login", {"field.userid": userid, "field.pin": userid}),
            ("methods", "method", {"method": "942"}),
            ("media", "medium", {"medium": "Tablet"}),
            ("tan", "tan", {"tan": "42"}),
            ("accounts", "accounts", {}),
            ("summary", "connect", {}),
        ]
        way.open(address)
        for place, action, fields in steps:
            way.at(place).page.reload()
            assert way.watch.moves[-1] == "GET", place
            self.go_back(way.at(place))
            way.at(place).send(action, **fields)
        assert way.returned == {"baReentry": "ACCOUNT_CREATED"}
        self.go_back(way)
        assert way.returned == {"baReentry": "ACCOUNT_CREATED"}
        assert list(customer.read("/bankzugaenge")) == ["bank"]
        assert calls(stack, userid, "start") == 1

    def go_back(self, way: Way) -> None:
        """Presses the back button; where nothing of the form is behind it, forward again."""
        way.page.go_back()
        if not way.page.url.startswith("http"):
            way.page.go_forward()

    @both
    def test_reload_and_back_pay_nothing_twice(self, way: Way, customer: Customer, app: App, stack: Stack) -> None:
        userid = fresh(PAYER)
        key = connected(customer, Browser(stack), userid)
        way.open(appended(paying(customer, key), app.back(key)))
        for place, action, fields in [("order", "pay", {}), ("tan", "tan", {"tan": "42"}), ("result", "finish", {})]:
            if place == "tan":
                way.to_tan()
            way.at(place).page.reload()
            assert way.watch.moves[-1] == "GET"
            self.go_back(way.at(place))
            way.at(place).send(action, **fields)
        assert way.returned["baReentry"] == "FINISHED"
        assert paid(stack, userid) == 1

    @both
    def test_a_page_with_a_trouble_can_be_reloaded(self, way: Way, customer: Customer, app: App) -> None:
        way.take_over(reached(customer, app, "accounts")).at("accounts")
        way.press(way.page.locator("label:has(input[type=checkbox])"))
        way.send("accounts").at("accounts").page.reload()
        assert way.watch.moves[-1] == "GET"  # a POST would make browsers ask whether to send everything again

    @both
    def test_a_double_click_does_everything_once(self, way: Way, customer: Customer, address: str, stack: Stack) -> None:
        userid = fresh(SCA)
        way.open(address)
        self.press_twice(way, "terms", "accept")
        self.press_twice(way, "banks", "bank")
        self.press_twice(way.at("login").type_login(userid), "login", "login")
        self.press_twice(way.at("methods").fill(method="942"), "methods", "method")
        self.press_twice(way.at("media").fill(medium="Tablet"), "media", "medium")
        self.press_twice(way.at("tan").fill(tan="42"), "tan", "tan")
        self.press_twice(way, "accounts", "accounts")
        self.press_twice(way, "summary", "connect")
        assert way.returned == {"baReentry": "ACCOUNT_CREATED"}
        rows = stack.sql("SELECT count(*) FROM accesses WHERE user_id = :user", user=customer.user_id)
        assert rows[0][0] == 1
        assert (calls(stack, userid, "start"), calls(stack, userid, "resume")) == (1, 3)

    @both
    def test_a_double_click_pays_once(self, way: Way, customer: Customer, app: App, stack: Stack) -> None:
        userid = fresh(PAYER)
        key = connected(customer, Browser(stack), userid)
        way.open(appended(paying(customer, key), app.back(key)))
        self.press_twice(way, "order", "pay")
        self.press_twice(way.to_tan().fill(tan="42"), "tan", "tan")
        self.press_twice(way, "result", "finish")
        assert way.returned["baReentry"] == "FINISHED"
        assert paid(stack, userid) == 1
        rows = stack.sql("SELECT count(*) FROM dialogues WHERE user_id = :user AND kind = 'PAYMENT'", user=customer.user_id)
        assert rows[0][0] == 1

    @on_phone
    def test_a_wrong_tan_by_a_double_click_costs_one_try(self, way: Way, customer: Customer, app: App) -> None:
        way.take_over(reached(customer, app, "tan"))
        self.press_twice(way.at("tan").fill(tan="987654"), "tan", "tan")
        expect(way.page.locator("#trouble")).to_contain_text("Verbleibende Versuche: 2", timeout=PATIENCE)

    def press_twice(self, way: Way, place: str, action: str) -> None:
        """Two clicks as fast as they come."""
        way.at(place)
        turn = way.page.locator("main").get_attribute("data-turn")
        way.button(action).dblclick(no_wait_after=True)
        here = f'main[data-place="{place}"][data-turn="{turn}"]'
        way.page.locator(here).wait_for(state="detached")

    @both
    def test_two_tabs(self, way: Way, customer: Customer, address: str) -> None:
        first = way.open(address).at("terms")
        second = way.another_tab().at("terms")
        first.send("accept").at("banks").send("bank").at("login")
        assert second.send("decline").at("login").place == "login"
        second.log_in("demo1").at("accounts")
        first.log_in("demo1", "falsch").at("accounts")
        second.send("accounts").at("summary").send("connect")
        assert second.returned == {"baReentry": "ACCOUNT_CREATED"}
        first.send("cancel")
        assert first.returned == {"baReentry": "ACCOUNT_CREATED"}
        assert list(customer.read("/bankzugaenge")) == ["bank"]


class TestSecurity:
    def test_the_cookie(self, way: Way, address: str) -> None:
        way.open(address).at("terms")
        (cookie,) = way.context.cookies()
        about = {name: cookie.get(name) for name in ("name", "path", "secure", "httpOnly", "sameSite", "expires", "domain")}
        assert about == {
            "name": COOKIE,
            "path": "/",
            "secure": True,
            "httpOnly": True,
            "sameSite": "Lax",
            "expires": -1,
            "domain": "127.0.0.1",
        }
        assert way.page.evaluate("document.cookie") == ""
        assert way.page.evaluate("Object.keys(localStorage).length + Object.keys(sessionStorage).length") == 0

    def test_it_is_not_shown_in_a_frame(self, way: Way, app: App, address: str) -> None:
        way.open(address).at("terms")
        page = way.context.new_page()
        page.goto(f"{app.base_url}/frame?{way.stack.base_url}{FORM}")
        for _ in range(100):
            if any("frame-ancestors" in told for told in way.watch.complaints):
                break
            page.wait_for_timeout(100)  # not a plain sleep: only so does the browser get a word in
        assert any("frame-ancestors" in told for told in way.watch.complaints)
        assert page.frame_locator("iframe").locator("main").count() == 0
        way.watch.complaints.clear()
        way.watch.requests = [request for request in way.watch.requests if request.frame.page == way.page]

    def test_an_address_that_leads_nowhere_is_not_kept(self, way: Way, customer: Customer, address: str) -> None:
        assert customer.call("DELETE", "/regprotect/sessions").status_code == 200
        assert way.open(address).at("stopped").shown_secrets == []

    def test_the_first_page_is_small(self, way: Way, address: str) -> None:
        loaded: list[Request] = []
        way.forget_files()
        way.page.on("requestfinished", lambda request: loaded.append(request))
        way.open(address).at("terms").page.wait_for_load_state("networkidle")
        assert {request.resource_type for request in loaded} >= {"document", "stylesheet", "script"}
        assert sum(request.sizes()["responseBodySize"] for request in loaded) < FIRST_PAGE_BYTES


Gallery = Callable[[Page, str], None]


class TestLooks:
    @pytest.fixture(params=["phone", pytest.param("desktop", marks=pytest.mark.thorough)])
    def look(self, request: pytest.FixtureRequest) -> Iterator[Gallery]:
        """Looks at a page as it is served: keeps a picture of it, and asks axe who cannot use it."""
        device: str = request.param
        found: list[str] = []

        def look(page: Page, name: str) -> None:
            page.set_viewport_size({"phone": PHONE, "desktop": DESKTOP}[device])
            page.screenshot(path=PICTURES / f"{name}-{device}.png", full_page=True, animations="disabled")
            told = Axe().run(page, options={"runOnly": RULES, "resultTypes": ["violations"]}).response["violations"]
            found.extend(f"{name}: {each['id']}: {node['html']}" for each in told for node in each["nodes"])

        yield look
        assert found == []

    def test_connecting(self, way: Way, customer: Customer, address: str, look: Gallery) -> None:
        userid = fresh(SCA)
        look(way.open(address).at("terms").page, "terms")
        look(way.send("accept").at("banks").page, "banks")
        way.page.goto(f"{FORM}?q=gibtesnicht")
        look(way.at("banks").page, "banks-none")
        way.page.goto(FORM)
        look(way.send("bank").at("login").page, "login")
        look(way.log_in("demo1", "falsch").at("login").page, "login-refused")
        look(way.log_in(userid).at("methods").page, "methods")
        look(way.send("method", method="942").at("media").page, "media")
        look(way.send("medium", medium="Tablet").at("tan").page, "tan")
        look(way.send("tan", tan="987654").at("tan").page, "tan-wrong")
        look(way.send("tan", tan="42").at("accounts").page, "accounts")
        look(way.send("accounts").at("summary").page, "summary")
        way.page.route(f"{way.app.base_url}/**", lambda route: route.fulfill(status=204))
        look(way.send("connect").at("return").page, "return")

    @pytest.mark.thorough  # what axe finds on pages is seen in test_form_design.py too
    def test_confirming_elsewhere(self, way: Way, customer: Customer, app: App, look: Gallery) -> None:
        way.take_over(reached(customer, app, "methods")).send("method", method="2").at("media")
        look(way.send("medium", medium="Sparkassen-Card 1234").at("tan").page, "tan-flicker")
        way.take_over(reached(customer, app, "methods")).send("method", method="972").at("media")
        way.send("medium", medium=way.page.locator("input[name=medium]").first.get_attribute("value") or "")
        look(way.at("tan").page, "tan-photo")
        way.take_over(reached(customer, app, "login")).log_in(fresh("test_consent_redirect"))
        look(way.at("bank_page").page, "bank-page")
        way.take_over(reached(customer, app, "login")).page.route("**/state", lambda route: route.fulfill(status=503))
        look(way.log_in(fresh("test_consent_app")).at("app").page, "app")
        way.watch.complaints = [told for told in way.watch.complaints if "503" not in told]

    @pytest.mark.thorough
    def test_asking_the_bank(self, way: Way, customer: Customer, app: App, look: Gallery) -> None:
        way.take_over(reached(customer, app, "login")).at("login").type_login("test_slow_8")
        way.button("login").click(no_wait_after=True)
        tab = way.another_tab()
        tab.page.route("**/state", lambda route: route.fulfill(status=503))

        def at_work() -> bool:
            tab.page.goto(FORM)  # until then the login may still be on its way
            return tab.page.locator('main[data-place="working"]').count() > 0

        wait_until(at_work, 30)
        look(tab.at("working").page, "working")
        tab.page.close()
        way.at("accounts").watch.complaints = [told for told in way.watch.complaints if "503" not in told]

    @pytest.mark.thorough
    def test_renewing_and_paying(self, way: Way, customer: Customer, app: App, stack: Stack, look: Gallery) -> None:
        key = connected(customer, Browser(stack), fresh("test_consent_ends"))
        look(way.open(appended(renewing(customer, key), app.back(key))).at("start").page, "start")
        look(way.send("start").to_tan().send("tan", tan="42").at("result").page, "result-consent")
        look(way.open(appended(paying(customer, key), app.back(key))).at("order").page, "order")
        look(way.send("pay").to_tan().send("tan", tan="42").at("result").page, "result-paid")
        way.open(appended(paying(customer, key, editableDetails="true"), app.back(key))).at("order")
        look(way.send("pay", iban="DE00", amount="12,60").at("order").page, "order-wrong")
        look(way.open(connecting(customer, "anderer")).at("stopped").page, "stopped")

    def test_keys_are_enough(self, way: Way, customer: Customer, address: str) -> None:
        """The whole way without a mouse."""
        keys = way.open(address).at("terms").page.keyboard
        self.tab_to(way, "button[value=accept]")
        keys.press("Enter")
        self.tab_to(way.at("banks"), "input[name=q]")
        keys.type("provider")
        keys.press("Enter")
        way.page.wait_for_url(f"**{FORM}?q=provider")
        self.tab_to(way.at("banks"), f'button[value="{DEMO}"]')
        keys.press("Space")
        self.tab_to(way.at("login"), 'input[name="field.userid"]')
        way.watch.secrets |= {"demo1"}
        keys.type("demo1")
        keys.press("Tab")
        keys.type("demo")
        keys.press("Enter")
        self.tab_to(way.at("accounts"), "input[type=checkbox]")
        keys.press("Space")
        self.tab_to(way, "button.primary")
        keys.press("Enter")
        self.tab_to(way.at("summary"), "button.primary")
        keys.press("Space")
        assert way.returned == {"baReentry": "ACCOUNT_CREATED"}
        assert len(customer.access("bank")["bankprodukte"]) == 3

    def tab_to(self, way: Way, wanted: str) -> None:
        """Presses the tab key until something has the focus, and can be seen to have it."""
        for _ in range(40):
            way.page.keyboard.press("Tab")
            if way.page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
                return
        raise AssertionError(f"no key leads to {wanted}")
