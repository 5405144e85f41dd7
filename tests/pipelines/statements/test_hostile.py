"""Files that are no statements: always a `StatementFault`, at once and without much memory, and never a part of a statement."""

import resource
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.statements.reading import MAX_BYTES, read
from pipelines.statements.statement import Reason, StatementFault
from tests.pipelines.statements.rendering import OWN_IBAN, Line, camt, mt940
from tests.pipelines.statements.samples import SAMPLES
from tests.support.examples import examples

ROOT = Path(__file__).parents[3]
SPACE = "urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"
HISTORY = [
    Line(
        date(2026, 3, 2),
        date(2026, 3, 3),
        cents,
        "Jürgen Groß",
        OWN_IBAN,
        "COLSDE33XXX",
        "Miete März",
        "E1",
        "M1",
        "",
        "GUT",
        "166",
        "9",
    )
    for cents in (-12_345, 67_800, -1)
]
CAMT, MT940 = camt(HISTORY, "08"), mt940(HISTORY, 100_000).encode()
FILES = (CAMT, camt(HISTORY, "02", "052"), MT940, *(sample.content for sample in SAMPLES))
LARGE = MAX_BYTES - 8192


def opened(content: str) -> bytes:
    return f'<Document xmlns="{SPACE}"><BkToCstmrStmt><Stmt>{content}'.encode()


def laughs() -> bytes:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY l0 "ha">{entities}]><d>&l9;</d>'.encode()


BOMBS = {
    "a billion laughs": laughs(),
    "an entity of a file": b'<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><d>&x;</d>',
    "an external document type": b'<!DOCTYPE d SYSTEM "http://127.0.0.1:9/d.dtd"><d/>',
    "a document type in UTF-7": b'<?xml version="1.0" encoding="utf-7"?>+ADw-+ACE-DOCTYPE d+AD4-<d/>',
    "a document type in UTF-16": laughs().decode().encode("utf-16"),
    "an undefined entity": opened("<Id>&x;</Id></Stmt></BkToCstmrStmt></Document>"),
    "deep nesting": opened("<aaaaaaaaaa>" * (LARGE // 12)),
    "nothing but elements": opened("<a/>" * (LARGE // 4)),
    "many elements": opened("<aaaaaaa/>" * (LARGE // 10)),
    "many attributes": opened('<aaaaaaa b="1" c="2" d="3" e="4" f="5"/>' * (LARGE // 40)),
    "a long text": opened("a" * LARGE),
    "a long name": opened(f"<{'a' * LARGE}/>"),
    "a long attribute": opened(f'<a b="{"c" * LARGE}"/>'),
    "a long number": opened(f'<Ntry><Amt Ccy="EUR">{"9" * LARGE}</Amt></Ntry>'),
    "many entries without an end": opened("<Ntry></Ntry>" * 1000),
    "another namespace": b'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"><CstmrCdtTrfInitn/></Document>',
    "a notification": b'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.054.001.08"><BkToCstmrDbtCdtNtfctn/></Document>',
    "a page of maintenance": b"<!doctype html><html><body>Wartungsarbeiten</body></html>",
    "a small page": b"<html><body><h1>Fehler</h1></body></html>",
    "one long line": b"a;" * (LARGE // 2),
    "one long quoted line": b'"' + b"a;" * (LARGE // 2),
    "a header and one long cell": SAMPLES[3].content + b"x" * LARGE,
    "many separators": b";\n" * (LARGE // 2),
    "a SWIFT field of one line": b":20:" + b"x" * LARGE,
    "a SWIFT text of many lines": b":20:1\n:25:1\n:60F:C260101EUR1,00\n:61:260101C1,00NTRFX\n:86:" + b"166?20x\n" * (LARGE // 8),
    "a SWIFT amount": b":20:1\n:25:1\n:60F:C260101EUR" + b"9" * LARGE + b",00\n-",
    "SWIFT subfields": b":20:1\n:25:1\n:60F:C260101EUR1,00\n:61:260101C1,00NTRFX\n:86:166" + b"?20" * (LARGE // 3),
    "an archive": b"PK\x03\x04" + b"\x00" * 100,
    "a PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3",
    "a picture": b"\x89PNG\r\n\x1a\n\x00\x00",
    "zeros": b"\x00" * LARGE,
    "blanks": b" \r\n" * 1000,
    "nothing": b"",
    "half a UTF-16 character": b"\xff\xfea",
    "JSON": b'{"bookings": [1, 2, 3]}',
    "OFX": b"OFXHEADER:100\nDATA:OFXSGML\n<OFX><STMTTRN></OFX>",
    "an unknown CSV": b"a;b;c\n1;2;3\n",
}

COSTLY = ("many attributes", "many elements", "deep nesting", "one long line", "many separators", "SWIFT subfields")


@pytest.mark.parametrize("name", BOMBS)
def test_a_hostile_file_is_refused_at_once(name: str) -> None:
    """Seconds of the processor, not of the clock: other tests run beside this one."""
    started = time.process_time()
    with pytest.raises(StatementFault):
        read(BOMBS[name])
    assert time.process_time() - started < 5


def test_hostile_files_cost_little_memory() -> None:
    """In a process of its own, the costly ones one after the other."""
    code = (
        "from tests.pipelines.statements.test_hostile import BOMBS, COSTLY, peak_megabytes, refused\n"
        "before = peak_megabytes()\n"
        "assert all(refused(BOMBS[name]) for name in COSTLY)\n"
        "print(peak_megabytes() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 500


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def refused(content: bytes) -> bool:
    try:
        read(content)
    except StatementFault:
        return True
    return False


def test_a_large_file_is_refused_unread() -> None:
    with pytest.raises(StatementFault) as fault:
        read(CAMT, max_bytes=len(CAMT) - 1)
    assert fault.value.reason is Reason.TOO_LARGE
    assert read(CAMT, max_bytes=len(CAMT))


@given(st.integers(1, len(CAMT) - 1))
@settings(max_examples=examples(60), deadline=None)
def test_no_part_of_a_cut_camt_is_used(length: int) -> None:
    with pytest.raises(StatementFault):
        read(CAMT[:length])


@given(st.integers(1, len(MT940) - 1))
@settings(max_examples=examples(60), deadline=None)
def test_a_cut_mt940_is_refused_or_has_all_lines(length: int) -> None:
    """Behind the last digit of the closing balance only the end of the message is missing."""
    try:
        (statement,) = read(MT940[:length])
    except StatementFault:
        return
    assert statement.bookings["amount_cents"].to_list() == [line.cents for line in HISTORY]


@given(st.sampled_from(FILES), st.data())
@settings(max_examples=examples(150), deadline=None)
def test_a_damaged_file_is_read_or_refused(content: bytes, data: st.DataObject) -> None:
    """Bytes are replaced, removed, repeated and added; whatever comes out has the form of a statement."""
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        length = data.draw(st.integers(0, 40))
        piece = data.draw(st.binary(max_size=8) | st.just(bytes(damaged[place : place + length])))
        damaged[place : place + length] = piece
    try:
        statements = read(bytes(damaged))
    except StatementFault:
        return
    for statement in statements:
        assert statement.bookings["booked_on"].null_count() == statement.bookings["amount_cents"].null_count() == 0


@given(st.binary(max_size=400) | st.text(max_size=400).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=examples(80), deadline=None)
def test_noise_is_refused(content: bytes) -> None:
    assert refused(content)


@pytest.mark.parametrize("encoding", ["utf-16", "cp437", "utf-32"])
def test_camt_in_a_foreign_encoding_is_refused(encoding: str) -> None:
    assert refused(CAMT.decode().encode(encoding))


@pytest.mark.parametrize("encoding", ["iso-8859-1", "windows-1252", "iso-8859-15"])
def test_camt_in_a_declared_encoding_is_read(encoding: str) -> None:
    (statement,) = read(CAMT.decode().replace("UTF-8", encoding).encode(encoding))
    assert statement.bookings["counterparty_name"][0] == "Jürgen Groß"
