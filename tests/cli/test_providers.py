"""`kontor providers`, against a real database."""

import json
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from api.cli import app
from pipelines.banks import catalogue
from pipelines.banks.fints_bank.server import FintsServer
from tests.support.stack import Stack, TenantUnderTest, wait_until
from warehouse.errors import Invalid, NotFound

DEMO = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(autouse=True)
def environment(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KONTOR_HOME", str(stack.home))
    monkeypatch.setenv("KONTOR_DATABASE_URL", stack.where.service)


def kontor(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["providers", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def listed(*arguments: str) -> dict[str, Any]:
    return {row["id"]: row for row in json.loads(kontor("list", *arguments, "--json"))}


def test_banks_are_imported_once_and_then_unchanged() -> None:
    total = len(catalogue.german_banks())
    first = json.loads(kontor("import", "--json"))
    assert sum(first.values()) == total
    assert json.loads(kontor("import", "--json")) == {"new": 0, "changed": 0, "unchanged": total}
    shown = kontor("import")
    assert "new: 0\n" in shown
    assert f"unchanged: {total}\n" in shown
    assert len(listed("--all")) > total


def test_the_list_is_what_tenants_see_and_all_is_everything() -> None:
    kontor("import")
    assert listed()[DEMO]["name"] == "Demo Provider"
    assert {row["connector"] for row in listed().values()} == {"demo", "statement_files", "own_accounts"}
    bank = next(row for row in listed("--all").values() if row["blz"] == "10010010")
    assert bank["bic"] == "PBNKDEFFXXX"
    assert (bank["connector"], bank["enabled"], bank["served"]) == ("fints", True, False)
    assert "DEMO1234" in kontor("list")


def test_a_provider_is_disabled_and_enabled() -> None:
    assert kontor("disable", DEMO) == "Demo Provider is disabled.\n"
    try:
        assert DEMO not in listed()
        assert listed("--all")[DEMO]["enabled"] is False
    finally:
        assert json.loads(kontor("enable", DEMO, "--json")) == {"result": "Demo Provider is enabled."}
    assert DEMO in listed()


def test_an_id_that_names_nothing_is_said_to_be_missing() -> None:
    with pytest.raises(NotFound):
        kontor("disable", str(uuid4()))
    assert CliRunner().invoke(app, ["providers", "enable", "no-uuid"]).exit_code == 2


def test_what_a_bank_could_not_answer_is_listed_and_fetched_again(stack: Stack, r1: TenantUnderTest) -> None:
    customer = r1.customer()
    key, _ = customer.add("test_unreachable")
    customer.wait_idle(key)
    mine = "SELECT attempted_at FROM accesses WHERE user_id = :user"
    before = stack.sql(mine, user=customer.user_id)[0][0]
    rows = {row["provider"]: row for row in json.loads(kontor("failing", "--json"))}
    assert rows[DEMO]["accesses"] >= 1
    assert "being fetched again" in kontor("fetch-again", DEMO)
    customer.wait_idle(key)
    assert stack.sql(mine, user=customer.user_id)[0][0] > before
    with pytest.raises(NotFound):
        kontor("fetch-again", str(uuid4()))


def test_what_a_bank_refused_by_mistake_is_forgotten(r1: TenantUnderTest) -> None:
    customer = r1.customer()
    key, _ = customer.add("demo1", "falsch")
    customer.wait_idle(key)
    assert "are forgotten: 0" not in kontor("forget-refusals", DEMO)
    assert "are forgotten: 0" in kontor("forget-refusals", DEMO)
    with pytest.raises(NotFound):
        kontor("forget-refusals", str(uuid4()))


def test_the_health_of_banks_is_told_by_outcome(stack: Stack, r1: TenantUnderTest) -> None:
    customer = r1.customer()
    key, _ = customer.add("demo1")
    customer.wait_complete(key)

    def demo_row() -> dict[str, Any]:
        return next((row for row in json.loads(kontor("health", "--json")) if row["provider"] == DEMO), {})

    wait_until(lambda: demo_row().get("fetched", 0) > 0, 30)
    row = demo_row()
    assert row["sessions"] >= row["fetched"] + row["incomplete"]
    assert 0 <= row["share_sca"] <= 1
    assert row["paused_at"] is None
    assert "Demo Provider" in kontor("health", "--days", "1").replace("\n", " ")
    assert kontor("resume", DEMO) == "Demo Provider is not paused.\n"
    with pytest.raises(NotFound):
        kontor("resume", str(uuid4()))


def test_a_bank_is_asked_at_its_imported_address(stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blz = "99999982"
    with FintsServer(tmp_path) as bank:
        Thread(target=bank.serve_forever, daemon=True).start()
        monkeypatch.setenv("KONTOR_FINTS_DEMO_URL", bank.url)
        offered = json.loads(kontor("check", "99999991", "--json"))
        assert "HKKAZ" in offered["orders"]
        assert "HKCCS" in offered["orders with TAN"]
        with pytest.raises(Invalid):
            kontor("check", blz)
        table = tmp_path / "list.csv"
        table.write_text(f"BLZ;BIC;Institut;PIN/TAN-Zugang URL;Version\n{blz};;Neubank;https://fints.example/;3.0\n", "cp1252")
        kontor("import", str(table))
        stack.sql("UPDATE providers SET address = :url WHERE blz = :blz", url=bank.url, blz=blz)
        monkeypatch.setenv("KONTOR_FINTS_PRODUCT_ID", "PRODUCT")
        with pytest.raises(Invalid, match="does not answer"):
            kontor("check", blz)  # our bank has another bank code, and says so
        stack.sql("DELETE FROM providers WHERE blz = :blz", blz=blz)
        bank.shutdown()


def test_addresses_come_from_the_official_list(stack: Stack, tmp_path: Path) -> None:
    kontor("import")
    table = tmp_path / "list.csv"
    new_blz = "99999980"
    titles, url = "BLZ;BIC;Institut;PIN/TAN-Zugang URL;Version\n", "https://fints.neu.example/fints"
    table.write_text(f"{titles}10010010;;Postbank;{url};FinTS V3.0\n{new_blz};;Neubank;{url};3.0\n", "cp1252")
    facts = json.loads(kontor("import", str(table), "--json"))
    assert (facts["banks"], facts["new addresses"]) == (2, 2)
    assert json.loads(kontor("import", str(table), "--json"))["new addresses"] == 0
    rows = stack.sql("SELECT blz, name, address FROM providers WHERE address = :url ORDER BY blz", url=url)
    assert [(row.blz, row.address) for row in rows] == [("10010010", url), (new_blz, url)]
    assert rows[1].name == "Neubank"
    kontor("import")
    assert len(stack.sql("SELECT 1 FROM providers WHERE address = :url", url=url)) == 2, "the import of banks keeps them"
    stack.sql("UPDATE providers SET address = NULL WHERE address = :url", url=url)
    stack.sql("DELETE FROM providers WHERE blz = :blz", blz=new_blz)
