"""Statement files through the redirect form, as a browser without script sends them. Real browsers are in `tests/browser`."""

import httpx
import pytest

from tests.pipelines.statements.rendering import OWN_IBAN, camt
from tests.pipelines.statements.test_hostile import CAMT
from tests.spec.browsing import IP, WEBFORM, Browser, appended, connecting, location
from tests.spec.test_statement_files import FILES, history
from tests.spec.test_webform import ORDER
from tests.support.stack import Customer, Stack, TenantUnderTest


@pytest.fixture(scope="module")
def n1(stack: Stack) -> TenantUnderTest:
    """A redirect tenant."""
    return stack.tenant(regulated=False)


@pytest.fixture
def customer(n1: TenantUnderTest) -> Customer:
    return n1.customer()


@pytest.fixture
def browser(stack: Stack, customer: Customer) -> Browser:
    """A browser at the page for files, for a new access."""
    found = Browser(stack).open(appended(connecting(customer))).send("accept").send("bank", bank=FILES)
    assert found.place == "upload"
    return found


def choose(browser: Browser, *contents: bytes, **fields: str) -> Browser:
    """Chooses files and sends the form of the page."""
    form = next(form for form in browser.read.forms if form.action.endswith("/upload"))
    data = {name: value for name, value in form.fields.items() if name != "datei"} | fields
    files = [("datei", (f"auszug-{number}.csv", content)) for number, content in enumerate(contents, 1)]
    cookies = {"Cookie": f"__Host-kontor-form={browser.cookie}"}
    answer = browser.stack.http.post(form.action, data=data, files=files or [("datei", ("", b""))], headers=cookies)
    assert answer.status_code == 303, answer.text
    return browser.open(answer.headers["location"])


def test_the_whole_way(customer: Customer, browser: Browser) -> None:
    assert choose(browser, camt(history(4))).place == "uploaded"
    assert "4 Umsätze, 4 neu" in browser.words
    assert "DE02 3705 0198 0001 8020 57" in browser.words
    assert "cancel" not in browser.moves
    assert choose(browser, camt(history(6))).place == "uploaded"
    assert "6 Umsätze, 2 neu" in browser.words
    assert browser.send("close").returned == {"kunde": "4711", "baReentry": "ACCOUNT_CREATED"}
    assert len(customer.bookings("bank", OWN_IBAN)) == 6


def test_a_file_that_is_no_statement_is_told_and_nothing_is_stored(customer: Customer, browser: Browser) -> None:
    assert choose(browser, CAMT, b"Sehr geehrte Damen und Herren").place == "upload"
    assert browser.complains
    assert "„auszug-2.csv“ ist kein Kontoauszug" in browser.words
    assert customer.read("/bankzugaenge") == {}
    assert choose(browser, CAMT).place == "uploaded"
    assert not browser.complains


def test_no_file_at_all(browser: Browser) -> None:
    assert choose(browser).place == "upload"
    assert "Sie haben noch keine Datei ausgewählt" in browser.words


def test_a_page_that_is_too_old_or_of_somebody_else_changes_nothing(customer: Customer, browser: Browser) -> None:
    assert choose(browser, CAMT, turn="0").place == "upload"
    form = next(form for form in browser.read.forms if form.action.endswith("/upload"))
    cookies = {"Cookie": f"__Host-kontor-form={browser.cookie}"}
    for token in ("", "x" * 64):
        data = {**form.fields, "token": token}
        data.pop("datei")
        answer = browser.stack.http.post(form.action, data=data, files={"datei": CAMT}, headers=cookies)
        assert answer.status_code == 400
    assert customer.read("/bankzugaenge") == {}


def test_without_a_session_nothing_is_read(http: httpx.Client) -> None:
    answer = http.post(f"{WEBFORM}/upload", files={"datei": CAMT})
    assert answer.status_code == 400
    assert "abgelaufen" in answer.text


def test_the_customer_can_choose_a_bank_instead_or_leave(customer: Customer, browser: Browser) -> None:
    assert browser.send("other").place == "banks"
    assert "Kontoauszug hochladen" in browser.open(f"{WEBFORM}/form?q=gibt+es+nicht").words
    assert browser.send("bank", bank=FILES).place == "upload"
    assert browser.send("cancel").returned["baReentry"] == "USER_CANCELLED"


def test_a_transfer_offers_no_files(customer: Customer, stack: Stack) -> None:
    answer = customer.call("POST", "/payment/single-transfer", headers=IP, json=ORDER)
    found = Browser(stack).open(appended(location(answer, stack)))
    if "accept" in found.moves:
        found.send("accept")
    assert "Kontoauszug hochladen" not in found.words
    assert found.post({**found.form("bank").fields, "bank": FILES}).place == "banks"
    assert found.complains


def test_an_access_that_came_meanwhile_is_not_touched(customer: Customer, browser: Browser) -> None:
    assert customer.call("POST", "/bankzugaenge", json={"bank": {"providerId": FILES}}).status_code == 201
    assert choose(browser, CAMT).returned["baReentry"] == "ERROR"
    assert customer.access("bank")["bankprodukte"] == []
