"""The readers beside those of other packages, on the samples that these bring in their own tests; downloaded, never copied.

Every difference is a row of the table in `docs/bank-files.md`, and has its branch here: anything else fails.
"""

import ast
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipelines.statements.reading import read
from pipelines.statements.statement import IBAN, DayBalance, Reason, Statement, StatementFault

pytestmark = pytest.mark.thorough
SOURCES = ("pycamt==1.1.1", "mt940==0.8.1", "fints==5.0.1", "mt-940==4.23.0")
"""Later versions of mt-940 bring no samples."""
WHEEL = "odoo-addon-account-statement-import-camt==19.0.1.0.0.8"
NPM = ("lib-fints@1.5.0", "mt940js@1.3.5")
HERE = Path(__file__).parent
FRAGMENTS = {Reason.FORMAT_UNKNOWN, Reason.TRUNCATED}
"""Samples of single fields, without a message around them."""


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the unpacked packages, from the index that this machine is set to use."""
    folder = tmp_path_factory.mktemp("foreign")
    names = ",".join(package.partition("==")[0] for package in SOURCES)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", names, "--dest", str(folder)]
    download = subprocess.run([*command, *SOURCES, WHEEL], capture_output=True, text=True)
    if download.returncode:
        pytest.skip(f"the packages cannot be downloaded: {download.stderr[-300:]}")
    for path in folder.glob("*.tar.gz"):
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
    for path in folder.glob("*.whl"):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def sources(downloads: Path) -> dict[str, Path]:
    """The source packages, by name."""
    return {package.partition("==")[0]: downloads / package.replace("==", "-") for package in SOURCES}


@pytest.fixture(scope="module")
def npm_results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What the packages of npm read from their own samples."""
    if missing := [tool for tool in ("node", "npm") if shutil.which(tool) is None]:
        pytest.skip(f"there is no {' and no '.join(missing)}")
    folder = tmp_path_factory.mktemp("npm")
    install = ["npm", "install", "--silent", "--no-save", "--ignore-scripts", "--prefix", str(folder), *NPM]
    installed = subprocess.run(install, cwd=folder, capture_output=True, text=True)
    if installed.returncode:
        pytest.skip(f"the packages cannot be downloaded: {installed.stderr[-300:]}")
    command = ["node", str(HERE / "foreign_results.mjs"), str(folder)]
    output = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"TZ": "Europe/Berlin", "PATH": "/usr/bin:/bin"}
    )
    results: dict[str, list[dict[str, Any]]] = json.loads(output.stdout)
    return results


def squeezed(text: str | None) -> str:
    """A text without blanks and line breaks, which the readers join in different ways."""
    return re.sub(r"\s", "", text or "")


def cents(amount: float) -> int:
    return round(amount * 100)


def module(name: str, path: Path) -> ModuleType:
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None
    loaded = importlib.util.module_from_spec(found)
    sys.modules[name] = loaded
    found.loader.exec_module(loaded)
    return loaded


def documents(path: Path) -> list[bytes]:
    """The XML documents that stand as texts in a file of tests."""
    values = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
    texts = [value.encode() if isinstance(value, str) else value for value in values if isinstance(value, str | bytes)]
    return [text.strip() for text in texts if b"<Ntry>" in text and b"</Document>" in text]


def test_camt_beside_pycamt(sources: dict[str, Path]) -> None:
    """Amounts, currencies and days of every line. Two samples are refused: one has no day, one an amount finer than cents."""
    parser = module("foreign_pycamt", sources["pycamt"] / "pycamt" / "parser.py").Camt053Parser
    samples = [text for path in sorted((sources["pycamt"] / "tests").glob("test_*.py")) for text in documents(path)]
    assert len(samples) >= 5
    refusals = set()
    for content in samples:
        theirs = rows_of_pycamt(parser, content)
        try:
            ours = [row for statement in read(content) for row in rows_of(statement)]
        except StatementFault as fault:
            refusals.add(fault.reason)
            continue
        assert sorted(map(str, ours)) == sorted(map(str, theirs or []))
    assert refusals == {Reason.DAY, Reason.AMOUNT}


def rows_of(statement: Statement) -> list[tuple[Any, ...]]:
    columns = statement.bookings.select("amount_cents", "currency", "booked_on").rows()
    return [(f"{cents / 100:.2f}", currency, str(day)) for cents, currency, day in columns]


def rows_of_pycamt(parser: Any, content: bytes) -> list[tuple[Any, ...]] | None:
    try:
        found = parser(content).get_transactions()
    except Exception:
        return None
    rows = []
    for line in found:
        sign = "-" if line["CreditDebitIndicator"] == "DBIT" else ""
        amount = f"{float(sign + line['Amount']):.2f}" if line["Amount"] else None
        rows.append((amount, line["Currency"], line["BookingDate"][:10] if line["BookingDate"] else None))
    return rows


def test_mt940_beside_mt940(sources: dict[str, Path]) -> None:
    folder = sources["mt940"] / "mt940"
    theirs = module("foreign_mt940", folder / "__init__.py").MT940(str(folder / "MT940.txt")).statements
    ours = read((folder / "MT940.txt").read_bytes())
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.account.number, mine.account.currency) == (other.account, other.start_balance.currency)
        assert mine.opening is not None
        assert mine.closing is not None
        assert (mine.opening.cents, mine.opening.day) == (other.start_balance.amount * 100, other.start_balance.date)
        assert (mine.closing.cents, mine.closing.day) == (other.end_balance.amount * 100, other.end_balance.date)
        assert mine.bookings["amount_cents"].to_list() == [line.amount * 100 for line in other.transactions]
        assert mine.bookings["value_on"].to_list() == [line.date for line in other.transactions]
    with pytest.raises(StatementFault) as fault:  # no balance and so no currency, which they leave open
        read((folder / "MT940-optional.txt").read_bytes())
    assert fault.value.reason is Reason.CURRENCY


def test_camt_beside_fints(sources: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Their parser alone is loaded, not their client, which needs more packages."""
    monkeypatch.setitem(sys.modules, "fints", ModuleType("fints"))
    for name in ("models", "camt_parser"):
        monkeypatch.setitem(sys.modules, f"fints.{name}", None)
        theirs = module(f"fints.{name}", sources["fints"] / "fints" / f"{name}.py")
    (content,) = documents(sources["fints"] / "tests" / "test_camt_parser.py")
    (statement,) = read(content)
    lines = theirs.camt053_to_dict(content)
    assert statement.bookings.height == len(lines) == 2
    for mine, other in zip(statement.bookings.rows(named=True), lines, strict=True):
        assert (mine["amount_cents"], mine["currency"]) == (other["amount"].amount * 100, other["amount"].currency)
        assert (mine["value_on"], mine["booked_on"]) == (other["date"], other["entry_date"])
        assert (mine["counterparty_name"], mine["counterparty_iban"]) == (other["applicant_name"], other["applicant_iban"])
        text = mine["purpose"].rpartition("SVWZ+")[2]
        assert re.sub(r"\s", "", text) == re.sub(r"\s", "", other["purpose"])
        has_reference = other["end_to_end_reference"] != "NOTPROVIDED"
        assert (f"EREF+{other['end_to_end_reference']}" in mine["purpose"]) == has_reference
    assert statement.differences  # their sample has invented balances, which they do not check


def test_mt940_beside_mt_940(sources: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """49 samples of German, Dutch, Swiss, Polish and other banks, collected from several projects."""
    root = sources["mt-940"]
    monkeypatch.syspath_prepend(str(root))
    theirs = importlib.import_module("mt940")
    lines, refusals = 0, {}
    for path in sorted((root / "mt940_tests").rglob("*.sta")):
        name = f"{path.parent.name}/{path.stem}"
        try:
            statements = read(path.read_bytes())
        except StatementFault as fault:
            refusals[name] = fault.reason
            continue
        other = theirs.parse(str(path))
        _compare_last_balance(name, statements[-1], other.data)
        rows = [row for statement in statements for row in statement.bookings.iter_rows(named=True)]
        pairs = list(zip(_in_order(rows), sorted((line.data for line in other.transactions), key=_order_of_mt_940), strict=True))
        for row, line in pairs:
            _compare_line_of_mt_940(name, row, line)
        lines += len(pairs)
    assert lines > 190
    assert refusals.pop("self-provided/raphaelm") is Reason.AMOUNT, "a balance without a currency"
    assert refusals.pop("betterplace/sepa_snippet_broken") is Reason.FIELD_MISSING, "a text instead of the account"
    assert set(refusals.values()) <= FRAGMENTS
    assert len(refusals) <= 20


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (str(row["booked_on"]), abs(row["amount_cents"])))


def _order_of_mt_940(line: dict[str, Any]) -> tuple[str, int]:
    return str(_booked_on(line)), abs(cents(line["amount"].amount))


def _booked_on(line: dict[str, Any]) -> date:
    day: date = line.get("guessed_entry_date") or line.get("entry_date") or line["date"]
    return day


def _compare_last_balance(name: str, mine: Statement, data: dict[str, Any]) -> None:
    balances = [data[key] for key in ("final_closing_balance", "intermediate_closing_balance") if data.get(key)]
    if not balances or mine.closing is None:
        return
    closing = max(balances, key=lambda balance: str(balance.date))  # they keep the last one of each kind
    assert mine.closing.cents == cents(closing.amount.amount), name
    assert str(mine.closing.day) == str(closing.date), name
    assert mine.account.currency == closing.amount.currency, name
    assert squeezed(mine.account.iban or mine.account.number) in squeezed(data["account_identification"]), name


def _compare_line_of_mt_940(name: str, mine: dict[str, Any], other: dict[str, Any]) -> None:
    sign = -1 if other["status"] == "RC" else 1  # a reversed credit takes money; the balances of their own sample say so
    assert mine["amount_cents"] == sign * cents(other["amount"].amount), name
    assert mine["currency"] == other["amount"].currency, name
    assert (str(mine["value_on"]), str(mine["booked_on"])) == (str(other["date"]), str(_booked_on(other))), name
    code = other.get("transaction_code")
    if code is None:  # they look for subfields behind question marks alone
        assert mine["gv_code"] in (None, other["id"][1:]) or ">20" in other["transaction_details"], name
        return
    assert mine["gv_code"] == code, name
    assert squeezed(mine["booking_text"]) == squeezed(other.get("posting_text")), name
    assert squeezed(mine["primanota"]) == squeezed(other.get("prima_nota")), name
    assert squeezed(mine["counterparty_name"]) == squeezed(other.get("applicant_name")), name
    iban = squeezed(other.get("applicant_iban"))
    if IBAN.fullmatch(iban):
        assert mine["counterparty_iban"] == iban, name
    else:  # a number that is no IBAN; ?38 has one in their Polish sample
        assert mine["counterparty_iban"] is None or iban in mine["counterparty_iban"], name
    bic = squeezed(other.get("applicant_bin"))
    assert mine["counterparty_bic"] == (bic if bic and not bic.isdigit() else None), name
    reference = other.get("end_to_end_reference")
    assert not reference or f"EREF+{squeezed(reference)}" in squeezed(mine["purpose"]), name
    assert squeezed(other.get("purpose")) in squeezed(mine["purpose"]), name


def test_mt940_beside_mt940js(npm_results: dict[str, list[dict[str, Any]]]) -> None:
    samples = npm_results["mt940js"]
    assert len(samples) == 4
    for sample in samples:
        statements, others = read(sample["content"].encode()), sample["statements"]
        lines = [line for other in others for line in other["transactions"]]
        rows = [row for statement in statements for row in statement.bookings.iter_rows(named=True)]
        assert len(statements) == len({other["number"]["statement"] for other in others}), "we join the pages of a statement"
        assert statements[0].opening == DayBalance(cents(others[0]["openingBalance"]), _iso_day(others[0]["openingBalanceDate"]))
        assert statements[-1].closing == DayBalance(
            cents(others[-1]["closingBalance"]), _iso_day(others[-1]["closingBalanceDate"])
        )
        for row, line in zip(rows, lines, strict=True):
            assert (row["amount_cents"], row["currency"]) == (cents(line["amount"]), line["currency"])
            assert (row["value_on"], row["booked_on"]) == (_iso_day(line["date"]), _iso_day(line["entryDate"] or line["date"]))
            assert squeezed(row["purpose"]) == squeezed(line["details"])


def _iso_day(text: str) -> date:
    return date.fromisoformat(text[:10])


def test_camt_and_mt940_beside_lib_fints(npm_results: dict[str, list[dict[str, Any]]]) -> None:
    """Nine samples of CAMT.052 and one of MT940; two of CAMT were written by banks."""
    compared = 0
    for sample in npm_results["lib-fints"]:
        content: str = sample["content"]
        if "error" in sample:
            with pytest.raises(StatementFault):
                read(content.encode())
            continue
        if ":62F:C021131" in content:  # they take 31 November as 1 December, we refuse it
            with pytest.raises(StatementFault) as fault:
                read(content.encode())
            assert fault.value.reason is Reason.DAY
            content = content.replace(":62F:C021131", ":62F:C021201")
        for mine, other in zip(read(content.encode()), sample["statements"], strict=True):
            _compare_statement_of_lib_fints(mine, other, is_camt=content.startswith("<"))
            compared += 1
    assert compared == 10


def _compare_statement_of_lib_fints(mine: Statement, other: dict[str, Any], *, is_camt: bool) -> None:
    account = mine.account.iban or f"{mine.account.blz}/{mine.account.number}"
    assert account == other["account"]
    for balance, told in ((mine.opening, other["openingBalance"]), (mine.closing, other["closingBalance"])):
        assert balance is not None
        assert balance.cents == cents(told["value"])
        assert told["date"] in (str(balance.day), str(date.today()))  # they give today for a day that has a time
        assert mine.account.currency == told["currency"]
    for row, line in zip(mine.bookings.iter_rows(named=True), other["transactions"], strict=True):
        assert row["amount_cents"] == cents(line["amount"])
        assert (str(row["value_on"]), str(row["booked_on"])) == (line["valueDate"], line["entryDate"])
        assert squeezed(row["counterparty_name"]) == squeezed(line.get("remoteName"))
        number = line.get("remoteAccountNumber") or ""
        assert row["counterparty_iban"] == (number if IBAN.fullmatch(number) else None)
        assert squeezed(line.get("purpose")) in squeezed(row["purpose"])
        for tag, reference in (("EREF", line.get("e2eReference")), ("MREF", line.get("mandateReference"))):
            assert reference in (None, "", "NOTPROVIDED") or f"{tag}+{reference}" in (row["purpose"] or "")
        if is_camt:
            assert (row["booking_text"] or "") == line["bookingText"]
            assert (row["counterparty_bic"] or "") == line["remoteBankId"]
        else:
            assert (row["gv_code"], row["primanota"]) == (line["transactionCode"], line["primeNotesNr"])


def test_camt_beside_odoo(downloads: Path) -> None:
    """What their tests expect of their samples: their reader needs a whole Odoo."""
    folder = downloads / "odoo" / "addons" / "account_statement_import_camt" / "tests" / "samples"
    lines = 0
    for sample in ("test-camt053", "test-camt053-txdtls"):
        golden = (folder / f"golden-{sample.removeprefix('test-')}.pydata").read_text()
        currency, iban, others = ast.literal_eval(golden)
        for mine, other in zip(read((folder / sample).read_bytes()), others, strict=True):
            assert (mine.account.iban, mine.account.currency) == (iban, currency)
            for balance, told in ((mine.opening, other["balance_start"]), (mine.closing, other["balance_end_real"])):
                assert balance is not None
                assert balance.cents == cents(told)
            for row, line in zip(mine.bookings.iter_rows(named=True), other["transactions"], strict=True):
                assert row["amount_cents"] == cents(line["amount"])
                assert str(row["booked_on"]) == line["date"]
                assert (row["counterparty_name"], row["counterparty_iban"]) == (
                    line.get("partner_name"),
                    line.get("account_number"),
                )
                text = line["payment_ref"].removeprefix("/")  # the note of the bank before the words of the payer
                assert squeezed(text) in squeezed(row["purpose"]) + squeezed(row["booking_text"])
                lines += 1
    assert lines > 5
    with pytest.raises(StatementFault) as fault:
        read((folder / "test-camt054").read_bytes())
    assert fault.value.reason is Reason.FORMAT_UNKNOWN
