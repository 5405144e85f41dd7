"""The demo at `/demo`: a newcomer connects a bank, comes back, and sees what the public interface tells of the money."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from api.demo_app import tenant as demo_tenant
from api.demo_app.texts import REENTRY
from pipelines import demo_tenants
from tests.pipelines.statements.rendering import camt
from tests.spec.test_statement_files import salaries
from tests.support.stack import Stack, wait_until
from warehouse.inputs import naming
from warehouse.settings import Settings
from warehouse.stores import users

OWN = {"Sec-Fetch-Site": "same-origin"}
TENANT = "demo-redirect"
INLINE = re.compile(r"\sstyle=|<style|\son\w+=|javascript:|<script(?! src=)")
PARTS = re.compile(r'id="(\w+)-teil"')


@pytest.fixture(scope="module")
def seeded(stack: Stack) -> dict[str, Any]:
    """The demo, as `kontor up` makes it."""
    content = demo_tenants.seed(stack.database, stack.vault, stack.base_url, stack.home / "demo.json", datetime.now(UTC))
    stack.private |= {client["secret"] for tenant in content["tenants"] for client in tenant["clients"].values()}
    return content


@pytest.fixture
def browser(stack: Stack, seeded: dict[str, Any]) -> Iterator[httpx.Client]:
    """A visitor's browser, which follows no redirects by itself."""
    with httpx.Client(base_url=stack.base_url, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def visitor(stack: Stack, seeded: dict[str, Any]) -> Iterator[httpx.Client]:
    """The browser of a visitor who has connected the demo bank's first customer."""
    with httpx.Client(base_url=stack.base_url, timeout=60) as client:
        connect(stack, client)
        username = username_of(stack, client)
        (tenant_id,) = stack.sql("SELECT id FROM tenants WHERE name = :name", name=TENANT)[0]
        with stack.database.acting_for(tenant_id) as owner:
            user = users.find_by_name(owner, username)
            assert user is not None
            people = [{"username": "erika", "userReference": str(user.id)}]
        settings = Settings(home=stack.home)
        demo_tenants.connect_customers(stack.database, stack.vault, settings, {"tenants": [{"name": TENANT, "users": people}]})
        wait_until(lambda: "Netflix" in client.get("/demo/overview").text, 60, lambda: client.get("/demo/overview").text)
        yield client


def username_of(stack: Stack, browser: httpx.Client) -> str:
    """The user behind the cookie of a visitor, which only the tenant can tell."""
    tenant = demo_tenant.read(stack.home / "demo.json", stack.base_url)
    assert tenant is not None
    return tenant.username_of(browser.cookies["kontor-demo"])


def connect(stack: Stack, browser: httpx.Client) -> httpx.Response:
    """Presses the button on the welcome page."""
    answer = browser.post("/demo/connect", headers=OWN)
    assert answer.status_code == 303, answer.text
    stack.private |= set(browser.cookies.values())
    return answer


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/demo"), ("POST", "/demo/connect"), ("DELETE", "/demo"), ("GET", "/demo/static/demo.css")]
)
def test_where_there_is_no_demo_the_addresses_are_unknown(
    stack: Stack, browser: httpx.Client, tmp_path: Path, method: str, path: str
) -> None:
    credentials = stack.home / "demo.json"
    aside = credentials.rename(stack.home / "demo.aside")
    try:
        answer = browser.request(method, path, headers=OWN)
    finally:
        aside.rename(credentials)
    assert answer.status_code == 404
    assert answer.json()["messages"][0]["code"] == "BA404"


def test_the_welcome_page_says_how_to_begin_and_leaves_no_trace(browser: httpx.Client) -> None:
    answer = browser.get("/demo")
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    assert "form-action 'self'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert not INLINE.search(answer.text)
    for words in ("Meine Bank verbinden", "demo1", "TAN", "Wessen Konto", "Renate Vogt", "nur die Demobanken erreichbar"):
        assert words in answer.text


def test_connecting_leads_to_the_form_and_back(stack: Stack, browser: httpx.Client) -> None:
    answer = connect(stack, browser)
    address = urlsplit(answer.headers["location"])
    query = parse_qs(address.query)
    assert f"{address.scheme}://{address.netloc}{address.path}" == f"{stack.base_url}/customer/v2/webform"
    assert query["useCase"] == ["CREATE_ACCOUNT"]
    assert query["callbackUrl"] == [f"{stack.base_url}/demo/back"]
    stack.private |= set(query["session"])
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    known = browser.cookies["kontor-demo"]
    connect(stack, browser)
    assert browser.cookies["kontor-demo"] == known


def test_the_cookie_is_a_random_id_that_tells_nothing(stack: Stack, browser: httpx.Client) -> None:
    connect(stack, browser)
    (cookie,) = browser.cookies.values()
    assert re.fullmatch(r"[0-9a-f]{32}", cookie)
    (tenant_id,) = stack.sql("SELECT id FROM tenants WHERE name = :name", name=TENANT)[0]
    names = [name for (name,) in stack.sql("SELECT username FROM users WHERE tenant_id = :tenant", tenant=tenant_id)]
    assert username_of(stack, browser) in names
    assert not any(cookie in name for name in names), "who sees the users cannot make their cookies"


@pytest.mark.parametrize(
    "headers", [{}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"}]
)
@pytest.mark.parametrize("path", ["connect", "disconnect", "transfer", "people", "what-if", "bookings/1"])
def test_a_form_of_another_page_does_nothing(browser: httpx.Client, path: str, headers: dict[str, str]) -> None:
    answer = browser.post(f"/demo/{path}", headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert "Das kam nicht von dieser Seite." in answer.text


def test_a_browser_that_tells_no_site_is_known_by_its_origin(stack: Stack, browser: httpx.Client) -> None:
    answer = browser.post("/demo/connect", headers={"Origin": stack.base_url})
    assert answer.status_code == 303
    stack.private |= set(browser.cookies.values())


def test_who_connected_a_bank_comes_back_to_the_overview(browser: httpx.Client) -> None:
    assert browser.get("/demo/back?baReentry=ACCOUNT_CREATED").headers["location"] == "/demo/overview"
    assert browser.get("/demo/back?baReentry=FINISHED").headers["location"] == "/demo/overview?done=1"


@pytest.mark.parametrize("value", sorted(set(REENTRY) - {"ACCOUNT_CREATED", "FINISHED"}))
def test_every_other_way_back_is_explained(browser: httpx.Client, value: str) -> None:
    answer = browser.get("/demo/back", params={"baReentry": value})
    assert answer.status_code == 200
    assert REENTRY[value].title.de in answer.text
    assert "Meine Bank verbinden" in answer.text


def test_an_unknown_way_back_is_not_repeated(browser: httpx.Client) -> None:
    answer = browser.get("/demo/back", params={"baReentry": "<b>x</b>"})
    assert REENTRY["ERROR"].title.de in answer.text
    assert "<b>x" not in answer.text


def test_the_overview_shows_what_the_interface_tells(visitor: httpx.Client) -> None:
    page = visitor.get("/demo/overview").text
    for words in (
        *("Guten Tag, Erika Muster", "Tagesgeld", "DE07 3705 0198 1029 3847 56"),
        *("Frei verfügbar", "Netflix", "Monatlich", "Kategorie ändern", "Kündigen:"),
        *("Wofür das Geld geht", "Haushaltsrechnung", "Zur Miete", "Kreditrisiko, erklärt", "Was wäre, wenn"),
        "Überweisung ausprobieren",
    ):
        assert words in page, words
    assert "Sparpotenzial" not in page, "an occasion for an offer is nothing for customers"
    assert re.search(r"\d\.\d{3},\d\d\N{NO-BREAK SPACE}€", page)
    assert not INLINE.search(page)
    assert "data-pending" not in page


def test_the_tenant_sees_requests_and_answers(visitor: httpx.Client) -> None:
    page = visitor.get("/demo/overview?view=tenant").text
    for words in ("/customer/v2/ai/contracts", "X-Analysis-Source", "Sparpotenzial", "&#34;riskClass&#34;", " ms</span>"):
        assert words in page, words
    assert not INLINE.search(page)


def test_pages_are_in_the_language_of_the_visitor(visitor: httpx.Client) -> None:
    german = visitor.get("/demo/overview", headers={"Accept-Language": "de"})
    english = visitor.get("/demo/overview", headers={"Accept-Language": "en"})
    assert (german.headers["content-language"], english.headers["content-language"]) == ("de", "en")
    assert "Hello, Erika Muster" in english.text
    assert re.search(r"€\d,\d{3}\.\d\d", english.text)
    assert '<html lang="en">' in english.text
    for words in ("Groceries", "payments, monthly", "as last time", "Level of income"):
        assert words in english.text, words
    for words in ("Lebensmittel", "Zahlungen, monatlich", "wie zuletzt", "Höhe des Einkommens"):
        assert words in german.text, words
        assert words not in english.text, words
    chosen = visitor.get("/demo?lang=en")
    assert "kontor-demo-language=en" in chosen.headers["set-cookie"]
    assert "Whose account would you like to see?" in visitor.get("/demo").text
    visitor.get("/demo?lang=de")
    assert "Wessen Konto" in visitor.get("/demo").text
    visitor.cookies.delete("kontor-demo-language")


def bytes_on_the_wire(browser: httpx.Client, address: str) -> int:
    """How many bytes the body of an answer has as it travels."""
    with browser.stream("GET", address, headers={"Accept-Encoding": "gzip"}) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        return sum(len(part) for part in answer.iter_raw())


@pytest.mark.parametrize("address", ["/demo", "/demo/overview", "/demo/overview?all=1", "/demo/overview?view=tenant&all=1"])
@pytest.mark.parametrize("language", ["de", "en"])
def test_a_page_with_all_it_loads_is_light(visitor: httpx.Client, address: str, language: str) -> None:
    page = visitor.get(address, headers={"Accept-Encoding": "identity", "Accept-Language": language})
    assert "content-encoding" not in page.headers
    loaded = set(re.findall(r"/demo/static/[^\"]+", page.text))
    assert len(loaded) == 3
    assert sum(bytes_on_the_wire(visitor, name) for name in (address, *loaded)) < 150_000


def test_the_first_page_is_light_without_compression_too(visitor: httpx.Client) -> None:
    plain = {"Accept-Encoding": "identity"}
    for address in ("/demo", "/demo/overview"):
        page = visitor.get(address, headers=plain)
        loaded = set(re.findall(r"/demo/static/[^\"]+", page.text))
        assert len(page.content) + sum(len(visitor.get(name, headers=plain).content) for name in loaded) < 150_000


GERMAN_WORDS = re.compile(
    r"\b(und|oder|der|die|das|eine?|nicht|von|bis|seit|wird|Monat\w*|Zahlung\w*|Buchung\w*|Vertr\w+|\w+ung(en)?)\b"
)


def own_words(page: str) -> list[str]:
    """The lines that a page says itself: without names of partners, what banks wrote (`lang`), and words that reasons quote."""
    page = re.sub(r"<(style|script|svg|pre)\b.*?</\1>", " ", page, flags=re.S)
    page = re.sub(r'<(\w+)[^>]*(?:lang="de"|class="row-name")[^>]*>.*?</\1>|“[^”]*”', " ", page, flags=re.S)
    return [line for line in (" ".join(text.split()) for text in re.sub(r"<[^>]+>", "\n", page).splitlines()) if line]


def test_english_pages_are_english(visitor: httpx.Client) -> None:
    """But for names: those of accounts are the bank's, those of partners their own."""
    answer = visitor.get("/demo/overview?all=1&view=tenant", headers={"Accept-Language": "en"})
    assert answer.headers["content-language"] == "en"
    lines = own_words(answer.text)
    assert len(lines) > 300
    german = {line for line in lines if GERMAN_WORDS.search(line)}
    assert german == set()


def booking_of(page: str, name: str) -> str:
    """The id of the first booking with a partner of this name."""
    match = re.search(rf'id="b-([0-9a-f-]{{36}})">(?:(?!</summary>).)*<span class="row-name">{name}</span>', page, re.DOTALL)
    assert match, name
    return match[1]


def test_a_correction_changes_what_follows_from_it(visitor: httpx.Client) -> None:
    page = visitor.get("/demo/overview?all=1").text
    booking = booking_of(page, "Netflix")
    form = visitor.get(f"/demo/bookings/{booking}").text
    assert '<option value="RECREATION_ONLINE" selected>' in form
    assert '<span class="row-name">Netflix</span>' in form
    assert "INCOME_SALARY" not in form
    answer = visitor.post(f"/demo/bookings/{booking}", headers=OWN, data={"category": "EDUCATION_TRAINING", "all": "1"})
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/demo/overview?corrected=1#b-{booking}"
    assert "eigene Wahl" in visitor.get("/demo/overview?all=1&corrected=1").text
    live = visitor.post(
        f"/demo/bookings/{booking}", headers={**OWN, "X-Live": "1"}, data={"category": "RECREATION_ONLINE", "all": "1"}
    )
    assert live.status_code == 200
    first, whole = PARTS.findall(live.text), PARTS.findall(visitor.get("/demo/overview").text)
    assert set(first) >= {"buchungen", "vertraege", "cashflow", "kategorien"}, "the page shows first what a correction changes"
    assert set(whole) > set(first)


def test_a_category_of_the_other_sign_is_refused(visitor: httpx.Client) -> None:
    booking = booking_of(visitor.get("/demo/overview?all=1").text, "Netflix")
    answer = visitor.post(f"/demo/bookings/{booking}", headers=OWN, data={"category": "INCOME_SALARY"})
    assert "Die Kategorie wurde nicht geändert." in answer.text
    assert visitor.get("/demo/bookings/00000000-0000-4000-8000-000000000000").status_code == 404


def test_what_would_be_if_stands_beside_what_is(visitor: httpx.Client) -> None:
    page = visitor.post("/demo/what-if", headers=OWN, data={"instalment": "250", "child": "1"}).text
    assert "Neue Rate von 250,00\N{NO-BREAK SPACE}€ im Monat" in page
    assert "\N{MINUS SIGN}477\N{NO-BREAK SPACE}€" in page, "250 and 486 less 259"
    assert "Das lässt sich nicht rechnen." in visitor.post("/demo/what-if", headers=OWN, data={"rent": "viel"}).text
    assert "Das lässt sich nicht rechnen." in visitor.post("/demo/what-if", headers=OWN, data={"rent": "100001"}).text


def test_the_welcome_page_knows_who_is_connected(visitor: httpx.Client) -> None:
    page = visitor.get("/demo").text
    assert "Zu meiner Übersicht" in page
    assert "Weitere Bank verbinden" in page


@pytest.mark.parametrize("amount", ["", "zwölf", "-3"])
def test_a_transfer_of_no_amount_is_refused_with_what_was_typed(visitor: httpx.Client, amount: str) -> None:
    typed = {
        "account": "demo/DE07370501981029384756",
        "recipient": '"><b>Karl',
        "iban": "DE02120300000000202051",
        "amount": amount,
    }
    page = visitor.post("/demo/transfer", headers=OWN, data=typed).text
    assert "Die Überweisung wurde nicht angenommen." in page
    assert "&#34;&gt;&lt;b&gt;Karl" in page


def test_what_the_service_does_not_like_about_a_transfer_is_told(visitor: httpx.Client) -> None:
    typed = {"account": "demo/DE07370501981029384756", "recipient": "Karl", "iban": "DE00", "amount": "3", "purpose": "Dank"}
    assert "IBAN: ist keine gültige IBAN" in visitor.post("/demo/transfer", headers=OWN, data=typed).text
    answer = visitor.post("/demo/transfer", headers=OWN, data={**typed, "iban": "DE02 1203 0000 0000 2020 51"})
    assert answer.status_code == 303
    assert parse_qs(urlsplit(answer.headers["location"]).query)["useCase"] == ["SINGLE_TRANSFER"]


@pytest.mark.parametrize("path", ["/demo/overview", "/demo"])
def test_a_visitor_of_an_earlier_demo_begins_anew(browser: httpx.Client, path: str) -> None:
    answer = browser.get(path, headers={"Cookie": f"kontor-demo={'0' * 32}"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/demo"
    assert "max-age=0" in answer.headers["set-cookie"].lower()


def test_who_has_no_bank_yet_is_led_to_the_beginning(stack: Stack, browser: httpx.Client) -> None:
    assert browser.get("/demo/overview").headers["location"] == "/demo"
    connect(stack, browser)
    assert browser.get("/demo/overview").headers["location"] == "/demo"


def test_another_name_of_this_machine_leads_to_the_known_one(stack: Stack, browser: httpx.Client) -> None:
    port = urlsplit(stack.base_url).port
    answer = browser.get("/demo/back?baReentry=ERROR", headers={"Host": f"localhost:{port}"})
    assert answer.status_code == 307
    assert answer.headers["location"] == f"{stack.base_url}/demo/back?baReentry=ERROR"


def test_the_files_of_the_pages_can_be_kept(browser: httpx.Client) -> None:
    for address in re.findall(r"/demo/static/[^\"]+", browser.get("/demo").text):
        answer = browser.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
    assert browser.get("/demo/static/..%2Fapp.py").status_code == 404


def test_the_demos_own_address_is_one_to_come_back_to(stack: Stack, seeded: dict[str, Any]) -> None:
    find = "SELECT url FROM callback_urls JOIN tenants ON tenants.id = tenant_id WHERE tenants.name = :name"
    assert any(naming.is_below(f"{stack.base_url}/demo/back", url) for (url,) in stack.sql(find, name=TENANT))


def test_disconnecting_deletes_what_was_fetched(visitor: httpx.Client) -> None:
    assert visitor.post("/demo/disconnect", headers=OWN).headers["location"] == "/demo"
    assert visitor.get("/demo/overview").headers["location"] == "/demo"


class TestOwnStatements:
    """A visitor's own file, from the first page to the analyses."""

    def upload(self, browser: httpx.Client, content: bytes) -> httpx.Response:
        return browser.post("/demo/upload", files={"datei": ("umsaetze.csv", content)}, headers=OWN)

    def test_from_the_first_page_to_the_analyses(self, stack: Stack, browser: httpx.Client) -> None:
        assert "eigenen Kontoauszug hochladen" in browser.get("/demo").text
        answer = self.upload(browser, camt(salaries(datetime(2025, 11, 1, tzinfo=UTC).date(), 12)))
        assert answer.status_code == 303, answer.text
        assert answer.headers["location"] == "/demo/overview?new=36"
        stack.private |= set(browser.cookies.values())
        page = browser.get("/demo/overview?new=36").text
        for word in ("36 neue Umsätze", "Netflix", "Sparkasse KölnBonn", "Weiteren Kontoauszug hochladen"):
            assert word in page
        report = browser.get("/demo/report")
        assert "Monatsbericht" in report.text
        assert "default-src 'none'" in report.headers["content-security-policy"]
        file = browser.get("/demo/report?format=pdf")
        assert file.headers["content-type"] == "application/pdf"
        assert file.content.startswith(b"%PDF-")
        again = self.upload(browser, camt(salaries(datetime(2025, 11, 1, tzinfo=UTC).date(), 12)))
        assert again.headers["location"] == "/demo/overview?new=0"
        assert browser.post("/demo/disconnect", headers=OWN).status_code == 303
        assert browser.get("/demo/overview").status_code == 303

    def test_a_file_that_is_no_statement(self, browser: httpx.Client) -> None:
        answer = self.upload(browser, b"%PDF-1.7")
        assert answer.status_code == 200
        assert "Diese Datei können wir nicht lesen" in answer.text
        assert "„umsaetze.csv“ ist kein Kontoauszug" in answer.text

    def test_a_file_that_is_too_large(self, browser: httpx.Client) -> None:
        assert self.upload(browser, b"x" * (11 * 2**20)).status_code == 413

    def test_only_from_our_own_page(self, browser: httpx.Client) -> None:
        assert browser.post("/demo/upload", files={"datei": b"x"}).status_code == 403


class TestPeople:
    """A visitor who is one of the eight people of the demo bank."""

    def test_one_press_shows_the_life_of_somebody(self, stack: Stack, browser: httpx.Client) -> None:
        answer = browser.post("/demo/people", headers=OWN, data={"person": "demo3"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/demo/overview")
        stack.private |= set(browser.cookies.values())
        assert re.fullmatch(r"p[0-9a-f]{32}", browser.cookies["kontor-demo"])
        wait_until(lambda: "data-pending" not in browser.get("/demo/overview").text, 60)
        page = browser.get("/demo/overview").text
        assert "Guten Tag, Lukas Klein" in page
        assert "Überweisung ausprobieren" not in page, "regulated tenants confirm payments in their own app"
        assert browser.post("/demo/connect", headers=OWN).status_code == 303
        stack.private |= set(browser.cookies.values())
        assert re.fullmatch(r"[0-9a-f]{32}", browser.cookies["kontor-demo"]), "the form is for another visitor"

    @pytest.mark.parametrize("person", ["", "demo9", "household1"])
    def test_nobody_else_can_be_chosen(self, browser: httpx.Client, person: str) -> None:
        answer = browser.post("/demo/people", headers=OWN, data={"person": person})
        assert answer.status_code == 404
        assert "set-cookie" not in answer.headers

    def test_a_person_of_an_earlier_demo_begins_anew(self, browser: httpx.Client) -> None:
        answer = browser.get("/demo/overview", headers={"Cookie": f"kontor-demo=p{'0' * 32}"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/demo")
