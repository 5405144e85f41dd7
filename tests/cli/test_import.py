"""`kontor import`: statement files into the data of a user."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from api.cli import app
from tests.pipelines.statements.rendering import OWN_IBAN, camt, sparkasse_csv
from tests.spec.test_statement_files import history
from tests.support.stack import Customer, Stack, TenantUnderTest
from warehouse.errors import Invalid, NotFound


@pytest.fixture(autouse=True)
def environment(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONTOR_HOME", str(stack.home))
    monkeypatch.setenv("KONTOR_DATABASE_URL", stack.where.service)


@pytest.fixture
def customer(r1: TenantUnderTest) -> Customer:
    return r1.customer()


def kontor(customer: Customer, *arguments: str) -> str:
    about = ["--tenant", customer.tenant.name, "--user", customer.username]
    result = CliRunner().invoke(app, ["import", *arguments, *about], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_files_are_imported_and_repeated_ones_add_nothing(customer: Customer, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(camt(history(5)))
    (tmp_path / "b.csv").write_bytes(sparkasse_csv(history(8)))
    files = [str(tmp_path / name) for name in ("a.xml", "b.csv")]
    shown = json.loads(kontor(customer, *files, "--json"))
    assert [(row["file"], row["lines"], row["new"]) for row in shown] == [("a.xml", 5, 5), ("b.csv", 8, 3)]
    assert len(customer.bookings("kontoauszug", OWN_IBAN)) == 8
    assert [row["new"] for row in json.loads(kontor(customer, *files, "--json"))] == [0, 0]


def test_a_dry_run_tells_what_is_new_and_stores_nothing(customer: Customer, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(camt(history(5), opening=100, closing=100))
    output = kontor(customer, str(tmp_path / "a.xml"), "--dry-run")
    for word in ("Nothing was stored", "CAMT.053", "2026-01-01 to 2026-01-05", "5, 5 of them new", "balance: declared 100"):
        assert word in output.replace("\n", " ")
    assert "Einkauf" not in output
    assert customer.read("/bankzugaenge") == {}


def test_a_file_that_is_none_stops_all(customer: Customer, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(camt(history(5)))
    (tmp_path / "b.csv").write_bytes(b"a;b;c\n1;2;3\n")
    with pytest.raises(Invalid, match=r"b\.csv: no statement: FORMAT_UNKNOWN; nothing was stored"):
        kontor(customer, str(tmp_path / "a.xml"), str(tmp_path / "b.csv"))
    assert customer.read("/bankzugaenge") == {}


def test_an_unknown_user(customer: Customer, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(camt(history(1)))
    arguments = ["import", str(tmp_path / "a.xml"), "--tenant", customer.tenant.name, "--user", "nobody"]
    with pytest.raises(NotFound):
        CliRunner().invoke(app, arguments, catch_exceptions=False)
