"""Statement files: `POST /customer/v2/bankzugaenge/{access}/kontoauszuege` and everything that follows from an upload."""

import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings

from pipelines.statements.reading import MAX_BYTES
from tests.pipelines.statements.rendering import OWN_IBAN, Line, camt, german_iban, mt940, sparkasse_csv
from tests.pipelines.statements.samples import OWN, SAMPLES
from tests.pipelines.statements.test_hostile import BOMBS, CAMT
from tests.pipelines.test_statement_merge import VIEWS, uploads
from tests.support.copies import Copy
from tests.support.stack import CUSTOMER, DEMO, Customer, Stack, TenantUnderTest
from warehouse import scopes
from warehouse.settings import Settings
from warehouse.stores import clients, webhooks
from warehouse.webhook_types import EventType

FILES = "00000000-0000-0000-0000-000000000002"
VOLKSBANK = next(sample for sample in SAMPLES if sample.format == "Volksbank")
N26 = next(sample for sample in SAMPLES if sample.format == "N26")


@pytest.fixture
def customer(r1: TenantUnderTest) -> Customer:
    return r1.customer()


def files_access(customer: Customer, key: str = "auszug", **more: Any) -> str:
    """The id of an access for statement files."""
    answer = customer.call("POST", "/bankzugaenge", json={key: {"providerId": FILES, **more}})
    assert answer.status_code == 201, answer.text
    return key


def upload(customer: Customer, *contents: bytes, key: str = "auszug", **query: Any) -> httpx.Response:
    files = [("datei", (f"umsatz-{number}.txt", content)) for number, content in enumerate(contents, 1)]
    return customer.call("POST", f"/bankzugaenge/{key}/kontoauszuege", files=files, params=query)


def uploaded(customer: Customer, *contents: bytes, **query: Any) -> dict[str, Any]:
    answer = upload(customer, *contents, **query)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def line(day: date, cents: int, text: str, name: str = "Markt", number: int = 1) -> Line:
    return Line(
        day, day, cents, name, german_iban(f"{number:018}"), "MARKDEF1100", text, "", "", "", "LASTSCHRIFT", "105", "0931"
    )


def history(days: int = 40, first: date = date(2026, 1, 1)) -> list[Line]:
    return [line(first + timedelta(days=day), -100 - day, f"Einkauf {day}") for day in range(days)]


def test_anonymous(http: httpx.Client) -> None:
    assert http.post(f"{CUSTOMER}/bankzugaenge/a/kontoauszuege", files={"datei": b"x"}).status_code == 401


def test_wrong_scope(http: httpx.Client, r1: TenantUnderTest) -> None:
    token = r1.bearer("app", "anna", scopes.CUSTOMER_READ)
    assert http.post(f"{CUSTOMER}/bankzugaenge/a/kontoauszuege", files={"datei": b"x"}, headers=token).status_code == 403


def test_an_access_needs_no_credentials_and_is_there_at_once(customer: Customer) -> None:
    key = files_access(customer)
    access = customer.access(key)
    assert (access["status"], access["bankprodukte"], access["messages"]) == ("VOLLSTAENDIG", [], [])
    assert customer.call("POST", "/bankzugaenge", json={key: {"providerId": FILES}}).status_code == 201
    relations = {relation["rel"]: relation["href"] for relation in access["relations"]}
    assert relations["add_kontoauszug"].endswith(f"/bankzugaenge/{key}/kontoauszuege")
    assert "start_sca" not in relations


def test_a_bank_still_needs_credentials(customer: Customer) -> None:
    answer = customer.call("POST", "/bankzugaenge", json={"bank": {"providerId": DEMO}})
    assert answer.status_code == 400
    assert answer.json()["messages"][0]["details"] == "bank.credentials: fehlt"


def test_a_redirect_tenant_adds_one_without_the_form(stack: Stack) -> None:
    customer = stack.tenant(regulated=False).customer()
    files_access(customer)
    assert uploaded(customer, CAMT)["neu"] == 3
    assert customer.call("POST", "/bankzugaenge", json={"bank": {"providerId": DEMO}}).status_code == 400


def test_an_upload_tells_what_it_brought(customer: Customer) -> None:
    files_access(customer)
    told = uploaded(customer, VOLKSBANK.content)
    ((account,),) = [file["konten"] for file in told["dateien"]]
    assert told["gespeichert"] is True
    assert told["dateien"][0]["datei"] == "umsatz-1.txt"
    assert (account["format"], account["iban"], account["bankprodukt"]) == ("Volksbank", OWN, OWN)
    assert (account["umsaetze"], account["neu"], account["bereitsVorhanden"]) == (2, 2, 0)
    assert (account["von"], account["bis"]) == (str(VOLKSBANK.rows[0][0]), str(VOLKSBANK.rows[-1][0]))
    assert account["neuesBankprodukt"] is True
    assert account["hinweise"] == []
    product = customer.read(f"/bankzugaenge/auszug/{OWN}")
    assert product["kategorie"] == "GIROKONTO"
    assert Decimal(str(product["saldo"])) * 100 == VOLKSBANK.closing
    assert product["transferSupport"] is False
    assert [booking["verwendungszweck"] for booking in customer.bookings("auszug", OWN)] == [
        row[4] for row in reversed(VOLKSBANK.rows)
    ]
    again = uploaded(customer, VOLKSBANK.content)
    assert again["neu"] == 0
    assert again["dateien"][0]["konten"][0]["bereitsVorhanden"] == 2


def test_balances_that_do_not_fit_are_a_warning(customer: Customer) -> None:
    files_access(customer)
    told = uploaded(customer, camt(history(3), opening=10_000, closing=10_000))
    (warning,) = told["dateien"][0]["konten"][0]["hinweise"]
    assert warning["art"] == "BALANCE"
    assert "97.00" in warning["hinweis"] or "96.97" in warning["hinweis"]
    english = customer.call(
        "POST",
        "/bankzugaenge/auszug/kontoauszuege",
        files={"datei": camt(history(3), opening=10_000, closing=10_000)},
        headers={"Accept-Language": "en"},
    ).json()
    assert english["dateien"][0]["konten"][0]["hinweise"][0]["hinweis"].startswith("Opening balance")


def test_a_dry_run_stores_nothing(customer: Customer) -> None:
    files_access(customer)
    told = uploaded(customer, CAMT, CAMT, dryRun="true")
    assert (told["gespeichert"], told["neu"]) == (False, 3)
    assert [file["konten"][0]["neu"] for file in told["dateien"]] == [3, 0]
    assert customer.access("auszug")["bankprodukte"] == []


def test_several_accounts_and_formats_in_one_upload(customer: Customer) -> None:
    """The account of MT940 has no IBAN, but its bank code and number; the CSV of N26 names no account at all."""
    files_access(customer)
    lines = history(6)
    told = uploaded(customer, mt940(lines[:4]).encode(), camt(lines[2:]), N26.content, sparkasse_csv(lines))
    assert [file["konten"][0]["neu"] for file in told["dateien"]] == [4, 2, len(N26.rows), 0]
    products = customer.access("auszug")["bankprodukte"]
    assert [product.get("iban") for product in products] == [OWN_IBAN, None]
    assert products[0]["inhaber"] == "Erika Muster"
    assert products[0]["kreditinstitut"] == "Sparkasse KölnBonn"
    assert len(customer.bookings("auszug", products[0]["id"])) == 6


def test_lines_of_an_unnamed_account_go_where_the_caller_says(customer: Customer) -> None:
    files_access(customer)
    assert uploaded(customer, N26.content, product="zweites")["dateien"][0]["konten"][0]["bankprodukt"] == "zweites"
    assert uploaded(customer, N26.content)["neu"] == len(N26.rows)
    assert {product["id"] for product in customer.access("auszug")["bankprodukte"]} == {"zweites", "N26"}
    for name in ("kein/Name", "consent"):
        assert upload(customer, N26.content, product=name).status_code == 400


def test_a_card_is_a_card(customer: Customer) -> None:
    files_access(customer)
    uploaded(customer, next(sample for sample in SAMPLES if sample.format == "DKB card").content)
    assert [product["kategorie"] for product in customer.access("auszug")["bankprodukte"]] == ["KREDITKARTE"]


@given(drawn=uploads())
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_stored_is_the_history(r1: TenantUnderTest, drawn: tuple[list[Line], list[tuple[str, list[Line]]]]) -> None:
    """Mixed formats, any order, overlaps; some files in one upload."""
    lines, files = drawn
    customer = r1.customer()
    files_access(customer)
    contents = [VIEWS[view](part) for view, part in files]
    uploaded(customer, *contents[: len(contents) // 2 + 1])
    for content in contents[len(contents) // 2 + 1 :]:
        uploaded(customer, content)
    (product,) = customer.access("auszug")["bankprodukte"]
    stored = Counter(
        (
            booking["buchungsdatum"][:10],
            int(Decimal(str(booking["betrag"])) * 100),
            booking.get("verwendungszweck"),
            booking.get("gegenkontoInhaber"),
        )
        for booking in customer.bookings("auszug", product["id"])
    )
    assert stored == Counter((str(item.booked_on), item.cents, item.purpose, item.name or None) for item in lines)


def test_parallel_uploads_double_nothing(customer: Customer) -> None:
    files_access(customer)
    lines = history(12)
    contents = [camt(lines[:8]), sparkasse_csv(lines[2:]), mt940(lines).encode(), camt(lines[4:])]
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda content: upload(customer, content), contents))
    assert [answer.status_code for answer in answers] == [200] * 4
    assert sum(answer.json()["neu"] for answer in answers) == 12
    (product,) = customer.access("auszug")["bankprodukte"]
    assert len(customer.bookings("auszug", product["id"])) == 12


def test_ids_stay_and_the_richer_view_is_taken(customer: Customer) -> None:
    files_access(customer)
    lines = [replace(item, eref=f"E{number}") for number, item in enumerate(history(4))]
    uploaded(customer, sparkasse_csv(lines))
    before = customer.bookings("auszug", OWN_IBAN)
    assert "gvCode" not in before[0]
    uploaded(customer, camt(lines, "08"))
    after = customer.bookings("auszug", OWN_IBAN)
    assert [booking["id"] for booking in after] == [booking["id"] for booking in before]
    assert {booking["gvCode"] for booking in after} == {"105"}
    uploaded(customer, sparkasse_csv(lines))
    assert customer.bookings("auszug", OWN_IBAN) == after


# What follows


def salaries(first: date, months: int) -> list[Line]:
    """A salary, a rent and a subscription, month after month."""
    found = []
    for number in range(months):
        day = date(first.year + (first.month - 1 + number) // 12, (first.month - 1 + number) % 12 + 1, 1)
        found += [
            line(day, 250_000, "Lohn Gehalt", "Muster GmbH", 7),
            line(day + timedelta(days=1), -80_000, "Miete Wohnung", "Wohnbau eG", 8),
            line(day + timedelta(days=4), -1299, "Netflix Abo", "Netflix International B.V.", 9),
        ]
    return found


def test_tags_analyses_and_changes_follow(customer: Customer) -> None:
    """As of the last day of the file: contracts have not ended since."""
    files_access(customer)
    copy = Copy(customer)
    copy.follow()
    uploaded(customer, camt(salaries(date(2025, 1, 1), 12)))
    copy.follow()
    assert len(copy.bookings) == 36
    tagged = customer.bookings("auszug", OWN_IBAN, tag="true")
    assert {tag["tagTreeItem"]["systemName"] for booking in tagged for tag in booking["tags"]} >= {"HOUSING_RENT"}
    contracts = customer.read("/ai/contracts")
    assert len(contracts) >= 3
    assert {contract["details"]["status"] for contract in contracts} == {"ACTIVE"}


def test_webhooks_are_told_as_after_a_fetch(stack: Stack) -> None:
    tenant = stack.tenant()
    customer = tenant.customer()
    types = [EventType.FIRST_FETCH_DONE, EventType.NEW_TRANSACTIONS]
    with stack.database.acting_for(tenant.tenant_id) as owner:
        address, private = "http://127.0.0.1:9/hook", Settings(webhook_private_addresses=True)
        webhooks.register(owner, stack.vault, clients.find(owner, "app"), address, private, types=types)
    files_access(customer)
    uploaded(customer, camt(history(3)))
    uploaded(customer, camt(history(3)))
    uploaded(customer, camt(history(5)))
    find = "SELECT type FROM webhook_events WHERE user_id = :user ORDER BY serial"
    assert [row[0] for row in stack.sql(find, user=customer.user_id)] == types


def test_no_schedule_and_no_refresh_touches_it(customer: Customer, stack: Stack) -> None:
    from datetime import UTC, datetime

    from pipelines.context import Context
    from pipelines.fetching import refresh

    files_access(customer)
    uploaded(customer, CAMT)
    assert customer.refresh("auszug").status_code == 201
    context = Context.of(Settings(home=stack.home, database_url=stack.where.service))
    refresh.enqueue_due(context, datetime.now(UTC) + timedelta(days=1))
    context.database.close()
    find = "SELECT fetch_id, slot_at, issues FROM accesses WHERE user_id = :user"
    assert [tuple(row) for row in stack.sql(find, user=customer.user_id)] == [(None, None, [])]
    assert stack.sql("SELECT 1 FROM bank_sessions WHERE user_id = :user", user=customer.user_id) == []


def test_there_is_nothing_to_consent_to_or_to_pay_from(customer: Customer) -> None:
    files_access(customer)
    uploaded(customer, CAMT)
    headers, query = {"Customer-IP-Address": "84.112.10.7"}, {"callbackUrl": "https://app.example.de/back"}
    assert customer.call("POST", "/bankzugaenge/auszug/consent", headers=headers, params=query).status_code == 409
    details = {"recipient": "A", "iban": OWN_IBAN, "bic": None, "amount": 1, "currency": "EUR", "purpose": "x"}
    order = {"instant": False, "transferDetails": details}
    path = f"/bankzugaenge/auszug/{OWN_IBAN}/payment/single-transfer"
    answer = customer.call("POST", path, headers=headers, params=query, json=order)
    assert answer.status_code == 409
    assert "keine Bank" in answer.json()["messages"][0]["details"]


def test_an_access_of_a_bank_takes_no_files(customer: Customer) -> None:
    customer.connected("demo3", key="bank")
    before = customer.access("bank")
    assert upload(customer, CAMT, key="bank").status_code == 409
    assert customer.access("bank") == before


def test_no_other_tenant_and_no_other_user_reaches_it(customer: Customer, r1: TenantUnderTest, r2: TenantUnderTest) -> None:
    files_access(customer, "meiner")
    for stranger in (r1.customer(), r2.customer()):
        assert upload(stranger, CAMT, key="meiner").status_code == 404
        files_access(stranger, "meiner")
        assert uploaded(stranger, CAMT, key="meiner")["neu"] == 3
    assert customer.access("meiner")["bankprodukte"] == []


def test_data_without_sync_end(customer: Customer, stack: Stack) -> None:
    files_access(customer, sync=False)
    uploaded(customer, CAMT)
    assert "timeout" in customer.access("auszug")


# Files that are none


FAULTS: dict[str, tuple[bytes, str]] = {
    "amount": (VOLKSBANK.content.replace(b"-850,00", b"viel"), "enthält einen ungültigen Betrag, Zeile 2"),
    "nothing": (b"", "ist leer"),
    "a PDF": (BOMBS["a PDF"], "ist kein Kontoauszug"),
    "an archive": (BOMBS["an archive"], "ist ein Archiv"),
    "a bomb": (BOMBS["a billion laughs"], "DOCTYPE"),
    "a cut file": (CAMT[:-20], "ist fehlerhaft aufgebaut, Zeile 2"),
    "a day to come": (camt([line(date(2199, 1, 1), -1, "x")]), "nicht stimmen kann"),
    "a currency": (CAMT.replace(b'Ccy="EUR"', b'Ccy="QQQ"').replace(b"<Ccy>EUR", b"<Ccy>QQQ"), "nicht stimmen kann"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_file_that_is_no_statement_is_told_with_reason_and_line(customer: Customer, name: str) -> None:
    content, reason = FAULTS[name]
    files_access(customer)
    answer = upload(customer, CAMT, content)
    assert answer.status_code == 400, answer.text
    (message,) = answer.json()["messages"]
    assert message["code"] == "BA400"
    assert message["details"].startswith("datei: „umsatz-2.txt“ ")
    assert reason in message["details"]
    assert answer.headers["X-Correlation-ID"]
    assert customer.access("auszug")["bankprodukte"] == [], "nothing of the good file was stored"


@pytest.mark.parametrize("name", sorted(set(BOMBS) - {"a PDF", "a billion laughs", "an archive"}))
def test_hostile_files_are_refused(customer_of_bombs: Customer, name: str) -> None:
    answer = upload(customer_of_bombs, BOMBS[name])
    assert answer.status_code == 400, name


@pytest.fixture(scope="module")
def customer_of_bombs(r1: TenantUnderTest) -> Customer:
    customer = r1.customer()
    files_access(customer)
    return customer


def test_others_are_served_while_a_costly_file_is_read(customer: Customer, http: httpx.Client, stack: Stack) -> None:
    """Reading leaves the event loop: short requests do not wait for it."""
    import threading

    files_access(customer)
    content = BOMBS["SWIFT subfields"]
    with httpx.Client(base_url=stack.base_url, timeout=60) as client:
        answers: list[int] = []
        path = f"{CUSTOMER}/bankzugaenge/auszug/kontoauszuege"
        senders = [
            threading.Thread(
                target=lambda: answers.append(client.post(path, files={"datei": content}, headers=customer.bearer).status_code)
            )
            for _ in range(3)
        ]
        for sender in senders:
            sender.start()
        slowest = 0.0
        while any(sender.is_alive() for sender in senders):
            started = time.perf_counter()
            assert http.get("/health").status_code == 200
            slowest = max(slowest, time.perf_counter() - started)
        for sender in senders:
            sender.join()
    assert answers == [400] * 3
    assert slowest < 3


def test_a_body_beyond_the_limit(customer: Customer) -> None:
    files_access(customer)
    answer = upload(customer, b"x" * (MAX_BYTES + 100_000))
    assert answer.status_code == 413
    assert upload(customer, b"x" * (MAX_BYTES - 1)).status_code == 400


def test_too_many_lines(customer: Customer) -> None:
    header = "Buchung;Wertstellungsdatum;Auftraggeber/Empfänger;Buchungstext;Verwendungszweck;Saldo;Währung;Betrag;Währung\n"
    row = "01.01.2026;01.01.2026;A;B;C;1,00;EUR;-1,00;EUR\n"
    files_access(customer)
    answer = upload(customer, (header + row * 50_001).encode())
    assert answer.status_code == 400
    assert "mehr als 50.000" in answer.json()["messages"][0]["details"]


BOUNDARY = b"grenze"
PART = b'--grenze\r\nContent-Disposition: form-data; name="datei"; filename="a.csv"\r\n\r\nx\r\n'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        PART,
        PART + b"--grenze",
        PART[2:] + b"--grenze--\r\n",
        b"--grenze\r\nContent-Disposition: form-data\r\n\r\nx\r\n--grenze--\r\n",
        b"--grenze\r\n\r\n\r\n--grenze--\r\n",
        b"--grenze\r\nX: " + b"y" * 5000 + b"\r\n\r\nx\r\n--grenze--\r\n",
        b'--grenze\r\nContent-Disposition: form-data; name="d\xff"\r\n\r\nx\r\n--grenze--\r\n',
        PART * 40 + b"--grenze--\r\n",
        b"--grenze--\r\n",
        b'--grenze\r\nContent-Disposition: form-data; name="andere"; filename="a"\r\n\r\nx\r\n--grenze--\r\n',
    ],
)
def test_a_malformed_form_is_refused(customer: Customer, body: bytes) -> None:
    files_access(customer)
    headers = {"Content-Type": "multipart/form-data; boundary=grenze"}
    answer = customer.call("POST", "/bankzugaenge/auszug/kontoauszuege", content=body, headers=headers)
    assert answer.status_code == 400, answer.text


@pytest.mark.parametrize(
    "kind", ["application/json", "text/csv", "multipart/form-data", "multipart/form-data; boundary=" + "x" * 71]
)
def test_another_type_of_body_is_refused(customer: Customer, kind: str) -> None:
    files_access(customer)
    answer = customer.call("POST", "/bankzugaenge/auszug/kontoauszuege", content=b"{}", headers={"Content-Type": kind})
    assert answer.status_code == 415


def test_a_name_of_a_file_is_shown_and_nothing_else(customer: Customer) -> None:
    files_access(customer)
    name = "..\\..\\etc/passwd<script>" + "x" * 200
    told = customer.call("POST", "/bankzugaenge/auszug/kontoauszuege", files={"datei": (name, CAMT)})
    assert told.json()["dateien"][0]["datei"] == ("passwd<script>" + "x" * 200)[:100]


def test_a_file_of_an_unknown_access(customer: Customer) -> None:
    assert upload(customer, CAMT, key=uuid.uuid4().hex).status_code == 404
