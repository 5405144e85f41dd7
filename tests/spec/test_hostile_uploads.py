"""A second, hostile reading of uploads: files that are written to break something. Each is refused in German and changes nothing;
or it is read, and nothing of it is more than text.
"""

import csv
import gzip
import io
import re
import zipfile
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx
import pytest

from pipelines.statements.reading import MAX_BYTES, read
from tests.pipelines.statements.rendering import OWN_IBAN, camt, german_iban, mt940
from tests.pipelines.statements.samples import SAMPLES
from tests.spec.test_statement_files import files_access, history, line, upload, uploaded
from tests.support.stack import Customer, TenantUnderTest

ING = next(sample for sample in SAMPLES if sample.format == "ING").content
CAMT = camt(history(3), "08", opening=10_000)
MT940 = mt940(history(3)).encode()
FAR = date(2026, 11, 18) + timedelta(days=10_000)
HUGE = "9" * 30


def zipped(content: bytes, name: str = "umsaetze.csv") -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return memory.getvalue()


def statements(count: int) -> bytes:
    """One file with this number of accounts."""
    head, _, rest = CAMT.decode().partition("<Stmt>")
    body, _, tail = rest.rpartition("</Stmt>")
    accounts = (body.replace(OWN_IBAN, german_iban(f"{number:018}")) for number in range(1, count + 1))
    return (head + "".join(f"<Stmt>{account}</Stmt>" for account in accounts) + tail).encode()


def with_text(text: str) -> bytes:
    return camt([line(date(2026, 1, 5), -100, text)])


def replaced(content: bytes, before: str, after: str) -> bytes:
    assert before.encode() in content
    return content.replace(before.encode(), after.encode())


REFUSED: dict[str, tuple[bytes, str]] = {
    "a zip bomb": (zipped(b"0" * 2 * MAX_BYTES), "ist ein Archiv"),
    "a zip bomb in gzip": (gzip.compress(b"0" * 2 * MAX_BYTES, 1), "ist ein Archiv"),
    "a spreadsheet": (zipped(b"<xml/>", "xl/workbook.xml"), "ist ein Archiv"),
    "an old spreadsheet": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 2000, ""),
    "a program": (b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 20, ""),
    "NUL in CSV": (ING + b"\x00", ""),
    "NUL in MT940": (replaced(MT940, "Einkauf", "Ein\x00kauf"), ""),
    "NUL in CAMT": (replaced(CAMT, "Einkauf", "Ein\x00kauf"), ""),
    "NUL as a character of XML": (replaced(CAMT, "Einkauf", "Ein&#0;kauf"), "ist fehlerhaft aufgebaut"),
    "a bell as a character of XML": (replaced(CAMT, "Einkauf", "Ein&#7;kauf"), "ist fehlerhaft aufgebaut"),
    "UTF-16 without a mark": (ING.decode("latin-1").encode("utf-16-le"), ""),
    "UTF-32": (ING.decode("latin-1").encode("utf-32"), ""),
    "CAMT in UTF-16": (CAMT.decode().encode("utf-16"), ""),
    "half a character": (ING.decode("latin-1").encode("utf-16")[:-1], ""),
    "an amount of 30 digits in CAMT": (re.sub(rb">\d+\.\d\d</Amt>", f">{HUGE}.00</Amt>".encode(), CAMT), "ungültigen Betrag"),
    "an amount of 30 digits in MT940": (re.sub(rb"(:61:\d{10}DR?)\d+,", rf"\g<1>{HUGE},".encode(), MT940), "ungültigen Betrag"),
    "an amount of 30 digits in CSV": (
        re.sub(rb";-[0-9.]+,[0-9]{2};", f";-{HUGE},00;".encode(), ING, count=1),
        "ungültigen Betrag",
    ),
    "an amount with an exponent": (re.sub(rb">\d+\.\d\d</Amt>", b">1e9</Amt>", CAMT), "ungültigen Betrag"),
    "an infinite amount": (re.sub(rb">\d+\.\d\d</Amt>", b">INF</Amt>", CAMT), "ungültigen Betrag"),
    "digits of another script": (re.sub(rb">\d+\.\d\d</Amt>", ">١.٠٠</Amt>".encode(), CAMT), "ungültigen Betrag"),
    "a day in the future": (camt([line(FAR, -100, "x")]), "nicht stimmen kann"),
    "a day before computers": (camt([line(date(1901, 1, 1), -100, "x")]), "nicht stimmen kann"),
    "the last day of all": (camt([line(date(9999, 12, 31), -100, "x")]), "nicht stimmen kann"),
    "a value day in the year 1": (re.sub(rb"(<ValDt><Dt>)2026", rb"\g<1>0001", CAMT), "nicht stimmen kann"),
    "a balance in the year 1": (re.sub(rb"(<Dt><Dt>)2026", rb"\g<1>0001", CAMT), "nicht stimmen können"),
    "a balance in the year 9999": (re.sub(rb"(<Dt><Dt>)2026", rb"\g<1>9999", CAMT), "nicht stimmen können"),
    "an account of 5,000 letters": (replaced(CAMT, f"<IBAN>{OWN_IBAN}", f"<IBAN>{'D' * 5000}"), "nicht stimmen können"),
    "markup as an account": (replaced(CAMT, f"<IBAN>{OWN_IBAN}", "<IBAN>&lt;script&gt;"), "nicht stimmen können"),
    "a number of 5,000 digits": (
        replaced(CAMT, f"<Acct><Id><IBAN>{OWN_IBAN}</IBAN>", f"<Acct><Id><Othr><Id>{'7' * 5000}</Id></Othr>"),
        "nicht stimmen können",
    ),
    "a currency of an account": (replaced(CAMT, "<Ccy>EUR", "<Ccy>" + "EURO" * 500), "nicht stimmen können"),
    "a currency in small letters": (replaced(CAMT, 'Ccy="EUR"', 'Ccy="eur"'), "Währung"),
    "a page of HTML as a text": (with_text("<html>x"), "nicht stimmen kann"),
    "a text of 5,000 letters": (with_text("x" * 5000), ""),
    "201 accounts": (statements(201), ""),
}


@pytest.fixture(scope="module")
def customer(r1: TenantUnderTest) -> Customer:
    """A customer with one account from a file, of which nothing may change."""
    customer = r1.customer()
    files_access(customer)
    uploaded(customer, camt(history(2)))
    return customer


def contents(customer: Customer) -> Any:
    products = customer.access("auszug")["bankprodukte"]
    return products, [customer.bookings("auszug", product["id"]) for product in products]


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_is_refused_and_changes_nothing(customer: Customer, name: str) -> None:
    content, reason = REFUSED[name]
    before = contents(customer)
    answer = upload(customer, CAMT, content)
    assert 400 <= answer.status_code < 500, answer.text[:300]
    (message,) = answer.json()["messages"]
    assert message["details"], name
    assert reason in message["details"], message
    assert contents(customer) == before


def test_the_limit_is_10_mebibytes(customer: Customer) -> None:
    """One byte more than a file may have, inside a form that is larger still."""
    before = contents(customer)
    padding = b" " * (MAX_BYTES - len(CAMT))
    assert read(CAMT + padding)
    answer = upload(customer, CAMT + padding + b" ")
    assert answer.status_code in (400, 413)
    assert contents(customer) == before


@pytest.mark.parametrize(
    "kind",
    [
        "text/csv",
        "application/x-www-form-urlencoded",
        "multipart/mixed; boundary=grenze",
        "multipart/form-data; boundary=grenze; boundary=andere",
        'multipart/form-data; boundary="gre\tnze"',
        "",
    ],
)
def test_other_types_are_refused(customer: Customer, kind: str) -> None:
    body = b'--grenze\r\nContent-Disposition: form-data; name="datei"; filename="a"\r\n\r\n' + CAMT + b"\r\n--grenze--\r\n"
    before = contents(customer)
    answer = customer.call("POST", "/bankzugaenge/auszug/kontoauszuege", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert answer.json()["messages"][0]["details"]
    assert contents(customer) == before


def test_two_files_of_one_name_are_two_files(r1: TenantUnderTest) -> None:
    customer = r1.customer()
    files_access(customer)
    files = [("datei", ("umsaetze.csv", camt(history(4)[:2]))), ("datei", ("umsaetze.csv", camt(history(4)[1:])))]
    answer = customer.call("POST", "/bankzugaenge/auszug/kontoauszuege", files=files)
    assert answer.status_code == 200, answer.text
    assert [file["konten"][0]["neu"] for file in answer.json()["dateien"]] == [2, 2]
    broken = [("datei", ("umsaetze.csv", camt(history(6)))), ("datei", ("umsaetze.csv", b"x"))]
    answer = customer.call("POST", "/bankzugaenge/auszug/kontoauszuege", files=broken)
    assert answer.status_code == 400
    assert len(customer.bookings("auszug", OWN_IBAN)) == 4


@pytest.mark.parametrize("mark", ["utf-8-sig", "utf-16"])
def test_marks_of_byte_order_are_no_part_of_a_file(r1: TenantUnderTest, mark: str) -> None:
    customer = r1.customer()
    files_access(customer)
    assert uploaded(customer, ING.decode("latin-1").encode(mark))["neu"] > 0


@pytest.mark.parametrize("count", [30, pytest.param(200, marks=pytest.mark.thorough)])
def test_many_accounts_in_a_file_are_as_many_products(r1: TenantUnderTest, count: int) -> None:
    customer = r1.customer()
    files_access(customer)
    assert uploaded(customer, statements(count))["neu"] == 3 * count
    assert len(customer.access("auszug")["bankprodukte"]) == count


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r=", " =", "'=", "＝"])
def test_no_text_of_a_file_is_a_formula_in_an_export(r1: TenantUnderTest, start: str) -> None:
    """Neither a purpose nor a name that a stranger chose is computed by the spreadsheet of whoever opens the export."""
    customer = r1.customer()
    files_access(customer)
    text = f"{start}cmd|' /C calc'!A0"
    uploaded(customer, camt([line(date(2026, 1, 5), -100, text, text)]))
    answer = customer.get("/export", params={"format": "csv"})
    rows = list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig")), delimiter=";"))
    cells = [cell for row in rows[1:] for cell in row if "cmd" in cell]
    assert len(cells) == 2
    for cell in cells:
        assert not re.match(r"[\s\x00]*[=+\-@\t\r＝＋－＠]", cell), cell


def test_a_name_of_a_file_is_no_markup_and_no_header(customer: Customer) -> None:
    for name in ('a"; filename="b.csv', "{kein} {0} %s", "<img src=x>", "ü" * 300, "a\u202ecsv.exe"):
        answer = customer.call("POST", "/bankzugaenge/auszug/kontoauszuege", files={"datei": (name, b"x")})
        assert answer.status_code == 400
        assert answer.headers["Content-Type"].startswith("application/json")
        assert "ist kein Kontoauszug" in answer.json()["messages"][0]["details"]


def test_lines_within_a_year_ahead_do_not_move_the_day_of_the_data(r1: TenantUnderTest) -> None:
    """A standing order may be booked ahead; analyses still refer to today."""
    customer = r1.customer()
    files_access(customer)
    ahead = datetime.now(UTC).date() + timedelta(days=200)
    uploaded(customer, camt([line(date(2026, 1, 5), -100, "a"), line(ahead, -100, "b")]))
    answer: httpx.Response = customer.get("/report")
    assert answer.status_code == 200
