"""The readers beside those of other packages, on the samples that these bring in their own tests; downloaded, never copied.

Every difference is a row of the table in `docs/bank-files.md`.
"""

import ast
import importlib.util
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipelines.statements.reading import read
from pipelines.statements.statement import Reason, Statement, StatementFault

pytestmark = pytest.mark.thorough
PACKAGES = ("pycamt==1.1.1", "mt940==0.8.1", "fints==5.0.1")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The source packages, by name, from the index that this machine is set to use."""
    folder = tmp_path_factory.mktemp("foreign")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder)]
    download = subprocess.run([*command, *PACKAGES], capture_output=True, text=True)
    if download.returncode:
        pytest.skip(f"the packages cannot be downloaded: {download.stderr[-300:]}")
    for path in folder.glob("*.tar.gz"):
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
    return {package.partition("==")[0]: folder / package.replace("==", "-") for package in PACKAGES}


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
