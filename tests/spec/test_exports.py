"""Exports: `GET /customer/v2/export` and the report of a month."""

import csv
import io
import re
from collections import Counter
from datetime import date
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from pypdf import PdfReader

from pipelines.statements.reading import read
from tests.pipelines.statements.rendering import OWN_IBAN, Line, camt
from tests.pipelines.test_statement_merge import days_of_lines
from tests.spec.test_own_products import OWN
from tests.spec.test_statement_files import files_access, line, salaries, uploaded
from tests.support.stack import CUSTOMER, Customer, TenantUnderTest
from warehouse import scopes

PATHS = ("/export", "/report")


@pytest.fixture(scope="module")
def customer(r1: TenantUnderTest) -> Customer:
    """A customer with a year of a household, and with an account of its own that has one booking."""
    found = r1.customer()
    files_access(found)
    lines = [*salaries(date(2025, 11, 1), 12), line(date(2026, 10, 20), -4990, "=HYPERLINK()", "<b>Markt & Söhne</b>", 5)]
    uploaded(found, camt(lines, "08", opening=100_000))
    found.call("POST", "/bankzugaenge", json={"eigene": {"providerId": OWN}})
    found.call(
        "POST", "/bankzugaenge/eigene/bankprodukte", json={"id": "kasse", "bezeichnung": "Kasse", "kategorie": "SPARKONTO"}
    )
    booking = {
        "betrag": -3.5,
        "buchungsdatum": "2026-10-02 00:00:00",
        "verwendungszweck": "Kaffee",
        "identifier": {"batchId": "b"},
    }
    assert found.call("POST", "/bankzugaenge/eigene/kasse/kontoumsaetze", json=[booking]).status_code == 201
    return found


def export(customer: Customer, **query: str) -> httpx.Response:
    answer = customer.get("/export", params=query)
    assert answer.status_code == 200, answer.text
    return answer


@pytest.mark.parametrize("path", PATHS)
def test_anonymous(http: httpx.Client, path: str) -> None:
    assert http.get(CUSTOMER + path).status_code == 401


@pytest.mark.parametrize("path", PATHS)
def test_wrong_scope(http: httpx.Client, r1: TenantUnderTest, path: str) -> None:
    assert http.get(CUSTOMER + path, headers=r1.bearer("app", "anna", scopes.CUSTOMER_MODIFY)).status_code == 403


def test_json_has_everything(customer: Customer) -> None:
    answer = export(customer)
    assert answer.headers["Content-Type"] == "application/json"
    assert re.fullmatch(r'attachment; filename="kontor-\d{4}-\d\d-\d\d\.json"', answer.headers["Content-Disposition"])
    body = answer.json()
    assert body["bankzugaenge"] == customer.read("/bankzugaenge")
    for access, product in (("auszug", OWN_IBAN), ("eigene", "kasse")):
        assert body["kontoumsaetze"][access][product] == customer.bookings(access, product)[::-1]


def test_camt_can_be_uploaded_again(customer: Customer, r1: TenantUnderTest) -> None:
    answer = export(customer, format="camt")
    assert answer.headers["Content-Type"].startswith("application/xml")
    statements = read(answer.content)
    assert [statement.account.iban or statement.account.number for statement in statements] == [OWN_IBAN, "kasse"]
    assert statements[0].closing is not None
    assert content(customer, r1, answer.content) == content_of(customer)


def test_csv_can_be_uploaded_again_and_holds_no_formula(customer: Customer, r1: TenantUnderTest) -> None:
    answer = export(customer, format="csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig")), delimiter=";"))
    assert len(rows) == 1 + 37 + 1
    assert not [cell for row in rows[1:] for cell in row if re.match(r"[=@]|[+-](?![0-9])", cell)]
    assert content(customer, r1, answer.content) == content_of(customer)


def content(customer: Customer, tenant: TenantUnderTest, file: bytes) -> Counter[Any]:
    """What another customer has who uploads a file."""
    other = tenant.customer()
    files_access(other)
    uploaded(other, file)
    return content_of(other)


def content_of(customer: Customer) -> Counter[Any]:
    left_out = {"id", "hash", "identifier"}
    accesses = customer.read("/bankzugaenge")
    products = [(key, product["id"]) for key, access in accesses.items() for product in access["bankprodukte"]]
    bookings = [booking for place in products for booking in customer.bookings(*place)]
    return Counter(
        tuple(sorted((name, str(value)) for name, value in booking.items() if name not in left_out)) for booking in bookings
    )


@given(lines=days_of_lines())
@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_stored_comes_back_from_its_export(r1: TenantUnderTest, lines: list[Line]) -> None:
    customer = r1.customer()
    files_access(customer)
    uploaded(customer, camt(lines, "08"))
    for name in ("camt", "csv"):
        assert content(customer, r1, export(customer, format=name).content) == content_of(customer)


def test_a_period(customer: Customer) -> None:
    query = {"from": "2026-10-01", "to": "2026-10-31"}
    body = export(customer, **query).json()
    assert {booking["buchungsdatum"][:7] for booking in body["kontoumsaetze"]["auszug"][OWN_IBAN]} == {"2026-10"}
    (statement, _) = read(export(customer, format="camt", **query).content)
    assert statement.closing is None, "the balance is not of the last day"
    assert customer.get("/export", params={"from": "2026-10-02", "to": "2026-10-01"}).status_code == 400
    assert customer.get("/export", params={"format": "pdf"}).status_code == 400
    assert customer.get("/export", params={"from": "gestern"}).status_code == 400


def test_nobody_gets_the_data_of_another(customer: Customer, r1: TenantUnderTest, r2: TenantUnderTest) -> None:
    for stranger in (r1.customer(), r2.customer()):
        assert export(stranger).json() == {"bankzugaenge": {}, "kontoumsaetze": {}}
        assert export(stranger, format="csv").text.count("\r\n") == 1
        assert b"<Stmt>" not in export(stranger, format="camt").content
        assert "Netflix" not in stranger.get("/report", params={"month": "2026-10"}).text


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


class TestReport:
    @pytest.fixture(scope="class")
    def page(self, customer: Customer) -> httpx.Response:
        answer = customer.get("/report", params={"month": "2026-10"})
        assert answer.status_code == 200
        return answer

    def test_it_tells_sums_categories_contracts_and_changes(self, page: httpx.Response) -> None:
        for words in ("Oktober 2026", "2.500,00", "Wofür das Geld ging", "Laufende Verträge", "Netflix", "Wohnbau", "<svg"):
            assert words in page.text.replace("\N{NO-BREAK SPACE}", " "), words
        expenses = 80_000 + 1299 + 4990 + 350
        assert f"{expenses // 100},{expenses % 100:02}" in page.text

    def test_it_is_one_file_without_scripts(self, page: httpx.Response) -> None:
        policy = page.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"<script|<link|\sstyle=|src=|\son\w+=", page.text)
        assert "<b>Markt" not in page.text

    @pytest.fixture(scope="class")
    def file(self, customer: Customer) -> httpx.Response:
        answer = customer.get("/report", params={"month": "2026-10", "format": "pdf"}, headers={"Accept": "application/pdf"})
        assert answer.status_code == 200, answer.text
        return answer

    def test_it_is_also_a_pdf_with_the_same_figures(self, page: httpx.Response, file: httpx.Response) -> None:
        assert file.headers["Content-Type"] == "application/pdf"
        assert file.headers["Content-Disposition"] == 'attachment; filename="monatsbericht-2026-10.pdf"'
        reader = PdfReader(io.BytesIO(file.content))
        text = plain("\n".join(part.extract_text() for part in reader.pages))
        assert reader.metadata is not None
        assert reader.metadata.title == "Monatsbericht Oktober 2026"
        for words in ("Wofür das Geld ging", "Zwölf Monate", "Was sich geändert hat", "Laufende Verträge", "Netflix", "Wohnbau"):
            assert words in text, words
        amounts = set(re.findall(r"[0-9.]+,[0-9]{2} €", plain(re.sub(r"<title>.*?</title>", "", page.text))))
        assert amounts <= set(re.findall(r"[0-9.]+,[0-9]{2} €", text))

    def test_the_pdf_brings_its_font_and_neither_scripts_nor_links(self, file: httpx.Response) -> None:
        reader = PdfReader(io.BytesIO(file.content))
        fonts = [font.get_object() for part in reader.pages for font in part["/Resources"]["/Font"].values()]  # type: ignore[index]
        descriptors = [font["/DescendantFonts"][0].get_object()["/FontDescriptor"].get_object() for font in fonts]
        assert all("/FontFile2" in descriptor for descriptor in descriptors)
        assert all("/Annots" not in part for part in reader.pages)
        for word in (b"/JavaScript", b"/URI", b"/Launch", b"/EmbeddedFile"):
            assert word not in file.content

    def test_a_pdf_is_the_same_all_day_and_can_be_asked_for_again(self, customer: Customer, file: httpx.Response) -> None:
        headers = {"If-None-Match": file.headers["ETag"]}
        assert customer.get("/report", params={"month": "2026-10", "format": "pdf"}, headers=headers).status_code == 304

    def test_a_format_that_there_is_not(self, customer: Customer) -> None:
        assert customer.get("/report", params={"month": "2026-10", "format": "docx"}).status_code == 400

    def test_a_month_without_data(self, customer: Customer) -> None:
        assert "keine Umsätze" in customer.get("/report", params={"month": "2020-01"}).text
        file = customer.get("/report", params={"month": "2020-01", "format": "pdf"}).content
        assert "keine Umsätze" in PdfReader(io.BytesIO(file)).pages[0].extract_text()

    def test_without_a_month_it_is_the_last_complete_one(self, customer: Customer) -> None:
        assert customer.get("/report").status_code == 200

    def test_without_a_month_old_data_have_their_last_one(self, r1: TenantUnderTest) -> None:
        """Whoever uploads a file of last year wants to see something."""
        customer = r1.customer()
        files_access(customer)
        uploaded(customer, camt(salaries(date(2024, 1, 1), 12)))
        assert "<h1>Dezember 2024</h1>" in customer.get("/report").text
        file = customer.get("/report", params={"format": "pdf"})
        assert "monatsbericht-2024-12.pdf" in file.headers["Content-Disposition"]

    @pytest.mark.parametrize("month", ["2026", "2026-13", "2026-1", "0000-01", "9999-12", "gestern"])
    def test_what_is_no_month_is_refused(self, customer: Customer, month: str) -> None:
        assert customer.get("/report", params={"month": month}).status_code == 400
