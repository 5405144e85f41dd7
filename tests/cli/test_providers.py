"""`kontor providers`, against a real database."""

import json
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from api.cli import app
from pipelines.banks import catalogue
from tests.support.stack import Stack, TenantUnderTest
from warehouse.errors import NotFound

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
